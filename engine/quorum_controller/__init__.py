"""The controller of a cluster without ZooKeeper: requests in, records and a response out. Sans-IO.

    request of a broker or a client ──┐
    time (`tick`) ────────────────────┴──> QuorumController ──> ControllerResult(records, response)
                                                 ^                    │
                                                 └───── replay ───────┤ the image changes
                                                                      v
                                      Raft: appended, then committed by a majority
                                                                      │
                                          the response is given only now

The leader of the quorum has a QuorumController, for as long as it leads. It decides by an image of
the metadata that has what it wrote and what is not committed yet. If the leadership is lost, the
QuorumController is dropped with that image; those who wait get NOT_CONTROLLER. The records that
were committed are in the image that every node of the quorum keeps.

    quorum_controller     which part decides what; replay; what is due at a time
    cluster_control       registrations of brokers                 (ClusterControlManager)
    broker_heartbeats     who is alive, and a broker's states      (BrokerHeartbeatManager)
    replication_control   topics, partitions, ISRs                 (ReplicationControlManager)
    partition_change      the record of one changed partition      (PartitionChangeBuilder)
    leader_elections      on request, and back to the preferred leaders
    reassignments         partitions move to other brokers
    settings_control      configurations, quotas, access control lists
    feature_control       levels of features
    result                records with a response

Invariant: a decision changes no metadata; it notes only when a broker was heard of. `replay` of its
records alone changes the image.
Invariant: a fenced broker leads nothing, and is in an ISR only as its last member.

Left out: log directories (level 17), eligible leader replicas (23), delegation tokens (14),
SCRAM (11) and migration from ZooKeeper (8).
"""
