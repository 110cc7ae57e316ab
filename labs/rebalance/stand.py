"""The lab's cluster: three brokers that all sections share, and small helpers around them.

    cluster = stand.cluster()       started by the first section that is run, whole again if a
                                    section has left a broker dead

Sessions may be shorter here than Kafka allows by default (six seconds), so that nobody waits long
for a consumer to be given up. Everything else is as Kafka has it.
"""

import time
from collections.abc import Callable, Iterable
from itertools import count
from typing import TypeVar

from engine import Cluster
from engine.cluster.state import ClusterState, Status
from engine.model import TopicPartition
from widgets import Ledger

T = TypeVar("T")

OFFSETS = "__consumer_offsets"
CONFIG = {
    "group.min.session.timeout.ms": "500",
    "zookeeper.session.timeout.ms": "4000",  # so soon a dead broker is missed
    "log.cleaner.backoff.ms": "200",  # the cleaner looks for work at once
}
PATIENCE = 40.0  # seconds; a wait that takes as long has failed
LOOK = 0.03  # seconds between two looks

ledger = Ledger("03_rebalance")

_running: list[Cluster] = []
_numbers = count(1)


def cluster() -> Cluster:
    """The one that runs, or a new one."""
    if not (_running and any(_running[0].child(each).alive for each in _running[0].brokers)):
        _running[:] = [Cluster(brokers=3, config=CONFIG).start()]
    found = _running[0]
    for number, broker in found.state().brokers.items():
        if broker.status is Status.DOWN:
            found.restart(number)
    return found


def until(what: str, look: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `look` finds, as soon as that is something; otherwise it is told what was missing."""
    deadline = time.monotonic() + patience
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {patience:.0f} seconds; run this cell again")
        time.sleep(LOOK)
    return found


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
