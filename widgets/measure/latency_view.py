"""LatencyView: how long each record took, as histograms on one logarithmic axis; live.

    acks=1              p50 1.2 ms   p99 8 ms   p99.9 31 ms   1,000 records
       ▁▃▇▅▂▁  ▁
    acks=all            p50 3.1 ms   p99 12 ms ...
           ▁▃▇▆▂▁ ▁
    ──┼────────┼────────┼────────┼──
    0.1 ms    1 ms    10 ms    100 ms

    view = LatencyView("From send to receive")
    view.add("acks=1", 1.2)          one record, in ms; from any thread
    view.percentile("acks=1", 99)

The axis is logarithmic, for the tail is what matters: one record in a thousand may take a thousand
times as long as the others.

Invariant: a picture shows all that was added before it was drawn.
"""

import math
from collections.abc import Iterable

from widgets.log.fields import count
from widgets.measure.machine import machine
from widgets.scene import ABOUT, Scene, SceneShape, fit, line, rect, text, width_of
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, ROW, BARS = 16, 84, 40  # px: from row to row, and the height of the largest bar
DECADE = 10  # bars for each power of ten
LEAST, MOST = 0.1, 10.0  # ms: the axis shows this at least
PERCENTILES = (50, 99, 99.9)
EMPTY = "No record yet."


class LatencyView(SceneWidget):
    def __init__(self, title: str) -> None:
        super().__init__(name=title)
        self.title = title
        self.latencies: dict[str, list[float]] = {}
        self.machine = machine()
        self._drawn = -1
        self._ended = False
        self.draw()

    def add(self, name: str, *milliseconds: float) -> None:
        """Records of one way; the picture follows."""
        with self.lock:
            self.latencies.setdefault(name, []).extend(milliseconds)

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        self.poll()

    def percentile(self, name: str, share: float) -> float:
        """So many percent of the records took no longer, in ms."""
        return percentile(self.latencies[name], share)

    def poll(self) -> bool:
        with self.lock:
            if self._drawn != self._count:
                self.draw()
        return not self._ended

    @property
    def _count(self) -> int:
        return sum(map(len, self.latencies.values()))

    def draw(self) -> None:
        with self.lock:
            self._drawn = self._count
            self.about = count(self._drawn, "record")
            self.show(self._scene())

    def _scene(self) -> Scene:
        room, y = self.width - 2 * MARGIN, 10.0
        shapes = list[SceneShape]()
        axis = LatencyAxis(self.latencies.values(), MARGIN, room)
        if not self.latencies:
            shapes.append(text("empty", MARGIN, y + 20, EMPTY, look="soft"))
            y += 36
        for name, found in self.latencies.items():
            y = _heading(shapes, name, found, room, y)
            shapes += _histogram(axis, name, found, y + BARS)
            y += BARS + 14
        shapes += axis.shapes(y)
        y += 34
        column = TextColumn(MARGIN, y, room, 16).write("machine", self.machine, "tiny")
        shapes += column.shapes
        said = "; ".join(f"{name}: {told(found)}" for name, found in self.latencies.items())
        return Scene(self.width, column.y, shapes, title=f"{self.title}. {said or EMPTY}")


class LatencyAxis:
    """Powers of ten, from the fastest to the slowest."""

    def __init__(self, found: Iterable[list[float]], left: float, room: float) -> None:
        every = [it for each in found for it in each if it > 0]
        self.low = math.floor(math.log10(min([*every, LEAST])))
        self.high = math.ceil(math.log10(max([*every, MOST])) + 1e-9)
        self.left, self.room = left, room

    def x(self, power: float) -> float:
        return self.left + self.room * (power - self.low) / (self.high - self.low)

    def shapes(self, y: float) -> list[SceneShape]:
        found, free = [line("axis", self.left, y, self.left + self.room, y, look="rule")], -1.0
        for power in range(self.low, self.high + 1):
            words, x = milliseconds(10.0**power), self.x(power)
            found.append(line(f"tick {power}", x, y, x, y + 5, look="tick"))
            half = width_of(words, 11) / 2
            about = min(max(x, self.left + half), self.left + self.room - half)
            if about - half > free:
                found.append(text(f"power {power}", about, y + 18, words, ABOUT, look="tiny"))
                free = about + half + 6
        return found


def _heading(
    shapes: list[SceneShape], name: str, found: list[float], room: float, y: float
) -> float:
    """The name, and the percentiles beside it, or below it."""
    words, short = told(found), fit(name, room, 12, bold=True)
    shapes.append(text(f"name {name}", MARGIN, y + 14, short, look="bold"))
    start = width_of(short, 12, bold=True) + 18
    if start + width_of(words, 11) <= room:
        shapes.append(text(f"told {name}.0", MARGIN + start, y + 14, words, look="tiny"))
        return y + 22
    column = TextColumn(MARGIN, y + 32, room, 16).write(f"told {name}", words, "tiny")
    shapes += column.shapes
    return column.y - 8


def _histogram(axis: LatencyAxis, name: str, found: list[float], base: float) -> list[SceneShape]:
    """Bars whose height is the logarithm of how many there are: a single record is seen."""
    counts = dict[int, int]()
    for each in found:
        slot = math.floor(math.log10(max(each, 10.0**axis.low)) * DECADE)
        counts[slot] = counts.get(slot, 0) + 1
    most = math.log1p(max(counts.values(), default=1))
    shapes = [line(f"base {name}", axis.left, base, axis.left + axis.room, base, look="rule")]
    for slot, times in sorted(counts.items()):
        left, right = axis.x(slot / DECADE), axis.x((slot + 1) / DECADE)
        high = max(BARS * math.log1p(times) / most, 2)
        key, wide = f"bar {name}.{slot}", max(right - left - 1, 1)
        shapes.append(rect(key, left, base - high, wide, high, 1, look="segment closed"))
    for share in PERCENTILES:
        x = axis.x(math.log10(max(percentile(found, share), 10.0**axis.low)))
        shapes.append(line(f"p{share} {name}", x, base - BARS, x, base + 4, look="slow"))
    return shapes


def percentile(found: list[float], share: float) -> float:
    ordered = sorted(found)
    return ordered[min(math.ceil(len(ordered) * share / 100), len(ordered)) - 1]


def told(found: list[float]) -> str:
    each = [f"p{share} {milliseconds(percentile(found, share))}" for share in PERCENTILES]
    return f"{' · '.join(each)} · {count(len(found), 'record')}"


def milliseconds(number: float) -> str:
    """0.42 ms, 4.2 ms, 42 ms, 4.2 s"""
    if number >= 1000:
        return f"{number / 1000:.3g} s"
    return f"{number:.2g} ms" if number < 100 else f"{number:.0f} ms"
