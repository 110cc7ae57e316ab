"""A page of bytes as a picture: sixteen a row, each field a soft band, named at the edge.

    byte        hex                                            text              begins here
    00004096    00 00 00 00 00 00 12 67  00 00 01 f3 ...       .......g....      base offset, length
    00004112    02 4d 11 08 a3 00 00 00  00 00 04 00 ...       .M..........      magic, crc, ...
                ▔▔ ▔▔▔▔▔▔▔▔▔▔▔ ▔▔▔▔▔ ▔▔▔▔▔▔▔▔▔▔▔▔▔▔

On a narrow page a row has eight bytes, and the names are below it:

    00004096    00 00 00 00 00 00 12 67    .......g
                ▪ base offset  ▪ length

The bytes of an aborted batch have a broken edge, and the panel says what a batch of a transaction
means for a reader.

Invariant: a field is one shape, also over several rows, and so one stop for the keyboard.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from widgets.log.fields import ByteField
from widgets.log.hex_page import ACROSS, ROWS, SIZE, HexPage
from widgets.log.transactions import BatchFate
from widgets.scene import ABOUT, Act, Scene, SceneShape, group, path, rect, text, width_of, wrap

NARROW = 700  # px: on a narrower page a row has eight bytes
LETTER = 7.22  # of a 12 pixel font whose letters are all of one width
CELL = 3 * LETTER  # a byte in hex: two digits and a blank
TOP, BAND = 30, 19
LINE, LEAST = 18, 3  # of the panel's text: height of a line, and lines that it has room for
BATCHES = 3  # that are described one by one, if they belong to transactions
MANY = 100  # fields; with more, labels are short, so that a saved notebook stays small
HINT = "Point at a band, or go there with Tab and the arrow keys: each says what it is."


@dataclass(frozen=True)
class HexLayout:
    """The positions on a page of this width."""

    width: float = 960

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def across(self) -> int:
        return ACROSS // 2 if self.narrow else ACROSS

    @property
    def half(self) -> int:
        return self.across // 2

    @property
    def room(self) -> int:
        """How many bytes there are on a page."""
        return SIZE * self.across // ACROSS

    @property
    def left(self) -> float:
        return 12 if self.narrow else 16

    @property
    def right(self) -> float:
        return self.width - self.left

    @property
    def hex(self) -> float:
        return self.left + (66 if self.narrow else 80)

    @property
    def middle(self) -> float:
        """The gap between the two halves of a row."""
        return 8 if self.narrow else 12

    @property
    def text(self) -> float:
        end = self.hex + self.across * CELL + self.middle
        return end + (10 if self.narrow else 20)

    @property
    def edge(self) -> float:
        """Where the names begin."""
        return self.hex if self.narrow else self.text + ACROSS * LETTER + 28

    @property
    def row(self) -> float:
        return 42 if self.narrow else 23

    @property
    def below(self) -> float:
        """How far below its row a name is."""
        return 31 if self.narrow else 13

    def x(self, column: int) -> float:
        """The x of a byte's cell, half a blank before its digits."""
        return self.hex + CELL * column - LETTER / 2 + (self.middle if column >= self.half else 0)

    def rows(self, page: HexPage) -> int:
        return max(ROWS, -(-len(page.data) // self.across))

    def panel(self, page: HexPage) -> float:
        return TOP + self.rows(page) * self.row + 8


def draw(page: HexPage, chosen: ByteField | None, width: float = 960) -> Scene:
    layout = HexLayout(width)
    shapes = [
        *(text(f"h{x:.0f}", x, TOP - 10, words, look="tiny") for x, words in _heads(layout)),
        *(band for field in page.fields for band in _band(layout, page, field, field == chosen)),
        *_rows(layout, page),
        *(name for row in range(layout.rows(page)) for name in _names(layout, page, row)),
    ]
    told = _told(page, chosen, layout)
    # Room for each of its fields, so that the picture keeps its height when one is chosen.
    most = [] if len(page.fields) > MANY else [_told(page, it, layout) for it in page.fields]
    most.append(_told(page, None, layout))
    high = 12 + LINE * max([LEAST, len(told), *map(len, most)])
    shapes.append(_panel(told, layout.left, layout.panel(page), layout.right - layout.left, high))
    title = f"{page.path.name}, bytes {page.position:,} to {page.end:,} of {page.size:,}"
    says = f"{chosen.name}: {chosen.value}" if chosen else ""
    return Scene(width, layout.panel(page) + high + 12, shapes, title=title, says=says)


def _heads(layout: HexLayout) -> list[tuple[float, str]]:
    heads = [(layout.left, "byte"), (layout.hex, "hex"), (layout.text, "text")]
    return heads if layout.narrow else [*heads, (layout.edge, "begins here")]


def _band(
    layout: HexLayout, page: HexPage, field: ByteField, is_chosen: bool
) -> Iterator[SceneShape]:
    drawn, is_dense = "", len(page.fields) > MANY
    for row in range(layout.rows(page)):
        start = page.position + row * layout.across
        first = max(field.start, start) - start
        last = min(field.end, start + layout.across, page.end) - start
        if first < last:
            y = TOP + layout.row * row
            drawn += _box(layout.x(first), y, layout.x(last - 1) + CELL - 1.5)
            if not is_dense:
                x = layout.text
                drawn += _box(x + LETTER * first, y, x + LETTER * last - 0.5)
    batch = page.fate_of(field)
    aborted = batch is not None and batch.fate is BatchFate.ABORTED
    look = f"band {field.kind}" + " aborted" * aborted + " chosen" * is_chosen
    label = f"{field.name}: {field.value}" + ("" if is_dense else f". {field.about}")
    acts, kin = (Act("choose", field.start, "explain"),), "" if is_dense else f"k{field.start}"
    yield path(f"f{field.start}", drawn, look=look, label=label, acts=acts, kin=kin)


def _box(left: float, y: float, right: float) -> str:
    return f"M{left:.0f} {y:g}H{right:.0f}v{BAND}H{left:.0f}z"


def _rows(layout: HexLayout, page: HexPage) -> Iterator[SceneShape]:
    """Texts are centred, so that small differences of fonts do not matter."""
    across, half = layout.across, layout.half
    for start in range(0, len(page.data), across):
        y, data = TOP + layout.row * (start // across) + 14, page.data[start : start + across]
        words = f"{page.position + start:08x}"
        yield text(f"r{start}", layout.left, y, words, look="soft mono still")
        for column in (0, half):
            part = data[column : column + half]
            if part:
                middle = (layout.x(column) + layout.x(column + len(part) - 1) + CELL) / 2
                yield text(f"x{start + column}", middle, y, part.hex(" "), ABOUT, look="byte")
        letters = "".join(chr(byte) if 0x20 < byte < 0x7F else "·" for byte in data)
        middle = layout.text + LETTER * len(data) / 2
        yield text(f"t{start}", middle, y, letters, ABOUT, look="byte")


def _names(layout: HexLayout, page: HexPage, row: int) -> Iterator[SceneShape]:
    """The names of the fields that begin in a row, as many as there is room for."""
    start = page.position + row * layout.across
    begun = [it for it in page.fields if start <= it.start < start + layout.across]
    x, y = layout.edge, TOP + layout.row * row + layout.below
    for number, field in enumerate(begun):
        width, rest = width_of(field.name, 11) + 12, len(begun) - number
        if x + width + (24 if rest > 1 else 0) > layout.right:
            yield text(f"m{row}", x, y, f"+{rest}", look="tiny still")
            return
        yield rect(f"d{field.start}", x, y - 8, 6, 9, 2, look=f"band {field.kind} still")
        yield _name(field, x + 9, y, len(page.fields) > MANY)
        x += width + 6


def _name(field: ByteField, x: float, y: float, is_dense: bool) -> SceneShape:
    key, name = f"n{field.start}", field.name
    if is_dense:
        return text(key, x, y, name, look="tiny still")
    return text(key, x, y, name, look="tiny", label=name, kin=f"k{field.start}")


def _told(page: HexPage, chosen: ByteField | None, layout: HexLayout) -> list[tuple[str, str]]:
    """The lines of the panel, with their looks."""
    if chosen is None:
        told = [(page.crc, "bold"), (HINT, "soft")] if page.crc else [(HINT, "")]
        known = [it for it in page.batches if it.fate is not BatchFate.PLAIN]
        told[1:1] = [(it.words[:1].upper() + it.words[1:], "") for it in known[:BATCHES]]
    else:
        size = chosen.end - chosen.start
        place = f"{chosen.part} · bytes {chosen.start:,} to {chosen.end - 1:,} ({size:,})"
        told = [(f"{chosen.name}: {chosen.value}", "bold"), (chosen.about, ""), (place, "soft")]
        if batch := page.fate_of(chosen):
            told[2:2] = [(batch.words[:1].upper() + batch.words[1:] + ".", "")]
    room, lines = layout.right - layout.left - 24, list[tuple[str, str]]()
    for number, (words, look) in enumerate(told):
        is_torn = chosen is not None and chosen.kind == "torn"
        bad = " bad" * (number == 0 and (is_torn or "WRONG" in words))
        size = 11 if look == "soft" else 12
        lines += [(part, look + bad) for part in wrap(words, room, size, look == "bold")]
    return lines


def _panel(
    told: list[tuple[str, str]], x: float, y: float, width: float, height: float
) -> SceneShape:
    shapes = [rect("card", 0, 0, width, height, 8, look="card")]
    for number, (words, look) in enumerate(told):
        shapes.append(text(f"p{number}", 12, 20 + LINE * number, words, look=look))
    return group("panel", x, y, shapes)
