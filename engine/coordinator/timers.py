"""Deadlines, most of which are postponed before they expire.

Every heartbeat postpones a deadline, and very few are ever reached. So they are not sorted: they
are kept in a dictionary, beside a lower bound for all of them. Only when the bound is reached are
all deadlines read, the expired ones taken out, and the bound raised.

    due()        the bound: no deadline expires earlier, and perhaps none expires then
    expired      the deadlines that are over by now, the earliest first

Invariant: no deadline is below the bound.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class AlarmKind(Enum):
    SESSION = "session"  # a member has sent nothing for too long
    PENDING = "pending"  # a member id was assigned, and no member has joined with it
    JOIN = "join"  # members that have not joined again by now are removed
    SYNC = "sync"  # members that have not asked for their assignment by now are removed
    OFFSETS = "offsets"  # look for expired offsets
    LATE = "late"  # look for transactions that take too long
    UNUSED = "unused"  # look for transactional ids that are not used any more
    COMPLETION = "completion"  # a transaction's last record could not be written: try again


class Alarm(NamedTuple):
    kind: AlarmKind
    owner: str = ""  # a group, or a transactional id
    member: str = ""  # of the group
    partition: int = -1  # of the coordinator's topic, which has the owner


class Timers:
    def __init__(self) -> None:
        self._deadlines: dict[Alarm, int] = {}
        self._bound: int | None = None

    def set(self, alarm: Alarm, deadline: int) -> None:
        self._deadlines[alarm] = deadline
        if self._bound is None or deadline < self._bound:
            self._bound = deadline

    def cancel(self, alarm: Alarm) -> None:
        self._deadlines.pop(alarm, None)

    def cancel_all(self, partition: int, owner: str) -> None:
        place = partition, owner
        for alarm in [it for it in self._deadlines if (it.partition, it.owner) == place]:
            del self._deadlines[alarm]

    def move(self, milliseconds: int) -> None:
        """The clock was set by so much."""
        self._deadlines = {it: deadline + milliseconds for it, deadline in self._deadlines.items()}
        self._bound = min(self._deadlines.values(), default=None)

    def due(self) -> int | None:
        return self._bound

    def expired(self, now: int) -> Iterator[Alarm]:
        if self._bound is None or now < self._bound:
            return
        ended = [each for each, deadline in self._deadlines.items() if deadline <= now]
        for alarm in sorted(ended, key=self._deadlines.__getitem__):
            # Handling one alarm may cancel or postpone another one.
            if self._deadlines.get(alarm, now + 1) <= now:
                del self._deadlines[alarm]
                yield alarm
        self._bound = min(self._deadlines.values(), default=None)
