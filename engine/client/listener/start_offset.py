"""Where a partition begins: Spring Kafka's TopicPartitionOffset, and its assignmentCommitOption.

    PartitionOffset("orders", 1)                           the committed offset, or as
                                                           auto.offset.reset says
    PartitionOffset("orders", 1, 100)                      offset 100
    PartitionOffset("orders", 1, -10)                      the last ten records
    PartitionOffset("orders", 1, -10, relative=True)       ten before the committed offset
    PartitionOffset("orders", 1, 10, relative=True)        ten after it

An offset is applied at each start, also if the group has committed another one meanwhile. Only
partitions that are assigned by hand have one: those of a subscription begin where the group is.

A new group with auto.offset.reset=latest commits where it begins as soon as it has a partition.
Otherwise, if it ended before its first commit, it would pass over what is written until its next
start.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine import model
from engine.client.consumer import Consumer
from engine.client.values import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition


class PartitionOffset(NamedTuple):
    topic: str
    partition: int
    offset: int | None = None  # None: where the group is
    relative: bool = False  # to where the group is

    @property
    def key(self) -> model.TopicPartition:
        return model.TopicPartition(self.topic, self.partition)

    @classmethod
    def of(cls, given: "PartitionOffset | TopicPartition | tuple[str, int]") -> "PartitionOffset":
        """A partition as an application names it; an offset of a TopicPartition counts."""
        if isinstance(given, PartitionOffset):
            return given
        if isinstance(given, TopicPartition):
            offset = given.offset if given.offset >= 0 else None
            return cls(given.topic, given.partition, offset)
        return cls(*given)


def start_of(consumer: Consumer, place: PartitionOffset, reset: str) -> TopicPartition:
    """The partition with the offset that a consumer is assigned with.

    `reset`: the consumer's auto.offset.reset, for a group that has committed nothing.
    """
    partition = TopicPartition(place.topic, place.partition)
    if place.offset is None:
        return partition
    start = place.offset
    if place.relative:
        start += _current(consumer, partition, reset)
    elif start < 0:
        start += consumer.get_watermark_offsets(partition)[1]
    return TopicPartition(place.topic, place.partition, max(start, 0))


def ends_to_commit(
    consumer: Consumer, partitions: Sequence[TopicPartition]
) -> dict[model.TopicPartition, int]:
    """The end of each partition in which the group has committed nothing."""
    wanted = [TopicPartition(each.topic, each.partition) for each in partitions]
    found = {}
    for each in consumer.committed(wanted) if wanted else []:
        if each.error is not None:
            raise KafkaException(each.error)
        if each.offset == OFFSET_INVALID:
            end = consumer.get_watermark_offsets(each)[1]
            found[model.TopicPartition(each.topic, each.partition)] = end
    return found


def _current(consumer: Consumer, partition: TopicPartition, reset: str) -> int:
    """Where the group is."""
    (committed,) = consumer.committed([TopicPartition(partition.topic, partition.partition)])
    if committed.error is not None:
        raise KafkaException(committed.error)
    if committed.offset != OFFSET_INVALID:
        return committed.offset
    if reset == "none":
        why = f"{partition.topic}-{partition.partition} has no committed offset"
        raise KafkaException(KafkaError(KafkaError._AUTO_OFFSET_RESET, why))
    first, last = consumer.get_watermark_offsets(partition)
    return first if reset == "earliest" else last
