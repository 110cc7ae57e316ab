"""Moves a consumer's positions; their states are in assigned_partition.py.

    offset 0   1   2   3   4   5                offset 0   1   2   3
           e0  e0  e0  e0  e0  | position       e0  e0  e0  e2  |        the new leader's log
                                                           ^
    "where did epoch 0 end?"  ------------------>  "at 3"  |  it lacks records 3 and 4 of epoch 0

A new leader may lack records that the consumer got from the old one (an unclean election). The
offset alone does not show this, since the new leader soon has other records there. So a position
has the epoch of the record before it, and whenever the leader changes, the consumer asks for the
end of that epoch (OffsetForLeaderEpoch, KIP-320). If it is below the position, the consumer goes
back to it; or, with auto.offset.reset=none, it stops and reports an error.

Invariant: nothing is fetched from a leader before the position is validated against it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kio.schema.offset_for_leader_epoch.v4.request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

from engine.client.consuming.assigned_partition import (
    NO_TURN,
    AssignedPartition,
    PartitionError,
    Position,
    PositionState,
)
from engine.client.consuming.offset_commits import FetchedOffsets
from engine.client.consuming.offset_lookup import (
    CONSUMER,
    EARLIEST,
    LATEST,
    NEWS_TAKES,
    NO_OFFSET,
    FoundOffset,
    MissingPartition,
    OffsetLookups,
    missing,
)
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.client.values import OFFSET_BEGINNING, OFFSET_END, KafkaError
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, NO_EPOCH, Event, TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import topics_of

# The group's committed offsets: OffsetManager.fetch.
FetchCommitted = Callable[
    [Iterable[TopicPartition], Callable[[FetchedOffsets | ApiException], None], float], None
]
_POLICIES = {"earliest": EARLIEST, "latest": LATEST}
_STARTS = {OFFSET_BEGINNING: EARLIEST, OFFSET_END: LATEST}


class Positions:
    """The core that knows where a consumer is in each of its partitions."""

    def __init__(
        self,
        config: ConsumerConfig,
        offsets: OffsetLookups,
        committed: FetchCommitted | None,
        emit: Callable[[Event], None],
    ) -> None:
        # In the order of their last fetch.
        self.places: dict[TopicPartition, AssignedPartition] = {}
        self.troubles: deque[PartitionError] = deque()
        self._policy = _POLICIES.get(config.auto_offset_reset)
        self._backoff = config.retry_backoff_ms / 1000
        self._offsets = offsets
        self._committed = committed
        self._emit = emit
        self._seen = -1  # the version of the metadata that positions were compared with
        self._stale = False  # the metadata is out of date

    # -- by the application --------------------------------------------------------------

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Add partitions, each from an offset, the beginning or the end, or as committed."""
        for partition, start in starts.items():
            self.places[partition] = AssignedPartition(partition)
            if start >= 0 or start in _STARTS:
                self.seek(partition, start)
        self._seen = -1

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            if place := self.places.pop(partition, None):
                place.refetch()  # fetched records are invalid from now on

    def seek(self, partition: TopicPartition, offset: int, epoch: int = NO_EPOCH) -> None:
        place = self.places[partition]
        if offset in _STARTS:
            self._reset(place, _STARTS[offset])
        else:
            self._settle(place, Position(offset, epoch))

    def pause(self, partition: TopicPartition, paused: bool) -> None:
        place = self.places[partition]
        place.paused = paused
        if place.state is PositionState.FETCHING:  # the others wait for an answer of this turn
            place.refetch()

    # -- by the network ------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterator[Ask]:
        if self._stale:
            view.stale()
            self._stale = False
        for partition in self.places:
            view.add(partition.topic)
        if view.version != self._seen:
            self._seen = view.version
            for place in self.places.values():
                self._compare(place, view, now)
        due = [it for it in self.places.values() if not it.waiting and it.retry_at <= now]
        for place in due:
            place.retry_at = 0.0
        if unknown := [place for place in due if place.state is PositionState.UNKNOWN]:
            self._ask_group(unknown, now)
        validating: dict[int, list[AssignedPartition]] = {}
        for place in due:
            if place.state is PositionState.RESETTING:
                self._look_up(place, now)
            elif place.state is PositionState.VALIDATING and place.leader != NO_BROKER:
                validating.setdefault(place.leader, []).append(place)
        for leader, places in validating.items():
            yield _validation(leader, places)

    def due(self) -> float | None:
        return min((it.retry_at for it in self.places.values() if it.retry_at), default=None)

    def _compare(self, place: AssignedPartition, view: MetadataView, now: float) -> None:
        """Handle a missing partition, or a new leader."""
        partition = place.partition
        if why := missing(partition, view):
            self._is_missing(place, why, now)
            return
        place.missing_since = None
        known = view.metadata.partition(partition)
        if known is None or known.leader == NO_BROKER:
            return  # in an election
        if (known.leader, known.epoch) == (place.leader, place.leader_epoch):
            return
        if place.leader != NO_BROKER:
            self._note("leader.changed", now, place, leader=known.leader, leader_epoch=known.epoch)
        place.leader, place.leader_epoch, place.replica = known.leader, known.epoch, NO_BROKER
        if place.state in (PositionState.FETCHING, PositionState.VALIDATING):
            self._settle(place, place.position)

    def _is_missing(self, place: AssignedPartition, why: MissingPartition, now: float) -> None:
        """Report a missing partition once, after the time in which brokers get new metadata; at
        once, if it may not be seen."""
        since = float("-inf") if why.code == ErrorCode.topic_authorization_failed else now
        if place.missing_since is None:
            place.missing_since = since
        if place.missing_since + NEWS_TAKES <= now:
            place.missing_since = float("inf")
            self.troubles.append(PartitionError(place.partition, place.offset, *why))

    def _settle(self, place: AssignedPartition, position: Position) -> None:
        """Set a position; it is validated if there are epochs."""
        provable = position.epoch >= 0 and place.leader_epoch >= 0
        place.jump(PositionState.VALIDATING if provable else PositionState.FETCHING, *position)

    # -- without a position --------------------------------------------------------------

    def _ask_group(self, places: Sequence[AssignedPartition], now: float) -> None:
        if self._committed is None:
            for place in places:
                self._fall_back(place, KafkaError._AUTO_OFFSET_RESET, "nothing is committed", now)
            return
        turns = [(place, place.turn) for place in places]

        def then(found: FetchedOffsets | ApiException) -> None:
            for place, turn in turns:
                row = found if isinstance(found, ApiException) else found[place.partition]
                if place.turn != turn:
                    continue  # the application has sought meanwhile
                place.waiting = False
                if isinstance(row, ApiException):
                    place.retry_at = now + self._backoff
                    trouble = PartitionError(place.partition, NO_OFFSET, int(row.code), row.message)
                    self.troubles.append(trouble)
                elif row.offset >= 0:
                    self._note("position.committed", now, place, to=row.offset)
                    place.committed = Position(row.offset, row.epoch)
                    self._settle(place, place.committed)
                else:
                    self._fall_back(
                        place, KafkaError._AUTO_OFFSET_RESET, "nothing is committed", now
                    )

        for place in places:
            place.waiting = True
        self._committed([place.partition for place in places], then, now)

    def out_of_range(self, place: AssignedPartition, now: float) -> None:
        """The log starts after this offset, or ends before it."""
        why = f"offset {place.ahead} is out of range"
        self._fall_back(place, KafkaError._AUTO_OFFSET_RESET, why, now)

    def _fall_back(self, place: AssignedPartition, code: int, why: str, now: float) -> None:
        """Reset the position by auto.offset.reset."""
        if self._policy is not None:
            self._note("position.reset", now, place, why=why)
            self._reset(place, self._policy)
            return
        self.stop(place, code, f"{why}, and auto.offset.reset is none")

    def stop(self, place: AssignedPartition, code: int, why: str) -> None:
        """Report an error; the application has to seek."""
        text = f"{place.partition}: {why}: seek() to go on"
        self.troubles.append(PartitionError(place.partition, place.offset, code, text))
        place.become(PositionState.STOPPED)

    def served(self, place: AssignedPartition) -> None:
        """Records of a partition were fetched: next time, the others come first."""
        self.places[place.partition] = self.places.pop(place.partition)

    def _reset(self, place: AssignedPartition, timestamp: int) -> None:
        place.jump(PositionState.RESETTING)
        place.reset_to = timestamp

    def _look_up(self, place: AssignedPartition, now: float) -> None:
        turn = place.turn

        def then(found: FoundOffset | MissingPartition) -> None:
            if place.turn != turn:
                return  # the application has sought meanwhile
            place.waiting = False
            if isinstance(found, FoundOffset):
                place.jump(PositionState.FETCHING, found.offset)

        place.waiting = True
        self._offsets.find(place.partition, place.reset_to, then)

    # -- a new leader --------------------------------------------------------------------

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        for topic in response.topics:
            for answer in topic.partitions:
                place, turn = ask.about.get(
                    TopicPartition(topic.topic, answer.partition), (None, NO_TURN)
                )
                if place is None or place.turn != turn:
                    continue
                place.waiting = False
                if answer.error_code != ErrorCode.none:
                    self._again(place, now)
                elif answer.end_offset < 0 or answer.leader_epoch < 0:
                    why = f"no leader remembers epoch {place.epoch}"
                    self._fall_back(place, KafkaError._LOG_TRUNCATION, why, now)
                elif answer.end_offset < place.offset:
                    self._truncated(place, Position(answer.end_offset, answer.leader_epoch), now)
                else:
                    self._note("position.validated", now, place)
                    place.become(PositionState.FETCHING)

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        for place, turn in ask.about.values():
            if place.turn == turn:
                self._again(place, now)

    def _again(self, place: AssignedPartition, now: float) -> None:
        place.waiting, place.retry_at = False, now + self._backoff
        self._stale = True

    def _truncated(self, place: AssignedPartition, fork: Position, now: float) -> None:
        """Records that the application got, from the fork on, are not in the new leader's log."""
        seen = place.offset
        self._note("log.truncated", now, place, to=fork.offset, to_epoch=fork.epoch)
        if self._policy is not None:
            place.jump(PositionState.FETCHING, *fork)
            return
        lost = f"offset {fork.offset} to {seen - 1}, read under epoch {place.epoch}"
        self.stop(place, KafkaError._LOG_TRUNCATION, f"log truncation detected: {lost}, are gone")

    def _note(self, kind: str, now: float, place: AssignedPartition, **data: Any) -> None:
        topic, number = place.partition
        at = {"topic": topic, "partition": number, "offset": place.offset, "epoch": place.epoch}
        self._emit(Event(kind, round(now * 1000), at | data))


def _validation(leader: int, places: Sequence[AssignedPartition]) -> Ask:
    rows = (
        (
            place.partition,
            OffsetForLeaderPartition(
                partition=place.partition.partition,
                current_leader_epoch=place.leader_epoch,
                leader_epoch=place.epoch,
            ),
        )
        for place in places
    )
    for place in places:
        place.waiting = True
    topics = topics_of(OffsetForLeaderTopic, rows, "topic")
    request = OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=topics)
    about = {place.partition: (place, place.turn) for place in places}
    return Ask(leader, Api.OFFSET_FOR_LEADER_EPOCH, request, about)
