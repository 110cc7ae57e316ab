"""A broker dies under a running query: every order comes through, each of them once.

orders (3 replicas) ──> Spark ──> bills (3 replicas), exactly once
   broker 2: SIGKILL while the query runs, and orders go on coming
"""

from collections import Counter
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from engine.cluster.state import Status
from engine.model import TopicPartition
from streams import pipes, stand

ORDERS, PARTITIONS = 300, 3


@dataclass
class Survived:
    sent: int
    lost: int
    doubled: int
    led: int  # partitions that the dead broker led
    batches: bool  # the query went on by itself

    def __repr__(self) -> str:
        rows = [
            ("orders", self.sent),
            ("partitions that the killed broker led", self.led),
            ("bills that are missing", self.lost),
            ("bills that are there twice", self.doubled),
        ]
        return repr(Table(("a broker is killed", ""), rows))


def survived(cluster: Cluster, spark: SparkSession) -> Survived:
    orders, bills = (stand.topic(cluster, name, PARTITIONS, 3) for name in ("orders", "bills"))
    numbers = [(str(number), f"order {number}") for number in range(ORDERS)]
    third = ORDERS // 3
    billed = pipes.stream(spark, cluster, orders, maxOffsetsPerTrigger=60).select(
        "key", F.concat(F.lit("bill for "), "value").alias("value")
    )
    query = pipes.to_topic(billed, cluster, bills, once=True)
    stand.send(cluster, orders, numbers[:third])
    pipes.settle(query)
    victim = leader(cluster, orders)
    led = sum(leader(cluster, orders, number) == victim for number in range(PARTITIONS))
    stand.send(cluster, orders, numbers[third : 2 * third])
    cluster.kill(victim)
    try:
        stand.send(cluster, orders, numbers[2 * third :])
        pipes.settle(query)
    finally:
        cluster.restart(victim)
    running = query.isActive
    query.stop()
    found = Counter(it.key for it in stand.read(cluster, bills))
    lost = sum(key not in found for key, _ in numbers)
    return Survived(ORDERS, lost, sum(it - 1 for it in found.values()), led, running)


def leader(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """Who leads, of those that are up."""
    state = cluster.state()
    found = state.partitions[TopicPartition(topic, partition)].leader
    assert state.brokers[found].status is Status.UP
    return found
