"""A controller without ZooKeeper: the Raft of engine/raft on sockets, clocks and disks.

    controller_server     from start to stop                       (ControllerServer)
    controller_handlers   what its listener serves                  (ControllerApis)
    raft_manager          the Raft between its inputs and outputs   (KafkaRaftManager)
    network_channel       requests to the other voters              (KafkaNetworkChannel)
    wire_messages         the requests of the quorum, as bytes and as values
    replica_progress      how far each replica is, for DescribeQuorum
    features              what the committed records finalize

The package uses the broker's server and connections, not the broker. It has no controller of topics
and brokers yet: as leader it appends what the Raft itself appends.
"""
