"""The layout of the picture of a group: time to the right, a lane for each consumer.

         left                                  right
          │ 3 moved · 0.31 s                     │
    ┌ c1 ┐│━━━━━━━━━━▒▒━━━━━━━━━━━━━━━━━━━━━━┄┄┄┄│ 0 ▐▐ 12      a thread has a row in the lane
    │    ││━━━━━━━━━━▒▒                          │              that owns it: the first that is
    ┌ c2 ┐│          ▒▒━━━━━━━━━━━━━━━━━━━━━━┄┄┄┄│ 1 ▐ 4        free, and keeps it while it stays

    ┌till┐│   ├──────┤✓  ├───┤✗              │              a row for each transactional id

On a narrow page the name of a consumer stands above its threads, and time has the whole width.

Invariant: at no time are two threads in one row; a thread changes its row only with its owner.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from engine.cluster.state import ClusterState, GroupState
from widgets.group.history import GroupHistory, RebalanceRound, Spell, place_of
from widgets.group.transactions import OffsetsCommit, TransactionSpan
from widgets.time_axis import Axis, axis

NARROW = 680  # px: on a narrower page names stand above the threads
NAMES, LAGS = 180, 200  # widths of the columns left and right of the threads
EDGE, SLIM = 20, 88  # the same, on a narrow page
TOP, LOW = 66, 92  # of the first lane, and on a narrow page; above it is the cost of rebalances
HEADER = 30  # height of a consumer's name, where it stands above its threads
LEAST, GAP = 58, 10  # the least height of a lane, and the gap between two
PITCH, FINE = 16, 6  # from row to row; where there are many
ROOMY = 28  # rows, all lanes taken together, that have the wide pitch
MOST_LANES, MOST_THREADS, MOST_IDS = 12, 60, 4  # that are drawn
SENT = 18  # height of the marks of offsets that were sent in transactions, below a lane's threads
ID, SLIM_ID = 40, 56  # height of a transactional id's row, and on a narrow page


Sent = tuple[OffsetsCommit, TransactionSpan | None]  # with its transaction, unless it was refused


class DeedMark(NamedTuple):
    """An act on a consumer, which the cluster notices only later."""

    at: int  # ms since 1970
    lane: str
    deed: str  # kill, freeze, thaw, stop


@dataclass(frozen=True)
class GroupViewState:
    """The data of a picture of a group."""

    history: GroupHistory
    state: ClusterState
    now: int  # ms since 1970
    live: bool
    span: int = 60  # seconds that are seen; 0: all
    acts: frozenset[str] = frozenset()
    statuses: tuple[tuple[str, str], ...] = ()  # of the consumers that were started here
    marks: tuple[DeedMark, ...] = ()
    whole: tuple[int, int] | None = None  # the start and end of a finished run
    floor: float = 0  # the least height of all lanes, so that the clock stands still
    width: float = 1000  # px, of the picture

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def left(self) -> float:
        """Where the time begins that is drawn."""
        return EDGE if self.narrow else NAMES

    @property
    def right(self) -> float:
        return self.width - (SLIM if self.narrow else LAGS)

    @property
    def top(self) -> float:
        return LOW if self.narrow else TOP

    @property
    def group(self) -> GroupState | None:
        return self.state.groups.get(self.history.group)

    @cached_property
    def start(self) -> int:
        start = self.whole[0] if self.whole else self.history.start
        return self.now if start is None else min(start, self.now)

    @cached_property
    def scale(self) -> Axis:
        """It moves in jumps, so that the picture of an idle group does not move."""
        left, width = self.left, self.right - self.left
        if self.whole and not self.span:
            return axis(*self.whole, False, left, width)
        if not self.span or self.now - self.start < self.span * 1000:
            return axis(self.start, self.now, self.live, left, width)
        span, step = self.span * 1000, self.span * 1000 // 6
        steps = -(-(self.now - self.start) // step)
        return Axis(max(self.start, self.start + steps * step - span), span, left, width)

    def seen(self, began: int, ended: int | None) -> bool:
        """In the stretch of time that is drawn."""
        return (self.now if ended is None else ended) >= self.scale.start

    @cached_property
    def rounds(self) -> list[RebalanceRound]:
        return [it for it in self.history.rounds if self.seen(it.began, it.ended)]

    @cached_property
    def partitions(self) -> list[str]:
        """The partitions whose threads are drawn, in order; `threads` may leave out some."""
        found = {it.partition for it in self.history.spells if self.seen(it.start, it.end)}
        return sorted(found, key=place_of)

    @cached_property
    def threads(self) -> list[str]:
        return self.partitions[:MOST_THREADS]

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each thread, for its colour; later threads do not change it."""
        first: dict[str, int] = {}
        for spell in self.history.spells:
            first.setdefault(spell.partition, spell.start)
        order = sorted(first, key=lambda it: (first[it], place_of(it)))
        return {partition: place for place, partition in enumerate(order)}

    @cached_property
    def topics(self) -> list[str]:
        return sorted({place_of(each)[0] for each in self.partitions})

    @cached_property
    def lanes(self) -> list[str]:
        """In the order in which they joined; only the newest, if there are too many."""
        seen = [it.lane for it in self.history.lives if self.seen(it.came, it.went)]
        own = [name for name, status in self.statuses if status in ("reading", "frozen", "failed")]
        return list(dict.fromkeys(seen + own))[-MOST_LANES:]

    @cached_property
    def ids(self) -> list[str]:
        """The transactional ids that are drawn: the last, if there are too many."""
        found = self.history.transactions.facts.own
        seen = dict.fromkeys(it.id for it in found if self.seen(it.began, it.ended))
        return list(seen)[-MOST_IDS:]

    @cached_property
    def sent(self) -> list[Sent]:
        """The offsets that were sent in this stretch of time, in transactions."""
        known = self.history.transactions.facts
        found: list[Sent] = [(it, span) for span in known.own for it in span.commits]
        found += [(it, None) for it in known.refused]
        return sorted(
            (it for it in found if self.seen(it[0].at, it[0].at)), key=lambda it: it[0].at
        )

    def short(self, partition: str) -> str:
        """Its number; and of which topic, if there are several."""
        topic, number = place_of(partition)
        return str(number) if len(self.topics) < 2 else f"{topic[:1]}{number}"

    def away(self, lane: str) -> list[tuple[int, int]]:
        """The times in which a consumer was killed or frozen, and read nothing."""
        found: list[tuple[int, int]] = []
        since: int | None = None
        for mark in (it for it in self.marks if it.lane == lane):
            if mark.deed in ("kill", "freeze"):
                since = mark.at if since is None else since
            elif mark.deed == "thaw" and since is not None:
                found.append((since, mark.at))
                since = None
        return found if since is None else [*found, (since, self.now)]


