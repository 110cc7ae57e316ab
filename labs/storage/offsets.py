"""Offsets and order: the same numbers for good, one order a partition, and who reads what when."""

from collections.abc import Iterable, Sequence

from engine import Cluster, Consumer
from engine import TopicPartition as Place
from engine.coordinator.records import OffsetKey, OffsetValue, decode_key, decode_value
from storage import real
from storage.batches import decoded
from storage.real import Got

OFFSETS = "__consumer_offsets"


def numbered(count: int, start: int = 0) -> list[str]:
    """Message 0, message 1, ..."""
    return [f"message {it}" for it in range(start, start + count)]


def pairs(found: Iterable[Got]) -> dict[int, str]:
    """By offset, what is there."""
    return {it.offset: it.value for it in found}


def values(found: Iterable[Got]) -> list[str]:
    return [it.value for it in found]


def failed_over(cluster: Cluster, topic: str) -> int:
    """Kill the leader; who leads then."""
    cluster.kill(real.leader(cluster, topic))
    return real.leader(cluster, topic)


def thinned(cluster: Cluster, topic: str, keep: int) -> int:
    """Have retention take old segments out; the first offset that is left."""
    real.configure(cluster, topic, retention_bytes=keep)
    return after_retention(cluster, topic)


def after_retention(cluster: Cluster, topic: str) -> int:
    """Where the log begins, once old segments are gone."""
    return real.until("retention", lambda: real.start_offset(cluster, topic))


def first_of_group(cluster: Cluster, topic: str, group: str, reset: str, number: int = 1) -> Got:
    """The last of so many messages that a member of a group is given; then it commits, and goes."""
    settings = {"group.id": group, "auto.offset.reset": reset, "enable.auto.commit": "false"}
    with cluster.consumer(settings) as consumer:
        consumer.subscribe([topic])
        found = real.take(consumer, number)
        consumer.commit(offsets=[Place(topic, 0, found[-1].offset + 1)], asynchronous=False)
    return found[-1]


def newcomer(cluster: Cluster, topic: str, later: str) -> Got:
    """What a new group that begins at the latest is given, when one more message comes."""
    settings = {"group.id": f"newcomers of {topic}", "auto.offset.reset": "latest"}
    with cluster.consumer(settings) as consumer:
        consumer.subscribe([topic])
        real.until("an assignment", lambda: consumer.poll(0.1) is None and consumer.assignment())
        place = Place(topic, 0)
        real.until("a position", lambda: _at_end(consumer, place))
        real.send(cluster, topic, [later])
        return real.take(consumer, 1)[0]


def _at_end(consumer: Consumer, place: Place) -> bool:
    consumer.poll(0.1)
    return consumer.position([place])[0].offset >= 0


def events(orders: int, steps: Sequence[str] = ("placed", "paid", "sent")) -> list[str]:
    """What happens to some orders: order 7=paid, each step for all of them, then the next."""
    return [f"order {number}={step}" for step in steps for number in range(orders)]


def in_order(found: Iterable[Got], steps: Sequence[str]) -> bool:
    """Whether each order's events were read in the order in which they happened."""
    seen: dict[str, list[str]] = {}
    for it in found:
        seen.setdefault(it.key, []).append(it.value.partition("=")[2])
    return all(each == [it for it in steps if it in each] for each in seen.values())


def homes(found: Iterable[Got]) -> dict[str, set[int]]:
    """By key: the partitions that hold its messages."""
    places: dict[str, set[int]] = {}
    for it in found:
        places.setdefault(it.key, set()).add(it.partition)
    return places


def live_and_batch(cluster: Cluster, topic: str, number: int = 20) -> tuple[list[Got], list[Got]]:
    """One consumer is given each message before the next is sent; another reads all, later."""
    live: list[Got] = []
    with cluster.consumer({"group.id": "live", "enable.auto.commit": "false"}) as consumer:
        consumer.assign([Place(topic, 0, 0)])
        for value in numbered(number):
            real.send(cluster, topic, [value])
            live += real.take(consumer, 1)
    return live, real.read(cluster, topic, number)


def committed(cluster: Cluster, group: str, topic: str) -> list[int]:
    """The offsets that a group has committed for a topic: the records of __consumer_offsets."""
    found = {}
    for broker in cluster.brokers:
        for path in cluster.directory(broker).glob(f"{OFFSETS}-*/*.log"):
            for record in decoded(path):
                key = decode_key(record.key or b"")
                ours = isinstance(key, OffsetKey) and (key.group, key.topic) == (group, topic)
                if ours and record.value:
                    value = decode_value(key, record.value)
                    assert isinstance(value, OffsetValue)
                    found[path.parent.name, record.offset] = value.offset
    return [found[place] for place in sorted(found)]
