"""Storms of faults over a simulated cluster (engine.sim), and what has to hold all the while.

    run                one run: a cluster, its clients, a storm, the invariants
    storm              the faults: kills, pauses, cuts, power cuts, nonsense in ZooKeeper
    *workload          the clients that write and read meanwhile, some of them in transactions
    observed_state     what an observer who sees everything knows, after every turn
    *invariants        what must hold always, and what must hold at rest
    defects            brokers that break a rule, to show that each invariant can fail
    trace              a run that can be stepped, forked and drawn

The same seed makes the same run, to the last event.
"""
