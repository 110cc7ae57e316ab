"""What 03_rebalance runs: an experiment is a function over a cluster, and returns small values.

    stand       the lab's cluster, and how to wait for what is to happen
    team        consumers of one group, each a thread of this kernel
    wire        single requests to a chosen broker; those of others, caught on their way
    sharing     who reads what           offsets      how far a group has come
    kept        records and znodes       machines     a cluster that grows
    coordinator who looks after a group  rounds       JoinGroup and SyncGroup
    strategies  range and the others     triggers     what begins a rebalance
    cost        who stands still         clocks       heartbeats, sessions, polls
    storms      a group of dozens, on a clock that runs as fast as it can
    questions   to be answered before a cell is run       exercises    and after

Invariant: an experiment waits for what it is about, and says what it has waited for in vain.
"""
