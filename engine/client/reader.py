"""Batches from the leaders of partitions, each from an offset on.

    poll -> what arrived | fetch (next offsets) -> leader 1       one fetch is always on the way
                         | fetch                -> leader 2       to each leader

While the caller is busy with the records of one fetch, the next one is under way already: where
it goes on is in the headers of the batches. A broker that has nothing new keeps the fetch for
up to half a second (long polling). A partition without a leader, for now, is left out and looked
for again; what is in the way stands in `trouble` until something is read.

Invariant: records come in the order of their offsets, none below the one asked for, none twice.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple, Self

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic
from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.client.cluster import BACKOFF, PASSING, ClusterView, check
from engine.client.connection import Connection, wait
from engine.client.metadata import NO_BROKER
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Header, crc_ok, scan
from engine.storage.records import Record
from engine.wire.apis import Api

EARLIEST, LATEST = -2, -1  # as timestamps in ListOffsets
CONSUMER = -1  # the replica id of who is none

MAX_WAIT = timedelta(seconds=0.5)  # fetch.max.wait.ms
MAX_BYTES = 50 * 1024 * 1024  # fetch.max.bytes
PARTITION_MAX_BYTES = 1024 * 1024  # max.partition.fetch.bytes


class Batch(NamedTuple):
    partition: TopicPartition
    header: Header
    data: memoryview
    start: int  # the offset asked for, which may be in the middle

    def records(self) -> list[Record]:
        if not crc_ok(self.data, 0, self.header):
            raise KafkaError(
                ErrorCode.corrupt_message,
                f"{self.partition}: the batch at offset {self.header.base_offset} does not match "
                "its CRC",
            )
        found = records.decode(self.data)
        return [it for it in found if it.offset >= self.start] if self.start else found


class Offset(NamedTuple):
    """What ListOffsets finds."""

    offset: int  # -1: there is none
    timestamp: int  # of the record there, if a time was asked for
    leader_epoch: int  # of whoever wrote it


def list_offset(cluster: ClusterView, partition: TopicPartition, timestamp: int) -> int:
    """The first or last offset of a partition, or that of a time; -1 if there is none."""
    return find_offset(cluster, partition, timestamp).offset


def find_offset(
    cluster: ClusterView, partition: TopicPartition, timestamp: int, isolation: int = 0
) -> Offset:
    """The same, with what else there is to know; `isolation` 1: not beyond open transactions."""
    wanted = ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=CONSUMER,
        isolation_level=isolation,
        topics=(ListOffsetsTopic(name=partition.topic, partitions=(wanted,)),),
    )

    def attempt() -> Offset:
        response = cluster.node(cluster.leader(partition)).ask(Api.LIST_OFFSETS, request)
        answer = response.topics[0].partitions[0]
        check(answer.error_code, what=str(partition))
        return Offset(answer.offset, answer.timestamp, answer.leader_epoch)

    return cluster.retry(attempt)


class Reader:
    def __init__(
        self,
        cluster: ClusterView,
        positions: dict[TopicPartition, int],
        partition_max_bytes: int = PARTITION_MAX_BYTES,
        reset: int = LATEST,
    ) -> None:
        self.trouble: KafkaError | None = None
        self._cluster = cluster
        self._positions = dict(positions)  # the next offset of each; who was served goes last
        self._partition_max_bytes = partition_max_bytes
        self._reset = reset  # where to go on when an offset is gone: auto.offset.reset
        self._pipes: dict[int, Connection] = {}  # by leader
        self._left_out: set[TopicPartition] = set()  # until leaders are looked for again
        self._refresh_at = 0.0  # when that is

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for pipe in self._pipes.values():
            pipe.close()

    def poll(self, timeout: float) -> list[Batch]:
        """What arrives first, or nothing after so many seconds."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            self._look_for_leaders()
            self._fetch()
            if self._left_out:
                left = min(left, BACKOFF)
            batches: list[Batch] = []
            ready = wait(self._pipes.values(), left)
            for leader, pipe in list(self._pipes.items()):
                if pipe in ready or pipe.overdue:
                    batches += self._receive(leader)
            if batches:
                if not self._left_out:
                    self.trouble = None
                self._fetch()
                return batches
        return []

    # -- requests ------------------------------------------------------------------------

    def _look_for_leaders(self) -> None:
        if self._left_out and time.monotonic() >= self._refresh_at:
            try:
                self._cluster.refresh()
            except KafkaError as error:
                self._leave_out(self._left_out, error)
            else:
                self._left_out = set()

    def _fetch(self) -> None:
        """Put a fetch on its way to each leader that has none to answer."""
        wanted: dict[int, list[TopicPartition]] = {}
        for partition in self._positions:
            if partition not in self._left_out:
                leader = self._cluster.metadata.leader(partition)
                wanted.setdefault(leader, []).append(partition)
        if lost := wanted.pop(NO_BROKER, []):
            why = f"{lost[0]} has no leader"
            self._leave_out(lost, KafkaError(ErrorCode.leader_not_available, why))
        for leader in self._pipes.keys() - wanted.keys():
            self._pipes.pop(leader).close()
        for leader, partitions in wanted.items():
            try:
                if leader not in self._pipes:
                    self._pipes[leader] = self._cluster.open(leader)
                if not self._pipes[leader].on_the_way:
                    self._pipes[leader].send(Api.FETCH, self._request(partitions))
            except KafkaError as error:
                self._drop(leader, error)

    def _request(self, partitions: list[TopicPartition]) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = {}
        for partition in partitions:
            topics.setdefault(partition.topic, []).append(
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=self._positions[partition],
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        return FetchRequest(
            max_wait=MAX_WAIT,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=tuple(
                FetchTopic(topic=topic, partitions=tuple(wanted))
                for topic, wanted in topics.items()
            ),
            forgotten_topics_data=(),
        )

    # -- answers -------------------------------------------------------------------------

    def _receive(self, leader: int) -> list[Batch]:
        try:
            response = (
                self._pipes[leader].receive(0 if self._pipes[leader].overdue else None).response
            )
            check(response.error_code, what="fetch")
        except KafkaError as error:
            self._drop(leader, error)
            return []
        return [
            batch
            for topic in response.responses
            for answer in topic.partitions
            for batch in self._taken(TopicPartition(topic.topic, answer.partition_index), answer)
        ]

    def _taken(self, partition: TopicPartition, answer: Any) -> Iterator[Batch]:
        """The whole batches of a partition's answer; its position is behind them then."""
        if answer.error_code == ErrorCode.offset_out_of_range:
            self._positions[partition] = list_offset(self._cluster, partition, self._reset)
            return
        try:
            check(answer.error_code, what=str(partition))
        except KafkaError as error:
            self._leave_out([partition], error)
            return
        data = memoryview(answer.records or b"")
        for position, header in scan(data):
            start = self._positions[partition]
            if header.next_offset > start:
                self._positions[partition] = header.next_offset
                if not header.is_control:
                    inside = start if start > header.base_offset else 0
                    yield Batch(partition, header, data[position : position + header.size], inside)
        if data:
            self._positions[partition] = self._positions.pop(partition)  # it goes last

    # -- what is in the way --------------------------------------------------------------

    def _drop(self, leader: int, error: KafkaError) -> None:
        """Leave out all that a broker leads: the connection to it is of no use."""
        pipe = self._pipes.pop(leader, None)
        if pipe is not None:
            pipe.close()
        metadata = self._cluster.metadata
        self._leave_out([it for it in self._positions if metadata.leader(it) == leader], error)

    def _leave_out(self, partitions: Iterable[TopicPartition], error: KafkaError) -> None:
        if error.code not in PASSING:
            raise error
        self.trouble = error
        self._left_out |= set(partitions)
        self._refresh_at = time.monotonic() + BACKOFF
