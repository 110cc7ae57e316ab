"""A picture as data: Python computes the layout, the browser only draws.

    Scene ── shapes ── Shape   kind      where (numbers)              content
                               rect      x, y, width, height[, r]
                               circle    x, y, r
                               line      x1, y1, x2, y2
                               path      [x, y]: its origin           "M0 0h10"
                               text      x, y[, -1 0 1: from, about,  the words
                                         up to x]
                               chip      x, y, width, height          a short word in a box
                                         [, full, pale: a bar beside]
                               group     x, y: its origin             shapes
                               travel                                 the path of a dot

A shape with the same key in the next scene is the same shape: if it has moved, the movement is
animated. A new shape fades in. A `look` is one or more classes of static/looks.css.

A shape with acts is a button: one act is done at once, several open a menu. An act is the name of
a method of the widget, its argument, and the text for it. A shape with `drag` is a slider: the act
gets the position in it, from 0 to 1. Shapes with the same `kin` are highlighted together. In a menu
the usual act is bold, and a line stands above an act that is apart; after an answer the notebook's
next cell is the active one.

For the browser a scene is compact: each shape is a list that ends with its last value.

    ["rect", "b1", [14, 150, 234, 176, 10], "card", "", "broker 1: up", [["kill", "1", "kill"]]]

Invariant: keys are unique among siblings; a shape with acts or drag has a label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from widgets import svg, text_width

# What a layout asks of a text stands beside what it draws.
fit, width_of, wrap = text_width.fit, text_width.width_of, text_width.wrap

FROM, ABOUT, UP_TO = -1, 0, 1  # the alignment of a text at its x

Row: TypeAlias = list[Any]
ActKind: TypeAlias = Literal["", "usual", "apart", "answer"]


class Act(NamedTuple):
    """An action on a shape."""

    name: str  # a method of the widget, and one of its ACTS
    on: str | float | None = None  # the method's argument, if it has one
    words: str = ""  # in the menu; else the name
    kind: ActKind = ""

    def row(self) -> Row:
        row: Row = [self.name, self.on, self.words or self.name]
        return [*row, self.kind] if self.kind else row


@dataclass(frozen=True, slots=True)
class SceneShape:
    kind: str
    key: str
    where: tuple[float, ...]
    look: str = ""
    content: "str | tuple[SceneShape, ...]" = ""
    label: str = ""  # for screen readers, and the tooltip
    acts: tuple[Act, ...] = ()
    drag: str = ""  # an act
    kin: str = ""

    @property
    def does(self) -> bool:
        """Whether it can be reached by keyboard."""
        return bool(self.acts or self.drag or self.kin)

    def row(self) -> Row:
        content = self.content
        row: Row = [
            self.kind,
            self.key,
            [_short(number) for number in self.where],
            self.look,
            content if isinstance(content, str) else [shape.row() for shape in content],
            self.label,
            [act.row() for act in self.acts],
            self.drag,
            self.kin,
        ]
        while row[-1] in ("", []):
            row.pop()
        return row


class Scene:
    def __init__(
        self,
        width: float,
        height: float,
        shapes: Iterable[SceneShape],
        *,
        title: str = "",
        says: str = "",
    ) -> None:
        self.width, self.height = width, height
        self.shapes = tuple(shapes)
        self.title = title  # the description of the picture, for screen readers
        self.says = says  # the latest event, read aloud when it changes

    def rows(self) -> dict[str, Any]:
        """The data for the browser."""
        size = [_short(self.width), _short(self.height)]
        return {"size": size, "title": self.title, "shapes": [it.row() for it in self.shapes]}

    def svg(self, links: Mapping[str, str] | None = None) -> str:
        """The same picture as a file, without kernel, notebook or script. `links`: where a shape
        leads, by its key."""
        return svg.document(self.rows(), links)

    def still(self) -> str:
        """The same picture as an output of a saved notebook."""
        return svg.still(self.rows())

    def _repr_svg_(self) -> str:
        return self.still()

    def all(self) -> list[SceneShape]:
        """Every shape, also those in groups."""
        return list(_flat(self.shapes))

    @cached_property
    def by_key(self) -> dict[str, SceneShape]:
        return {shape.key: shape for shape in self.all()}

    def __getitem__(self, key: str) -> SceneShape:
        return self.by_key[key]


def _flat(shapes: Iterable[SceneShape]) -> Iterable[SceneShape]:
    for shape in shapes:
        yield shape
        if not isinstance(shape.content, str):
            yield from _flat(shape.content)


def _short(number: float) -> float:
    """Rounded to a tenth of a pixel, and 12.0 as 12."""
    rounded = round(number, 1)
    return int(rounded) if rounded == int(rounded) else rounded


# -- by kind; the other fields of a Shape are keyword arguments -------------------------------


def rect(
    key: str, x: float, y: float, width: float, height: float, r: float = 0, **more: Any
) -> SceneShape:
    return SceneShape("rect", key, (x, y, width, height, r) if r else (x, y, width, height), **more)


def circle(key: str, x: float, y: float, r: float, **more: Any) -> SceneShape:
    return SceneShape("circle", key, (x, y, r), **more)


def line(key: str, x1: float, y1: float, x2: float, y2: float, **more: Any) -> SceneShape:
    return SceneShape("line", key, (x1, y1, x2, y2), **more)


def path(key: str, drawn: str, x: float = 0, y: float = 0, **more: Any) -> SceneShape:
    return SceneShape("path", key, (x, y) if x or y else (), content=drawn, **more)


def text(key: str, x: float, y: float, words: str, anchor: int = FROM, **more: Any) -> SceneShape:
    where = (x, y) if anchor == FROM else (x, y, anchor)
    return SceneShape("text", key, where, content=words, **more)


def group(key: str, x: float, y: float, shapes: Sequence[SceneShape], **more: Any) -> SceneShape:
    return SceneShape("group", key, (x, y), content=tuple(shapes), **more)


def chip(
    key: str,
    place: tuple[float, float],
    size: tuple[float, float],
    word: str,
    *bar: float,
    **more: Any,
) -> SceneShape:
    """`bar`: the length of a bar beside it, and of a paler one that continues it."""
    return SceneShape("chip", key, (*place, *size, *bar), content=word, **more)


def travel(key: str, drawn: str, **more: Any) -> SceneShape:
    return SceneShape("travel", key, (), content=drawn, look=more.pop("look", "traffic"), **more)
