"""A broker without ZooKeeper: the metadata is a log, and controllers lead its quorum.

    mode                 the source of the metadata: observes, registers, publishes
    observer             the copy of the log of a broker that does not vote
    quorum_node          what a broker has of the quorum: the Raft, and the image
    image_publisher      what has changed in the image ──> the parts of the broker

    lifecycle_manager    registration and heartbeats                  (BrokerLifecycleManager)
    controller_channel   requests to the active controller   (NodeToControllerChannelManager)
    forwarding           requests of administrators, in Envelopes     (ForwardingManager)
    gateway              changes that this broker wants itself
    alter_partition      changes of the ISR                           (AlterPartitionManager)

    raft_manager         the Raft between its inputs and outputs      (KafkaRaftManager)
    network_channel      requests to the voters                       (KafkaNetworkChannel)
    wire_messages        the requests of the quorum, as bytes and as values
    replica_progress     how far each replica is, for DescribeQuorum
    controller_peer      a connection to the listener of a controller

A controller's process (engine/quorum_server) uses the last five, too.
"""
