"""What a cell shows: rows of boxes, one row before and one after; a chart; a sentence.

draw.rows({"before": ["ann=1", "bob=1"], "after": [None, "bob=1"]})
draw.bars({"one partition": {1: 0, 2: 9000, 3: 0}, "six": {1: 3000, 2: 3100, 3: 2900}})

before   ┌───────┐ ┌───────┐          None is drawn as an empty box: what was there is gone
         │ ann=1 │ │ bob=1 │
after    ┌╌╌╌╌╌╌╌┐ ┌───────┐
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from engine.table import Table
from widgets.scene import ABOUT, Scene, SceneShape, rect, text, width_of
from widgets.stage import USUAL, SceneWidget

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

MARGIN = 16  # px
HEIGHT, GAP, EVERY = 26, 4, 36  # of a box, between two boxes, from row to row
LEAST = 14
LEAST_BAR = 2
TITLE = "Side by side"


class Sentence(str):
    """Shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class BoxPicture(SceneWidget):
    """A picture that does not change."""

    def __init__(self, title: str, painted: Callable[[float], Scene]) -> None:
        """`painted`: the picture, given the width of the page in px."""
        super().__init__(name=title)
        self._painted = painted
        self.draw()

    def draw(self) -> None:
        self.show(self._painted(min(self.width, USUAL)))


def rows(told: Mapping[str, Iterable[object]], title: str = TITLE) -> BoxPicture:
    """A row of boxes for each name; all boxes are equally wide."""
    boxes = {name: list(each) for name, each in told.items()}
    return BoxPicture(title, lambda page: _rows(boxes, title, page))


def _rows(boxes: Mapping[str, list[object]], title: str, page: float) -> Scene:
    left, most = _margin(boxes), max(map(len, boxes.values()), default=0)
    widest = max((width_of(str(it)) for row in boxes.values() for it in row), default=LEAST)
    width = min(max(LEAST, widest + 12), (page - MARGIN - left) / max(1, most) - GAP)
    shapes: list[SceneShape] = []
    for number, (name, row) in enumerate(boxes.items()):
        top = 8 + number * EVERY
        shapes.append(text(f"name {name}", MARGIN, top + 17, name))
        for place, what in enumerate(row):
            x, key = left + place * (width + GAP), f"{name} {place}"
            shapes.append(rect(key, x, top, width, HEIGHT, 4, look=_look(what)))
            if what is not None and width_of(str(what)) <= width:
                middle = x + width / 2
                shapes.append(text(f"{key} is", middle, top + 17, str(what), ABOUT, look="small"))
    return Scene(page, 12 + len(boxes) * EVERY, shapes, title=title)


def bars(told: Mapping[str, Mapping[str, float]], title: str = TITLE) -> BoxPicture:
    """A row of bars for each name; within a picture, width tells the number. On a page that has no
    room for the labels it is wider than the page."""
    labels = max(
        (sum(_label(part) + GAP + LEAST_BAR for part in row) for row in told.values()), default=0
    )
    least = _margin(told) + MARGIN + labels
    return BoxPicture(title, lambda page: _bars(told, title, max(page, least)))


def _bars(told: Mapping[str, Mapping[str, float]], title: str, page: float) -> Scene:
    left = _margin(told)
    scale = min((_scale(row, page - MARGIN - left) for row in told.values()), default=0)
    shapes: list[SceneShape] = []
    for number, (name, row) in enumerate(told.items()):
        top, x = 8 + number * EVERY, float(left)
        shapes.append(text(f"name {name}", MARGIN, top + 17, name))
        for part, size in row.items():
            width, label = max(LEAST_BAR, size * scale), _label(part)
            shapes.append(rect(f"{name} {part}", x, top, width, HEIGHT, 1, look=_look(part)))
            at = x if label <= width else x + width
            shapes.append(text(f"{name} {part} is", at + 6, top + 17, part, look="small"))
            x += width + GAP + (0 if label <= width else label)
    return Scene(page, 12 + len(told) * EVERY, shapes, title=title)


def _scale(row: Mapping[str, float], room: float) -> float:
    """The width of 1, so that all bars of a row, and the labels beside short ones, have room."""
    whole, beside = sum(row.values()) or 1, 0.0
    room -= (GAP + LEAST_BAR) * len(row)
    for _ in row:  # each round, more labels may have to stand beside their bars
        scale = (room - beside) / whole
        beside = sum(_label(part) for part, size in row.items() if _label(part) > size * scale)
    return (room - beside) / whole


def _label(part: str) -> float:
    return width_of(part) + 12


def _margin(names: Iterable[str]) -> float:
    return MARGIN + max((width_of(name) for name in names), default=0) + 16


def _look(what: object) -> str:
    return "segment gone" if what is None else "segment closed"


def chart(table: Table, columns: Iterable[str]) -> "Figure":
    """Columns of a table over its first one."""
    import plotly.graph_objects as go  # type: ignore[import-untyped] # noqa: PLC0415

    figure = go.Figure()
    for name in columns:
        figure.add_scatter(x=table.column(table.head[0]), y=table.column(name), name=name)
    figure.update_traces(mode="lines+markers")
    figure.update_xaxes(title=table.head[0])
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(template="plotly_white", width=860, height=320, margin={"t": 20, "b": 50})
    return figure
