"""An open message: its fields as a tree, and their bytes beside them.

    Produce v9, request · producer-1 to broker 1 · 142 bytes            [answer] [close]
    acks             1                 0000  00 00 00 8a 00 00 00 09  00 00 00 01 00 0a 70 72
    timeout          30,000 ms         0010  6f 64 75 63 65 72 2d 31  00 00 00 01 00 00 75 30
    topic_data       1                 0020  02 07 6f 72 64 65 72 73  02 00 00 00 00 5e 00 00
      • name         “orders”          ...

A field and its bytes are highlighted together. A page has as many fields as fit with their bytes; a
field with more bytes than that is shown in part.

Invariant: a row of the tree has its bytes beside it, at least the first of them.
"""

from collections.abc import Iterator

from widgets.log.fields import count
from widgets.log.hex_page import ACROSS
from widgets.log.hex_scene import CELL, LETTER
from widgets.scene import ABOUT, UP_TO, Act, SceneShape, fit, group, path, rect, text, width_of
from widgets.wire.anatomy import ANSWER, NONE, TAGS, FieldNode
from widgets.wire.exchange import Exchange, MessageArrow
from widgets.wire.page import LEFT, RIGHT, WIDTH
from widgets.wire.words import told

ROWS, PITCH, BAND = 20, 18, 15.5  # of the tree, and of the bytes
NAMES, VALUES, TREE = LEFT + 14, LEFT + 214, LEFT + 500  # x of names, of values, of the end
INDENT = 12
PLACE, HEX, MIDDLE = 560, 580, 12  # the end of the offsets, and the start of the bytes
HEAD, FOOT = 46, 38
HEIGHT = HEAD + ROWS * PITCH + FOOT
MANY = 60  # fields; with more, only those in the tree have a label, so that a notebook stays small
NO_BYTES = "Its bytes are not there: "
WHY = {
    True: "the trace was on without them, or there were so many that the oldest were let go.",
    False: "a simulated message is a value; it never was bytes.",
}


def drawn(arrow: MessageArrow, top: float, first: int) -> tuple[list[SceneShape], float]:
    """The shapes of the panel, and its height."""
    it = arrow.exchange
    leaves = [] if it is None else it.answered if arrow.way == ANSWER else it.asked
    height = HEIGHT if leaves else HEAD + 44
    shapes = [rect("panel", LEFT, top, RIGHT - LEFT, height - 10, 8, look="card")]
    shapes += _head(arrow, top)
    if it is None or not leaves:
        words, _ = told(arrow)
        shapes.append(text("words", NAMES, top + HEAD + 4, fit(words, RIGHT - NAMES - 12)))
        why = NO_BYTES + WHY[it is not None]
        shapes.append(text("why", NAMES, top + HEAD + 22, why, look="soft"))
        return shapes, height
    frame = it.frame(arrow.way) or b""
    lines = [at for at, leaf in enumerate(leaves) if not _is_idle(leaf)]
    first = max(0, min(first, len(lines) - ROWS))
    shapes += _Page(leaves, lines, first, frame, top + HEAD).shapes()
    return shapes, height


def _is_idle(leaf: FieldNode) -> bool:
    """No tagged fields: this byte has no line of its own."""
    return leaf.name == TAGS and leaf.value == NONE


def _head(arrow: MessageArrow, top: float) -> Iterator[SceneShape]:
    it, y = arrow.exchange, top + 24
    kind = it.title if it else arrow.kind
    way = "the answer" if arrow.way == ANSWER else "the request" if it else "a message"
    yield text("kind", NAMES, y, f"{kind}, {way}", look="head")
    words = f"{arrow.source} → {arrow.target}"
    if it:
        words += f" · {_size(it, arrow.way)}"
        if arrow.way == ANSWER:
            words += f" · {it.left - it.came:,.1f} ms after the request"
    yield text("route", NAMES + 240, y, fit(words, 430, 12), look="soft")
    yield _button("shut", RIGHT - 76, y, "✕ close", "close the message", Act("shut"))
    if it and it.has_answer:
        other, mark = ("request", ">") if arrow.way == ANSWER else ("answer", "<")
        turn = Act("read", f"{it.number}{mark}", f"the {other}")
        yield _button("other", RIGHT - 182, y, f"the {other}", f"show the {other}", turn)


def _button(key: str, x: float, y: float, words: str, label: str, act: Act) -> SceneShape:
    wide = width_of(words, 11.5) + 20
    inside = [
        rect("box", 0, -15, wide, 22, 6, look="paper"),
        text("words", wide / 2, 0, words, ABOUT, look="small"),
    ]
    return group(f"button {key}", x, y, inside, label=label, acts=(act,))


def _size(it: Exchange, way: str) -> str:
    frame = it.frame(way)
    if frame is None or len(frame) < 4:
        return "no bytes"
    return count(4 + int.from_bytes(frame[:4], "big"), "byte")


