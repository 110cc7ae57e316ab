"""The axis of time: from a time to a place on a line and back, with idle time compressed.

    time    |kill    new leader|        8 minutes         |kill       new leader|
    line    ━━▲▒▒▒▒▒▒▒▒▒▒▒★━━━━━━━━━━ · · · · ━━━━━━━━━━━━━━▲▒▒▒▒▒▒▒▒▒▒▒▒★━━━━━━━
                                  4 s   fold  4 s

If nothing happened for more than 20 s, these are drawn as 20 s: four seconds after the last event
and four before the next are to scale, and what is between them is a fold. So a failover of three
seconds is as wide after eight quiet minutes as after one. Views draw folds in another way than the
rest, with their true duration.

Invariant: a place grows with its time, also in a fold, so that each moment can be reached, and
none is shown as another.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

SPANS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600)
IDLE = 20_000  # ms: a longer time without an event is drawn as so much
NEAR = 4_000  # ms beside an event that are to scale


class Fold(NamedTuple):
    """Idle time that is drawn shorter than it was."""

    began: int  # ms since 1970
    ended: int

    @property
    def drawn(self) -> int:
        """ms of the axis."""
        return IDLE - 2 * NEAR

    @property
    def saved(self) -> int:
        return self.ended - self.began - self.drawn


class Axis(NamedTuple):
    start: int  # ms since 1970
    span: int  # ms, as drawn: with folds it is less time than has passed
    x: float
    width: float
    folds: tuple[Fold, ...] = ()  # in order

    @property
    def end(self) -> int:
        return self.start + self.span + sum(fold.saved for fold in self.folds)

    def place(self, at: float) -> float:
        return self.x + self.width * min(max(self.drawn(at) / self.span, 0), 1)

    def time(self, share: float) -> int:
        return self.later(self.start, self.span * min(max(share, 0), 1))

    def drawn(self, at: float) -> float:
        """How many ms of the axis are before a time."""
        passed = at - self.start
        for fold in self.folds:
            if at >= fold.ended:
                passed -= fold.saved
            elif at > fold.began:
                lasted = fold.ended - fold.began
                passed -= (at - fold.began) * fold.saved / lasted
        return passed

    def later(self, at: float, drawn: float) -> int:
        """The time that is so many ms of the axis after another."""
        passed = self.drawn(at) + drawn
        time = self.start + passed
        for fold in self.folds:
            if time <= fold.began:
                break
            share = min((time - fold.began) / fold.drawn, 1)
            time += share * fold.saved
        return round(time)


def axis(
    start: int, end: int, live: bool, x: float, width: float, events: Sequence[int] | None = None
) -> Axis:
    """`events`: their times, in order; None: nothing is compressed. The axis of a live run grows in
    jumps, so that it does not move while nothing happens."""
    found = tuple[Fold, ...]()
    if events is not None:
        found = tuple(folds([start, *(at for at in events if start < at < end), end]))
    lasted = max(end - start - sum(fold.saved for fold in found), 1)
    if live:
        fitting = (span * 1000 for span in SPANS if span * 1000 >= lasted)
        lasted = next(fitting, -(-lasted // 3_600_000) * 3_600_000)
    return Axis(start, lasted, x, width, found)


def folds(events: Iterable[int]) -> list[Fold]:
    return [
        Fold(before + NEAR, after - NEAR)
        for before, after in pairwise(events)
        if after - before > IDLE
    ]


def lasted(milliseconds: float) -> str:
    """A duration in words: 12 s, 7 min 40 s, 1 h 5 min."""
    seconds = round(milliseconds / 1000)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {seconds % 60} s" if seconds % 60 else f"{minutes} min"
    return f"{seconds} s"
