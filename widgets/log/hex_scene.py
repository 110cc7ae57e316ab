"""A page of bytes as a picture: sixteen a row, each field a soft band, named at the edge.

    byte        hex                                            text              begins here
    00004096    00 00 00 00 00 00 12 67  00 00 01 f3 ...       .......g....      base offset, length
    00004112    02 4d 11 08 a3 00 00 00  00 00 04 00 ...       .M..........      magic, crc, ...
                ▔▔ ▔▔▔▔▔▔▔▔▔▔▔ ▔▔▔▔▔ ▔▔▔▔▔▔▔▔▔▔▔▔▔▔

Invariant: a field is one shape, also over several rows, and so one stop for the keyboard.
"""

from collections.abc import Iterator

from widgets.log.fields import ByteField
from widgets.log.hex_page import ACROSS, ROWS, HexPage
from widgets.scene import ABOUT, Act, Scene, SceneShape, fit, path, rect, text, width_of

WIDTH, LEFT, RIGHT = 960, 16, 944
LETTER = 7.22  # of a 12 pixel font whose letters are all of one width
CELL = 3 * LETTER  # a byte in hex: two digits and a blank
HEX, MIDDLE = 96, 12  # where the hex begins, and the gap after eight
TEXT = HEX + ACROSS * CELL + MIDDLE + 20
EDGE = TEXT + ACROSS * LETTER + 28  # where the names begin
HALF = ACROSS // 2
TOP, ROW, BAND = 30, 23, 19
PANEL = TOP + ROWS * ROW + 8
HEIGHT = PANEL + 78
MANY = 100  # fields; with more, labels are short, so that a saved notebook stays small
HINT = "Point at a band, or go there with Tab and the arrow keys: each says what it is."


def draw(page: HexPage, chosen: ByteField | None) -> Scene:
    shapes = [
        *(text(f"h{x}", x, TOP - 10, words, look="tiny") for x, words in _heads()),
        *(band for field in page.fields for band in _band(page, field, field == chosen)),
        *_rows(page),
        *(name for row in range(ROWS) for name in _names(page, row)),
        *_panel(page, chosen),
    ]
    title = f"{page.path.name}, bytes {page.position:,} to {page.end:,} of {page.size:,}"
    says = f"{chosen.name}: {chosen.value}" if chosen else ""
    return Scene(WIDTH, HEIGHT, shapes, title=title, says=says)


def _heads() -> list[tuple[float, str]]:
    return [(LEFT, "byte"), (HEX, "hex"), (TEXT, "text"), (EDGE, "begins here")]


def _x(column: int) -> float:
    """The x of a byte's cell, half a blank before its digits."""
    return HEX + CELL * column - LETTER / 2 + (MIDDLE if column >= HALF else 0)


def _band(page: HexPage, field: ByteField, is_chosen: bool) -> Iterator[SceneShape]:
    drawn, is_dense = "", len(page.fields) > MANY
    for row in range(ROWS):
        start = page.position + row * ACROSS
        first = max(field.start, start) - start
        last = min(field.end, start + ACROSS, page.end) - start
        if first < last:
            y = TOP + ROW * row
            drawn += _box(_x(first), y, _x(last - 1) + CELL - 1.5)
            if not is_dense:
                drawn += _box(TEXT + LETTER * first, y, TEXT + LETTER * last - 0.5)
    look = f"band {field.kind}" + " chosen" * is_chosen
    label = f"{field.name}: {field.value}" + ("" if is_dense else f". {field.about}")
    acts, kin = (Act("choose", field.start, "explain"),), "" if is_dense else f"k{field.start}"
    yield path(f"f{field.start}", drawn, look=look, label=label, acts=acts, kin=kin)


def _box(left: float, y: float, right: float) -> str:
    return f"M{left:.0f} {y}H{right:.0f}v{BAND}H{left:.0f}z"


def _rows(page: HexPage) -> Iterator[SceneShape]:
    """Texts are centred, so that small differences of fonts do not matter."""
    for start in range(0, len(page.data), ACROSS):
        y, data = TOP + ROW * start // ACROSS + 14, page.data[start : start + ACROSS]
        yield text(f"r{start}", LEFT, y, f"{page.position + start:08x}", look="soft mono still")
        for column in (0, HALF):
            half = data[column : column + HALF]
            if half:
                middle = (_x(column) + _x(column + len(half) - 1) + CELL) / 2
                yield text(f"x{start + column}", middle, y, half.hex(" "), ABOUT, look="byte")
        letters = "".join(chr(byte) if 0x20 < byte < 0x7F else "·" for byte in data)
        middle = TEXT + LETTER * len(data) / 2
        yield text(f"t{start}", middle, y, letters, ABOUT, look="byte")


def _names(page: HexPage, row: int) -> Iterator[SceneShape]:
    """The names of the fields that begin in a row, as many as there is room for."""
    start = page.position + row * ACROSS
    begun = [it for it in page.fields if start <= it.start < start + ACROSS]
    x, y = float(EDGE), TOP + ROW * row + 13
    for number, field in enumerate(begun):
        width = width_of(field.name, 10) + 12
        rest = len(begun) - number
        if x + width + (24 if rest > 1 else 0) > RIGHT:
            yield text(f"m{row}", x, y, f"+{rest}", look="tiny still")
            return
        yield rect(f"d{field.start}", x, y - 8, 6, 9, 2, look=f"band {field.kind} still")
        yield _name(field, x + 9, y, len(page.fields) > MANY)
        x += width + 3


def _name(field: ByteField, x: float, y: float, is_dense: bool) -> SceneShape:
    key, name = f"n{field.start}", field.name
    if is_dense:
        return text(key, x, y, name, look="tiny still")
    return text(key, x, y, name, look="tiny", label=name, kin=f"k{field.start}")


def _panel(page: HexPage, chosen: ByteField | None) -> Iterator[SceneShape]:
    yield rect("panel", LEFT, PANEL, RIGHT - LEFT, 66, 8, look="card")
    left, wide = LEFT + 12, RIGHT - LEFT - 24
    if chosen is None:
        lines = [(page.crc or HINT, "bold" if page.crc else ""), (HINT if page.crc else "", "soft")]
    else:
        size = chosen.end - chosen.start
        place = f"{chosen.part} · bytes {chosen.start:,} to {chosen.end - 1:,} ({size:,})"
        lines = [(f"{chosen.name}: {chosen.value}", "bold"), (chosen.about, ""), (place, "soft")]
    for number, (words, look) in enumerate(lines):
        is_torn = chosen is not None and chosen.kind == "torn"
        bad = " bad" * (number == 0 and (is_torn or "WRONG" in words))
        words = fit(words, wide, 12.5)
        if words:
            yield text(f"p{number}", left, PANEL + 20 + 18 * number, words, look=look + bad)
