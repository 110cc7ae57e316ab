"""Topics of a cluster, for experiments: create one, write to it, read it, ask who leads.

The real clients of engine/client do it: these functions only say in one line what takes five. The
leader and the ISR are what ZooKeeper has, not what a broker believes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from engine.cluster.state import ClusterState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.table import Table
from engine.zookeeper import znodes

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer

T = TypeVar("T")

TOPIC_WAIT_S = 60.0  # for brokers to register, a topic to be created, and its leaders
AT_ONCE = 1000  # records that are taken from a consumer before it is asked where it is

Replicas = int | Sequence[int] | Sequence[Sequence[int]]


class Served(Protocol):
    """What the functions below need of a cluster."""

    @property
    def admin(self) -> "AdminClient": ...
    @property
    def brokers(self) -> list[int]: ...
    def producer(self, config: Mapping[str, Any]) -> "Producer": ...
    def consumer(self, config: Mapping[str, Any]) -> "Consumer": ...
    def state(self) -> ClusterState: ...
    def znode(self, path: str) -> bytes | None: ...
    def children(self, path: str) -> list[str]: ...
    def wait(self, what: str, condition: Callable[[], T], seconds: float = 60) -> T: ...


def create(
    cluster: Served, name: str, partitions: int, replicas: Replicas, config: Mapping[str, object]
) -> str:
    from engine.client.admin.values import NewTopic  # noqa: PLC0415 (clients are imported late)

    known = cluster.children(znodes.TOPICS)
    title, numbers = name, count(2)
    while title in known:
        title = f"{name}-{next(numbers)}"
    if isinstance(replicas, int):
        factor = min(replicas, len(cluster.brokers))
        cluster.wait(f"{factor} brokers", lambda: _are_registered(cluster, factor), TOPIC_WAIT_S)
        new = NewTopic(title, partitions, factor, config=dotted(config))
    else:
        new = NewTopic(title, replica_assignment=_lists(replicas), config=dotted(config))
    cluster.admin.create_topics([new])[title].result(TOPIC_WAIT_S)
    cluster.wait(f"leaders of {title}", lambda: _is_led(cluster, title), TOPIC_WAIT_S)
    return title


def _are_registered(cluster: Served, wanted: int) -> bool:
    """As many, as far as they run: a session may end for a moment on a busy machine."""
    answering = sum(each.answers for each in cluster.state().brokers.values())
    return len(cluster.children(znodes.BROKER_IDS)) >= min(wanted, answering)


def _lists(replicas: Sequence[int] | Sequence[Sequence[int]]) -> list[list[int]]:
    """One list of brokers a partition."""
    one = [each for each in replicas if isinstance(each, int)]
    return [one] if one else [list(each) for each in replicas if not isinstance(each, int)]


def _is_led(cluster: Served, topic: str) -> bool:
    """Whether all live replicas of all its partitions know their roles."""
    node = cluster.znode(znodes.topic_path(topic))
    wanted = znodes.Topic.decode(node).partitions if node else {}
    partitions = cluster.state().partitions
    for number in wanted:
        found = partitions.get(TopicPartition(topic, number))
        roles = [each.role for each in found.replicas.values() if each.answers] if found else []
        if "leader" not in roles or "none" in roles:
            return False
    return bool(wanted)


def write(
    cluster: Served,
    topic: str,
    values: Iterable[str],
    *,
    partition: int = -1,
    key: str | Callable[[str], str] | None = None,
    timestamp: int = 0,
    **config: object,
) -> list[int]:
    stored: list[int] = []

    def note(error: Any, message: Any) -> None:
        if error is None:
            stored.append(message.offset())

    with closing(cluster.producer({"acks": "all"} | dotted(config))) as producer:
        for value in values:
            name = key(value) if callable(key) else key
            producer.produce(topic, value, name, partition, note, timestamp)
        producer.flush()
    return stored


def read(cluster: Served, topic: str, partition: int, config: Mapping[str, object]) -> list[str]:
    return [value or "" for *_, value in _consume(cluster, topic, config, partition)]


def records(cluster: Served, topic: str, config: Mapping[str, object]) -> Table:
    return Table("partition, offset, key, value", _consume(cluster, topic, config))


ConsumedRow = tuple[int, int, str | None, str | None]  # partition, offset, key, value


def _consume(
    cluster: Served, topic: str, config: Mapping[str, object], partition: int | None = None
) -> list[ConsumedRow]:
    """One partition or all of them, each from its start to its end."""
    from engine.client.values import TopicPartition  # noqa: PLC0415 (as above)

    settings = {
        "group.id": "reader",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",  # retention may delete the first records meanwhile
    } | dotted(config)
    found: list[ConsumedRow] = []
    with closing(cluster.consumer(settings)) as consumer:
        every = consumer.list_topics(topic).topics[topic].partitions
        numbers = list(every) if partition is None else [partition]
        partitions = [TopicPartition(topic, each) for each in numbers]
        limits = {it.partition: consumer.get_watermark_offsets(it) for it in partitions}
        consumer.assign([TopicPartition(topic, each, start) for each, (start, _) in limits.items()])

        def is_read() -> bool:
            for message in consumer.consume(AT_ONCE, 0.05):
                if message.error() is None:
                    place = message.partition() or 0, message.offset() or 0
                    found.append((*place, _text(message.key()), _text(message.value())))
            positions = consumer.position(partitions)
            return all(it.offset >= limits[it.partition][1] for it in positions)

        if any(start < end for start, end in limits.values()):
            what = topic if partition is None else f"{topic}-{partition}"
            cluster.wait(f"the records of {what}", is_read)
    return found


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def state(cluster: Served, topic: str, partition: int) -> znodes.LeaderAndIsr:
    data = cluster.znode(znodes.state_path(TopicPartition(topic, partition)))
    if data is None:
        raise ApiException(
            ErrorCode.unknown_topic_or_partition, f"there is no partition {topic}-{partition}"
        )
    return znodes.LeaderAndIsr.decode(data)


def in_sync(cluster: Served) -> bool:
    """Whether all brokers are registered, and every replica is in the ISR of its partition."""
    found, live = cluster.state(), set(cluster.brokers)
    return (
        set(map(int, cluster.children(znodes.BROKER_IDS))) == live
        and found.controller in live
        and all(set(each.brokers) == live for each in found.brokers.values())
        and all(
            set(each.isr) == set(each.assignment) and each.leader in live
            for each in found.partitions.values()
        )
    )


def dotted(config: Mapping[str, object]) -> dict[str, str]:
    """Kafka's keys from Python's names: retention_ms=1000 is retention.ms=1000."""
    return {
        name.replace("_", "."): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in config.items()
    }
