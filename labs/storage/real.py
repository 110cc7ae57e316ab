"""The cluster that all sections share: three brokers, whole again whenever it is asked for.

    cluster = real.cluster()
    topic = real.topic(cluster, "orders", 3)       a new topic of that name, or with a number to it
    real.send(cluster, topic, ["a", "b"]), real.read(cluster, topic)

A broker that falls silent is given up after four seconds (Kafka waits 18), and retention is looked
after every 300 milliseconds (Kafka: 5 minutes), so that nobody waits long.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine import Cluster
from engine import TopicPartition as Place
from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.cluster.state import Status
from engine.model import TopicPartition

T = TypeVar("T")

CONFIG = {
    "zookeeper.session.timeout.ms": "4000",
    "log.retention.check.interval.ms": "300",
    "auto.leader.rebalance.enable": "false",
}
PATIENCE = 60.0  # seconds; a busy machine takes its time, but not forever

_running: list[Cluster] = []
_names: set[str] = set()
_numbers = count(2)


class Got(NamedTuple):
    """A message as a consumer was given it."""

    partition: int
    offset: int
    value: str
    key: str


def cluster() -> Cluster:
    """The one that runs, all its brokers up; or a new one."""
    if not _running or not _running[-1].data.exists():
        _running[:] = [Cluster(brokers=3, config=CONFIG).start()]
        _names.clear()
    for number, broker in _running[-1].state().brokers.items():
        if broker.status is Status.PAUSED:
            _running[-1].resume(number)
        if broker.status is Status.DOWN:
            _running[-1].restart(number)
    return _running[-1]


def until(what: str, look: Callable[[], T]) -> T:
    """What `look` finds, as soon as that is something; otherwise it is told what was missing."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} seconds; run this cell again")
        time.sleep(0.03)
    return found


def topic(
    cluster: Cluster, name: str, partitions: int = 1, replicas: int = 1, **config: Any
) -> str:
    """A new topic. A cell that runs again gets another one: orders, orders-2, orders-3."""
    chosen = name if name not in _names else f"{name}-{next(_numbers)}"
    _names.add(chosen)
    settings = {key.replace("_", "."): str(value) for key, value in config.items()}
    cluster.admin.create_topic(chosen, partitions, replicas, settings)
    return chosen


def configure(cluster: Cluster, topic: str, **config: Any) -> None:
    """Set some of a topic's settings; it is refused with the broker's own words."""
    changes = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource("topic", topic, incremental_configs=changes)
    cluster.admin.incremental_alter_configs([resource])[resource].result()


def settings(cluster: Cluster, topic: str) -> Mapping[str, str]:
    resource = ConfigResource("topic", topic)
    found = cluster.admin.describe_configs([resource])[resource].result()
    return {name: entry.value or "" for name, entry in found.items()}


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
    until(f"{number} messages", lambda: len(_more(consumer, found, number)) >= number)
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
