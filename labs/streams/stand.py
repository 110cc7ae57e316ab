"""The lab's cluster, and small helpers: records go in, and come out up to where the topic ends.

    cluster = stand.cluster()                 started by the first section that is run
    topic = stand.topic(cluster, "cards")     a new topic, and a name that was not used yet
    stand.send(cluster, topic, [("Mei", "5")])
    stand.read(cluster, topic)                all records there are by now

Groups may miss a member sooner here than Kafka allows by default, and the cleaner looks for work
all the time, so that nobody waits long.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

from lab import Keeper, dotted, until

from engine import Cluster, Consumer, TopicPartition
from engine.client.values import KafkaError, Message
from engine.model import TopicPartition as Partition
from widgets import Ledger

CONFIG = {
    "group.min.session.timeout.ms": "500",
    "zookeeper.session.timeout.ms": "4000",  # so soon a dead broker is missed
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "300",
}
COMPACTED: dict[str, Any] = {  # small segments, as the cleaner leaves the last one alone
    "cleanup_policy": "compact",
    "segment_bytes": 4000,
    "min_cleanable_dirty_ratio": 0.01,
}
WRITER = {"acks": "all", "linger.ms": "5", "batch.size": "2000"}  # a batch fits into a segment

ledger = Ledger("04_streams")
cluster = Keeper(CONFIG).cluster

_numbers = count(1)


class Record(NamedTuple):
    """As a consumer was given it, as text."""

    partition: int
    offset: int
    key: str
    value: str | None  # None: a tombstone
    headers: dict[str, str]
    at: int  # its time stamp, ms since 1970


def fresh(name: str) -> str:
    """A name that was not used yet: a cell that runs again begins with a new group or topic."""
    return f"{name}-{next(_numbers)}"


def topic(on: Cluster, name: str, partitions: int = 1, replicas: int = 1, **config: Any) -> str:
    """A new topic, each partition led by somebody. Settings are Kafka's, with _ for a dot."""
    name = fresh(name)
    on.admin.create_topic(name, partitions, replicas, dotted(config))
    places = [Partition(name, number) for number in range(partitions)]

    def led() -> bool:
        known = on.state().partitions
        return all(it in known and known[it].leader > 0 for it in places)

    until(f"leaders for {name}", led)
    return name


def compacted(on: Cluster, name: str) -> str:
    """A topic that keeps the last record of each key."""
    return topic(on, name, **COMPACTED)


def send(on: Cluster, topic: str, pairs: Iterable[tuple[str, str | None]]) -> int:
    """Records of key and value, acknowledged by all; returns how many. No value: a tombstone."""
    sent = 0
    refused: list[str] = []

    def told(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(error.str())

    with on.producer(WRITER) as producer:
        for key, value in pairs:
            producer.produce(topic, value, key, on_delivery=told)
            sent += 1
        left = producer.flush()
    assert not left and not refused, f"{left} left, {len(refused)} refused: {refused[:1]}"
    return sent


def ends(consumer: Consumer, topic: str) -> dict[int, int]:
    """By partition: the offset that the next record will have."""
    partitions = consumer.list_topics(topic).topics[topic].partitions
    return {
        number: consumer.get_watermark_offsets(TopicPartition(topic, number))[1]
        for number in sorted(partitions)
    }


def read(on: Cluster, topic: str, upto: int | None = None) -> list[Record]:
    """All there is by now (or is before an offset), partition by partition; then it ends."""
    with on.consumer({"group.id": "reader", "enable.auto.commit": "false"}) as consumer:
        limits = ends(consumer, topic)
        if upto is not None:
            limits = {number: min(end, upto) for number, end in limits.items()}
        consumer.assign([TopicPartition(topic, number, 0) for number in limits])
        found: list[Record] = []

        def done() -> bool:
            found.extend(poll(consumer))
            places = consumer.position([TopicPartition(topic, number) for number in limits])
            now = {it.partition: it.offset for it in places}
            return all(now[number] >= end or not end for number, end in limits.items())

        until(f"all of {topic}", done)
    return sorted(it for it in found if it.offset < limits[it.partition])


def poll(consumer: Consumer, most: int = 500, wait: float = 0.1) -> list[Record]:
    """What has come, if it is no error."""
    return [
        Record(
            it.partition() or 0,
            it.offset() or 0,
            (it.key() or b"").decode(),
            None if it.value() is None else it.value().decode(),
            {name: (text or b"").decode() for name, text in it.headers() or ()},
            it.timestamp()[1],
        )
        for it in consumer.consume(most, wait)
        if it.error() is None
    ]


def wait_for(on: Cluster, topic: str, number: int) -> None:
    """Until a topic of one partition has so many records."""
    with on.consumer({"group.id": "reader"}) as consumer:
        until(f"{number} records in {topic}", lambda: sum(ends(consumer, topic).values()) >= number)


def last(on: Cluster, topic: str) -> Record | None:
    """The newest record of a topic of one partition."""
    with on.consumer({"group.id": "reader"}) as consumer:
        end = ends(consumer, topic)[0]
        if not end:
            return None
        consumer.assign([TopicPartition(topic, 0, end - 1)])
        return until(f"the last of {topic}", lambda: poll(consumer))[-1]


def last_event(on: Cluster) -> int:
    """The number of what happened last."""
    events = on.events()
    return events[-1].number if events else 0