class Rows:
    """The lanes, and the row of each spell in its lane."""

    def __init__(self, view: GroupViewState) -> None:
        drawn, lanes = set(view.threads), view.lanes
        spells = [
            it
            for it in view.history.spells
            if it.partition in drawn and it.lane in lanes and view.seen(it.start, it.end)
        ]
        self.spells: dict[str, list[Spell]] = {}  # by partition
        self._row: dict[tuple[str, int], int] = {}
        counts = self._allot(lanes, spells)
        self.pitch = PITCH if sum(counts.values()) <= ROOMY else FINE
        self.top: dict[str, float] = {}
        self.height: dict[str, float] = {}
        y = view.top
        self.header = HEADER if view.narrow else 0  # in a lane, above its threads
        for lane in lanes:
            self.top[lane] = y
            below = SENT if any(it.lane == lane for it, _ in view.sent) else 0
            self.height[lane] = max(LEAST, self.header + counts[lane] * self.pitch + 14 + below)
            y += self.height[lane] + GAP
        y += 0 if lanes else LEAST + GAP
        self.ids: dict[str, float] = {}  # the top of each transactional id's row
        for id in view.ids:
            self.ids[id] = y
            y += (SLIM_ID if view.narrow else ID) + GAP
        self.bottom = max(y, view.floor)

    def y(self, spell: Spell) -> float:
        row = self._row[spell.partition, spell.start]
        return self.top[spell.lane] + self.header + 7 + (row + 0.5) * self.pitch

    def _allot(self, lanes: Iterable[str], spells: list[Spell]) -> dict[str, int]:
        free: dict[str, list[float]] = {
            lane: [] for lane in lanes
        }  # the time at which each row is free again
        for spell in sorted(spells, key=lambda it: (it.start, place_of(it.partition))):
            self.spells.setdefault(spell.partition, []).append(spell)
            ends, end = free[spell.lane], float("inf") if spell.end is None else spell.end
            row = next((at for at, until in enumerate(ends) if until <= spell.start), len(ends))
            ends[row : row + 1] = [end]
            self._row[spell.partition, spell.start] = row
        return {lane: len(ends) for lane, ends in free.items()}
