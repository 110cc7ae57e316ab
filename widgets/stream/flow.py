"""The arrows between the boxes of a pipeline, and the rows that run along them.

    orders ───●──●──> aggregate ───●──> memory       more dots for more rows: 10, 100, 1,000
    payments ──●─╯                                   none: the arrow is pale

On a narrow page the boxes stand below each other, and the arrows point down.

Spark counts the rows out of a source and into a sink, but none in between.
"""

from itertools import pairwise
from typing import NamedTuple

from widgets.scene import ABOUT, SceneShape, path, text, travel, width_of
from widgets.stream import words
from widgets.stream.history import BatchMoment, SourceProgress

AXIS = 52  # the height at which rows flow to the right
DOTS = 4  # at most
EVEN = 96  # the horizontal part of an arrow from a lower source, with its text

Facts = tuple[str, str]  # how many rows, and their rate


class PipelineBox(NamedTuple):
    """A source, an operator or the sink."""

    x: float
    y: float
    width: float
    height: float

    @property
    def end(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


def came_in(moment: BatchMoment, source: SourceProgress) -> Facts:
    rate = source.rows / max(moment.took, 1) * 1000
    return words.many(source.rows, "row"), f"{words.rate(rate)}/s"


def _went_out(moment: BatchMoment) -> Facts:
    out = moment.rows_out
    return ("? rows", "") if out is None else (words.many(out, "row"), "")


def across(
    moment: BatchMoment, sources: list[PipelineBox], operators: list[PipelineBox], sink: PipelineBox
) -> list[SceneShape]:
    """Arrows to the right."""
    shapes = []
    for number, (source, box) in enumerate(zip(moment.sources, sources, strict=False)):
        y = AXIS if box.y <= AXIS <= box.bottom else (box.y + box.bottom) / 2
        key, facts = f"in {number}", came_in(moment, source)
        shapes += _across(moment, key, (box.end, y), operators[0].x, source.rows, facts)
    for number, (one, other) in enumerate(pairwise(operators)):
        key = f"between {number}"
        shapes += _across(moment, key, (one.end, AXIS), other.x, moment.rows, ("", ""))
    start, rows = (operators[-1].end, AXIS), moment.rows_out or 0
    return shapes + _across(moment, "out", start, sink.x, rows, _went_out(moment))


def _across(
    moment: BatchMoment, key: str, start: tuple[float, float], end: float, rows: int, facts: Facts
) -> list[SceneShape]:
    x, y = start
    turn = (x + EVEN + end) / 2
    bend = f"H{x + EVEN:g}C{turn:g} {y:g} {turn:g} {AXIS} {end:g} {AXIS}"
    bend = f"H{end:g}" if y == AXIS else bend
    tip = f"M{end - 7:g} {AXIS - 4}l7 4l-7 4"
    ways = []
    for dot in range(_dots(rows)):
        begin = x + (end - x) * dot / (2 * DOTS)
        ways.append(f"M{begin:g} {y:g}" + (f"H{end:g}" if y == AXIS else bend))
    shapes = _arrow(moment, key, f"M{x:g} {y:g}{bend}", tip, rows, ways)
    middle = (x + end) / 2 if y == AXIS else x + EVEN / 2
    if facts[0]:
        shapes.append(text(f"rows {key}", middle, y - 9, facts[0], ABOUT, look="bold small"))
    if facts[1]:
        shapes.append(text(f"rate {key}", middle, y + 18, facts[1], ABOUT, look="soft"))
    return shapes


def down(
    moment: BatchMoment,
    x: float,
    source: PipelineBox,
    operators: list[PipelineBox],
    sink: PipelineBox,
) -> list[SceneShape]:
    """Arrows down, at this x; `source`: the last one."""
    rows = moment.rows
    facts = "", ""
    if len(moment.sources) == 1:
        facts = came_in(moment, moment.sources[0])
    elif moment.sources:
        facts = words.many(rows, "row"), ""
    shapes = _down(moment, "in 0", x, (source.bottom, operators[0].y), rows, facts)
    for number, (one, other) in enumerate(pairwise(operators)):
        ends = one.bottom, other.y
        shapes += _down(moment, f"between {number}", x, ends, rows, ("", ""))
    ends = operators[-1].bottom, sink.y
    return shapes + _down(moment, "out", x, ends, moment.rows_out or 0, _went_out(moment))


def _down(
    moment: BatchMoment, key: str, x: float, ends: tuple[float, float], rows: int, facts: Facts
) -> list[SceneShape]:
    top, end = ends
    tip = f"M{x - 4:g} {end - 7:g}l4 7l4 -7"
    begins = (top + (end - top) * dot / (2 * DOTS) for dot in range(_dots(rows)))
    ways = [f"M{x:g} {begin:g}V{end:g}" for begin in begins]
    shapes = _arrow(moment, key, f"M{x:g} {top:g}V{end:g}", tip, rows, ways)
    y = (top + end) / 2 + 4
    if facts[0]:
        shapes.append(text(f"rows {key}", x + 14, y, facts[0], look="bold small"))
    if facts[1]:
        beside = x + 14 + width_of(facts[0], 11.5, bold=True) + 10
        shapes.append(text(f"rate {key}", beside, y, facts[1], look="soft"))
    return shapes


def _dots(rows: int) -> int:
    """More for more rows."""
    return min(len(str(rows)) if rows else 0, DOTS)


def _arrow(
    moment: BatchMoment, key: str, drawn: str, tip: str, rows: int, ways: list[str]
) -> list[SceneShape]:
    """An arrow, and dots that run along it."""
    look = "link" if rows else "quiet"
    shapes = [path(f"link {key}", drawn, look=look), path(f"tip {key}", tip, look=look)]
    dots = (travel(f"row {key} {moment.key} {dot}", way) for dot, way in enumerate(ways))
    return [*shapes, *dots]
