"""PathOfAByte: who copies a byte on its way from a file to the network, and how often.

    sendfile         0 copies      read and send    2 copies
            [program]                      [program]
    user  -------------------      user  --↗-----↘----------
    kernel [cache]┄┄>[socket]┄[card]       [cache]  [socket]┄[card]

    PathOfAByte({"sendfile": {"in": 0, "out": 0}, "read and send": {"in": 1, "out": 1}})

`in` and `out` are counted: how many bytes the program took from the kernel for each byte that was
sent, and how many it gave back. An amber arrow is a copy by the CPU; a dashed one passes the pages
on.
"""

from collections.abc import Mapping
from typing import NamedTuple

from widgets.scene import ABOUT, Scene, SceneShape, fit, group, line, path, rect, text
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, GAP, TOP = 16, 14, 12.0  # px
LEAST, HIGH = 270, 168  # px: the least width of a panel, and its height
LEVELS = 58, 124  # px from the top of a panel: the program, and what is in the kernel
BOX = 26  # px, the height of a box
WORDS = (
    "Amber: the CPU copies the bytes. Dashed: pages are passed on or mapped; nothing is copied. "
    "From the socket on, the device fetches the bytes by itself (DMA); over the loopback "
    "interface there is no device, and the receiver copies them."
)


class CopyCount(NamedTuple):
    """By the CPU, for each byte that is sent."""

    into: int  # from the kernel to the program
    out: int  # from the program to the kernel

    @property
    def words(self) -> str:
        number = self.into + self.out
        return f"{number} {'copy' if number == 1 else 'copies'} by the CPU"


class PathOfAByte(SceneWidget):
    def __init__(self, ways: Mapping[str, Mapping[str, float]]) -> None:
        super().__init__(name="The path of a byte")
        self.ways = {
            name: CopyCount(round(counted["in"]), round(counted["out"]))
            for name, counted in ways.items()
        }
        self.draw()

    def draw(self) -> None:
        with self.lock:
            self.about = "from a file to the network"
            self.show(self._scene())

    def _scene(self) -> Scene:
        room = self.width - 2 * MARGIN
        columns = max(min(int((room + GAP) // (LEAST + GAP)), len(self.ways)), 1)
        wide = (room + GAP) / columns - GAP
        shapes, y = list[SceneShape](), TOP
        for place, (name, copies) in enumerate(self.ways.items()):
            row, column = divmod(place, columns)
            x, y = MARGIN + column * (wide + GAP), TOP + row * (HIGH + GAP)
            label = f"{name}: {copies.words}"
            shapes.append(group(f"way {name}", x, y, _panel(name, copies, wide), label=label))
        below = TextColumn(MARGIN, y + HIGH + 22, room, 16).write("words", WORDS, "tiny")
        said = "; ".join(f"{name}: {copies.words}" for name, copies in self.ways.items())
        return Scene(self.width, below.y, [*shapes, *below.shapes], title=said)


def _panel(name: str, copies: CopyCount, wide: float) -> list[SceneShape]:
    cache, socket, card = 16.0, 16 + (wide - 32) * 0.46, wide - 16 - 44
    program = (cache + 40 + socket + 26) / 2 - 38
    upper, lower = LEVELS
    border = (upper + BOX + lower) / 2
    shapes = [
        rect("panel", 0, 0, wide, HIGH, 8, look="card"),
        text("name", 16, 22, fit(name, wide - 32, 12, bold=True), look="bold"),
        text("copies", 16, 39, copies.words, look="tiny"),
        line("border", 16, border, wide - 16, border, look="rule away"),
        text("user", wide - 16, border - 6, "user space", 1, look="tiny"),
        text("kernel", wide - 16, border + 14, "kernel", 1, look="tiny"),
        *_box("page cache", cache, lower, 80),
        *_box("socket", socket, lower, 56),
        *_box("card", card, lower, 44),
    ]
    level = lower + BOX / 2
    shapes += _arrow("dma", (socket + 56, level), (card, level), copied=False)
    if not copies.into + copies.out:
        shapes += _box("program", program, upper, 76, "paper away")
        shapes += _arrow("passed", (cache + 80, level), (socket, level), copied=False)
        return shapes
    shapes += _box("program", program, upper, 76)
    foot = upper + BOX
    up, down = (cache + 40, lower), (socket + 28, lower)
    shapes += _arrow("in", up, (program + 14, foot), copied=bool(copies.into))
    shapes += _arrow("out", (program + 62, foot), down, copied=bool(copies.out))
    return shapes


def _box(
    name: str, x: float, y: float, wide: float, look: str = "paper"
) -> tuple[SceneShape, SceneShape]:
    return (
        rect(f"box {name}", x, y, wide, BOX, 5, look=look),
        text(f"in {name}", x + wide / 2, y + 17, name, ABOUT, look="tiny"),
    )


def _arrow(
    key: str, begin: tuple[float, float], end: tuple[float, float], *, copied: bool
) -> list[SceneShape]:
    """A line with a head; a copy is a full one."""
    (x1, y1), (x2, y2) = begin, end
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - 8 * ux, y2 - 8 * uy  # the foot of the head
    head = (
        f"M{x2:.1f} {y2:.1f}L{bx - 4 * uy:.1f} {by + 4 * ux:.1f}"
        f"L{bx + 4 * uy:.1f} {by - 4 * ux:.1f}Z"
    )
    look = "watermark" if copied else "out"
    shaft = line(f"{key} shaft", x1, y1, bx, by, look=f"{look} thick" if copied else look)
    return [shaft, path(f"{key} head", head, look="watermark" if copied else "link")]
