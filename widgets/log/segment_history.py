"""The segments of a log over time: those that exist, and those that existed before.

    gone    ┆ 0 ┆   deleted by retention    its base offset is below the log's first
            ┆ 9 ┆   merged by compaction    its remaining records are in the one before
    there   │ 12 │  compacted               the same name, another file, which is smaller
            │ 40 │  closed
            │ 77    active                  open at its end

A file that leaves the log is first renamed to .deleted. So the directory still has
the segments that were deleted in the last minute.

Invariant: a base offset exists at most once, and a deleted segment never hides an existing one.
"""

from enum import Enum
from typing import NamedTuple

from widgets.log.directory import Look, SegmentFiles

REMEMBERED = 6  # pieces that do not exist any more


class SegmentState(Enum):
    ACTIVE = "active"
    CLOSED = "closed"
    COMPACTED = "compacted"
    DELETED = "deleted by retention"
    MERGED = "merged by compaction"
    CUT = "cut off"  # by a follower that had more than its leader

    @property
    def there(self) -> bool:
        return self in (SegmentState.ACTIVE, SegmentState.CLOSED, SegmentState.COMPACTED)


class SegmentPiece(NamedTuple):
    segment: SegmentFiles
    state: SegmentState
    was: int = 0  # bytes that it had before it was compacted


class SegmentHistory:
    """Compares each reading of the directory with the one before."""

    def __init__(self) -> None:
        self._last: dict[int, SegmentFiles] = {}
        self._gone: dict[int, SegmentPiece] = {}
        self._was: dict[int, int] = {}  # bytes before compaction, by base offset
        self._replaced: dict[int, int] = {}  # the former file of that name
        self._told: set[int] = set()  # base offsets of all deleted segments
        self.news: list[str] = []  # the last changes, as text

    def see(self, look: Look) -> list[SegmentPiece]:
        """All pieces in order, with the deleted ones."""
        self.news = []
        now = {segment.base_offset: segment for segment in look.segments}
        first = next(iter(now), look.start_offset)
        newest = max(now, default=first)
        for old in [*look.leaving, *self._last.values()]:
            base, heir = old.base_offset, now.get(old.base_offset)
            if heir is None and base not in self._told:
                self._told.add(base)
                state = SegmentState.DELETED if base < first else SegmentState.MERGED
                state = SegmentState.CUT if base > newest else state
                self._gone[base] = SegmentPiece(old, state)
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

    def _there(self, segment: SegmentFiles, is_newest: bool) -> SegmentPiece:
        """An existing segment, with its bytes before compaction, and those merged into it."""
        base, was = segment.base_offset, self._was.get(segment.base_offset, 0)
        if is_newest:
            return SegmentPiece(segment, SegmentState.ACTIVE)
        if was:
            following = min((it for it in self._last if it > base), default=base)
            merged = (it.segment.size for at, it in self._gone.items() if base < at < following)
            was += sum(merged)
        return SegmentPiece(segment, SegmentState.COMPACTED if was else SegmentState.CLOSED, was)

    def _forget(self, now: dict[int, SegmentFiles]) -> None:
        """Keep only the newest deleted segments, without those that exist again."""
        kept = [base for base in sorted(self._gone) if base not in now]
        self._gone = {base: self._gone[base] for base in kept[-REMEMBERED:]}
        self._told.difference_update(now)
        self._was = {base: was for base, was in self._was.items() if base in now}
