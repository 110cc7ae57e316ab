"""What stands beside 02_replication: what its cells need, and what teaches nothing about Kafka.

    real         the cluster of the lab
    ledger       its verdicts
    questions    the predictions; read them after you have answered
    exercises    how the exercises are judged

The experiments stand in the cells.
"""
