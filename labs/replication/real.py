"""The real cluster of this lab: three brokers, and a ZooKeeper or a quorum of controllers.

    cluster = real.cluster()            running and whole: started or mended if need be
    cluster = real.with_zookeeper()     the one with ZooKeeper, for claims about ZooKeeper

Sessions end after 6 seconds, and a follower may lag for 3: shorter than Kafka's own 18 and 30, so
that nobody waits long. A paused follower leaves the ISR before its session ends.
"""

from lab import LabCluster

from engine import Cluster

CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "3000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.leader.rebalance.enable": "false",  # who leads changes only when we do something
    "auto.create.topics.enable": "false",
}

LAG = "replica.lag.time.max.ms"
KAFKA_LAG_MS = "30000"  # Kafka's default: longer than a busy machine needs for a few steps

clusters = LabCluster(CONFIG, Cluster.mend)
cluster, with_zookeeper = clusters.cluster, clusters.with_zookeeper


def patient_first(cluster: Cluster) -> list[int]:
    """The brokers, the controller last. The first of them is started again: until its next start
    it leaves a follower in the ISR for Kafka's 30 seconds."""
    brokers = sorted(cluster.brokers, key=lambda broker: broker == cluster.state().controller)
    cluster.configure(brokers[0], {LAG: KAFKA_LAG_MS})
    cluster.restart(brokers[0])
    cluster.configure(brokers[0], {LAG: CONFIG[LAG]})
    return brokers
