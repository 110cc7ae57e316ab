"""One segment: a part of the log in one append-only file, and its indexes.

    00000000000000000000.log   | batch | batch | batch | batch | ...   (only ever appended to)
    00000000000000000000.index            ^ about every 4 KB: offset -> position
    00000000000000000000.timeindex        ^ at the same places: largest timestamp -> offset
    00000000000000000000.txnindex         the transactions that its abort markers end, if any

A file is named by its base offset, the first offset that it can hold. A read never decodes records:
it finds a position and returns a `Slice` of the file, which the server sends by sendfile.

Invariant: batches are adjacent, in offset order, and no batch is split across two segments.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.storage import files
from engine.storage.aborted import AbortedIndex
from engine.storage.batch import HEADER_SIZE, MAGIC, NO_TIMESTAMP, Header
from engine.storage.index import OffsetIndex, TimeIndex
from engine.storage.records import stream

CHUNK = 4096  # bytes that are read at once to find headers
SUFFIXES = (".log", ".index", ".timeindex")  # the files that every segment has
REACH = 2**31 - 1  # the largest position and relative offset: an index has four bytes for each


def file_name(offset: int, suffix: str) -> str:
    """Twenty digits, so that names sort like numbers."""
    return f"{offset:020d}{suffix}"


def files_of(directory: Path, suffix: str) -> dict[int, Path]:
    """A directory's files of one kind by the offset in their name, in order; no others."""
    names = sorted(directory.glob("[0-9]" * 20 + suffix))
    return {int(path.name.split(".")[0]): path for path in names}


class SliceGone(ConnectionError):
    """The bytes of a response are no longer there: its connection cannot go on."""


class Slice(NamedTuple):
    """Bytes of an open file that are not read yet: the arguments of sendfile."""

    file: FileIO
    position: int
    size: int

    def read(self) -> bytes:
        """All of the bytes. Raises `SliceGone` if the file was closed or truncated meanwhile."""
        if self.file.closed:
            raise SliceGone("a log file was closed before it was sent")
        data = os.pread(self.file.fileno(), self.size, self.position)
        if len(data) != self.size:
            raise SliceGone("a log file was truncated before it was sent")
        return data


class Found(NamedTuple):
    """The result of a lookup."""

    position: int
    header: Header
    skipped: int  # bytes of the scan, from the position in the index


