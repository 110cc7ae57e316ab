"""The group coordinator, and in transactions/ the transaction coordinator.

Both take requests and the time, and return responses and records (sans-IO). A record takes effect
when it is replicated. The next coordinator replays the records, and continues.

    coordinator             the base of both: how a broker uses them
    owned_partitions        the loaded partitions of their topic that this broker leads
    effects                 responses and records, as values
    timers                  deadlines

    group_coordinator       requests of members          group      one group and its rebalances
    offset_commits          requests about offsets       members    its members, leader and protocol
    group_admin             list, describe, delete       offsets    its committed offsets
    group_metadata_manager  all groups                   responses  to members, in each version
    records, record_codec   the bytes in __consumer_offsets
"""
