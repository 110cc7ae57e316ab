"""The cluster that all sections share: three brokers, whole again whenever it is asked for.

    cluster = real.cluster()
    topic = real.topic(cluster, "orders", 3)       a new topic of that name, or with a number to it
    real.send(cluster, topic, ["a", "b"]), real.read(cluster, topic)

A broker that falls silent is given up after four seconds (Kafka waits 18), and retention is looked
after every 300 milliseconds (Kafka: 5 minutes), so that nobody waits long.
"""

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from lab import Keeper, configure, dotted, settings, until

from engine import Cluster
from engine import TopicPartition as Place
from engine.cluster.state import Status
from engine.model import TopicPartition

__all__ = ["cluster", "configure", "settings", "until"]  # what the notebook takes from here, too

CONFIG = {
    "zookeeper.session.timeout.ms": "4000",
    "log.retention.check.interval.ms": "300",
    "auto.leader.rebalance.enable": "false",
}

cluster = Keeper(CONFIG).cluster

_names: set[str] = set()
_numbers = count(2)


class Got(NamedTuple):
    """A message as a consumer was given it."""

    partition: int
    offset: int
    value: str
    key: str


def fresh(name: str) -> str:
    """This name, or where it was given out before, another one: orders, orders-2, orders-3."""
    chosen = name if name not in _names else f"{name}-{next(_numbers)}"
    _names.add(chosen)
    return chosen


def topic(
    cluster: Cluster, name: str, partitions: int = 1, replicas: int = 1, **config: Any
) -> str:
    """A new topic; of a fresh name, for the cell may run again."""
    chosen = fresh(name)
    cluster.admin.create_topic(chosen, partitions, replicas, dotted(config))
    return chosen


def send(cluster: Cluster, topic: str, values: Iterable[str], **more: Any) -> int:
    """Produce, acknowledged by all; returns how many. `keyed`: values are key=value."""
    keyed, number = more.pop("keyed", False), 0
    producer = cluster.producer({"acks": "all", "linger.ms": "1000"})
    for value in values:
        key = value.partition("=")[0] if keyed else None
        producer.produce(topic, value, key, **more)
        number += 1
    left = producer.flush()
    assert left == 0, f"{left} messages were not acknowledged"
    producer.close()
    return number


def read(cluster: Cluster, topic: str, number: int, start: int = 0) -> list[Got]:
    """So many messages of a topic, from an offset of each partition on, as they come."""
    with cluster.consumer({"group.id": "lab", "enable.auto.commit": "false"}) as consumer:
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([Place(topic, it, start) for it in partitions])
        return take(consumer, number)


def take(consumer: Any, number: int) -> list[Got]:
    found: list[Got] = []
    until(
        f"{number} messages",
        lambda: len(found) >= number or len(_more(consumer, found, number)) >= number,
    )
    return found


def _more(consumer: Any, found: list[Got], number: int) -> list[Got]:
    for it in consumer.consume(number - len(found), 0.5):
        if it.error() is None:
            key, value = (it.key() or b"").decode(), (it.value() or b"").decode()
            found.append(Got(it.partition(), it.offset(), value, key))
    return found


def leader(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """Who leads, as soon as somebody who is up does."""
    where = TopicPartition(topic, partition)

    def look() -> int:
        state = cluster.state()
        found = state.partitions[where].leader if where in state.partitions else -1
        return found if found > 0 and state.brokers[found].status is Status.UP else 0

    return until(f"a leader of {where}", look)


def folder(cluster: Cluster, topic: str, partition: int = 0) -> Path:
    """The leader's directory of a partition."""
    return cluster.directory(leader(cluster, topic, partition)) / f"{topic}-{partition}"


def log_file(cluster: Cluster, topic: str, partition: int = 0) -> Path:
    """The first .log file in it."""
    return min(folder(cluster, topic, partition).glob("*.log"))


def start_offset(cluster: Cluster, topic: str) -> int:
    """Where the leader's log begins by now."""
    number = leader(cluster, topic)
    return cluster.state().partitions[TopicPartition(topic, 0)].replicas[number].log_start
