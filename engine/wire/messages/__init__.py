"""The messages between brokers, which are not in kio any more: Kafka 4 has removed
them, or their versions of Kafka 2.8.

    controller ── LeaderAndIsr ─────> broker   the roles of its replicas: leader or follower
    controller ── StopReplica ──────> broker   replicas to stop, and perhaps to delete
    controller ── UpdateMetadata ───> broker   leaders and live brokers, for clients
    broker ──── ControlledShutdown ─> controller   elect other leaders: this broker will stop
    leader ───────────── AlterIsr ──> controller   write these in-sync replicas
    coordinator ── WriteTxnMarkers ─> leader       end a transaction (kio has version 1, but not 0)

Each is declared once, in the shape of its newest version, from the schemas of Kafka 2.8.
"""
