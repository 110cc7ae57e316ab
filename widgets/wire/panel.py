"""An open message: its fields as a tree, and their bytes beside them.

    Produce v9, request · producer-1 to broker 1 · 142 bytes            [answer] [close]
    acks             1                 0000  00 00 00 8a 00 00 00 09  00 00 00 01 00 0a 70 72
    timeout          30,000 ms         0010  6f 64 75 63 65 72 2d 31  00 00 00 01 00 00 75 30
    topic_data       1                 0020  02 07 6f 72 64 65 72 73  02 00 00 00 00 5e 00 00
      • name         “orders”          ...

A field and its bytes are highlighted together. A page has as many fields as fit with their bytes; a
field with more bytes than that is shown in part. On a page that is not wide a line has eight bytes,
and on a narrow one the bytes stand below the fields.

Invariant: a row of the tree has its bytes on the same page, at least the first of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from widgets.log.fields import count
from widgets.scene import ABOUT, UP_TO, Act, SceneShape, fit, group, path, rect, text, width_of
from widgets.text_column import TextColumn
from widgets.text_width import MONO
from widgets.wire.anatomy import ANSWER, NONE, TAGS, FieldNode
from widgets.wire.exchange import Exchange, MessageArrow
from widgets.wire.page import BESIDE
from widgets.wire.words import told

ROWS, FEW = 20, 12  # of the tree, and of the bytes; and where these stand below
LEAST = 6
PITCH, BAND = 18, 15.5
PAD, INDENT = 14, 12
LETTER = MONO * 12
CELL = 3 * LETTER  # a byte in hex: two digits and a blank
OFFSETS, MIDDLE = 42, 12  # the offsets on the left, and the gap in the middle
BYTES = 880  # px: on a narrower page a line beside the tree has eight bytes
HEAD, FOOT, TITLE = 46, 38, 24  # TITLE: above bytes that stand below
MANY = 60  # fields; with more, only those in the tree have a label, so that a notebook stays small
NO_BYTES = "Its bytes are not there: "
WHY = {
    True: "the trace was on without them, or there were so many that the oldest were let go.",
    False: "a simulated message is a value; it never was bytes.",
}


class PanelLayout(NamedTuple):
    """The columns, by the width of the page."""

    left: float  # of the card
    right: float
    beside: bool  # the bytes stand beside the tree
    across: int  # bytes in a line

    @classmethod
    def of(cls, width: float) -> "PanelLayout":
        beside = width >= BESIDE
        left = 16 if beside else 6
        room = width - 2 * (left + PAD) - OFFSETS
        fits = width >= BYTES if beside else room >= 16 * CELL + MIDDLE
        return cls(left, width - left, beside, 16 if fits else 8)

    @property
    def names(self) -> float:
        return self.left + PAD

    @property
    def hex(self) -> float:
        """Where the bytes begin."""
        if not self.beside:
            return self.names + OFFSETS
        return self.right - PAD - self.across * CELL - MIDDLE

    @property
    def tree(self) -> float:
        """Where it ends."""
        return self.hex - OFFSETS - 8 if self.beside else self.right - PAD + 6

    @property
    def values(self) -> float:
        return self.names + (0.42 if self.beside else 0.48) * (self.tree - self.names)

    @property
    def most(self) -> int:
        return ROWS if self.beside else FEW

    def x(self, column: int) -> float:
        """Of a byte."""
        gap = MIDDLE if column >= self.across // 2 else 0
        return self.hex + CELL * column - LETTER / 2 + gap


def drawn(
    arrow: MessageArrow, width: float, top: float, first: int
) -> tuple[list[SceneShape], float]:
    """The shapes of the panel, and its height."""
    it, place = arrow.exchange, PanelLayout.of(width)
    leaves = [] if it is None else it.answered if arrow.way == ANSWER else it.asked
    shapes, y = _head(arrow, place, top)
    if it is None or not leaves:
        words, _ = told(arrow)
        why = NO_BYTES + WHY[it is not None]
        room = place.right - place.names - PAD
        column = TextColumn(place.names, y + 4, room, PITCH)
        shapes += column.write("words", words).write("why", why, "soft").shapes
        y = column.y - 4
    else:
        frame = it.frame(arrow.way) or b""
        lines = [at for at, leaf in enumerate(leaves) if not _is_idle(leaf)]
        first = max(0, min(first, len(lines) - place.most))
        page = _Page(leaves, lines, first, frame, place, y)
        shapes += [*page.shapes(), *_other(arrow, place, page.foot)]
        y = page.foot + FOOT - 22
    card = rect("panel", place.left, top, place.right - place.left, y - top + 4, 8, look="card")
    return [group("message", 0, 0, [card, *shapes])], y - top + 14


def _is_idle(leaf: FieldNode) -> bool:
    """No tagged fields: this byte has no line of its own."""
    return leaf.name == TAGS and leaf.value == NONE


def _head(arrow: MessageArrow, place: PanelLayout, top: float) -> tuple[list[SceneShape], float]:
    """What it is; and where the next line begins."""
    it, y = arrow.exchange, top + 24
    kind = it.title if it else arrow.kind
    way = "the answer" if arrow.way == ANSWER else "the request" if it else "a message"
    shut = _button("shut", place.right - 76, y, "✕ close", "close the message", Act("shut"))
    title = f"{kind}, {way}"
    said = fit(title, place.right - 84 - place.names, 14, bold=True)
    shapes = [text("kind", place.names, y, said, look="head", label=title), shut]
    words = f"{arrow.source} → {arrow.target}"
    if it:
        words += f" · {_size(it, arrow.way)}"
        if arrow.way == ANSWER:
            words += f" · {it.left - it.came:,.1f} ms after the request"
    if place.beside:
        x = place.names + width_of(title, 14, bold=True) + 16
        words = fit(words, place.right - 196 - x, 11)
        return [*shapes, text("route", x, y, words, look="soft")], top + HEAD
    route = TextColumn(place.names, y + 16, place.right - PAD - place.names, 16)
    return [*shapes, *route.write("route", words, "soft").shapes], route.y - 2


def _other(arrow: MessageArrow, place: PanelLayout, foot: float) -> Iterator[SceneShape]:
    """The button to the answer, or to the request."""
    it = arrow.exchange
    if it and it.has_answer:
        other, mark = ("request", ">") if arrow.way == ANSWER else ("answer", "<")
        turn = Act("read", f"{it.number}{mark}", f"the {other}")
        words = f"the {other}"
        x = place.right - PAD - width_of(words, 11.5) - 20
        yield _button("other", x, foot, words, f"show the {other}", turn)


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
        self,
        leaves: list[FieldNode],
        lines: list[int],
        first: int,
        frame: bytes,
        place: PanelLayout,
        top: float,
    ) -> None:
        self.leaves, self.lines, self.first, self.frame = leaves, lines, first, frame
        self.place, self.top, across = place, top, place.across
        self.start = leaves[lines[first]].start // across * across
        self.end = min(self.start + place.most * across, len(frame))
        here = [it for it in leaves if it.start < self.end and it.end > self.start]
        self.is_dense = len(here) > MANY
        known = lines[first : first + place.most]
        self.shown = [at for at in known if leaves[at].start <= self.end]

    @property
    def _bytes_top(self) -> float:
        beside = self.place.beside
        return self.top if beside else self.top + PITCH * len(self.shown) + TITLE

    @property
    def foot(self) -> float:
        """The y of the buttons."""
        lines = -(-(self.end - self.start) // self.place.across)
        bottom = self._bytes_top + PITCH * lines
        if self.place.beside:
            bottom = max(bottom, self.top + PITCH * max(len(self.shown), LEAST))
        return bottom + 19

    def shapes(self) -> Iterator[SceneShape]:
        for row, at in enumerate(self.shown):
            yield from self._line(self.leaves[at], at, self.top + PITCH * row)
        for at, leaf in enumerate(self.leaves):
            if leaf.start < self.end and leaf.end > self.start:
                yield self._band(leaf, at)
        yield from self._bytes()
        yield from self._turn()

    def _line(self, leaf: FieldNode, at: int, y: float) -> Iterator[SceneShape]:
        place = self.place
        x = place.names + INDENT * leaf.depth
        box = place.left + 6, y - 1, place.tree - place.left - 6, PITCH - 1, 4
        yield rect(f"l{at}", *box, look="clear", label=_label(leaf), kin=f"b{at}")
        if leaf.first:
            yield text(f"e{at}", x - 9, y + 12, "•", look="tiny still")
        name = fit(leaf.name, place.values - x - 8, 11.5)
        yield text(f"n{at}", x, y + 12, name, look="small still")
        bad = " bad" if leaf.kind == "torn" else ""
        words = fit(leaf.value, place.tree - place.values - 8, 11.5)
        look = "soft" if leaf.kind in ("size", "unused") else "small"
        yield text(f"v{at}", place.values, y + 12, words, look=f"{look} still{bad}")

    def _band(self, leaf: FieldNode, at: int) -> SceneShape:
        drawn, across, x = "", self.place.across, self.place.x
        for start in range(self.start, self.end, across):
            first = max(leaf.start, start) - start
            last = min(leaf.end, start + across, self.end) - start
            if first < last:
                y = self._bytes_top + PITCH * (start - self.start) / across
                drawn += f"M{x(first):.0f} {y:.0f}H{x(last - 1) + CELL - 1.5:.0f}v{BAND}"
                drawn += f"H{x(first):.0f}z"
        look = f"band {leaf.kind}"
        if self.is_dense and at not in self.shown:
            return path(f"b{at}", drawn, look=look)
        return path(f"b{at}", drawn, look=look, label=_label(leaf), kin=f"b{at}")

    def _bytes(self) -> Iterator[SceneShape]:
        across, x = self.place.across, self.place.x
        for start in range(self.start, self.end, across):
            y = self._bytes_top + PITCH * (start - self.start) / across + 12
            data = self.frame[start : min(start + across, self.end)]
            at = self.place.hex - 12
            yield text(f"p{start}", at, y, f"{start:04x}", UP_TO, look="tiny mono still")
            for column in (0, across // 2):
                half = data[column : column + across // 2]
                if half:
                    middle = (x(column) + x(column + len(half) - 1) + CELL) / 2
                    yield text(f"x{start + column}", middle, y, half.hex(" "), ABOUT, look="byte")

    def _turn(self) -> Iterator[SceneShape]:
        """The buttons to the previous and next fields, and which bytes are shown."""
        y, total, x = self.foot, len(self.lines), self.place.names
        behind = self.first + len(self.shown)
        if self.first:
            act = Act("turn", max(self.first - self.place.most + 2, 0))
            words = f"▴ {self.first} before"
            yield _button("before", x, y, words, "the fields before", act)
            x += width_of(words, 11.5) + 28
        if behind < total:
            act, words = Act("turn", behind), f"▾ {total - behind} more"
            yield _button("behind", x, y, words, "the fields behind", act)
        shown = f"bytes {self.start:,} to {max(self.end - 1, 0):,} of {len(self.frame):,}"
        if self.place.beside:
            yield text("place", self.place.right - PAD - 110, y, shown, UP_TO, look="soft")
        else:
            yield text("place", self.place.names, self._bytes_top - 8, shown, look="soft")


def _label(leaf: FieldNode) -> str:
    about = f"{leaf.about}, " if leaf.about else ""
    last = max(leaf.end - 1, leaf.start)
    place = f"byte {leaf.start}" if last == leaf.start else f"bytes {leaf.start} to {last}"
    if leaf.end == leaf.start:
        place = "no byte here"
    return f"{leaf.name}: {fit(leaf.value, 420)} ({fit(about, 420)}{place})"
