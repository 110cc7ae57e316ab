"""One partition of a consumer: where it is, and in which state its position is.

    UNKNOWN ------ the group has committed an offset ---------> VALIDATING <---- a new leader
       | nothing is committed                                     |     | the log has what was read
       v                                    it was cut off before |     v                   |
    RESETTING --- ListOffsets ----------------------------------> FETCHING -----------------+
       ^                                                            |
       +--- the offset is out of range: auto.offset.reset ----------+---> STOPPED, for none

A seek leads from anywhere to RESETTING (the beginning, the end), or to an offset.

Invariant: `offset` is that of the next record that the application gets. What was fetched is void
as soon as `turn` changes, which it does with every jump, pause and new leader.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from engine.client.consuming.offsets import LATEST, NOBODY
from engine.model import TopicPartition


class State(Enum):
    """What is known of a position."""

    UNKNOWN = "where to start is not known: the group is asked what it has committed"
    RESETTING = "it goes to the beginning or the end, and the leader is asked where that is"
    VALIDATING = "the leader is new: it is asked whether its log has what was read so far"
    FETCHING = "records come from here"
    STOPPED = "there is no such place any more, and no policy: the application has to seek"


_SOUGHT = frozenset({State.RESETTING, State.VALIDATING, State.FETCHING})

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.UNKNOWN: _SOUGHT | {State.STOPPED},
    State.RESETTING: _SOUGHT,
    State.VALIDATING: _SOUGHT | {State.STOPPED},
    State.FETCHING: _SOUGHT | {State.STOPPED},
    State.STOPPED: _SOUGHT,
}


class Position(NamedTuple):
    offset: int  # of the next record
    epoch: int = NOBODY  # of the record before it, if that is known


class Trouble(NamedTuple):
    """What the application has to hear about a partition."""

    partition: TopicPartition
    offset: int
    code: int  # a broker's, or one of librdkafka's
    text: str


@dataclass(slots=True, eq=False)
class Place:
    """One partition that is assigned to this consumer."""

    partition: TopicPartition
    state: State = State.UNKNOWN
    offset: int = NOBODY  # of the next record that the application gets
    epoch: int = NOBODY  # of the record before it
    stored: Position | None = None  # what store_offsets said
    committed: Position | None = None  # what the group has, as far as we know
    paused: bool = False
    turn: int = 0
    # The leader that the position is held against.
    leader: int = NOBODY
    leader_epoch: int = NOBODY
    # On the way to a position.
    reset_to: int = LATEST
    waiting: bool = False  # for the answer that moves `state` on
    retry_at: float = 0.0  # nothing is asked before; 0.0 if nothing has failed
    missing_since: float | None = None  # when the cluster said first that there is no such thing
    # Ahead of the position.
    ahead: int = NOBODY  # the offset to fetch next: `offset`, or behind what is ready
    asked: int = NOBODY  # the turn for which a fetch is on the way
    ready: int = 0  # answers that are fetched and not yet unpacked
    end_told: int = NOBODY  # the end of the partition that the application was told of
    # As the last fetch had it.
    high_watermark: int = NOBODY
    last_stable: int = NOBODY
    log_start: int = NOBODY
    replica: int = NOBODY  # where the leader says to read (KIP-392)
    replica_until: float = 0.0

    def become(self, state: State) -> None:
        assert state in TRANSITIONS[self.state], f"{self.partition}: {self.state} to {state}"
        self.state = state
        self.waiting, self.retry_at = False, 0.0
        self.refetch()

    def refetch(self) -> None:
        """What was fetched is void; go on from where the application is."""
        self.turn += 1
        self.ahead, self.ready = self.offset, 0

    def jump(self, state: State, offset: int = NOBODY, epoch: int = NOBODY) -> None:
        self.offset, self.epoch, self.end_told = offset, epoch, NOBODY
        self.become(state)

    @property
    def position(self) -> Position:
        return Position(self.offset, self.epoch)
