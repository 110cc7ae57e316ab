"""Texts below each other, each wrapped to the room that there is.

    column = TextColumn(14, 40, room=300, line=18)
    column.write("task", "Somebody else than broker 1 leads", "head")       40, 58
    column.write("hint", "Look at the entry in the middle", "small")        76
    column.y                                                                94: the next baseline

The size of a text follows from its look, as in static/looks.css.
"""

from typing import Any

from widgets.scene import FROM, SceneShape, text
from widgets.text_width import wrap

SIZES = {"head": 14, "small": 11.5, "soft": 11, "tiny": 11, "letter": 11, "over": 11}  # px
USUAL = 12
BOLD = frozenset({"head", "bold", "letter"})


def size_of(look: str) -> float:
    """How large the letters of a text with this look are, in px."""
    return next((SIZES[name] for name in look.split() if name in SIZES), USUAL)


def lines_of(words: str, room: float, look: str = "", size: float = 0) -> list[str]:
    """A text, wrapped to the room. `size`: px of its letters, if its look does not say it."""
    names = look.split()
    return wrap(words, room, size or size_of(look), not BOLD.isdisjoint(names), "mono" in names)


class TextColumn:
    def __init__(
        self, x: float, y: float, room: float, line: float = 18, anchor: int = FROM
    ) -> None:
        """`y`: the first baseline; `line`: the px from one baseline to the next."""
        self.x, self.y, self.room, self.line, self.anchor = x, y, room, line, anchor
        self.shapes: list[SceneShape] = []

    def write(
        self, key: str, words: str, look: str = "", *, size: float = 0, **more: Any
    ) -> "TextColumn":
        self.put(key, lines_of(words, self.room, look, size) if words else [], look, **more)
        return self

    def put(self, key: str, lines: list[str], look: str = "", **more: Any) -> None:
        """Add lines that are wrapped already."""
        for number, words in enumerate(lines):
            name = f"{key} {number}"
            self.shapes.append(text(name, self.x, self.y, words, self.anchor, look=look, **more))
            self.y += self.line
