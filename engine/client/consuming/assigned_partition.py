"""One partition of a consumer: its position, and the state of that position.

    UNKNOWN ------ the group has committed an offset ---------> VALIDATING <---- a new leader
       | nothing is committed                                     |     | its log has these records
       v                                  its log was truncated   |     v                   |
    RESETTING --- ListOffsets ----------------------------------> FETCHING -----------------+
       ^                                                            |
       +--- the offset is out of range: auto.offset.reset ----------+---> STOPPED, for none

A seek leads from any state to RESETTING (the beginning, the end), or to an offset.

Invariant: `offset` is that of the next record that the application gets. Fetched records become
invalid when `turn` changes, that is, with every jump, pause and new leader. So do the answers that
a state waits for: whoever changes `turn` asks again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from engine.client.consuming.offset_lookup import LATEST, NO_OFFSET
from engine.model import NO_BROKER, NO_EPOCH, TopicPartition

NO_TURN = -1  # older than every turn of a partition


class PositionState(Enum):
    """What is known of a position."""

    UNKNOWN = "where to start is not known: the group is asked what it has committed"
    RESETTING = "it goes to the beginning or the end, and the leader is asked where that is"
    VALIDATING = "the leader is new: it is asked whether its log has what was read so far"
    FETCHING = "records come from here"
    STOPPED = "there is no such place any more, and no policy: the application has to seek"


_SOUGHT = frozenset({PositionState.RESETTING, PositionState.VALIDATING, PositionState.FETCHING})

TRANSITIONS: Mapping[PositionState, frozenset[PositionState]] = {
    PositionState.UNKNOWN: _SOUGHT | {PositionState.STOPPED},
    PositionState.RESETTING: _SOUGHT,
    PositionState.VALIDATING: _SOUGHT | {PositionState.STOPPED},
    PositionState.FETCHING: _SOUGHT | {PositionState.STOPPED},
    PositionState.STOPPED: _SOUGHT,
}


class Position(NamedTuple):
    offset: int  # of the next record
    epoch: int = NO_EPOCH  # of the record before it, if that is known


class PartitionError(NamedTuple):
    """An error of a partition, for the application."""

    partition: TopicPartition
    offset: int
    code: int  # a broker's, or one of librdkafka's
    text: str


@dataclass(slots=True, eq=False)
class AssignedPartition:
    """One partition that is assigned to this consumer."""

    partition: TopicPartition
    state: PositionState = PositionState.UNKNOWN
    offset: int = NO_OFFSET  # of the next record that the application gets
    epoch: int = NO_EPOCH  # of the record before it
    stored: Position | None = None  # by store_offsets
    committed: Position | None = None  # by the group, as far as we know
    paused: bool = False
    turn: int = 0
    # The leader that the position was validated against.
    leader: int = NO_BROKER
    leader_epoch: int = NO_EPOCH
    # On the way to a position.
    reset_to: int = LATEST
    waiting: bool = False  # for the answer that moves `state` on
    retry_at: float = 0.0  # the time of the next attempt; 0.0 if nothing has failed
    missing_since: float | None = None  # when the metadata lacked the partition first
    # Ahead of the position.
    ahead: int = NO_OFFSET  # the offset to fetch next: `offset`, or after the fetched records
    asked: int = NO_TURN  # the turn of the fetch in flight
    ready: int = 0  # answers that are fetched and not yet unpacked
    reported_end: int = NO_OFFSET  # the last end of the partition that was reported
    # By the last fetch.
    high_watermark: int = NO_OFFSET
    last_stable: int = NO_OFFSET
    log_start: int = NO_OFFSET
    replica: int = NO_BROKER  # the preferred read replica (KIP-392)
    replica_until: float = 0.0

    def become(self, state: PositionState) -> None:
        assert state in TRANSITIONS[self.state], f"{self.partition}: {self.state} to {state}"
        self.state = state
        self.waiting, self.retry_at = False, 0.0
        self.refetch()

    def refetch(self) -> None:
        """Fetched records are invalid; fetch again from the application's position."""
        self.turn += 1
        self.ahead, self.ready = self.offset, 0

    def jump(self, state: PositionState, offset: int = NO_OFFSET, epoch: int = NO_EPOCH) -> None:
        self.offset, self.epoch, self.reported_end = offset, epoch, NO_OFFSET
        self.become(state)

    @property
    def position(self) -> Position:
        return Position(self.offset, self.epoch)
