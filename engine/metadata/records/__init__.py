"""The records of the metadata log: what a controller without ZooKeeper writes, and brokers apply.

    brokers     who is registered, fenced, or gone; features, producer ids
    topics      topics, their partitions, and what changes of a partition
    security    configurations, quotas, access control lists, SCRAM credentials, delegation tokens
    framing     a record's value: frame version, key, version, and one of these messages
    record_json their fields as Kafka's tools print them

Each is declared once, in the shape of its newest version, like the messages between brokers
(wire/messages). All are flexible. They are the 25 types of Kafka 3.9; the level 3.3-IV3 (7) writes
those that are marked with a version in `framing.WRITTEN_AT_7`.
"""
