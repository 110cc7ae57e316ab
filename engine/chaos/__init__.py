"""Chaos on the real thing: stock clients at work, a cluster that is killed and cut, and a judge.

    history     what the clients sent, were told and saw
    workload    the clients, in threads of their own
    storm       what is done to the cluster, by a seed
    reading     what there is in the end, asked by a stock client
    judge       lost, moved, doubled, phantom, reordered ...: history against what there is
    run         all of it, from the start of a cluster to the verdict

The simulator (engine.sim) tries far more, and can say what led to what; here nothing is simulated.
The clients are confluent-kafka's, which has to be installed: nothing else in the engine needs it.
"""
