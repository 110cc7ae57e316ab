"""A broker: the shell around the sans-IO core, on one asyncio loop.

    server        connections and frames            dispatch      which handler serves which API
    handlers/     one family of APIs a file         layers        what a request passes before it
    broker, build the parts, and how they are built broker_server from start to stop
    purgatory     requests that wait                call          what a handler knows of a request
    environment   time, disks, network: the operating system's, or the simulator's

    metadata_source, publisher                  where the metadata comes from, and its changes
    zookeeper/, controller_channels             ZooKeeper mode, and the controller in it
    replica_fetchers, peer                      fetching from other brokers
    alter_isr_manager                           ISR changes, sent to the controller
    coordinator_service, coordinator_topic, txn_marker_sender   groups and transactions
    config_cache                                the configurations of topics and brokers
    authorization                               who may do what
    secure_connection, secure_listeners         TLS and SASL, before the first request
    cleaner_task                                compaction in small steps
    controlled_shutdown                         what happens before a stop
    debug/, events, request_faults              requests, events and faults for labs

The packages below (replication, controller, coordinator, storage) decide. This package carries out
their decisions.
"""
