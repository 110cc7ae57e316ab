"""Looks up the first and last offset of a partition, or the offset of a time: ListOffsets.

    find(orders-0, EARLIEST, then)        -.
    find(orders-1, 1700000000000, then)   -+->  ListOffsets to each leader  ->  then(FoundOffset)
    find(orders-2, LATEST, then)          -'

The leader answers. While there is none, or it has changed, the metadata and the request are sent
again, until there is an answer or the caller gives up. A lookup ends with MissingPartition if the
cluster reports for a second that the partition does not exist.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.client.values import KafkaError
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, NO_EPOCH, TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, topics_of

EARLIEST, LATEST = -2, -1  # as timestamps
CONSUMER = -1  # the replica id of a consumer
NO_OFFSET = -1
NEWS_TAKES = 1.0  # seconds until every broker knows a new topic


class FoundOffset(NamedTuple):
    offset: int  # -1: all records are older
    timestamp: int = -1  # of the record, if the lookup was by time
    epoch: int = -1  # the leader epoch of the record


class MissingPartition(NamedTuple):
    """There is no such partition."""

    code: int
    text: str


@dataclass(slots=True, eq=False)
class OffsetLookup:
    """A lookup that is not answered yet."""

    partition: TopicPartition
    timestamp: int
    then: Callable[[FoundOffset | MissingPartition], None]
    waiting: bool = False
    retry_at: float = 0.0
    missing_since: float | None = None


class OffsetLookups:
    """A core."""

    def __init__(self, config: ConsumerConfig) -> None:
        self._isolation = isolation(config)
        self._backoff = config.retry_backoff_ms / 1000
        self._open: dict[OffsetLookup, None] = {}
        self._stale = False

    def find(
        self,
        partition: TopicPartition,
        timestamp: int,
        then: Callable[[FoundOffset | MissingPartition], None],
    ) -> OffsetLookup:
        lookup = OffsetLookup(partition, timestamp, then)
        self._open[lookup] = None
        return lookup

    def forget(self, lookups: Iterable[OffsetLookup]) -> None:
        """The caller has given up these."""
        for lookup in lookups:
            self._open.pop(lookup, None)

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterator[Ask]:
        if self._stale:
            view.stale()
            self._stale = False
        requests: dict[int, list[dict[TopicPartition, OffsetLookup]]] = {}
        for lookup in list(self._open):
            partition = lookup.partition
            view.add(partition.topic)
            if lookup.waiting or lookup.retry_at > now:
                continue
            lookup.retry_at = 0.0
            leader = view.metadata.leader(partition)
            if leader == NO_BROKER:
                if view.error(partition.topic) is not None:  # else no metadata has come yet
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
                wanted = {partition: lookup.timestamp for partition, lookup in row.items()}
                request = list_offsets_request(wanted, self._isolation, view)
                yield Ask(leader, Api.LIST_OFFSETS, request, row)

    def _is_missing(self, lookup: OffsetLookup, now: float, view: MetadataView) -> None:
        """It has no leader: there is an election, or no such partition."""
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
        for partition, row in by_partition(response.topics):
            lookup = ask.about[partition]
            if lookup in self._open and row.error_code != ErrorCode.none:
                self._again(lookup, now)
            elif lookup in self._open:
                del self._open[lookup]
                lookup.then(FoundOffset(row.offset, row.timestamp, row.leader_epoch))

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        for lookup in ask.about.values():
            self._again(lookup, now)

    def _again(self, lookup: OffsetLookup, now: float) -> None:
        lookup.waiting, lookup.retry_at = False, now + self._backoff
        self._stale = True


def list_offsets_request(
    wanted: Mapping[TopicPartition, int], isolation: int, view: MetadataView | None = None
) -> ListOffsetsRequest:
    """`wanted`: a time, EARLIEST or LATEST for each. With a view, a broker refuses the request if
    the view has another leader epoch."""
    rows = (
        (
            partition,
            ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=epoch_of(partition, view) if view else NO_EPOCH,
                timestamp=timestamp,
            ),
        )
        for partition, timestamp in wanted.items()
    )
    return ListOffsetsRequest(
        replica_id=CONSUMER,
        isolation_level=isolation,
        topics=topics_of(ListOffsetsTopic, rows),
    )


def isolation(config: ConsumerConfig) -> int:
    """As requests have it."""
    return int(config.isolation_level == "read_committed")


def epoch_of(partition: TopicPartition, view: MetadataView) -> int:
    """The leader epoch for a request: a broker with another one refuses it."""
    known = view.metadata.partition(partition)
    return known.epoch if known else NO_EPOCH


def missing(partition: TopicPartition, view: MetadataView) -> MissingPartition | None:
    """The error, if the metadata says that there is no such partition."""
    count = view.partitions(partition.topic)
    if count is not None and partition.partition >= count:
        return MissingPartition(
            KafkaError._UNKNOWN_PARTITION, f"{partition}: the topic has {count} partitions"
        )
    error = view.error(partition.topic)
    if error == ErrorCode.topic_authorization_failed:
        return MissingPartition(int(error), f"topic {partition.topic}: access is not authorized")
    if error in (ErrorCode.unknown_topic_or_partition, ErrorCode.invalid_topic_exception):
        return MissingPartition(int(error), f"there is no topic {partition.topic}")
    return None
