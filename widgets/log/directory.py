"""Reads the files of one partition, without changing them.

    00000000000000000000.log             a segment; the last one is active
    00000000000000000000.index           its entries are read one by one, when they are asked for
    00000000000000000000.timeindex
    00000000000000000000.log.deleted     has left the log, and is removed a little later

The engine's own `Segment` opens these files for writing, and would repair damage. A broker may be
using them, so here every file is opened read-only, and only for a short time.

Invariant: no byte, no name and no time in the directory is changed.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from struct import Struct
from typing import NamedTuple, overload

from engine.errors import ApiException, ErrorCode
from engine.storage import checkpoints
from engine.storage.batch import HEADER_SIZE, MAGIC, NO_TIMESTAMP, Header
from engine.storage.index import OffsetIndex, TimeIndex
from engine.storage.partition_name import parse_name
from engine.storage.segment import CHUNK, REACH, file_name, files_of

Entry = tuple[int, int]


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor that cannot write."""
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


class Entries(Sequence[Entry]):
    """An index file as a sequence: `len` and `[slot]` read as little of it as they can.

    The active segment's index is preallocated, and its tail is zeros. Entries grow, so the
    start of the zeros is found by binary search, too.
    """

    def __init__(self, path: Path, layout: Struct) -> None:
        self.path = path
        self._layout = layout
        self._count = 0
        with suppress(FileNotFoundError), opened(path) as fd:
            room = range(os.fstat(fd).st_size // layout.size)
            self._count = bisect_left(room, True, key=lambda slot: not any(self._read(fd, slot)))

    def _read(self, fd: int, slot: int) -> bytes:
        return os.pread(fd, self._layout.size, slot * self._layout.size)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, slot: int) -> Entry: ...
    @overload
    def __getitem__(self, slot: slice) -> list[Entry]: ...
    def __getitem__(self, slot: int | slice) -> Entry | list[Entry]:
        wanted = range(self._count)[slot]
        if wanted == range(0):  # the file may not exist
            return []
        with opened(self.path) as fd:
            if isinstance(wanted, range):
                return [self._entry(fd, each) for each in wanted]
            return self._entry(fd, wanted)

    def _entry(self, fd: int, slot: int) -> Entry:
        first, second = self._layout.unpack(self._read(fd, slot))
        return first, second


class SegmentFiles(NamedTuple):
    """One segment at one moment."""

    path: Path
    base_offset: int
    size: int  # bytes of log
    identity: int  # changes when compaction replaces the file with a new one of the same name
    modified: int  # when it was last written, ms since 1970

    @property
    def offsets(self) -> Entries:
        """(relative offset, position)"""
        return Entries(self._beside(".index"), OffsetIndex.ENTRY)

    @property
    def times(self) -> Entries:
        """(timestamp, relative offset)"""
        return Entries(self._beside(".timeindex"), TimeIndex.ENTRY)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(file_name(self.base_offset, suffix))

    def read(self, position: int, size: int) -> bytes:
        with opened(self.path) as fd:
            return os.pread(fd, size, position)

    def headers(self, position: int = 0) -> Iterator[tuple[int, Header]]:
        """From batch to batch, by their lengths, as the broker does; stops before a damaged one."""
        lowest, highest = self.base_offset, self.base_offset + REACH
        with opened(self.path) as fd:
            chunk, start = b"", position
            while 0 <= position <= self.size - HEADER_SIZE:
                if position + HEADER_SIZE > start + len(chunk):
                    chunk, start = os.pread(fd, CHUNK, position), position
                    if len(chunk) < HEADER_SIZE:
                        return  # truncated since its size was read
                header = Header.parse(chunk, position - start)
                if not HEADER_SIZE <= header.size <= self.size - position:
                    return
                if not lowest <= header.base_offset <= header.last_offset <= highest:
                    return
                yield position, header
                lowest, position = header.last_offset + 1, position + header.size

    def begins(self, position: int, offset: int) -> bool:
        """Whether this segment has a batch that begins at or before the offset."""
        found = next(self.headers(position), None)
        return found is not None and found[1].magic == MAGIC and found[1].base_offset <= offset

    def batches_from(self, offset: int) -> Iterator[tuple[int, Header]]:
        """The batches from the position in the index; from the start, if the index has none."""
        entries = self.offsets
        slot = bisect_right(entries, offset - self.base_offset, key=lambda entry: entry[0]) - 1
        position = entries[slot][1] if slot >= 0 else 0
        return self.headers(position if self.begins(position, offset) else 0)

    def end(self) -> tuple[int, int]:
        """The offset and the position after its last whole batch; bytes after it are incomplete."""
        offset, position = self.base_offset, 0
        for at, header in self.batches_from(self.base_offset + REACH):
            offset, position = header.next_offset, at + header.size
        return offset, position

    def newest(self) -> int:
        """The latest timestamp: the last in the time index, or a later one in the log. -1: none."""
        times = self.times
        timestamp, relative = times[-1] if times else (NO_TIMESTAMP, 0)
        later = (header for _, header in self.batches_from(self.base_offset + relative))
        return max([timestamp, *(header.max_timestamp for header in later)])


class Look(NamedTuple):
    """A partition's directory at one moment."""

    directory: Path
    segments: tuple[SegmentFiles, ...]  # in order; the last one is active
    leaving: tuple[SegmentFiles, ...]  # renamed to .deleted, not removed yet
    start_offset: int  # the first offset that may be read

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def end_offset(self) -> int:
        """The offset of the next record, by the files."""
        return self.segments[-1].end()[0] if self.segments else self.start_offset


def look(directory: Path, start_offset: int | None = None) -> Look:
    """Read a directory. Without `start_offset`, the log start is read from the checkpoint."""
    if not directory.is_dir():
        raise ApiException(ErrorCode.kafka_storage_error, f"there is no directory {directory}")
    segments = tuple(_segments(directory, ".log"))
    first = segments[0].base_offset if segments else 0
    if start_offset is None:
        start_offset = _checkpointed(directory)
    return Look(
        directory, segments, tuple(_segments(directory, ".log.deleted")), max(start_offset, first)
    )


def _segments(directory: Path, suffix: str) -> Iterator[SegmentFiles]:
    for base_offset, path in files_of(directory, suffix).items():
        with suppress(FileNotFoundError):  # it was deleted meanwhile
            found = path.stat()
            modified = found.st_mtime_ns // 1_000_000
            yield SegmentFiles(path, base_offset, found.st_size, found.st_ino, modified)


def _checkpointed(directory: Path) -> int:
    partition, offsets = parse_name(directory.name), checkpoints.LOG_START
    known = checkpoints.read_offsets(directory.parent / offsets) if partition else {}
    return known.get(partition, 0) if partition else 0
