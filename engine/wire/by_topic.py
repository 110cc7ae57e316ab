"""Rows of a request or a response, grouped by topic.

Most messages of the protocol have a list of topics, and in each of them a list of partitions. The
engine works with single partitions.

    by_topic        (orders-0, a), (users-0, b), (orders-1, c)  ->  (orders, (a, c)), (users, (b,))
    topics_of       the same, with each topic as an object of the message
    numbered        the same, of partitions that have no row but their number
    by_partition    the other way round, of a list that has a row a partition
    partitions_in   the partitions of a list that has only their numbers
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from engine.model import TopicPartition

S = TypeVar("S")
T = TypeVar("T")


def by_topic(rows: Iterable[tuple[TopicPartition, T]]) -> list[tuple[str, tuple[T, ...]]]:
    """Each topic with its rows. Topics and rows keep the order in which they came."""
    topics: dict[str, list[T]] = {}
    for partition, row in rows:
        topics.setdefault(partition.topic, []).append(row)
    return [(topic, tuple(rows)) for topic, rows in topics.items()]


def topics_of(
    kind: Callable[..., S],
    rows: Iterable[tuple[TopicPartition, Any]],
    name: str = "name",
    listed: str = "partitions",
) -> tuple[S, ...]:
    """Each topic with its rows, as a `kind`, whose fields for the two have these names."""
    return tuple(kind(**{name: topic, listed: each}) for topic, each in by_topic(rows))


def numbered(
    kind: Callable[..., S],
    partitions: Iterable[TopicPartition],
    name: str = "name",
    listed: str = "partition_indexes",
) -> tuple[S, ...]:
    """Each topic with the numbers of its partitions: what `partitions_in` reads."""
    return topics_of(kind, ((each, each.partition) for each in partitions), name, listed)


def partitions_in(
    topics: Iterable[Any], name: str = "name", numbers: str = "partitions"
) -> list[TopicPartition]:
    """The partitions that a request names by their numbers; the two fields of a topic by name."""
    return [
        TopicPartition(getattr(topic, name), number)
        for topic in topics
        for number in getattr(topic, numbers)
    ]


def by_partition(topics: Iterable[Any]) -> Iterator[tuple[TopicPartition, Any]]:
    """Each row with its partition, of a message whose fields have the usual names."""
    for topic in topics:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row
