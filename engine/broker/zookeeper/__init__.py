"""ZooKeeper mode, in a broker: the metadata is in ZooKeeper, and one broker is the controller.

    mode            the source of the metadata: session, registration, what runs in the background
    gateway         changes: znodes, and events of the controller

    roles           LeaderAndIsr, StopReplica, UpdateMetadata ──> MetadataDelta
    alter_isr       AlterIsr ──> an event of the controller
    config_znodes   configurations, quotas and credentials in ZooKeeper ──> MetadataDelta
    config_watcher, acl_store, change_notifications    what other brokers have changed there

    controller_service        the controller: its events, and its requests to ZooKeeper
    isr_writer                ISR changes, written to ZooKeeper (below protocol 2.7)
    log_dir_failure_handler   a disk has failed: a note for the controller
    registration              /brokers/ids/N

Invariant: nothing else in engine/broker knows of ZooKeeper. (import-linter)
"""
