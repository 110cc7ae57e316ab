"""A broker: the shell around the sans-IO core, on one asyncio loop.

    server        connections and frames            dispatch      which handler serves which API
    handlers/     one family of APIs a file         broker        the state that handlers share
    purgatory     requests that wait                broker_server from start to stop
    environment   time, disks, network, ZooKeeper: the operating system's, or the simulator's

    controller_service, controller_channels     the controller: requests to ZooKeeper and brokers
    replica_fetchers, peer                      fetching from other brokers
    isr_writer                                  ISR changes, written to ZooKeeper
    coordinator_service, coordinator_topic, txn_marker_sender   groups and transactions
    admin, config_watcher                       writes to ZooKeeper, and configs that changed there
    change_notifications                        the notes by which brokers hear of such changes
    authorization, acl_store                    who may do what
    secure_connection, secure_listeners         TLS and SASL, before the first request
    cleaner_task                                compaction in small steps
    registration, controlled_shutdown           /brokers/ids/N, and what happens before a stop
    debug/, events, request_faults              requests, events and faults for labs

The packages below (replication, controller, coordinator, storage) decide. This package carries out
their decisions.
"""
