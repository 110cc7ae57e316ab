"""Where a partition begins and ends, and where it was at some time: ListOffsets.

    find(orders-0, EARLIEST, then)        -.
    find(orders-1, 1700000000000, then)   -+->  ListOffsets to each leader  ->  then(At(...))
    find(orders-2, LATEST, then)          -'

The leader knows. While there is none, or it is another one than we thought, the metadata is asked
for again, and then the leader, until somebody answers or whoever asked lets it be. Only what the
cluster says is not there, and still says so after a second, is given up.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.client.asking import Ask
from engine.client.values import KafkaError as Code
from engine.client.view import View
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api

EARLIEST, LATEST = -2, -1  # as timestamps
CONSUMER = -1  # the replica id of who is none
NOBODY = -1
NEWS_TAKES = 1.0  # seconds until every broker has heard of a new topic

T = TypeVar("T")


class At(NamedTuple):
    offset: int  # -1: nothing is as young as that
    timestamp: int = -1  # of the record there, if a time was asked for
    epoch: int = -1  # of the leader that wrote it


class Missing(NamedTuple):
    """There is no such partition."""

    code: int
    text: str


class Lookup:
    """A question, until it is answered."""

    __slots__ = ("missing_since", "partition", "retry_at", "then", "timestamp", "waiting")

    def __init__(
        self, partition: TopicPartition, timestamp: int, then: Callable[[At | Missing], None]
    ) -> None:
        self.partition = partition
        self.timestamp = timestamp
        self.then = then
        self.waiting = False
        self.retry_at = 0.0
        self.missing_since: float | None = None


class Offsets:
    """A core."""

    def __init__(self, config: ConsumerConfig) -> None:
        self._isolation = isolation(config)
        self._backoff = config.retry_backoff_ms / 1000
        self._open: dict[Lookup, None] = {}
        self._stale = False

    def find(
        self, partition: TopicPartition, timestamp: int, then: Callable[[At | Missing], None]
    ) -> Lookup:
        lookup = Lookup(partition, timestamp, then)
        self._open[lookup] = None
        return lookup

    def forget(self, lookups: Iterable[Lookup]) -> None:
        """Nobody waits for these any more."""
        for lookup in lookups:
            self._open.pop(lookup, None)

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: View) -> Iterator[Ask]:
        if self._stale:
            view.stale()
            self._stale = False
        requests: dict[int, list[dict[TopicPartition, Lookup]]] = {}
        for lookup in list(self._open):
            partition = lookup.partition
            if not view.wants(partition.topic):
                view.add(partition.topic)
            if lookup.waiting or lookup.retry_at > now:
                continue
            lookup.retry_at = 0.0
            leader = view.leader(partition)
            if leader == NOBODY:
                if view.error(partition.topic) is not None:  # else the news is on its way
                    self._is_missing(lookup, now, view)
                continue
            # A request names a partition once only, or the broker refuses it.
            rows = requests.setdefault(leader, [])
            row = next((row for row in rows if partition not in row), None)
            if row is None:
                rows.append(row := {})
            row[partition] = lookup
            lookup.waiting = True
        for leader, rows in requests.items():
            for row in rows:
                yield Ask(leader, Api.LIST_OFFSETS, self._request(row, view), row)

    def _is_missing(self, lookup: Lookup, now: float, view: View) -> None:
        """Nobody leads it: there is an election, or no such partition."""
        why = missing(lookup.partition, view)
        if why is None:
            lookup.missing_since = None
        elif lookup.missing_since is None:
            lookup.missing_since = now
        elif now >= lookup.missing_since + NEWS_TAKES:
            del self._open[lookup]
            lookup.then(why)
            return
        self._again(lookup, now)

    def due(self) -> float | None:
        return min((it.retry_at for it in self._open if it.retry_at), default=None)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        for topic in response.topics:
            for answer in topic.partitions:
                lookup = ask.about[TopicPartition(topic.name, answer.partition_index)]
                if lookup not in self._open:
                    continue
                if answer.error_code != ErrorCode.none:
                    self._again(lookup, now)
                    continue
                del self._open[lookup]
                lookup.then(At(answer.offset, answer.timestamp, answer.leader_epoch))

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        for lookup in ask.about.values():
            self._again(lookup, now)

    def _again(self, lookup: Lookup, now: float) -> None:
        lookup.waiting, lookup.retry_at = False, now + self._backoff
        self._stale = True

    def _request(self, row: Mapping[TopicPartition, Lookup], view: View) -> ListOffsetsRequest:
        topics = by_topic(
            (
                partition,
                ListOffsetsPartition(
                    partition_index=partition.partition,
                    current_leader_epoch=epoch_of(partition, view),
                    timestamp=lookup.timestamp,
                ),
            )
            for partition, lookup in row.items()
        )
        return ListOffsetsRequest(
            replica_id=CONSUMER,
            isolation_level=self._isolation,
            topics=tuple(
                ListOffsetsTopic(name=topic, partitions=tuple(each))
                for topic, each in topics.items()
            ),
        )


def isolation(config: ConsumerConfig) -> int:
    """As requests have it."""
    return int(config.isolation_level == "read_committed")


def epoch_of(partition: TopicPartition, view: View) -> int:
    """Under which leader a broker is to answer: one that knows of another refuses."""
    known = view.partition(partition)
    return known.epoch if known else NOBODY


def missing(partition: TopicPartition, view: View) -> Missing | None:
    """What the cluster says, if it says that there is no such partition."""
    count = view.partitions(partition.topic)
    if count is not None and partition.partition >= count:
        return Missing(Code._UNKNOWN_PARTITION, f"{partition}: the topic has {count} partitions")
    error = view.error(partition.topic)
    if error in (ErrorCode.unknown_topic_or_partition, ErrorCode.invalid_topic_exception):
        return Missing(int(error), f"there is no topic {partition.topic}")
    return None


def by_topic(parts: Iterable[tuple[TopicPartition, T]]) -> dict[str, list[T]]:
    """What belongs to partitions, grouped as requests have it."""
    topics: dict[str, list[T]] = {}
    for partition, part in parts:
        topics.setdefault(partition.topic, []).append(part)
    return topics
