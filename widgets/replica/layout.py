"""The layout of the picture of a partition: time to the right, offsets upwards.

         left                          right
          │ epoch 0      │ epoch 1       │      CAPTION
          │       ▲      ★               │      MARKS: faults and elections
      120 ┤          ┌────────           │ broker 3 · leader · LEO 120
          │   ┌──────┘                   │      lines, to the head
      100 ┤───┘                          │
    ISR 1 │ ● ● ● ● · · ·                │      a row for each replica
     acks │   ✓      ✓ ✓                 │
            ── broker 3 · leader · LEO 120         below, where there is no room on the right
          │━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━│      the timeline

Time is cut into columns: all that is in one is shown and described together. With `span` 0, or
while the run is shorter, the columns are above the same time on the timeline; otherwise they are
the window around the head, which moves in jumps.

Invariant: nothing after the head is drawn; within a window the scales do not move with the head.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from engine.model import TopicPartition
from widgets.moment import ViewMoment
from widgets.replica.partition_history import PartitionHistory, Sample, during
from widgets.scene import width_of
from widgets.story import Story
from widgets.time_axis import Axis

BESIDE = 640  # px: on a narrower page the lines are named below, and by a number at their end
MARGIN, GAP = 8, 12  # beside the picture, and between a scale and its labels
STEM = 19  # from the end of a line to its label
CAPTION, MARKS = 18, 38
TOP, BOTTOM = 54, 300  # of the offsets
COLUMN = 14
FINE = 4  # px: changes that lie closer together are drawn as one
ROW = 15
APART = 3  # between lines at the same offset
MOST_REPLICAS = 6  # that are drawn
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200)  # seconds between ticks


class OffsetScale(NamedTuple):
    """The scale on the left: from `first` on, a tick every `step`."""

    first: int
    step: int
    last: int

    @classmethod
    def over(cls, least: int, most: int) -> "OffsetScale":
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


class EpochSpan(NamedTuple):
    """The visible part of a leader epoch."""

    number: int
    leader: int  # -1: nobody
    began: int
    ended: int


class Column(NamedTuple):
    start: int  # ms since 1970
    end: int
    x: float
    width: float


@dataclass(frozen=True)
class ReplicaViewState(ViewMoment):
    """A moment of a run, with a partition's history up to it."""

    past: PartitionHistory = field(default_factory=lambda: PartitionHistory(TopicPartition("", 0)))
    span: int = 0  # seconds that are shown; 0: all

    @property
    def story(self) -> Story:
        return self.past.story

    @property
    def wide(self) -> bool:
        return self.width >= BESIDE

    @cached_property
    def left(self) -> float:
        """Of the offsets: right of their labels, and of those of the rows."""
        words = ["answers", *(f"{offset:,}" for offset in self.offsets.ticks)]
        return MARGIN + ceil(max(width_of(each, 11) for each in words)) + GAP

    @cached_property
    def right(self) -> float:
        """Of the offsets: left of the labels at the ends of the lines."""
        last = f"{self.offsets.last:,}"
        words = [f"broker {max(self.brokers, default=1)} · out of sync · LEO {last}"]
        bold = [f"HW {last} · committed", f"LSO {last} · stable"] if self.wide else ["HW"]
        bold += ["LSO"] * self.past.transactional
        wide = [width_of(each, 11.5) for each in words if self.wide]
        wide += [width_of(each, 11.5, bold=True) for each in bold]
        return self.width - MARGIN - ceil(max(wide)) - STEM

    @cached_property
    def window(self) -> Axis:
        """The time that is shown; its place in the picture is not known here."""
        start, end = self.run_source.start, self.run_source.end
        span, step = self.span * 1000, self.span * 1000 // 6
        if not span or end - start <= span:
            return self.run_source.axis()
        steps = -(-(self.at - start) // step)
        return Axis(max(start, start + steps * step - span), span, 0, 1)

    @cached_property
    def scale(self) -> Axis:
        return self.window._replace(x=self.left, width=self.right - self.left)

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
        """Whether a time is in the window, and not after the head."""
        return self.scale.start <= at <= min(self.at, self.scale.end)

    @cached_property
    def samples(self) -> list[Sample]:
        """The samples in the window; the first may have begun before it."""
        until = min(self.at, self.scale.end)
        first = self.past.at(self.scale.start)
        return [first, *during(self.past.samples, max(self.scale.start, first.at), until)]

    @cached_property
    def stairs(self) -> list[tuple[float, Sample]]:
        """The samples with their x; of those that are too close together, only the last."""
        found: list[tuple[float, Sample]] = []
        for sample in self.samples:
            x = self.scale.place(sample.at)
            if found and not sample.turn and x - found[-1][0] < FINE:
                found[-1] = found[-1][0], sample
            else:
                found.append((x, sample))
        return found

    @cached_property
    def offsets(self) -> OffsetScale:
        """A scale for all offsets in this window, also after the head."""
        until = self.window.end
        seen = during(self.past.samples, self.window.start, until)
        known: list[int] = []
        for sample in [self.past.at(self.window.start), *seen]:
            known += [replica.log_end for replica in sample.state.replicas.values()]
            known += [it for it in (sample.committed, sample.stable) if it is not None]
        least, most = min(known, default=0), max(known, default=0)
        return OffsetScale.over(0 if least <= (most - least) / 2 else least, most)

    @cached_property
    def epochs(self) -> list[EpochSpan]:
        turns = [self.samples[0]]
        for before, after in pairwise(sample for _, sample in self.stairs):
            if before.leader_and_epoch != after.leader_and_epoch:
                turns.append(after)
        ends = [it.at for it in turns[1:]] + [self.at]
        return [
            EpochSpan(*turn.leader_and_epoch, max(turn.at, self.scale.start), end)
            for turn, end in zip(turns, ends, strict=True)
        ]

    @cached_property
    def columns(self) -> list[Column]:
        """Up to the head."""
        each = COLUMN / self.scale.width
        count = max(1, -(-round((self.x - self.left) * 10) // (COLUMN * 10)))
        found = []
        for number in range(count):
            start, end = (self.scale.time(each * edge) for edge in (number, number + 1))
            x = self.left + COLUMN * number
            width = min(COLUMN, max(self.x - x, 1))
            found.append(Column(start, min(end, self.at), x, width))
        return found

    @property
    def rows(self) -> float:
        """The y of the rows below the offsets."""
        return BOTTOM + 34

    @property
    def acks(self) -> float:
        return self.rows + ROW * len(self.brokers) + 6

    @property
    def answers(self) -> float:
        return self.acks + ROW

    @property
    def floor(self) -> float:
        """The y of the first text."""
        return self.acks + ROW * (2 if self.past.answers else 1) + 10

    def offset_y(self, offset: int, broker: int) -> float:
        """Logs of the same length are drawn one above the other, and all of them above the high
        watermark, so that no line hides another."""
        place = 1.5 + self.brokers.index(broker)
        return self.offsets.y(offset) - place * min(APART, 15 / len(self.brokers))
