"""The arrows between the boxes of a pipeline, and the rows that run along them.

    orders ───●──●──> aggregate ───●──> memory       more dots for more rows: 10, 100, 1,000
    payments ──●─╯                                   none: the arrow is pale

Spark counts the rows out of a source and into a sink, but none in between.
"""

from itertools import pairwise

from widgets.scene import ABOUT, SceneShape, path, text, travel
from widgets.stream import words
from widgets.stream.history import BatchMoment, SourceProgress
from widgets.stream.layout import LEFT, RIGHT

AXIS = 52  # the height at which rows flow
SOURCE, SINK = 214, 190  # widths of the cards at both ends
DOTS = 4  # at most
EVEN = 78  # the horizontal part of an arrow from a lower source, with its text

Place = tuple[SourceProgress, float, float]  # top, bottom
Box = tuple[float, float]  # x, width


def drawn(moment: BatchMoment, places: list[Place], boxes: list[Box]) -> list[SceneShape]:
    shapes = []
    end = boxes[0][0]
    for number, (source, top, bottom) in enumerate(places):
        y = AXIS if top <= AXIS <= bottom else (top + bottom) / 2
        rate = source.rows / max(moment.took, 1) * 1000
        facts = words.many(source.rows, "row"), f"{words.rate(rate)}/s"
        shapes += _link(moment, f"in {number}", (LEFT + SOURCE, y), end, source.rows, facts)
    for number, (one, other) in enumerate(pairwise(boxes)):
        key = f"between {number}"
        shapes += _link(moment, key, (one[0] + one[1], AXIS), other[0], moment.rows, None)
    out = moment.rows_out
    facts = ("? rows", "") if out is None else (words.many(out, "row"), "")
    start = boxes[-1][0] + boxes[-1][1]
    return shapes + _link(moment, "out", (start, AXIS), RIGHT - SINK, out or 0, facts)


def _link(
    moment: BatchMoment,
    key: str,
    start: tuple[float, float],
    end: float,
    rows: int,
    facts: tuple[str, str] | None,
) -> list[SceneShape]:
    """An arrow, and dots that run along it: more of them for more rows."""
    x, y = start
    turn = (x + EVEN + end) / 2
    bend = f"H{x + EVEN:g}C{turn:g} {y:g} {turn:g} {AXIS} {end:g} {AXIS}"
    bend = f"H{end:g}" if y == AXIS else bend
    look, tip = "link" if rows else "quiet", f"M{end - 7:g} {AXIS - 4}l7 4l-7 4"
    shapes = [
        path(f"link {key}", f"M{x:g} {y:g}{bend}", look=look),
        path(f"tip {key}", tip, look=look),
    ]
    dots = min(len(str(rows)) if rows else 0, DOTS)
    for dot in range(dots):
        begin = x + (end - x) * dot / (2 * DOTS)
        way = f"M{begin:g} {y:g}" + (f"H{end:g}" if y == AXIS else bend)
        shapes.append(travel(f"row {key} {moment.key} {dot}", way))
    if facts:
        middle = (x + end) / 2 if y == AXIS else x + EVEN / 2
        shapes.append(text(f"rows {key}", middle, y - 9, facts[0], ABOUT, look="bold small"))
        shapes.append(text(f"rate {key}", middle, y + 18, facts[1], ABOUT, look="soft"))
    return shapes
