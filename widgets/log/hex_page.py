"""One page of a file: 192 bytes, or fewer on a narrow page; and the fields that they belong to.

    file     | batch | batch | batch | batch | batch | batch | ...
    page                 ┆······192 bytes······┆
    read             | batch | batch | batch |      whole, since a CRC needs all bytes

Any page can be read directly: the index leads to the batch that contains its first byte. Files are
opened read-only.

Invariant: the fields of a page are in order, and each of its bytes is in exactly one.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from engine.storage.batch import HEADER_SIZE, Header
from engine.storage.segment import REACH
from widgets.log.batches import log_fields, torn
from widgets.log.directory import SegmentFiles, opened
from widgets.log.fields import ENTRIES, ByteField, entry_fields, entry_size
from widgets.log.transactions import BatchFate, FatedBatch, fated

ACROSS, ROWS = 16, 12
SIZE = ACROSS * ROWS


class HexPage(NamedTuple):
    path: Path
    size: int  # bytes of the file
    position: int  # of the first byte that is shown
    data: bytes
    fields: tuple[ByteField, ...]
    crc: (
        str  # the CRC check of a batch, as text: of a damaged one, or of the first that begins here
    )
    batches: tuple[FatedBatch, ...] = ()  # of this page, if some belong to transactions

    @property
    def end(self) -> int:
        return self.position + len(self.data)

    def field_at(self, position: int) -> ByteField | None:
        return next((it for it in self.fields if it.start <= position < it.end), None)

    def fate_of(self, field: ByteField) -> FatedBatch | None:
        """The batch with this field."""
        place = bisect_right(self.batches, field.start, key=lambda it: it.position) - 1
        found = self.batches[place] if place >= 0 else None
        return found if found and field.start < found.position + found.header.size else None


def kind_of(path: Path) -> str:
    """The kind of a file, by its name: log, index, txnindex; also if it ends in .deleted."""
    parts = path.name.split(".")
    return parts[1] if len(parts) > 1 and parts[0].isdigit() else ""


def glimpse(path: Path, position: int, room: int = SIZE) -> tuple[int, bytes]:
    """The file's size and the bytes of a page, to find out whether it must be read again."""
    with opened(path) as fd:
        return os.fstat(fd).st_size, os.pread(fd, room, position)


def read(path: Path, position: int, room: int = SIZE) -> HexPage:
    """The page that begins in the row of a byte; `room`: bytes on it."""
    size, _ = glimpse(path, 0)
    position = max(0, min(position, size - 1))
    position -= position % ACROSS
    _, data = glimpse(path, position, room)
    end, kind, batches = position + len(data), kind_of(path), list[FatedBatch]()
    if kind == "log":
        batches = _fated(path, size, position, end)
        every = list(takewhile(lambda it: it.start < end, _log(path, size, position, end)))
    elif kind in ENTRIES:
        every = list(_index(path, kind, position, end))
    else:
        about = "Only .log, .index, .timeindex and .txnindex files are explained here."
        every = [
            ByteField(position, end, "bytes", f"{len(data)} of them", about, "unused", path.name)
        ]
    crc = _verdict([it for it in every if it.name == "crc"], position)
    fields = tuple(it for it in every if it.start < end and it.end > position)
    return HexPage(path, size, position, data, fields, crc, tuple(batches))


def _fated(path: Path, size: int, position: int, end: int) -> list[FatedBatch]:
    segment = segment_of(path, size)
    found = fated(segment, batch_across(segment, position), end)
    return [] if all(it.fate is BatchFate.PLAIN for it in found) else found


def _verdict(crcs: list[ByteField], position: int) -> str:
    """The result of the CRC checks on a page: of a wrong one first."""
    if not crcs:
        return ""
    crc = min(crcs, key=lambda it: ("WRONG" not in it.value, it.start < position))
    return f"CRC of {crc.part}: {crc.value}"


def _log(path: Path, size: int, position: int, end: int) -> Iterator[ByteField]:
    segment = segment_of(path, size)
    start = stop = batch_across(segment, position)
    for at, length in hops(segment, start):
        if at >= end:
            break
        stop = at + length
    if stop < end:  # an incomplete batch follows, which may have a header
        stop = min(size, end + HEADER_SIZE)
    return log_fields(segment.read(start, stop - start), start, size - start)


def _index(path: Path, kind: str, position: int, end: int) -> Iterator[ByteField]:
    base_offset, entry = int(path.name.split(".")[0]), entry_size(kind)
    start = position - position % entry
    stop = end + -(end - start) % entry
    with opened(path) as fd:
        data = os.pread(fd, stop - start, start)
    return entry_fields(kind, data, base_offset, start)


def segment_of(path: Path, size: int) -> SegmentFiles:
    return SegmentFiles(path, int(path.name.split(".")[0]), size, 0, 0)


def hops(segment: SegmentFiles, position: int) -> Iterator[tuple[int, int]]:
    """Position and length of each whole batch from here on."""
    with opened(segment.path) as fd:
        while position < segment.size:
            head = os.pread(fd, HEADER_SIZE, position)
            if torn(head, segment.size - position):
                return
            length = Header.parse(head).size
            yield position, length
            position += length


def batch_across(segment: SegmentFiles, position: int) -> int:
    """The start of the batch with this byte, or of the incomplete bytes."""
    entries = segment.offsets
    slot = bisect_right(entries, position, key=lambda entry: entry[1]) - 1
    start = entries[slot][1] if slot >= 0 else 0
    if start and not segment.begins(start, segment.base_offset + REACH):
        start = 0  # the index belongs to another log or is damaged
    for at, length in hops(segment, start):
        if at + length > position:
            return at
        start = at + length
    return start


def batch_with(path: Path, position: int) -> tuple[int, bytes] | None:
    """The whole batch that has a byte, and where it begins."""
    size, _ = glimpse(path, 0)
    segment = segment_of(path, size)
    start = batch_across(segment, position)
    for at, length in hops(segment, start):
        return (at, segment.read(at, length)) if at <= position < at + length else None
    return None


def fields_of_batch(path: Path, position: int) -> list[ByteField]:
    """The fields of the batch that has a byte."""
    found = batch_with(path, position)
    return list(log_fields(found[1], found[0])) if found else []
