"""What a consumer decides: where it stands in each partition, and which partitions are its own.

    membership     joins, syncs, sends heartbeats    rounds        from one assignment to the next
    states         of a member, a table              orders        what the application is told
    subscription   what is wanted, and offered       leading       who gets what, by the leader
    heartbeat      two clocks                        coordinating  whom to ask
    committing     how far the group has read

    positions      where each partition is           fetching   what is asked for, and comes back
    offsets        by time, by epoch, the ends       unpacking  from batches to records
    place          one of these partitions           progress   how far the application has come

Cores (asking.py): no socket, thread, clock or chance inside. A partition that was assigned by
hand needs the second half only.
"""