class _Page:
    """Lines of the tree, and the bytes of these."""

    def __init__(
        self, leaves: list[FieldNode], lines: list[int], first: int, frame: bytes, top: float
    ) -> None:
        self.leaves, self.lines, self.first, self.frame, self.top = leaves, lines, first, frame, top
        self.start = leaves[lines[first]].start // ACROSS * ACROSS
        self.end = min(self.start + ROWS * ACROSS, len(frame))
        here = [it for it in leaves if it.start < self.end and it.end > self.start]
        self.is_dense = len(here) > MANY
        self.shown = [at for at in lines[first : first + ROWS] if leaves[at].start <= self.end]

    def shapes(self) -> Iterator[SceneShape]:
        for row, at in enumerate(self.shown):
            yield from self._line(self.leaves[at], at, self.top + PITCH * row)
        for at, leaf in enumerate(self.leaves):
            if leaf.start < self.end and leaf.end > self.start:
                yield self._band(leaf, at)
        yield from self._bytes()
        yield from self._turn()

    def _line(self, leaf: FieldNode, at: int, y: float) -> Iterator[SceneShape]:
        x = NAMES + INDENT * leaf.depth
        box = LEFT + 6, y - 1, TREE - LEFT - 6, PITCH - 1, 4
        yield rect(f"l{at}", *box, look="clear", label=_label(leaf), kin=f"b{at}")
        if leaf.first:
            yield text(f"e{at}", x - 9, y + 12, "•", look="tiny still")
        name = fit(leaf.name, VALUES - x - 8, 11.5)
        yield text(f"n{at}", x, y + 12, name, look="small still")
        bad = " bad" if leaf.kind == "torn" else ""
        words = fit(leaf.value, TREE - VALUES - 8, 11.5)
        look = "soft" if leaf.kind in ("size", "unused") else "small"
        yield text(f"v{at}", VALUES, y + 12, words, look=f"{look} still{bad}")

    def _band(self, leaf: FieldNode, at: int) -> SceneShape:
        drawn = ""
        for start in range(self.start, self.end, ACROSS):
            first = max(leaf.start, start) - start
            last = min(leaf.end, start + ACROSS, self.end) - start
            if first < last:
                y = self.top + PITCH * (start - self.start) / ACROSS
                drawn += f"M{_x(first):.0f} {y:.0f}H{_x(last - 1) + CELL - 1.5:.0f}v{BAND}"
                drawn += f"H{_x(first):.0f}z"
        look = f"band {leaf.kind}"
        if self.is_dense and at not in self.shown:
            return path(f"b{at}", drawn, look=look)
        return path(f"b{at}", drawn, look=look, label=_label(leaf), kin=f"b{at}")

    def _bytes(self) -> Iterator[SceneShape]:
        for start in range(self.start, self.end, ACROSS):
            y = self.top + PITCH * (start - self.start) / ACROSS + 12
            data = self.frame[start : min(start + ACROSS, self.end)]
            yield text(f"p{start}", PLACE, y, f"{start:04x}", UP_TO, look="tiny mono still")
            for column in (0, ACROSS // 2):
                half = data[column : column + ACROSS // 2]
                if half:
                    middle = (_x(column) + _x(column + len(half) - 1) + CELL) / 2
                    yield text(f"x{start + column}", middle, y, half.hex(" "), ABOUT, look="byte")

    def _turn(self) -> Iterator[SceneShape]:
        """The buttons to the previous and next fields."""
        y, total, x = self.top + PITCH * ROWS + 17, len(self.lines), NAMES
        behind = self.first + len(self.shown)
        if self.first:
            act = Act("turn", max(self.first - ROWS + 2, 0))
            words = f"▴ {self.first} before"
            yield _button("before", x, y, words, "the fields before", act)
            x += 100
        if behind < total:
            act, words = Act("turn", behind), f"▾ {total - behind} more"
            yield _button("behind", x, y, words, "the fields behind", act)
        shown = f"bytes {self.start:,} to {max(self.end - 1, 0):,} of {len(self.frame):,}"
        yield text("place", WIDTH - LEFT - 14, y + 2, shown, UP_TO, look="soft")


def _x(column: int) -> float:
    return HEX + CELL * column - LETTER / 2 + (MIDDLE if column >= ACROSS // 2 else 0)


def _label(leaf: FieldNode) -> str:
    about = f"{leaf.about}, " if leaf.about else ""
    last = max(leaf.end - 1, leaf.start)
    place = f"byte {leaf.start}" if last == leaf.start else f"bytes {leaf.start} to {last}"
    if leaf.end == leaf.start:
        place = "no byte here"
    return f"{leaf.name}: {fit(leaf.value, 420)} ({fit(about, 420)}{place})"
