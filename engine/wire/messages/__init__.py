"""The messages that brokers send to each other, which kio has no longer: Kafka 4 dropped them.

    controller ── LeaderAndIsr ─────> broker   these partitions you lead, those you follow
    controller ── StopReplica ──────> broker   these are yours no more; delete them, or keep them
    controller ── UpdateMetadata ───> broker   who leads what, and who is alive: tell your clients
    broker ──── ControlledShutdown ─> controller   I am about to stop: lead my partitions elsewhere

Each is declared once, in the shape of its newest version, from the schemas of Kafka 2.8.
"""
