"""RatioBars: how many times as fast, as large or as many something is beside another thing.

                        0.5×       1×        2×        5×
    one by one                     │ 1×
    groups of 10                   ├──────▇▇──┤ 2.1×
    with TLS              ├──▇─────┤ 0.6×
                        Measured on 2 cores, 4 GB of memory, Linux 6.18 on x86_64

    RatioBars("Records per second, beside one by one", {"groups of 10": [2.0, 2.3, 2.1]})

A row is a list of ratios, one for each round. The bar ends at the median, the thin line goes from
the least to the greatest. The axis is logarithmic: half as fast is as far from 1 as twice as fast.
Invariant: every ratio is positive.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

from widgets.measure.machine import machine
from widgets.scene import ABOUT, FROM, UP_TO, Scene, SceneShape, fit, line, rect, text, width_of
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, NARROW = 16, 600  # px
ROW, BAR = 30, 12  # px: from row to row, and the height of a bar
NAME = 220  # px, at most
VALUE = 76  # px at the right, for the number behind the longest bar
STEPS = (1, 2, 5)  # of the axis, in each decade


class RatioBars(SceneWidget):
    def __init__(
        self, title: str, ratios: Mapping[str, Sequence[float]], *, on: str | None = None
    ) -> None:
        """`on`: the machine in words, if it was another one than this."""
        super().__init__(name=title)
        self.title = title
        self.ratios = {name: sorted(each) for name, each in ratios.items()}
        for name, each in self.ratios.items():
            if not each or each[0] <= 0:
                raise ValueError(f"{name}: ratios are positive numbers, not {each}")
        self.machine = machine() if on is None else on
        self.draw()

    def draw(self) -> None:
        with self.lock:
            rounds = max((len(each) for each in self.ratios.values()), default=0)
            self.about = f"median of {rounds} rounds, and the range" if rounds > 1 else ""
            self.show(self._scene())

    # -- the picture -----------------------------------------------------------------------

    def _scene(self) -> Scene:
        narrow = self.width < NARROW
        longest = max((width_of(name, 12) for name in self.ratios), default=0)
        left = MARGIN if narrow else MARGIN + min(longest, NAME) + 18
        axis = RatioAxis(self._range(), left, self.width - MARGIN - VALUE)
        pitch = ROW + (18 if narrow else 0)
        bottom = 34 + pitch * len(self.ratios)
        shapes = axis.shapes(20, bottom - 6)
        for place, (name, each) in enumerate(self.ratios.items()):
            y = 34.0 + place * pitch
            words = fit(name, self.width - 2 * MARGIN if narrow else NAME, 12)
            if narrow:
                shapes.append(text(f"name {name}", MARGIN, y + 11, words, look="over"))
                y += 18
            else:
                shapes.append(text(f"name {name}", left - 18, y + 14, words, UP_TO))
            shapes += _row(axis, name, each, y + 4)
        column = TextColumn(MARGIN, bottom + 18, self.width - 2 * MARGIN, 16)
        shapes += column.write("machine", self.machine, "tiny").shapes
        said = "; ".join(f"{name}: {times(median(it))}" for name, it in self.ratios.items())
        return Scene(self.width, column.y - 4, shapes, title=f"{self.title}. {said}")

    def _range(self) -> tuple[float, float]:
        """Round numbers below and above all; 1 is always among them."""
        every = [ratio for each in self.ratios.values() for ratio in each]
        return _below(min([*every, 1])), _above(max([*every, 1.5]))


class RatioAxis:
    """From ratios to px, and the numbers above."""

    def __init__(self, ends: tuple[float, float], left: float, right: float) -> None:
        self.low, self.high = ends
        self.left, self.right = left, right

    def x(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return self.left + share * (self.right - self.left)

    def shapes(self, y: float, bottom: float) -> list[SceneShape]:
        found = list[SceneShape]()
        marks = [1.0, *(mark for mark in _marks(self.low, self.high) if mark != 1)]
        taken = list[tuple[float, float]]()
        for mark in marks:  # 1 first: it is never left out
            words, x = times(mark), self.x(mark)
            half = width_of(words, 11) / 2 + 6
            if any(x - half < end and start < x + half for start, end in taken):
                continue
            taken.append((x - half, x + half))
            found.append(text(f"mark {mark}", x, y, words, ABOUT, look="tiny"))
            look = "link" if mark == 1 else "rule"
            found.append(line(f"grid {mark}", x, y + 6, x, bottom, look=look))
        return found


def _row(axis: RatioAxis, name: str, each: Sequence[float], y: float) -> list[SceneShape]:
    middle = median(each)
    one, end = axis.x(1), axis.x(middle)
    low, high = axis.x(each[0]), axis.x(each[-1])
    label = f"{name}: {times(middle)}"
    if len(each) > 1:
        label += f", from {times(each[0])} to {times(each[-1])} in {len(each)} rounds"
    look = "lead ok" if middle >= 1 else "lead bad"
    shapes = [rect(f"bar {name}", min(one, end), y, max(abs(end - one), 2), BAR, 2, look=look)]
    level = y + BAR / 2
    if high - low > 3:
        shapes += [
            line(f"range {name}", low, level, high, level, look="link"),
            line(f"low {name}", low, level - 4, low, level + 4, look="link"),
            line(f"high {name}", high, level - 4, high, level + 4, look="link"),
        ]
    x = max(one, end, high) + 8
    shapes.append(text(f"value {name}", x, y + 11, times(middle), FROM, look="bold", label=label))
    return shapes


def times(ratio: float) -> str:
    """2.1×, 35×, 0.02×"""
    if ratio >= 9.95:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×".replace(".0×", "×") if ratio >= 0.095 else f"{ratio:.2g}×"


def _marks(low: float, high: float) -> list[float]:
    first = math.floor(math.log10(low))
    last = math.ceil(math.log10(high))
    every = [round(step * 10.0**power, 9) for power in range(first, last + 1) for step in STEPS]
    return [mark for mark in every if low <= mark <= high]


def _below(ratio: float) -> float:
    return max(mark for mark in _marks(ratio / 10, ratio) if mark <= ratio)


def _above(ratio: float) -> float:
    return min(mark for mark in _marks(ratio, ratio * 10) if mark >= ratio)
