"""Chaos tests on a real cluster: stock clients work while brokers are killed and links are cut.

    history          what the clients sent, which responses they got, what they read
    workload         the clients, each in a thread
    storm            the faults, chosen by a seed
    cluster_reader   reads what the cluster has in the end, by a stock client
    judge            compares both: lost, moved, doubled, phantom, reordered ...
    transaction_*    the same for clients that read and write in transactions, each of them a
                     process: copier, restarted by client_supervisor
    random_*         clients that send and poll in random transactions; operations is their history,
                     anomalies its checks, jepsen_edn its form for others
    run              all of it, from the start of a cluster to the verdict
    wait             waits for a condition

The simulator (engine.sim) tries far more faults, and can show their causes; here nothing is
simulated. The clients are those of confluent-kafka, which has to be installed.
"""
