"""The segments of a log over time: what is there, and what was there at an earlier look.

    gone    ┆ 0 ┆   deleted by retention    its base offset lies before the log's first
            ┆ 9 ┆   merged by compaction    its records, those that stay, are in the one before
    there   │ 12 │  compacted               the same name, another file, which is smaller
            │ 40 │  closed
            │ 77    active                  open at its end

A file that leaves the log is first renamed to .deleted, so that a minute of the past is in the
directory itself, and a first look knows it too.

Invariant: a base offset is there once at most, and a gone piece never hides one that is there.
"""

from enum import Enum
from typing import NamedTuple

from widgets.log.directory import Look, Segment

REMEMBERED = 6  # pieces that are gone


class State(Enum):
    ACTIVE = "active"
    CLOSED = "closed"
    COMPACTED = "compacted"
    DELETED = "deleted by retention"
    MERGED = "merged by compaction"
    CUT = "cut off"  # a follower that had more than its leader

    @property
    def there(self) -> bool:
        return self in (State.ACTIVE, State.CLOSED, State.COMPACTED)


class Piece(NamedTuple):
    segment: Segment
    state: State
    was: int = 0  # bytes that it had before it was compacted


class History:
    """Sees look after look."""

    def __init__(self) -> None:
        self._last: dict[int, Segment] = {}
        self._gone: dict[int, Piece] = {}
        self._was: dict[int, int] = {}  # bytes before compaction, by base offset
        self._replaced: dict[int, int] = {}  # which file had that name before
        self._told: set[int] = set()  # base offsets of all that ever went
        self.news: list[str] = []  # what the last look found changed, in words

    def see(self, look: Look) -> list[Piece]:
        """All pieces in order, those that are gone among them."""
        self.news = []
        now = {segment.base_offset: segment for segment in look.segments}
        first = next(iter(now), look.start_offset)
        newest = max(now, default=first)
        for old in [*look.leaving, *self._last.values()]:
            base, heir = old.base_offset, now.get(old.base_offset)
            if heir is None and base not in self._told:
                self._told.add(base)
                state = State.DELETED if base < first else State.MERGED
                state = State.CUT if base > newest else state
                self._gone[base] = Piece(old, state)
                self.news.append(f"Segment {base:,} is {state.value}.")
            elif heir and old.identity not in (heir.identity, self._replaced.get(base)):
                self._replaced[base] = old.identity
                self._was[base] = old.size
                self.news.append(f"Segment {base:,} is compacted.")
        if self._last:
            self.news += [f"Segment {it:,} is new." for it in now if it not in self._last]
        self._last = now
        self._forget(now)
        there = [self._there(segment, segment.base_offset == newest) for segment in look.segments]
        return sorted([*self._gone.values(), *there], key=lambda piece: piece.segment.base_offset)

    def _there(self, segment: Segment, is_newest: bool) -> Piece:
        """As it is, and how many bytes it took before, with those that were merged into it."""
        base, was = segment.base_offset, self._was.get(segment.base_offset, 0)
        if is_newest:
            return Piece(segment, State.ACTIVE)
        if was:
            following = min((it for it in self._last if it > base), default=base)
            merged = (it.segment.size for at, it in self._gone.items() if base < at < following)
            was += sum(merged)
        return Piece(segment, State.COMPACTED if was else State.CLOSED, was)

    def _forget(self, now: dict[int, Segment]) -> None:
        """The newest few of the past are enough, and what came back is not past."""
        kept = [base for base in sorted(self._gone) if base not in now]
        self._gone = {base: self._gone[base] for base in kept[-REMEMBERED:]}
        self._told.difference_update(now)
        self._was = {base: was for base, was in self._was.items() if base in now}
