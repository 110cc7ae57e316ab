"""PageMap: which pages of a file are in memory, at several moments.

    after the write      ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   5,120 of 5,120 pages
    after the hint       ──────────────────────────────   0 of 5,120 pages
    one page was read    ──▇───────────────────────────   4 of 5,120 pages

    view = PageMap(path)
    view.note("after the write")      keeps how it is now
    resident(path)                    a byte for each page: 1 if it is in memory

The kernel tells it by mincore: no page is read for it. A column of the picture stands for a page,
or for some; it is as full as many of them are in memory.

Invariant: looking brings no page into memory.
"""

import ctypes
import mmap
import os
from pathlib import Path
from typing import ClassVar, NamedTuple

from engine.errors import invalid_request
from widgets import controls
from widgets.scene import Scene, SceneShape, fit, rect, text
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

PAGE = mmap.PAGESIZE
MARGIN, ROW, BAR, COLUMN = 16, 52, 18, 4  # px
EVERY = 1.0  # seconds between two looks
KEPT = 12  # moments
WORDS = "Each column stands for {}; it is full if all of it is in memory."


def resident(path: Path) -> bytes:
    """A byte for each page of a file: 1 if it is in memory, else 0."""
    size = path.stat().st_size
    if not size:
        return b""
    pages = -(-size // PAGE)
    found = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    fd = os.open(path, os.O_RDWR)  # mincore tells those who may write; nothing is written
    try:
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if at == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap", str(path))
        if libc.mincore(at, size, found):
            raise OSError(ctypes.get_errno(), "mincore", str(path))
        libc.munmap(at, size)
    finally:
        os.close(fd)
    return bytes(page & 1 for page in found)


def forget(path: Path) -> None:
    """Ask the kernel to drop the file's pages. It drops those that are on the disk already, and
    begins to write the others."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class PageMoment(NamedTuple):
    words: str
    pages: bytes

    @property
    def told(self) -> str:
        return f"{sum(self.pages):,} of {len(self.pages):,} pages in memory"


class PageMap(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset({"look"})

    def __init__(self, path: Path) -> None:
        super().__init__(name=path.name)
        self.path = path
        self.moments: list[PageMoment] = []
        self.interval = EVERY
        self._now = resident(path)
        self.draw()

    def note(self, words: str) -> str:
        """Keep which pages are in memory now; how many that are."""
        with self.lock:
            if len(self.moments) >= KEPT:
                raise invalid_request(f"there is room for {KEPT} moments")
            self._now = resident(self.path)
            self.moments.append(PageMoment(words, self._now))
            self.draw()
            return self.moments[-1].told

    def poll(self) -> bool:
        """Look again; False once the file is gone."""
        if not self.path.exists():
            return False
        now = resident(self.path)
        with self.lock:
            if now != self._now:
                self._now = now
                self.draw()
        return True

    def look(self) -> None:
        self.poll()

    def draw(self) -> None:
        with self.lock:
            now = PageMoment("now", self._now)
            self.about = now.told
            button = controls.button("look", "look again", "ask the kernel again")
            self.show(self._scene([*self.moments, now]), [button])

    def _scene(self, moments: list[PageMoment]) -> Scene:
        room, y = self.width - 2 * MARGIN, 4.0
        most = max(len(each.pages) for each in moments)
        columns = max(min(int(room // COLUMN), most), 1)
        shapes = list[SceneShape]()
        for place, each in enumerate(moments):
            words = fit(f"{each.words}: {each.told}", room, 12, bold=True)
            shapes.append(text(f"words {place}", MARGIN, y + 14, words, look="bold small"))
            box = rect(f"file {place}", MARGIN, y + 22, room, BAR, 3, look="rule", label=words)
            shapes.append(box)
            shapes += _bars(place, each.pages, columns, (MARGIN, y + 22, room))
            y += ROW
        one = "one page (4 KB)" if columns == most else f"{most / columns:,.0f} pages of 4 KB"
        legend = TextColumn(MARGIN, y + 14, room, 16).write("legend", WORDS.format(one), "tiny")
        said = f"{moments[-1].told} of {self.path.name}"
        shapes += legend.shapes
        return Scene(self.width, legend.y - 6, shapes, title=said, says=said)


def _bars(
    place: int, pages: bytes, columns: int, where: tuple[float, float, float]
) -> list[SceneShape]:
    """Columns of the same height are one bar."""
    x, y, room = where
    shares = [_share(pages, column, columns) for column in range(columns)]
    found, begin = list[SceneShape](), 0
    for column in range(1, columns + 1):
        if column < columns and shares[column] == shares[begin]:
            continue
        if shares[begin]:
            left, right = (room * at / columns for at in (begin, column))
            high = max(BAR * shares[begin], 3)
            key = f"pages {place}.{begin}"
            found.append(
                rect(key, x + left, y + BAR - high, right - left, high, look="segment closed still")
            )
        begin = column
    return found


def _share(pages: bytes, column: int, columns: int) -> float:
    first = column * len(pages) // columns
    last = max((column + 1) * len(pages) // columns, first + 1)
    part = pages[first:last]
    return round(sum(part) / len(part), 1) if part and any(part) else 0.0
