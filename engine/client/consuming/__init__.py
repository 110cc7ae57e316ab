"""The deciding code of a consumer. Sans-IO: no socket, thread, clock or random number.

As a member of its group:

    membership           JoinGroup, SyncGroup, Heartbeat, LeaveGroup; the member's states
    subscription         the topics and strategies of a member; the assignment by the leader
    rebalance_callbacks  the callbacks of the application
    offset_commits       OffsetCommit and OffsetFetch, by hand and by auto commit

For each partition; partitions that are assigned by hand need only these:

    positions           all positions                fetcher          Fetch requests and responses
    assigned_partition  one position and its state   completed_fetch  from batches to messages
    offset_lookup       by time, first and last      arguments        checks of arguments
"""
