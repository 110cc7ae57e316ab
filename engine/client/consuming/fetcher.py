"""Fetches batches from the leaders, ahead of the application.

    positions ---> Fetch to each broker ---> fetched: | orders-0 | orders-2 | ...
                   (the partitions it leads)            delivered from the left

While the application works on the records of one answer, the next is fetched: up to two answers
are kept for each partition. A broker without new records keeps the request for some time (long
polling: fetch.min.bytes, fetch.max.wait.ms). A partition that was just assigned or sought can't
wait for that, so it uses the second of two lanes; Java has one. Every request names all its
partitions: incremental fetch sessions (KIP-227) are left out, as they pay only with thousands.

The leader may send a consumer with client.rack to a replica nearby (KIP-392). The consumer goes
back to the leader when that replica fails, and after metadata.max.age.ms.

Invariant: for each turn of a partition, at most one fetch is in flight.
Invariant: an answer is used only if its partition still has the turn of the request.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import timedelta
from struct import Struct
from typing import Any

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic

from engine.client.consuming.assigned_partition import NO_TURN, AssignedPartition, PositionState
from engine.client.consuming.completed_fetch import CompletedFetch
from engine.client.consuming.offset_lookup import NO_OFFSET, isolation
from engine.client.consuming.positions import Positions
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.storage.batch import HEADER_SIZE, LOG_OVERHEAD, Header
from engine.wire.apis import Api
from engine.wire.by_topic import topics_of

READY = 2  # answers of a partition that are kept
LANES = ("fetch", "fetch at once")  # their own, so that nothing else waits for a long poll

_LENGTH = Struct(">i")
_LENGTH_AT = 8

# Errors of outdated metadata, or of a broker that has outdated metadata. All others are reported.
PASSING = (
    ErrorCode.not_leader_or_follower,
    ErrorCode.replica_not_available,
    ErrorCode.kafka_storage_error,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.unknown_leader_epoch,
    ErrorCode.offset_not_available,
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.leader_not_available,
    ErrorCode.unknown_server_error,
)


class ConsumerFetcher:
    """A core; the application's thread takes from `fetched`, under the lock."""

    def __init__(self, config: ConsumerConfig, positions: Positions) -> None:
        self.fetched: deque[CompletedFetch] = deque()
        self._config = config
        self._positions = positions
        self._backoff = config.retry_backoff_ms / 1000
        self._replica_for = config.metadata_max_age_ms / 1000
        self._busy: set[tuple[int, str]] = set()  # brokers and lanes with a fetch in flight
        self._stale = False

    # -- requests ------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterator[Ask]:
        if self._stale:
            view.stale()
            self._stale = False
        brokers: dict[int, list[AssignedPartition]] = {}
        for place in self._positions.places.values():
            if self._is_wanted(place, now) and (broker := self._source(place, now, view)) >= 0:
                brokers.setdefault(broker, []).append(place)
        for broker, places in brokers.items():
            lane = next((it for it in LANES if (broker, it) not in self._busy), None)
            if lane is None:
                continue
            self._busy.add((broker, lane))
            about = {}
            for place in places:
                place.asked = place.turn
                about[place.partition] = place, place.turn, place.ahead
            yield Ask(broker, Api.FETCH, self._request(places), about, lane=lane)

    def due(self) -> float | None:
        """`Positions.due` covers the retries, since `step` is called for all cores."""
        return None

    @staticmethod
    def _is_wanted(place: AssignedPartition, now: float) -> bool:
        return (
            place.state is PositionState.FETCHING
            and not place.paused
            and place.ready < READY
            and place.asked != place.turn
            and place.retry_at <= now
        )

    @staticmethod
    def _source(place: AssignedPartition, now: float, view: MetadataView) -> int:
        """The broker to fetch from."""
        if place.replica != NO_BROKER:
            if now < place.replica_until and place.replica in view.metadata.brokers:
                return place.replica
            place.replica = NO_BROKER
        return place.leader

    def _request(self, places: list[AssignedPartition]) -> FetchRequest:
        config = self._config
        return fetch_request(
            {it.partition: (it.ahead, it.leader_epoch) for it in places},
            isolation(config),
            partition_bytes=config.max_partition_fetch_bytes,
            max_bytes=config.fetch_max_bytes,
            min_bytes=config.fetch_min_bytes,
            wait_ms=config.fetch_max_wait_ms,
            rack=config.client_rack,
        )

    # -- answers -------------------------------------------------------------------------

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if response.error_code != ErrorCode.none:
            self.failed(ask, ApiException(response.error_code), now)
            return
        self._returned(ask)
        for topic in response.responses:
            for answer in topic.partitions:
                partition = TopicPartition(topic.topic, answer.partition_index)
                place, turn, offset = ask.about.get(partition, (None, NO_TURN, NO_OFFSET))
                if place is not None and place.turn == turn:
                    if answer.error_code == ErrorCode.none:
                        self._take(place, offset, answer, now)
                    else:
                        self._refused(place, offset, answer.error_code, ask.to, now)

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self._returned(ask)
        for place, turn, _ in ask.about.values():
            if place.turn == turn:
                self._again(place, now)

    def _returned(self, ask: Ask) -> None:
        self._busy.discard((ask.to, ask.lane))
        for place, turn, _ in ask.about.values():
            if place.asked == turn:
                place.asked = NO_TURN

    def _take(self, place: AssignedPartition, offset: int, answer: Any, now: float) -> None:
        place.high_watermark = answer.high_watermark
        place.last_stable = answer.last_stable_offset
        place.log_start = answer.log_start_offset
        if answer.preferred_read_replica != NO_BROKER:
            place.replica = answer.preferred_read_replica
            place.replica_until = now + self._replica_for
        data = memoryview(answer.records or b"")
        last = last_batch(data)
        if last is not None and last.next_offset > place.ahead:
            place.ahead = last.next_offset
            aborted = [
                (each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()
            ]
            self._ready(CompletedFetch(place, offset, data, aborted))
            self._positions.served(place)
        self._report_end(place)

    def _report_end(self, place: AssignedPartition) -> None:
        """Once each time that the end is reached."""
        config = self._config
        committed = config.isolation_level == "read_committed"
        end = place.last_stable if committed else place.high_watermark
        if config.enable_partition_eof and place.ahead >= end and place.reported_end != place.ahead:
            place.reported_end = place.ahead
            self._ready(CompletedFetch(place, place.ahead, memoryview(b""), is_end=True))

    def _ready(self, fetched: CompletedFetch) -> None:
        fetched.place.ready += 1
        self.fetched.append(fetched)

    def _refused(
        self, place: AssignedPartition, offset: int, code: ErrorCode, broker: int, now: float
    ) -> None:
        if code == ErrorCode.offset_out_of_range and place.replica != broker:
            if place.offset == offset:
                self._positions.out_of_range(place, now)
            else:  # first the application gets what was fetched before
                place.retry_at = now + self._backoff
        elif code in PASSING or place.replica == broker:
            self._again(place, now)
        else:
            why = f"fetching from offset {place.ahead}: {code.name.replace('_', ' ')}"
            self._positions.stop(place, int(code), why)

    def _again(self, place: AssignedPartition, now: float) -> None:
        place.retry_at, place.replica = now + self._backoff, NO_BROKER
        self._stale = True


def fetch_request(
    wanted: Mapping[TopicPartition, tuple[int, int]],
    isolation: int,
    *,
    partition_bytes: int,
    max_bytes: int,
    min_bytes: int = 1,
    wait_ms: int = 500,
    rack: str = "",
) -> FetchRequest:
    """`wanted`: for each partition, the next offset and the epoch of its leader (-1: any)."""
    rows = (
        (
            partition,
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=epoch,
                fetch_offset=offset,
                partition_max_bytes=partition_bytes,
            ),
        )
        for partition, (offset, epoch) in wanted.items()
    )
    return FetchRequest(
        max_wait=timedelta(milliseconds=wait_ms),
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        topics=topics_of(FetchTopic, rows, "topic"),
        forgotten_topics_data=(),
        rack_id=rack,
    )


def last_batch(data: memoryview) -> Header | None:
    """The header of the last whole batch; it skips the others by their lengths."""
    unpack, at, last = _LENGTH.unpack_from, 0, None
    while at + HEADER_SIZE <= len(data):
        size = unpack(data, at + _LENGTH_AT)[0] + LOG_OVERHEAD
        if size < HEADER_SIZE or at + size > len(data):
            break
        last, at = at, at + size
    return None if last is None else Header.parse(data, last)
