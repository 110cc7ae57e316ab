"""HexView: the bytes of a log's files, and the meaning of each.

    HexView("data/broker-1/orders-0/00000000000000000000.log")     one file
    HexView(cluster, "orders", 0, offset=4711)                     the batch that holds an offset
    HexView(recording, "orders", 0)                                at any moment of a recording

It follows the file as it grows, and says when it is deleted. It cannot write: an attempt to change
a byte shows what the change would do.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from engine.browser import crc32c
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.storage.batch import Header
from widgets import controls
from widgets.controls import Control
from widgets.log import hex_page, hex_scene
from widgets.log.directory import look
from widgets.log.fields import ENTRIES
from widgets.log.hex_page import ACROSS, HexPage
from widgets.log.hex_scene import HexLayout
from widgets.log.location import LogLocation, Source
from widgets.log.lookup import find_offset
from widgets.replay.recorded_files import PartitionFiles
from widgets.scene import Scene, text
from widgets.shared_time import SharedTime
from widgets.stage import SceneWidget

EVERY = 0.3  # seconds between two reads of the file
CRC_FROM = 21  # the first byte of a batch that its CRC covers
FILES = 60  # in the list to choose from
GONE = "The file is gone: retention or compaction took it. This is what it held."
NOT_THEN = "At this moment there is no such file. This is what it held at another one."


class HexView(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"choose", "file", "first", "previous", "following", "last", "byte", "offset", "edit"}
        | {"moment"}
    )

    def __init__(
        self,
        source: Source | None = None,
        topic: str = "",
        partition: int = 0,
        *,
        broker: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__()
        self.clock = time.monotonic
        self.page: HexPage | None = None  # the page that is shown; None: no file is open
        self.chosen: int | None = None  # the first byte of the field that is explained
        self._sought = (
            0  # the byte that the user asked for: at another moment the file may be shorter
        )
        self._due = 0.0
        self._place: LogLocation | None = None  # of a partition
        self.gone = GONE  # the text when the file does not exist
        self.name = "Bytes"
        self.shared = SharedTime.of(source)
        if source is None:
            self.draw()
            return
        if not topic and isinstance(source, str | Path) and Path(source).is_file():
            self.turn_to(Path(source), 0)
        else:
            self._open_partition(LogLocation(source, topic, partition, broker))
        if offset is not None:
            self.offset(offset)

    def _open_partition(self, place: LogLocation) -> None:
        self._place = place
        if place.past:
            self.shared.join(self)
        self.gone = NOT_THEN if place.past else GONE
        found = place.look()
        if not found.segments:
            reason = f"there is no segment in {found.directory}"
            raise ApiException(ErrorCode.kafka_storage_error, reason)
        self.turn_to(found.segments[-1].path, 0)

    def turn_to(self, path: Path, position: int) -> None:
        """Show a file, from the row of a byte on."""
        try:
            page = hex_page.read(path, position, self.room)
        except FileNotFoundError as error:
            reason = f"{path.name} is gone: retention or compaction took it"
            raise ApiException(ErrorCode.kafka_storage_error, reason) from error
        with self.lock:
            self.page, self._sought = page, position
            self._draw()

    def poll(self) -> bool:
        """Follow the file; only changes are read again."""
        page, now = self.page, self.clock()
        if page is None or now < self._due:
            return page is not None
        self._due = now + EVERY
        try:
            seen = hex_page.glimpse(page.path, page.position, self.room)
        except FileNotFoundError:
            self.trouble = self.gone
            return False
        if seen != (page.size, page.data):
            self.turn_to(page.path, self._sought)
        return True

    def again(self) -> bool:
        """Open the file of the same name again; False: there is none."""
        if self.page is None:
            return True
        try:
            page = hex_page.read(self.page.path, self._sought, self.room)
        except FileNotFoundError:
            self.trouble = self.gone
            return False
        with self.lock:
            self.page, self.trouble = page, ""
            self._draw()
        return True

    def moment(self, index: float) -> None:
        """The files as they were at another moment of a recording."""
        if self._place is None or self._place.past is None:
            raise invalid_request("this is no recording: it is always now")
        past = self._place.past
        there = self._turn_to(past, int(index))
        self.shared.tell(self, past.moments[past.index])
        if not there:
            raise ApiException(ErrorCode.kafka_storage_error, NOT_THEN)

    def follow(self, at: int | None) -> None:
        """Show the files of this time, because another view shows it."""
        past = self._place.past if self._place else None
        if past and past.moments and (index := past.until(at)) != past.index:
            self._turn_to(past, index)

    def _turn_to(self, past: PartitionFiles, index: int) -> bool:
        with self.lock:
            past.turn_to(index)
            there = self.again()
            self._draw()
        return there

    def close(self) -> None:
        self.shared.leave(self)
        if self._place:
            self._place.close()
        super().close()

    @property
    def room(self) -> int:
        """How many bytes the page that is shown has room for."""
        return HexLayout(self.width).room

    # -- navigation ---------------------------------------------------------------------

    def _open_page(self) -> HexPage:
        if self.page is None:
            raise ApiException(ErrorCode.kafka_storage_error, "no file is open: open one first")
        return self.page

    def file(self, name: str) -> None:
        """Another file of the same directory."""
        self.chosen = None
        self.turn_to(self._open_page().path.parent / Path(name).name, 0)

    def first(self) -> None:
        """The start of the file."""
        self.byte(0)

    def previous(self) -> None:
        """A page back."""
        self.byte(max(0, self._open_page().position - self.room))

    def following(self) -> None:
        """A page on."""
        page = self._open_page()
        if page.end < page.size:
            self.byte(page.position + self.room)

    def last(self) -> None:
        """The end of the file."""
        size = self._open_page().size
        self.byte(max(0, size - 1 - (size - 1) % ACROSS - self.room + ACROSS))

    def byte(self, position: float) -> None:
        """The page that begins in the row of a byte."""
        self.turn_to(self._open_page().path, int(position))

    def offset(self, offset: float) -> None:
        """The record with an offset; if it is in a compressed batch, that batch."""
        directory = self._open_page().path.parent
        lookup = find_offset(look(directory, 0), int(offset))
        if lookup.found is None:
            raise ApiException(ErrorCode.offset_out_of_range, lookup.words)
        path, position = lookup.found.segment.path, lookup.found.position
        batch = hex_page.fields_of_batch(path, position)
        part = f"offset {lookup.found.offset:,}"
        first = next((it.start for it in batch if it.part == part), position)
        self.chosen = first
        near = first - position < self.room - 2 * ACROSS  # then its batch is visible, too
        self.turn_to(path, position if near else first)

    def choose(self, position: float) -> None:
        """Explain the field with this byte; a second call with the same byte ends that."""
        with self.lock:
            self.chosen = None if self.chosen == int(position) else int(position)
            self._draw()

    # -- changes, which are refused -------------------------------------------------------------

    def edit(self, value: str) -> None:
        """Change nothing, but show what the change would do."""
        page = self._open_page()
        at = page.position if self.chosen is None else self.chosen
        try:
            byte = int(value, 16).to_bytes(1, "big")
        except (ValueError, OverflowError) as error:
            reason = f"{value!r} is no byte: two hex digits are, such as 6e. Nothing was written."
            raise invalid_request(reason) from error
        said = "Nothing was written: this view opens files to read only."
        raise invalid_request(f"{said} {_what_if(page, at, byte)}")

    # -- drawing -------------------------------------------------------------------------

    def draw(self) -> None:
        if self.page is None:
            self.show(Scene(self.width, 40, [text("none", 16, 24, "No file is open.")]))
            return
        with suppress(FileNotFoundError):  # what it held stays
            self.page = hex_page.read(self.page.path, self._sought, self.room)
        self._draw()

    def _draw(self) -> None:
        page = self._open_page()
        chosen = None if self.chosen is None else page.field_at(self.chosen)
        when = self._place.when if self._place else ""
        self.about = f"{page.path.name} · {page.size:,} bytes" + (f" · {when}" if when else "")
        self.show(hex_scene.draw(page, chosen, self.width), self._controls(page))

    def _controls(self, page: HexPage) -> list[Control]:
        at_start, at_end = page.position == 0, page.end >= page.size
        files = [path.name for path in page.path.parent.iterdir() if hex_page.kind_of(path)]
        names = sorted({*sorted(files)[-FILES:], page.path.name})
        at = page.position if self.chosen is None else self.chosen
        button, time = controls.button, list[Control]()
        if self._place and self._place.past:
            time = [self._place.past.slider()]
        return [
            *time,
            controls.choice("file", "file", names, page.path.name),
            button("first", "|◂", "first page", off=at_start),
            button("previous", "◂", "previous page", off=at_start),
            button("following", "▸", "next page", off=at_end),
            button("last", "▸|", "last page", off=at_end),
            controls.number("byte", "byte", page.position, least=0, most=page.size),
            controls.number("offset", "offset", least=0),
            controls.text("edit", f"change byte {at:,} to", hint="hex"),
        ]


def _what_if(page: HexPage, at: int, byte: bytes) -> str:
    """The effect of a changed byte."""
    if hex_page.kind_of(page.path) in ENTRIES:
        return "A broker that finds an index wrong would make it anew from the log."
    batch = hex_page.batch_with(page.path, at)
    if batch is None:
        return ""
    start, data = batch
    changed = data[: at - start] + byte + data[at - start + 1 :]
    if changed == data:
        return f"Byte {at:,} is {byte.hex()} already."
    words = f"With byte {at:,} as {byte.hex()} instead of {data[at - start]:02x}"
    if at - start < CRC_FROM:
        return f"{words} the CRC would not notice: it leaves out what a broker writes itself."
    crc = crc32c(changed[CRC_FROM:])
    return (
        f"{words} the bytes would give CRC {crc:#010x}, not {Header.parse(data).crc:#010x}: "
        "no consumer would take the batch."
    )