class Segment:
    """An open segment. The last one of a log is active: only it gets appends."""

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        *,
        now: int,
        index_interval: int = 4096,
        index_size: int = 0,
        suffix: str = "",
    ) -> None:
        """Open or create; `index_size` (bytes) preallocates the indexes of an active segment."""
        self.base_offset = base_offset
        self.path = directory / file_name(base_offset, ".log" + suffix)
        self.file = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644), "r+")
        self.size = os.fstat(self.file.fileno()).st_size
        self.index_interval = index_interval
        self.index_size = index_size
        self.created = now  # for the age of an empty segment
        self.since_index = 0  # bytes appended after the newest index entry

    # -- the parts -----------------------------------------------------------------------

    @cached_property
    def offsets(self) -> OffsetIndex:
        return OffsetIndex(self._beside(".index"), self.base_offset, self.index_size)

    @cached_property
    def times(self) -> TimeIndex:
        return TimeIndex(self._beside(".timeindex"), self.base_offset, self.index_size)

    @cached_property
    def aborted(self) -> AbortedIndex:
        return AbortedIndex(self._beside(".txnindex"))

    def forget_aborted(self) -> None:
        """Remove the index of aborted transactions: it will be rebuilt."""
        self.__dict__.pop("aborted", None)
        files.remove(self._beside(".txnindex"))

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name.replace(".log", suffix, 1))

    @property
    def paths(self) -> list[Path]:
        return [self._beside(suffix) for suffix in SUFFIXES]

    @property
    def all_paths(self) -> list[Path]:
        """All files of the segment, the log last. Otherwise, after an interrupted rename or
        removal, an index would be taken for that of the next segment with this name."""
        return [self._beside(".txnindex"), *reversed(self.paths)]

    @property
    def modified(self) -> int:
        """The mtime of the log file in milliseconds: the age of records without a timestamp."""
        return os.fstat(self.file.fileno()).st_mtime_ns // 1_000_000

    @cached_property
    def greatest(self) -> tuple[int, int]:
        """The largest timestamp in the segment and the last offset of the batch that has it."""
        timestamp, offset = self.times[-1] if self.times.count else (NO_TIMESTAMP, self.base_offset)
        for _, header in self.batches_from(offset):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        return timestamp, offset

    @cached_property
    def first_timestamp(self) -> int | None:
        """The largest timestamp of the first batch: `segment.ms` is relative to it."""
        if not self.size:
            return None
        return Header.parse(os.pread(self.file.fileno(), HEADER_SIZE, 0)).max_timestamp

    # -- writing -------------------------------------------------------------------------

    def append(
        self, parts: Sequence[files.Buffer], size: int, last_offset: int, newest: tuple[int, int]
    ) -> None:
        """Append whole batches in one write; `newest` is their largest timestamp and its offset.

        Either all bytes are in the file afterwards or none: a short write (a full disk) is
        undone. The index entry points from the last offset of this write to its start.
        """
        position = self.size
        greatest = self.greatest if position else (NO_TIMESTAMP, self.base_offset)
        files.append_whole(self.file.fileno(), parts, size, position, self.path)
        self.size += size
        if not position:
            self.first_timestamp = newest[0]
        self.greatest = newest if newest[0] > greatest[0] else greatest
        if self.since_index > self.index_interval:
            self.offsets.append(last_offset, position)
            self.times.append(*self.greatest)
            self.since_index = 0
        self.since_index += size

    def close_for_appends(self) -> None:
        """The segment is no longer active: its indexes are trimmed."""
        self.times.append(*self.greatest)
        self.offsets.trim()
        self.times.trim()
        self.index_size = 0

    def open_for_appends(self, index_size: int) -> None:
        """The segment is the last one again: after a restart, or after a truncation."""
        self.index_size = index_size
        self.offsets.grow(index_size)
        self.times.grow(index_size)

    def cut(self, position: int, offset: int) -> None:
        """Truncate the file at a position where the batch with `offset` starts."""
        self.size = position
        files.truncate(self.file.fileno(), position)
        self.offsets.truncate(offset)
        self.times.truncate(offset)
        self.aborted.truncate(offset)
        self.since_index = 0
        self.__dict__.pop("greatest", None)
        self.__dict__.pop("first_timestamp", None)

    def rebuild_indexes(self, batches: Iterable[tuple[int, Header]] | None = None) -> None:
        """Rebuild both indexes from the batches of the log, which are read if not given."""
        entries = self.size // max(self.index_interval, HEADER_SIZE) + 2
        self.offsets.reset(self.index_size or entries * OffsetIndex.ENTRY.size)
        self.times.reset(self.index_size or entries * TimeIndex.ENTRY.size)
        indexed, timestamp, offset = 0, NO_TIMESTAMP, self.base_offset
        for position, header in self.headers() if batches is None else batches:
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
            if position - indexed > self.index_interval and not self.offsets.is_full:
                self.offsets.append(header.last_offset, position)
                self.times.append(timestamp, offset)
                indexed = position
        self.greatest, self.since_index = (timestamp, offset), self.size - indexed
        if not self.index_size:
            self.close_for_appends()

    # -- reading -------------------------------------------------------------------------

    def headers(self, position: int = 0) -> Iterator[tuple[int, Header]]:
        """The position and header of each batch, up to one that is not whole or out of order."""
        fd, chunk, start, ahead = self.file.fileno(), b"", position, HEADER_SIZE
        lowest, highest = self.base_offset, self.base_offset + REACH
        while 0 <= position <= self.size - HEADER_SIZE:
            if position + HEADER_SIZE > start + len(chunk):
                chunk, start = os.pread(fd, ahead, position), position
            header = Header.parse(chunk, position - start)
            first, last = header.base_offset, header.last_offset
            if not HEADER_SIZE <= header.size <= self.size - position:
                return
            if header.magic != MAGIC or not lowest <= first <= last <= highest:
                return
            yield position, header
            lowest = last + 1
            position += header.size
            ahead = CHUNK if header.size < CHUNK else HEADER_SIZE  # read many small ones at once

    def batches_from(
        self, offset: int, probes: list[int] | None = None
    ) -> Iterator[tuple[int, Header]]:
        """The batches from the position in the index; the first ones may end before the offset."""
        batches = self._indexed(offset, probes)
        if batches is None:
            self.rebuild_indexes()  # the index is wrong
            return self.headers(self.offsets.lookup(offset, probes)[1])
        return batches

    def _indexed(
        self, offset: int, probes: list[int] | None = None
    ) -> Iterator[tuple[int, Header]] | None:
        """The batches from the position in the index on; None if the index is wrong."""
        start = self.offsets.lookup(offset, probes)[1]
        batches = self.headers(start)
        first = next(batches, None)
        if start and not self._begins(first, offset):
            return None
        return chain([first], batches) if first else batches

    def locate(self, offset: int, probes: list[int] | None = None) -> Found | None:
        """The first batch that ends at or after the offset: index, then a short scan."""
        start = -1
        for position, header in self.batches_from(offset, probes):
            start = position if start < 0 else start
            if header.last_offset >= offset:
                return Found(position, header, position - start)
        return None

    def starts_batch(self, position: int, offset: int) -> bool:
        """Whether a batch starts at a position, and begins at or before the offset."""
        return self._begins(next(self.headers(position), None), offset)

    def _begins(self, batch: tuple[int, Header] | None, offset: int) -> bool:
        """Whether this is a batch of this segment that begins at or before the offset.

        At a wrong position this is almost never so.
        """
        if batch is None:
            return False
        return self.base_offset <= batch[1].base_offset <= offset

    def has_newest(self, timestamp: int, offset: int) -> bool:
        """Whether the batch with this offset has this largest timestamp, as in the time index.

        This changes nothing, even if the offset index is wrong.
        """
        batches = (header for _, header in self._indexed(offset) or ())
        found = next((header for header in batches if header.last_offset >= offset), None)
        return found is not None and (
            found.base_offset <= offset and found.max_timestamp == timestamp
        )

    def read(self, offset: int, max_bytes: int, end: int, *, at_least_one: bool) -> Slice | None:
        """A slice from the batch of `offset`, up to the file position `end`.

        With `at_least_one`, the first batch is whole even if it is larger than `max_bytes`:
        otherwise a reader with small buffers would never pass it. Without it, such a slice is
        empty: a partial batch is useful only after a whole one.
        """
        found = self.locate(offset)
        if found is None:
            self._check_whole(offset)
            return None
        first = found.header.size
        if first > max_bytes:
            max_bytes = first if at_least_one else 0
        return Slice(self.file, found.position, max(0, min(max_bytes, end - found.position)))

    def following(self, position: int) -> int | None:
        """The first offset of a batch at a position or after it, found by the index: there may be
        batches between. None if there is no entry."""
        entry = self.offsets.beyond(position)
        if entry is None:
            return None
        batch = next(self.headers(entry[1]), None)
        if batch is None or not self._begins(batch, entry[0]):
            self.rebuild_indexes()  # the index is wrong
            return self.following(position)
        return batch[1].base_offset

    def _check_whole(self, offset: int) -> None:
        """No batch reaches an offset: raise an error unless the file ends there."""
        end = 0
        for position, header in self.batches_from(offset):
            end = position + header.size
        if end != self.size:
            raise ApiException(
                ErrorCode.corrupt_message,
                f"{self.path} is damaged at byte {end}: offset {offset} cannot be read",
            )

    def end(self) -> tuple[int, int]:
        """The offset after the last whole batch, and the position where that batch ends."""
        offset, position = self.base_offset, 0
        for at, header in self.batches_from(self.base_offset + REACH):
            offset, position = header.next_offset, at + header.size
        return offset, position

    def offset_for_time(self, timestamp: int, start: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record from `start` on that is not older."""
        indexed, offset = self.times.lookup(timestamp)
        if indexed != NO_TIMESTAMP and not self.has_newest(indexed, offset):
            self.rebuild_indexes()  # the index is wrong
            _, offset = self.times.lookup(timestamp)
        for position, header in self.batches_from(max(offset, start)):
            if header.max_timestamp >= timestamp and header.last_offset >= start:
                for record in stream(Slice(self.file, position, header.size).read()):
                    if record.timestamp >= timestamp and record.offset >= start:
                        return record.offset, record.timestamp, header.leader_epoch
        return None

    # -- end of life ---------------------------------------------------------------------

    def flush(self) -> None:
        self.flush_records()
        self.offsets.flush()
        self.times.flush()
        self.aborted.flush()

    def flush_records(self) -> None:
        """Flush the records alone: the indexes can be made again from them."""
        files.flush(self.file.fileno())

    def rename(self, old: str, new: str) -> None:
        """Change the files' suffix, for example to ".deleted"; open readers continue."""
        for path in self.all_paths:
            if path.exists():
                files.rename(path, path.with_name(path.name.removesuffix(old) + new))
        self.path = self.path.with_name(self.path.name.removesuffix(old) + new)
        self.__dict__.pop("aborted", None)

    def close_indexes(self) -> None:
        """Close the indexes; they are opened again when needed."""
        for name in ("offsets", "times"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()

    def close(self) -> None:
        self.close_indexes()
        self.file.close()

    def delete(self) -> None:
        """Remove the files. The index files may never have been opened."""
        self.close()
        for path in self.all_paths:
            files.remove(path)
