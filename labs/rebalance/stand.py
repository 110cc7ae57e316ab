"""The lab's cluster: three brokers that all sections share, and small helpers around them.

    cluster = stand.cluster()       started by the first section that is run, whole again if a
                                    section has left a broker dead

Sessions may be shorter here than Kafka allows by default (six seconds), so that nobody waits long
for a consumer to be given up. Everything else is as Kafka has it.
"""

from collections.abc import Iterable
from itertools import count

from lab import Keeper, until

from engine import Cluster
from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from widgets import Ledger

OFFSETS = "__consumer_offsets"
CONFIG = {
    "group.min.session.timeout.ms": "500",
    "zookeeper.session.timeout.ms": "4000",  # so soon a dead broker is missed
    "log.cleaner.backoff.ms": "200",  # the cleaner looks for work at once
}

ledger = Ledger("03_rebalance")
cluster = Keeper(CONFIG).cluster

_numbers = count(1)


def fresh(name: str) -> str:
    """A name that was not used yet: a cell that runs again begins with a new group or topic."""
    return f"{name}-{next(_numbers)}"


def topic(on: Cluster, partitions: int, name: str = "") -> str:
    """A new topic with so many partitions, each led by somebody."""
    name = name or fresh("orders")
    on.admin.create_topic(name, partitions=partitions, replication=1)
    until(f"leaders for {name}", lambda: len(leaders(on.state(), name)) == partitions)
    return name


def leaders(state: ClusterState, topic: str) -> dict[int, int]:
    """Who leads each partition of a topic that has a leader."""
    return {
        partition.partition: it.leader
        for partition, it in state.partitions.items()
        if partition.topic == topic and it.leader > 0
    }


def fill(on: Cluster, topic: str, partitions: int, each: int) -> None:
    """So many records for each partition; their values count from 0."""
    producer = on.producer({"linger.ms": "5"})
    for number in range(each):
        for partition in range(partitions):
            producer.produce(topic, value=str(number), partition=partition)
    producer.flush()


def names(topic: str, partitions: Iterable[int]) -> list[str]:
    return [str(TopicPartition(topic, each)) for each in partitions]


def last_event(on: Cluster) -> int:
    """The number of what happened last."""
    events = on.events()
    return events[-1].number if events else 0
