"""Where things are in the picture of a partition: time to the right, offsets upwards.

         LEFT                          RIGHT
          │ epoch 0      │ epoch 1       │      CAPTION
          │       ▲      ★               │      MARKS: faults and elections
      120 ┤          ┌────────           │ broker 3 · leader · LEO 120
          │   ┌──────┘                   │      lines, to the head
      100 ┤───┘                          │
    ISR 1 │ ● ● ● ● · · ·                │      a row for each replica
     acks │   ✓      ✓ ✓                 │
          │━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━│      the timeline

Time is cut into columns: what is in one is seen, and told, together. With `span` 0, or while the
run is shorter, the columns stand over the same time on the timeline; otherwise they are the
stretch around the head, which moves in jumps.

Invariant: nothing after the head is drawn; within a stretch the scales do not move with the head.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from engine.model import TopicPartition
from widgets.moment import Moment
from widgets.replica.past import Past, Sample, during
from widgets.story import Story
from widgets.timeline import Axis, axis

WIDTH, LEFT, RIGHT = 1000, 66, 762
CAPTION, MARKS = 18, 38
TOP, BOTTOM = 54, 300  # of the offsets
COLUMN = 14
FINE = 4  # px: changes that lie closer together are drawn as one
ROW = 15
APART = 3  # between lines at the same offset
MOST_REPLICAS = 6  # that are drawn
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)  # seconds between two ticks


class Offsets(NamedTuple):
    """The scale to the left: from `first` on, a tick every `step`."""

    first: int
    step: int
    last: int

    @classmethod
    def over(cls, least: int, most: int) -> "Offsets":
        step, factors = 1, [2, 2.5, 2]
        while most - least > 5 * step:
            step = int(step * factors[0])
            factors = [*factors[1:], factors[0]]
        first = least // step * step
        return cls(first, step, max(-(-most // step) * step, first + 4 * step))

    def y(self, offset: int) -> float:
        return BOTTOM - (BOTTOM - TOP) * (offset - self.first) / (self.last - self.first)

    @property
    def ticks(self) -> range:
        return range(self.first, self.last + 1, self.step)


class Reign(NamedTuple):
    """A leader epoch, as far as it is seen."""

    epoch: int
    leader: int  # -1: nobody
    began: int
    ended: int


class Column(NamedTuple):
    start: int  # ms since 1970
    end: int
    x: float
    width: float


@dataclass(frozen=True)
class Scenery(Moment):
    """A moment of a run, and a partition's past up to it."""

    past: Past = field(default_factory=lambda: Past(TopicPartition("", 0)))
    span: int = 0  # seconds that are seen; 0: all

    @property
    def story(self) -> Story:
        return self.past.story

    @cached_property
    def scale(self) -> Axis:
        start, end, width = self.reel.start, self.reel.end, RIGHT - LEFT
        span, step = self.span * 1000, self.span * 1000 // 6
        if not span or end - start <= span:
            return axis(start, end, self.reel.live, LEFT, width)
        steps = -(-(self.at - start) // step)
        return Axis(max(start, start + steps * step - span), span, LEFT, width)

    @cached_property
    def x(self) -> float:
        """Of the head."""
        return self.scale.place(self.at)

    @cached_property
    def brokers(self) -> list[int]:
        return self.past.brokers[:MOST_REPLICAS]

    @cached_property
    def now(self) -> Sample:
        return self.past.at(self.at)

    def inside(self, at: int) -> bool:
        """It is in the stretch of time that is seen, and not after the head."""
        return self.scale.start <= at <= min(self.at, self.scale.start + self.scale.span)

    @cached_property
    def samples(self) -> list[Sample]:
        """Those that are seen; the first may have begun before."""
        until = min(self.at, self.scale.start + self.scale.span)
        first = self.past.at(self.scale.start)
        return [first, *during(self.past.samples, max(self.scale.start, first.at), until)]

    @cached_property
    def stairs(self) -> list[tuple[float, Sample]]:
        """The same, and where; of those too close to be told apart the last one counts."""
        found: list[tuple[float, Sample]] = []
        for sample in self.samples:
            x = self.scale.place(sample.at)
            if found and not sample.turn and x - found[-1][0] < FINE:
                found[-1] = found[-1][0], sample
            else:
                found.append((x, sample))
        return found

    @cached_property
    def offsets(self) -> Offsets:
        """A scale for all that happens in this stretch, after the head too."""
        until = self.scale.start + self.scale.span
        seen = during(self.past.samples, self.scale.start, until)
        known: list[int] = []
        for sample in [self.past.at(self.scale.start), *seen]:
            known += [replica.log_end for replica in sample.state.replicas.values()]
            known += [sample.committed] if sample.committed is not None else []
        least, most = min(known, default=0), max(known, default=0)
        return Offsets.over(0 if least <= (most - least) / 2 else least, most)

    @cached_property
    def reigns(self) -> list[Reign]:
        turns = [self.samples[0]]
        for before, after in pairwise(sample for _, sample in self.stairs):
            if before.reign != after.reign:
                turns.append(after)
        ends = [it.at for it in turns[1:]] + [self.at]
        return [
            Reign(*turn.reign, max(turn.at, self.scale.start), end)
            for turn, end in zip(turns, ends, strict=True)
        ]

    @cached_property
    def columns(self) -> list[Column]:
        """Up to the head."""
        each = self.scale.span * COLUMN / self.scale.width
        count = max(1, -(-round((self.x - LEFT) * 10) // (COLUMN * 10)))
        found = []
        for number in range(count):
            start = self.scale.start + each * number
            x = LEFT + COLUMN * number
            width = min(COLUMN, max(self.x - x, 1))
            found.append(Column(round(start), min(round(start + each), self.at), x, width))
        return found

    @property
    def rows(self) -> float:
        """Where the rows below the offsets begin."""
        return BOTTOM + 34

    @property
    def acks(self) -> float:
        return self.rows + ROW * len(self.brokers) + 6

    @property
    def answers(self) -> float:
        return self.acks + ROW

    @property
    def floor(self) -> float:
        """Where the words begin."""
        return self.acks + ROW * (2 if self.past.answers else 1) + 10

    def offset_y(self, offset: int, broker: int) -> float:
        """Logs of the same length lie one above the other, and all of them above the high
        watermark: or one line would hide the others."""
        place = 1.5 + self.brokers.index(broker)
        return self.offsets.y(offset) - place * min(APART, 15 / len(self.brokers))
