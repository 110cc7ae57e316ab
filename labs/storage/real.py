"""The cluster that all sections share: three brokers, all of them up whenever it is asked for.

    cluster = real.cluster()

A broker that does not answer is given up after four seconds (Kafka waits 18), and retention is
enforced every 300 milliseconds (Kafka: 5 minutes), so that nobody waits long.
"""

from lab import LabCluster

CONFIG = {
    "zookeeper.session.timeout.ms": "4000",
    "log.retention.check.interval.ms": "300",
    "auto.leader.rebalance.enable": "false",
}

cluster = LabCluster(CONFIG, metadata="zookeeper").cluster
