"""Which brokers are alive, and the states of a broker as the controller sees it.

    registered ──> FENCED ── UNFENCE ──> UNFENCED ── HAND_OVER ──> CONTROLLED_SHUTDOWN
                     │  ^                 │    │                      │    │
                     │  └─ FENCE, EXPIRE ─┘    │ STOP                 │    │
                     │  └───────────────────── │ ──── EXPIRE ─────────┘    │ STOP
                     └────────── STOP ─────────┴────> SHUTDOWN_NOW <───────┘

A broker sends heartbeats. The first ones of a new process ask to be unfenced: this is granted when
the broker has read the metadata up to its own registration. A broker that is silent for a session
is fenced. One that wants to stop hands over what it leads first; it may go when every other active
broker has read the metadata that says who leads now. Whoever may go is fenced.

The times of the heartbeats are in no record: a new controller gives each broker a new session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

UNKNOWN_OFFSET = -1


class BrokerControlState(Enum):
    """The states of a registered broker"""

    FENCED = "fenced"  # leads nothing, and clients do not see it
    UNFENCED = "unfenced"  # active
    CONTROLLED_SHUTDOWN = "controlled shutdown"  # hands over what it leads
    SHUTDOWN_NOW = "shut down"  # may stop: it is fenced


class BrokerControlStep(Enum):
    UNFENCE = "unfence"  # it asks, and has read its registration
    FENCE = "fence"  # it asks
    EXPIRE = "expire"  # silent for a session
    HAND_OVER = "hand over"  # it wants to stop, and leads partitions
    STOP = "stop"  # it wants to stop, and nobody needs it


FENCED, UNFENCED, CONTROLLED_SHUTDOWN, SHUTDOWN_NOW = BrokerControlState

BROKER_CONTROL_STEPS: Mapping[tuple[BrokerControlState, BrokerControlStep], BrokerControlState] = {
    (FENCED, BrokerControlStep.UNFENCE): UNFENCED,
    (FENCED, BrokerControlStep.STOP): SHUTDOWN_NOW,
    (UNFENCED, BrokerControlStep.FENCE): FENCED,
    (UNFENCED, BrokerControlStep.EXPIRE): FENCED,
    (UNFENCED, BrokerControlStep.HAND_OVER): CONTROLLED_SHUTDOWN,
    (UNFENCED, BrokerControlStep.STOP): SHUTDOWN_NOW,
    (CONTROLLED_SHUTDOWN, BrokerControlStep.EXPIRE): FENCED,
    (CONTROLLED_SHUTDOWN, BrokerControlStep.STOP): SHUTDOWN_NOW,
}


class BrokerHeartbeat(NamedTuple):
    broker: int
    epoch: int
    metadata_offset: int  # of the last record that the broker has applied
    wants_fence: bool
    wants_shutdown: bool


@dataclass(slots=True)
class BrokerSession:
    last_contact_ms: int
    metadata_offset: int = UNKNOWN_OFFSET
    shutdown_offset: int | None = None  # of the record by which it began to hand over


class BrokerHeartbeatManager:
    def __init__(self, session_timeout_ms: int) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._sessions: dict[int, BrokerSession] = {}

    def register(self, broker: int, now: int) -> None:
        self._sessions[broker] = BrokerSession(now)

    def has_valid_session(self, broker: int, now: int) -> bool:
        session = self._sessions.get(broker)
        return session is not None and now < session.last_contact_ms + self._session_timeout_ms

    def touch(self, heartbeat: BrokerHeartbeat, now: int, shutdown_offset: int | None) -> None:
        session = self._sessions[heartbeat.broker]
        session.last_contact_ms, session.metadata_offset = now, heartbeat.metadata_offset
        session.shutdown_offset = shutdown_offset

    def shutdown_offset(self, broker: int) -> int | None:
        return self._sessions[broker].shutdown_offset

    def expired(self, unfenced: frozenset[int], now: int) -> list[int]:
        """The brokers to fence."""
        return sorted(it for it in unfenced if not self.has_valid_session(it, now))

    def deadlines(self, unfenced: frozenset[int]) -> list[int]:
        sessions = self._sessions
        return [sessions[it].last_contact_ms + self._session_timeout_ms for it in unfenced]

    def step(
        self,
        state: BrokerControlState,
        heartbeat: BrokerHeartbeat,
        registered_at: int,
        active: frozenset[int],
        leads: Callable[[], bool],
    ) -> BrokerControlStep | None:
        """What follows from a heartbeat; None: nothing changes. `active`: the brokers that have to
        know of a shutdown."""
        if heartbeat.wants_shutdown or state is CONTROLLED_SHUTDOWN:
            if state is FENCED or heartbeat.wants_fence:
                return BrokerControlStep.STOP
            if leads() or not self._is_known(heartbeat.broker, active):
                return BrokerControlStep.HAND_OVER
            return BrokerControlStep.STOP
        if heartbeat.wants_fence:
            return BrokerControlStep.FENCE
        is_caught_up = heartbeat.metadata_offset >= registered_at
        return BrokerControlStep.UNFENCE if is_caught_up else None

    def _is_known(self, broker: int, active: frozenset[int]) -> bool:
        offset = self._sessions[broker].shutdown_offset
        others = (self._sessions[it].metadata_offset for it in active if it != broker)
        return offset is None or all(known >= offset for known in others)
