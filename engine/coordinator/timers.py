"""Deadlines, nearly all of which are put off again and again.

Every heartbeat moves a deadline into the future, and next to none is ever reached. So none is
sorted: they lie in a dictionary, beside a bound that no deadline is below. Only when the bound is
reached are all looked at, those that are over taken out, and the bound raised.

    due()    the bound: nothing can happen earlier, and perhaps nothing happens then
    over     what has come to its end by now, the earliest first

Invariant: no deadline is below the bound.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    SESSION = "session"  # a member was last heard of too long ago
    PENDING = "pending"  # a member id was given out, and nobody has joined with it
    JOIN = "join"  # who has not joined again by now is out
    SYNC = "sync"  # who has not asked for its assignment by now is out
    OFFSETS = "offsets"  # look for offsets that nobody needs any more
    LATE = "late"  # look for transactions that take too long
    UNUSED = "unused"  # look for transactional ids that nobody uses any more
    COMPLETION = "completion"  # of a transaction could not be written: try again


class Alarm(NamedTuple):
    kind: Kind
    owner: str = ""  # a group, or a transactional id
    member: str = ""  # of the group


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

    def cancel_all(self, owner: str) -> None:
        for alarm in [each for each in self._deadlines if each.owner == owner]:
            del self._deadlines[alarm]

    def due(self) -> int | None:
        return self._bound

    def over(self, now: int) -> Iterator[Alarm]:
        if self._bound is None or now < self._bound:
            return
        ended = [each for each, deadline in self._deadlines.items() if deadline <= now]
        for alarm in sorted(ended, key=self._deadlines.__getitem__):
            # What one of them leads to may cancel another, or put it off.
            if self._deadlines.get(alarm, now + 1) <= now:
                del self._deadlines[alarm]
                yield alarm
        self._bound = min(self._deadlines.values(), default=None)
