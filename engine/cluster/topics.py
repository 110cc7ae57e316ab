"""`cluster.topics`: create a topic for an experiment, write to it, read it, ask who leads.

    orders = topics.create("orders", replicas=[1, 2, 3])
    topics.write(orders, ["a", "b"], acks="all")
    topics.read(orders), topics.leader(orders), topics.isr(orders)

The real clients of engine/client do it: a method says in one line what takes five. The leader and
the ISR are what ZooKeeper has, or the quorum of controllers, not what a broker believes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from engine.cluster.metadata_servers import (
    DecidedMetadata,
    PartitionLeadership,
    no_such_partition,
)
from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from engine.table import Table

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer

T = TypeVar("T")

TOPIC_WAIT_S = 60.0  # for brokers to register, a topic to be created, and its leaders
AT_ONCE = 1000  # records that are taken from a consumer before it is asked where it is

Replicas = int | Sequence[int] | Sequence[Sequence[int]]
ConsumedRow = tuple[int, int, str | None, str | None]  # partition, offset, key, value


class Served(Protocol):
    """What is needed of a cluster."""

    @property
    def admin(self) -> "AdminClient": ...
    @property
    def brokers(self) -> list[int]: ...
    def producer(self, config: Mapping[str, Any]) -> "Producer": ...
    def consumer(self, config: Mapping[str, Any]) -> "Consumer": ...
    def state(self) -> ClusterState: ...
    @property
    def view(self) -> DecidedMetadata: ...
    def wait(self, what: str, condition: Callable[[], T], seconds: float = 60) -> T: ...


class ClusterTopics:
    def __init__(self, cluster: Served) -> None:
        self._cluster = cluster

    def create(
        self, name: str, *, partitions: int = 1, replicas: Replicas = 3, **config: object
    ) -> str:
        """Create a topic and wait for its leaders. Returns its name: "orders", then "orders-2" ...

        `replicas`: how many; or the brokers of the one partition, the first leads; or a list of
        brokers for each partition. `config`: of the topic, with _ for each dot.
        """
        from engine.client.admin.values import NewTopic  # noqa: PLC0415 (clients are imported late)

        cluster, known = self._cluster, self._cluster.view.topics()
        title, numbers = name, count(2)
        while title in known:
            title = f"{name}-{next(numbers)}"
        if isinstance(replicas, int):
            factor = min(replicas, len(cluster.brokers))
            cluster.wait(f"{factor} brokers", lambda: self._are_registered(factor), TOPIC_WAIT_S)
            new = NewTopic(title, partitions, factor, config=dotted(config))
        else:
            new = NewTopic(title, replica_assignment=_lists(replicas), config=dotted(config))
        cluster.admin.create_topics([new])[title].result(TOPIC_WAIT_S)
        cluster.wait(f"leaders of {title}", lambda: self._is_led(title), TOPIC_WAIT_S)
        return title

    def _are_registered(self, wanted: int) -> bool:
        """As many, as far as they run: a session may end for a moment on a busy machine."""
        answering = sum(broker.answers for broker in self._cluster.state().brokers.values())
        return len(self._cluster.view.brokers()) >= min(wanted, answering)

    def _is_led(self, topic: str) -> bool:
        """Whether all live replicas of all its partitions know their roles."""
        wanted = self._cluster.view.partitions(topic)
        partitions = self._cluster.state().partitions
        for number in wanted:
            found = partitions.get(TopicPartition(topic, number))
            replicas = found.replicas.values() if found else []
            roles = [replica.role for replica in replicas if replica.answers]
            if "leader" not in roles or "none" in roles:
                return False
        return bool(wanted)

    def write(
        self,
        topic: str,
        values: Iterable[str],
        *,
        partition: int = -1,
        key: str | Callable[[str], str] | None = None,
        timestamp: int = 0,
        **config: object,
    ) -> list[int]:
        """Produce records; returns the offsets of those that were acknowledged.

        `partition`, `key`, `timestamp`: of every record; a key may be a function of its value.
        Anything else configures the producer: acks=1.
        """
        stored: list[int] = []

        def note(error: Any, message: Any) -> None:
            if error is None:
                stored.append(message.offset())

        with closing(self._cluster.producer({"acks": "all"} | dotted(config))) as producer:
            for value in values:
                name = key(value) if callable(key) else key
                producer.produce(topic, value, name, partition, note, timestamp)
            producer.flush()
        return stored

    def read(self, topic: str, partition: int = 0, **config: object) -> list[str]:
        """Consume one partition from its start to its end."""
        return [value or "" for *_, value in self._consume(topic, config, partition)]

    def records(self, topic: str, **config: object) -> Table:
        """Consume all partitions: a row for each record, in the order in which they came."""
        return Table("partition, offset, key, value", self._consume(topic, config))

    def _consume(
        self, topic: str, config: Mapping[str, object], partition: int | None = None
    ) -> list[ConsumedRow]:
        """One partition or all of them, each from its start to its end."""
        from engine.client.values import TopicPartition  # noqa: PLC0415 (as above)

        settings = {
            "group.id": "reader",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",  # retention may delete the first records meanwhile
        } | dotted(config)
        found: list[ConsumedRow] = []
        with closing(self._cluster.consumer(settings)) as consumer:
            every = consumer.list_topics(topic).topics[topic].partitions
            numbers = list(every) if partition is None else [partition]
            places = [TopicPartition(topic, number) for number in numbers]
            limits = {place.partition: consumer.get_watermark_offsets(place) for place in places}
            consumer.assign(
                [TopicPartition(topic, number, start) for number, (start, _) in limits.items()]
            )

            def is_read() -> bool:
                for message in consumer.consume(AT_ONCE, 0.05):
                    if message.error() is None:
                        where = message.partition() or 0, message.offset() or 0
                        found.append((*where, _text(message.key()), _text(message.value())))
                positions = consumer.position(places)
                return all(place.offset >= limits[place.partition][1] for place in positions)

            if any(start < end for start, end in limits.values()):
                what = topic if partition is None else f"{topic}-{partition}"
                self._cluster.wait(f"the records of {what}", is_read)
        return found

    def leader(self, topic: str, partition: int = 0) -> int:
        """As ZooKeeper has it, or the quorum; -1: there is none."""
        return self._state(topic, partition).leader

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The ISR of a partition, as ZooKeeper has it, or the quorum."""
        return self._state(topic, partition).isr

    def _state(self, topic: str, partition: int) -> PartitionLeadership:
        wanted = TopicPartition(topic, partition)
        found = self._cluster.view.leadership(wanted)
        if found is None:
            raise no_such_partition(wanted)
        return found

    def in_sync(self) -> bool:
        """Whether all brokers are registered, and every replica is in the ISR of its partition."""
        found, live = self._cluster.state(), set(self._cluster.brokers)
        return (
            self._cluster.view.brokers() == live
            and found.controller in {*live, *found.controllers}
            and all(set(broker.brokers) == live for broker in found.brokers.values())
            and all(
                set(partition.isr) == set(partition.assignment) and partition.leader in live
                for partition in found.partitions.values()
            )
        )


def _lists(replicas: Sequence[int] | Sequence[Sequence[int]]) -> list[list[int]]:
    """One list of brokers a partition."""
    one = [broker for broker in replicas if isinstance(broker, int)]
    return [one] if one else [list(row) for row in replicas if not isinstance(row, int)]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def dotted(config: Mapping[str, object]) -> dict[str, str]:
    """Kafka's keys from Python's names: retention_ms=1000 is retention.ms=1000."""
    return {
        name.replace("_", "."): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in config.items()
    }
