"""Reading as a member of a consumer group: what it is given, and what it has committed.

group.read(cluster, topic, "readers", reset="earliest", number=50)      offsets, 0 to 49
group.commits(cluster, topic, "readers")                                [50]
"""

from collections.abc import Iterable

from engine import Cluster, TopicPartition
from engine.coordinator.records import (
    GROUP_METADATA_TOPIC,
    OffsetKey,
    OffsetValue,
    decode_key,
    decode_value,
)
from storage import disk
from widgets.log.fields import count


def read(
    cluster: Cluster, topic: str, name: str, *, reset: str, number: int, new: Iterable[str] = ()
) -> list[int]:
    """The offsets of the first records that a member is given; it commits them, and leaves.

    `new`: records that are written once the member knows where it begins.
    """
    settings = {"group.id": name, "auto.offset.reset": reset, "enable.auto.commit": "false"}
    place, found = TopicPartition(topic, 0), list[int]()

    def look() -> bool:
        for message in consumer.consume(number - len(found), 0.05):
            if message.error() is None:
                found.append(message.offset() or 0)
        return len(found) >= number

    with cluster.consumer(settings) as consumer:
        consumer.subscribe([topic])
        cluster.wait("a position", lambda: look() or consumer.position([place])[0].offset >= 0)
        cluster.write(topic, new)
        cluster.wait(count(number, "record"), lambda: len(found) >= number or look())
        consumer.commit(offsets=[TopicPartition(topic, 0, found[-1] + 1)], asynchronous=False)
    return found


def commits(cluster: Cluster, topic: str, name: str) -> list[int]:
    """The offsets that a group has committed: what stands in the files of __consumer_offsets."""
    found = {}
    for broker in cluster.brokers:
        for path in cluster.directory(broker).glob(f"{GROUP_METADATA_TOPIC}-*/*.log"):
            for record in disk.decoded(path):
                key = decode_key(record.key or b"")
                ours = isinstance(key, OffsetKey) and (key.group, key.topic) == (name, topic)
                if ours and record.value:
                    value = decode_value(key, record.value)
                    assert isinstance(value, OffsetValue)
                    found[path.parent.name, record.offset] = value.offset
    return [found[place] for place in sorted(found)]
