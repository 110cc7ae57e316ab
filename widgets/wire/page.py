"""The arrows on a page and their positions: time runs downwards, a row for each arrow.

             producer-1           broker 1
      0.000      │ Produce v9 ...    │
                 │──────────────────>┃      a bar while the broker serves it, or waits
      0.001      │<┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┃
                 │  3 heartbeats     │      periodic messages are counted in one line
      4.210      │──────────────────>┃

Rows have the same height, so time is in order and not to scale; each row has its time. The page has
as many rows as fit, up to the newest, or to the row that was scrolled to. On a page of less than
700 px the words stand above their arrow, and the parties' names in two levels.

Invariant: rows never overlap; each arrow has at most one row, and both of its ends are drawn.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from widgets.log.fields import count
from widgets.scene import width_of
from widgets.time_axis import Axis, axis
from widgets.wire.anatomy import ANSWER, ASK
from widgets.wire.exchange import MessageArrow, MessageLog, rank

WIDTH = 1000  # usual
BESIDE = 700  # px: on a narrower page the words are above the arrows
CLOCK = 66  # the times end here
TOP, HEAD = 12, 34  # the parties' names, and the height of a level of them
ROW, ROW_NARROW, FOLD, SLANT = 26, 38, 18, 10
ROOM, ROOM_OPEN = 450, 255  # for rows, and while a message is open
ROOM_NARROW, ROOM_OPEN_NARROW = 532, 228
PAIR = 104, 140  # from the times to the first lifeline of two, and from the last to the edge
EDGE = 44  # of the first and the last of many
WORDS, FEWEST, MOST = 0.37, 280, 350  # the words beside many: a share of the width, in px
APART = 4  # between two names
BROKERS, CLIENTS = 5, 4  # parties that are drawn, at most
EVERYTHING = ""

Anchor: TypeAlias = tuple[float, float, bool]  # a position in the order of arrows
Between: TypeAlias = frozenset[str]


class WireRow(NamedTuple):
    y: float
    arrow: MessageArrow  # or the last of those that are folded
    folded: str = ""  # the number and name of folded arrows
    high: float = ROW  # if it is not folded

    @property
    def height(self) -> float:
        return FOLD if self.folded else self.high

    @property
    def level(self) -> float:
        """The y at which its arrow begins."""
        return self.y + self.height - SLANT - 4


@dataclass(frozen=True)
class WirePage:
    messages: MessageLog
    live: bool
    between: Between = frozenset()  # two: messages between them; one: with all; none: all messages
    kind: str = EVERYTHING  # only this API
    fold: bool = True
    until: Anchor | None = None  # of the last row; None: the newest
    opened: str = ""  # the key of an arrow
    width: float = WIDTH  # px

    @cached_property
    def chosen(self) -> list[MessageArrow]:
        """The parties that the user asked for, also those without messages."""
        return [
            arrow
            for arrow in self.messages.arrows
            if self.kind in (EVERYTHING, arrow.kind) and self._concerns(arrow)
        ]

    def _concerns(self, arrow: MessageArrow) -> bool:
        if len(self.between) < 2:
            return not self.between or bool(arrow.parties & self.between)
        return arrow.source != arrow.target and arrow.parties <= self.between

    @cached_property
    def parties(self) -> list[str]:
        """The parties that are drawn, from left to right."""
        known = self.present
        brokers = [it for it in known if is_machine(it)]
        if len(known) <= BROKERS + CLIENTS:
            return known
        clients = [it for it in known if not is_machine(it)]
        last = {it: at for at, arrow in enumerate(self.chosen) for it in arrow.parties}
        kept = sorted(clients, key=lambda it: last[it])[-CLIENTS:]
        return [it for it in known if it in kept or it in brokers[:BROKERS]]

    @cached_property
    def present(self) -> list[str]:
        """The parties with messages, and those that the user asked for."""
        seen = {party for arrow in self.chosen for party in arrow.parties} | self.between
        known = [it for it in self.messages.parties if it in seen]
        return sorted([*known, *sorted(seen.difference(known))], key=rank)

    @property
    def left_out(self) -> list[str]:
        return [it for it in self.present if it not in self.parties]

    # -- positions -----------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        return self.width >= BESIDE

    @property
    def left(self) -> float:
        return 16 if self.wide else 10

    @property
    def right(self) -> float:
        return self.width - self.left

    @property
    def aside(self) -> float:
        """Where the words begin that are beside many lifelines."""
        return self.right - min(max(WORDS * self.width, FEWEST), MOST)

    @cached_property
    def x(self) -> dict[str, float]:
        """The x of each lifeline."""
        if not self.wide:
            first, last = self.left + EDGE, self.right - EDGE
        elif self.is_pair:
            first, last = CLOCK + PAIR[0], self.width - PAIR[1]
        else:
            first, last = CLOCK + EDGE, self.aside - EDGE
        step = (last - first) / max(len(self.parties) - 1, 1)
        return {party: first + step * at for at, party in enumerate(self.parties)}

    @property
    def is_pair(self) -> bool:
        return len(self.parties) <= 2

    @cached_property
    def step(self) -> float:
        """From one lifeline to the next."""
        xs = list(self.x.values())
        return xs[1] - xs[0] if len(xs) > 1 else 2 * EDGE

    @cached_property
    def levels(self) -> int:
        """Of the names: two, where they have no room side by side."""
        longest = max((width_of(it, 12, bold=True) for it in self.parties), default=0)
        return 1 if longest + 12 <= self.step - APART else 2

    @property
    def lines(self) -> float:
        """Where the first row begins."""
        return TOP + HEAD * self.levels + (28 if self.left_out and not self.wide else 12)

    # -- rows ----------------------------------------------------------------------------

    @cached_property
    def every(self) -> list[WireRow]:
        """All rows, without positions."""
        found: list[WireRow] = []
        counts: Counter[str] = Counter()
        last: MessageArrow | None = None
        for arrow in self.chosen:
            if arrow.source not in self.x or arrow.target not in self.x:
                continue
            if self.fold and arrow.routine:
                if arrow.way == ANSWER or arrow.exchange is None:
                    counts[arrow.routine] += 1
                    last = arrow
                continue
            if last:
                found.append(WireRow(0, last, _counted(counts)))
                counts, last = Counter(), None
            found.append(WireRow(0, arrow, high=ROW if self.wide else ROW_NARROW))
        return [*found, WireRow(0, last, _counted(counts))] if last else found

    @cached_property
    def end(self) -> int:
        """How many rows there are up to the last one on the page."""
        if self.until is None:
            return len(self.every)
        found = bisect_right(self.every, self.until, key=lambda row: anchor(row.arrow))
        return max(found, min(self.fitting(0, 1), len(self.every)))

    @cached_property
    def rows(self) -> list[WireRow]:
        """The rows on the page."""
        start, y, placed = self.end - self.fitting(self.end, -1), self.lines, []
        for row in self.every[start : self.end]:
            placed.append(row._replace(y=y))
            y += row.height
        return placed

    @property
    def bottom(self) -> float:
        if self.wide:
            return self.lines + (ROOM_OPEN if self.opened else ROOM)
        return self.lines + (ROOM_OPEN_NARROW if self.opened else ROOM_NARROW)

    def fitting(self, start: int, step: int) -> int:
        """How many rows from here, forward or back, fit on a page."""
        room, number = self.bottom - self.lines, 0
        rows = self.every[start:] if step > 0 else self.every[:start][::-1]
        for row in rows:
            room -= row.height
            if room < 0:
                break
            number += 1
        return number

    def turned(self, share: float) -> Anchor | None:
        """The anchor of a page further forward, or back for a negative number; None: the newest."""
        at = self.end + round(share * max(len(self.rows), 2))
        at = max(at, self.fitting(0, 1))
        return None if at >= len(self.every) else anchor(self.every[at - 1].arrow)

    def showing(self, arrow: MessageArrow) -> Anchor | None:
        """The anchor of a page with this arrow: the current one, if it has it."""
        every = [row.arrow for row in self.every]
        if arrow not in every or any(row.arrow is arrow for row in self.rows):
            return self.until
        return anchor(every[min(every.index(arrow) + 3, len(every) - 1)])

    def find(self, key: str) -> MessageArrow | None:
        return next((it for it in self.messages.arrows if it.key == key), None)

    # -- time ----------------------------------------------------------------------------

    @property
    def scale(self) -> Axis:
        """The scale of the strip below."""
        start = self.messages.start or 0
        last = self.messages.arrows[-1].at if self.messages.arrows else start
        return axis(int(start), round(last), self.live, self.left, self.right - self.left)

    def clock(self, at: float) -> str:
        """Seconds since the first message."""
        return f"{(at - (self.messages.start or 0)) / 1000:.3f}"


def anchor(arrow: MessageArrow) -> Anchor:
    return arrow.at, arrow.number, arrow.way == ANSWER


def is_machine(party: str) -> bool:
    return party.startswith("broker ") or party == "zookeeper"


def _counted(counts: Counter[str]) -> str:
    return ", ".join(count(number, what) for what, number in sorted(counts.items()))


class ServingSpan(NamedTuple):
    """The time in which a broker serves a request, or lets it wait."""

    number: int  # of the exchange
    server: str
    begin: float  # y
    end: float
    level: int  # how many others it serves at the same time


def spans(page: WirePage) -> Iterator[ServingSpan]:
    """The spans on the page; of longer ones the part on the page."""
    begins: dict[int, float] = {}
    ends: dict[int, float] = {}
    servers: dict[int, str] = {}
    for row in page.rows:
        arrow = row.arrow
        if row.folded or arrow.exchange is None or not arrow.answer:
            continue
        servers[arrow.number] = arrow.target if arrow.way == ASK else arrow.source
        if arrow.way == ASK:
            begins[arrow.number] = row.level + SLANT + 2
        else:
            ends[arrow.number] = row.level + 2
    taken: dict[str, list[float]] = {}
    for number in sorted(servers, key=lambda it: begins.get(it, page.lines - 6)):
        begin, end = begins.get(number, page.lines - 6), ends.get(number, page.bottom)
        levels = taken.setdefault(servers[number], [])
        level = next((at for at, until in enumerate(levels) if until <= begin), len(levels))
        levels[level : level + 1] = [end]
        yield ServingSpan(number, servers[number], begin, end, level)
