"""A picture as data: Python lays it out, the browser only draws.

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

A shape with the same key in the next scene is the same thing: if it moved, it is seen moving.
What is new fades in. A `look` is one or more classes of static/looks.css.

A shape with acts is a button: one act is done at once, several open a menu. An act is the name of
a method of the widget, what it is done to, and the words for it. A shape with `drag` is a slider:
the act is told where in it, from 0 to 1. Shapes that share a `kin` light up together.

Across the wire a scene is compact: each shape a list, with nothing after its last fact.

    ["rect", "b1", [14, 150, 234, 176, 10], "card", "", "broker 1: up", [["kill", "1", "kill"]]]

Invariant: keys are unique among siblings; whoever has acts or drag has a label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from widgets import svg

FROM, ABOUT, UP_TO = -1, 0, 1  # how a text stands at its x

Row: TypeAlias = list[Any]


class Act(NamedTuple):
    """What can be done to a thing."""

    name: str  # a method of the widget, and one of its ACTS
    on: str | float | None = None  # the method's argument, if it has one
    words: str = ""  # in the menu; else the name


@dataclass(frozen=True, slots=True)
class Shape:
    kind: str
    key: str
    where: tuple[float, ...]
    look: str = ""
    content: "str | tuple[Shape, ...]" = ""
    label: str = ""  # read aloud, and the tooltip
    acts: tuple[Act, ...] = ()
    drag: str = ""  # an act
    kin: str = ""

    @property
    def does(self) -> bool:
        """It can be reached by keyboard."""
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
            [[act.name, act.on, act.words or act.name] for act in self.acts],
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
        shapes: Iterable[Shape],
        *,
        title: str = "",
        says: str = "",
    ) -> None:
        self.width, self.height = width, height
        self.shapes = tuple(shapes)
        self.title = title  # what the picture as a whole is, read aloud
        self.says = says  # what just happened, read aloud when it changes

    def rows(self) -> dict[str, Any]:
        """What the browser is told."""
        size = [_short(self.width), _short(self.height)]
        return {"size": size, "title": self.title, "shapes": [it.row() for it in self.shapes]}

    def svg(self) -> str:
        """The same picture, standing alone: without kernel, notebook or script."""
        return svg.document(self.rows())

    def _repr_svg_(self) -> str:
        return self.svg()

    def all(self) -> list[Shape]:
        """Every shape, those in groups too."""
        return list(_flat(self.shapes))

    @cached_property
    def by_key(self) -> dict[str, Shape]:
        return {shape.key: shape for shape in self.all()}

    def __getitem__(self, key: str) -> Shape:
        return self.by_key[key]


def _flat(shapes: Iterable[Shape]) -> Iterable[Shape]:
    for shape in shapes:
        yield shape
        if not isinstance(shape.content, str):
            yield from _flat(shape.content)


def _short(number: float) -> float:
    """A tenth of a pixel is fine enough, and 12.0 is 12."""
    rounded = round(number, 1)
    return int(rounded) if rounded == int(rounded) else rounded


# -- by kind: whatever else a Shape has is given by name ---------------------------------------


def rect(
    key: str, x: float, y: float, width: float, height: float, r: float = 0, **more: Any
) -> Shape:
    return Shape("rect", key, (x, y, width, height, r) if r else (x, y, width, height), **more)


def circle(key: str, x: float, y: float, r: float, **more: Any) -> Shape:
    return Shape("circle", key, (x, y, r), **more)


def line(key: str, x1: float, y1: float, x2: float, y2: float, **more: Any) -> Shape:
    return Shape("line", key, (x1, y1, x2, y2), **more)


def path(key: str, drawn: str, x: float = 0, y: float = 0, **more: Any) -> Shape:
    return Shape("path", key, (x, y) if x or y else (), content=drawn, **more)


def text(key: str, x: float, y: float, words: str, anchor: int = FROM, **more: Any) -> Shape:
    where = (x, y) if anchor == FROM else (x, y, anchor)
    return Shape("text", key, where, content=words, **more)


def group(key: str, x: float, y: float, shapes: Sequence[Shape], **more: Any) -> Shape:
    return Shape("group", key, (x, y), content=tuple(shapes), **more)


def chip(
    key: str,
    place: tuple[float, float],
    size: tuple[float, float],
    word: str,
    *bar: float,
    **more: Any,
) -> Shape:
    """`bar`: how long a bar beside it is, and how long a paler one that goes on from there."""
    return Shape("chip", key, (*place, *size, *bar), content=word, **more)


def travel(key: str, drawn: str, **more: Any) -> Shape:
    return Shape("travel", key, (), content=drawn, look=more.pop("look", "traffic"), **more)


# -- words -------------------------------------------------------------------------------------

NARROW, WIDE = "fijlrt.,:;'|!()[] /-", "mwMW@%—→"
WIDTHS = {**dict.fromkeys(NARROW, 0.36), **dict.fromkeys(WIDE, 0.95)}


def width_of(words: str, size: float = 12) -> float:
    """About how wide a text is; no font is at hand, so rather a little too wide."""
    return size * sum(WIDTHS.get(letter, 0.7 if letter.isupper() else 0.6) for letter in words)


def fit(words: str, width: float, size: float = 12) -> str:
    """As much of a text as there is room for."""
    if width_of(words, size) <= width:
        return words
    while words and width_of(words + "…", size) > width:
        words = words[:-1]
    return words + "…"


def wrap(words: str, width: float, size: float = 12) -> list[str]:
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
