"""The lab's cluster, and small helpers: records go in, and come out up to where the topic ends.

    cluster = stand.cluster()                 started by the first section that is run
    stand.send(cluster, "cards", [("Mei", 5)])
    stand.read(cluster, "cards")              all records there are by now

Groups may miss a member sooner here than Kafka allows by default, and the cleaner looks for work
all the time, so that nobody waits long.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from lab import LabCluster, configure, until

from engine import Cluster, Consumer, TopicPartition
from engine.client.values import KafkaError, Message
from widgets import Ledger
from widgets.log.fields import count

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

NOON = 1_700_049_600_000  # milliseconds since 1970: on 15 November 2023
CLIENT_REQUESTS = (  # all that a consumer and a producer send
    *("API_VERSIONS", "METADATA", "FIND_COORDINATOR", "JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT"),
    *("LEAVE_GROUP", "OFFSET_FETCH", "LIST_OFFSETS", "FETCH", "OFFSET_COMMIT", "PRODUCE"),
    *("INIT_PRODUCER_ID", "OFFSET_FOR_LEADER_EPOCH"),
)

ledger = Ledger("04_streams")
cluster = LabCluster(CONFIG, metadata="zookeeper").cluster


class TextRecord(NamedTuple):
    """As a consumer was given it, as text."""

    partition: int
    offset: int
    key: str
    value: str | None  # None: a tombstone
    headers: dict[str, str]
    at: int  # its time stamp, ms since 1970


def send(on: Cluster, topic: str, pairs: Iterable[tuple[str, object]], at: int = 0) -> int:
    """Records of key and value, acknowledged by all; returns how many. None: a tombstone.

    `at`: their time, in milliseconds since 1970, if that must not depend on the clock; 0: now.
    """
    sent = 0
    refused: list[str] = []

    def told(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(error.str())

    with on.producer(WRITER) as producer:
        for key, value in pairs:
            text = None if value is None else str(value)
            producer.produce(topic, text, key, on_delivery=told, timestamp=at)
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


def read(on: Cluster, topic: str, upto: int | None = None) -> list[TextRecord]:
    """All there is by now (or is before an offset), partition by partition; then it ends."""
    with on.consumer({"group.id": "reader", "enable.auto.commit": "false"}) as consumer:
        limits = ends(consumer, topic)
        if upto is not None:
            limits = {number: min(end, upto) for number, end in limits.items()}
        consumer.assign([TopicPartition(topic, number, 0) for number in limits])
        found: list[TextRecord] = []

        def done() -> bool:
            found.extend(poll(consumer))
            places = consumer.position([TopicPartition(topic, number) for number in limits])
            now = {it.partition: it.offset for it in places}
            return all(now[number] >= end or not end for number, end in limits.items())

        until(f"all of {topic}", done)
    return sorted(it for it in found if it.offset < limits[it.partition])


def rest(consumer: Consumer, topic: str) -> list[TextRecord]:
    """What this consumer has not read of a topic of one partition that is there by now."""
    place, end = TopicPartition(topic, 0), ends(consumer, topic)[0]
    found: list[TextRecord] = []

    def done() -> bool:
        found.extend(poll(consumer))
        return consumer.position([place])[0].offset >= end

    until(f"the rest of {topic}", lambda: not end or done())
    return found


def poll(consumer: Consumer, most: int = 500, wait: float = 0.1) -> list[TextRecord]:
    """What has come, if it is no error."""
    return [
        TextRecord(
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


def outputs(on: Cluster, topic: str) -> dict[str, dict[int, list[str]]]:
    """What processors (loop.py) have written: by step, and by the offset that it comes from."""
    found: dict[str, dict[int, list[str]]] = {}
    for it in read(on, topic):
        by_offset = found.setdefault(it.headers["step"], {})
        by_offset.setdefault(int(it.headers["from"]), []).append(it.value or "")
    return found


def size(on: Cluster, topic: str) -> int:
    """Records of a topic of one partition, by now."""
    with on.consumer({"group.id": "reader"}) as consumer:
        return sum(ends(consumer, topic).values())


def written(on: Cluster, topic: str, number: int) -> int:
    """Wait until a topic of one partition has `number` records; how many it has then."""
    return until(
        f"{count(number, 'record')} in {topic}",
        lambda: end if (end := size(on, topic)) >= number else 0,
    )


def cleaned(on: Cluster, topic: str, most: int) -> list[TextRecord]:
    """Compact a topic; what is in it, once that is at most the given number of records."""
    configure(on, topic, **COMPACTED)
    return until("the cleaner", lambda: found if len(found := read(on, topic)) <= most else [])


def spread(on: Cluster, topic: str, pairs: Iterable[tuple[str, object]]) -> int:
    """Records to all partitions in turn, whatever their keys; returns how many."""
    number = len(on.admin.list_topics(topic).topics[topic].partitions)
    sent = 0
    with on.producer(WRITER) as producer:
        for key, value in pairs:
            producer.produce(topic, str(value), key, partition=sent % number)
            sent += 1
    return sent


def lag(on: Cluster, group: str, topic: str) -> int:
    """Records of a topic that this group has not committed yet."""
    with on.consumer({"group.id": group}) as consumer:
        parts = ends(consumer, topic)
        places = consumer.committed([TopicPartition(topic, number) for number in parts])
    return sum(parts[it.partition] - max(it.offset, 0) for it in places)


def shares(on: Cluster, group: str, *names: str) -> dict[str, list[int]]:
    """Wait until these members, and no others, have shared the partitions: who has which."""

    def shared() -> dict[str, list[int]]:
        found = on.state().groups.get(group)
        members = found.members.values() if found and found.state == "Stable" else ()
        given = {it.client: sorted(int(part[-1]) for part in it.share or ()) for it in members}
        whole = given.keys() == set(names) and any(given.values())
        return dict(sorted(given.items())) if whole else {}

    return until(f"shares for {' and '.join(names)}", shared)


def report(on: Cluster, topic: str, seconds: Iterable[int]) -> None:
    """Errors, each with the time at which it happened: seconds after twelve."""
    with on.producer(WRITER) as producer:
        for second in seconds:
            producer.produce(topic, "error", timestamp=NOON + 1000 * second)


def last(on: Cluster, topic: str) -> TextRecord | None:
    """The newest record of a topic of one partition."""
    with on.consumer({"group.id": "reader"}) as consumer:
        end = ends(consumer, topic)[0]
        if not end:
            return None
        consumer.assign([TopicPartition(topic, 0, end - 1)])
        return until(f"the last of {topic}", lambda: poll(consumer))[-1]
