"""The two sparse indexes of a log segment: memory-mapped files with binary search.

    00000000000000368769.index        offset -> position          8 bytes an entry
        | relative offset i32 | position i32 |
    00000000000000368769.timeindex    timestamp -> offset        12 bytes an entry
        | timestamp i64 | relative offset i32 |

Both are sparse: at most one entry every `index.interval.bytes` of log, so an index fits in memory,
and a lookup ends with a short scan of the log. Offsets are relative to the segment's base offset
(the file's name), so four bytes are enough.

The index of the active segment is preallocated to its full size and mapped; the unused tail is
zeros, and takes no room on the disk. An entry is written by a system call, which a full disk lets
fail. The map has it at once: a search reads memory. When the segment is closed, the file is trimmed
to its entries.

Invariant: both columns of an index never decrease, and the searched one strictly grows.
Invariant: an entry (offset, position) means that the batch at `position` begins at or before
`offset` and every later batch ends after it. An entry (timestamp, offset) means that no record
before or at `offset` has a later timestamp.
An index has no information of its own: in doubt it is deleted and rebuilt.
"""

import mmap
import os
import struct
from bisect import bisect_left
from itertools import islice, takewhile
from pathlib import Path
from typing import ClassVar

from engine.storage import files
from engine.storage.batch import NO_TIMESTAMP


class Index:
    """Fixed-size entries in a mapped file: the base of both kinds of index."""

    ENTRY: ClassVar[struct.Struct]
    KEY: ClassVar[struct.Struct]  # the searched column, at the front of an entry

    def __init__(self, path: Path, base_offset: int, capacity: int = 0) -> None:
        """Open an index; with a capacity (bytes), make room to append to it."""
        self.path = path
        self.base_offset = base_offset
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._size = os.fstat(self._fd).st_size
        self.count = self.capacity = self._size // self.ENTRY.size
        self._map: mmap.mmap | None = None
        self.grow(capacity)

    def _resize(self, size: int) -> None:
        """Give the file this size, rounded down to whole entries, and map it."""
        size -= size % self.ENTRY.size
        self._unmap()
        if size != self._size:
            files.truncate(self._fd, size)
        self._size, self.capacity = size, size // self.ENTRY.size
        if size:  # an empty file cannot be mapped
            self._map = mmap.mmap(self._fd, size)
            # A search is random access: pages read ahead would waste memory.
            self._map.madvise(mmap.MADV_RANDOM)

    def _unmap(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    @property
    def is_full(self) -> bool:
        return self.count >= self.capacity

    def _pack(self, *entry: int) -> None:
        assert self.count < self.capacity, f"{self.path} is closed or was opened without capacity"
        files.write_at(self._fd, self.ENTRY.pack(*entry), self.count * self.ENTRY.size)
        self.count += 1

    def _unpack(self, slot: int) -> tuple[int, int]:
        assert self._map is not None, f"{self.path} is closed"
        first, second = self.ENTRY.unpack_from(self._map, slot * self.ENTRY.size)
        return first, second

    def _search(self, key: int, probes: list[int] | None = None) -> int:
        """The slot of the last entry whose key is not above the given one, or -1.

        Binary search: each probe halves the range. `probes` collects the slots that were read.
        """
        unpack, buffer, size = self.KEY.unpack_from, self._map, self.ENTRY.size
        low, high = 0, self.count  # the answer lies in [low - 1, high)
        while low < high:
            assert buffer is not None
            middle = (low + high) // 2
            if probes is not None:
                probes.append(middle)
            if unpack(buffer, middle * size)[0] <= key:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _keep(self, count: int) -> None:
        """Remove the entries after the first `count`; their bytes become zeros again."""
        if self._map is not None:
            start, end = count * self.ENTRY.size, self.count * self.ENTRY.size
            self._map[start:end] = bytes(end - start)
        self.count = count

    def reset(self, capacity: int) -> None:
        """Remove all entries and make room for new ones."""
        self.count = 0
        self._resize(0)  # not filled with zeros, which would take room on the disk
        self._resize(capacity)

    def grow(self, capacity: int) -> None:
        """Preallocate: the segment has become the active one."""
        self._resize(max(capacity, self.count * self.ENTRY.size))

    def trim(self) -> None:
        """Remove the preallocated tail: the segment is closed."""
        self._resize(self.count * self.ENTRY.size)

    def flush(self) -> None:
        if self._map is not None:
            self._map.flush()
        files.flush(self._fd)

    def close(self) -> None:
        """Close the file without trimming it, as after a kill."""
        self._unmap()
        os.close(self._fd)


class OffsetIndex(Index):
    """From an offset to the position in the log file where the search starts."""

    ENTRY = struct.Struct(">ii")
    KEY = struct.Struct(">i")

    def append(self, offset: int, position: int) -> None:
        assert not self.count or offset > self[-1][0], f"{self.path}: {offset} after {self[-1]}"
        self._pack(offset - self.base_offset, position)

    def lookup(self, offset: int, probes: list[int] | None = None) -> tuple[int, int]:
        """The last (offset, position) entry not after the given offset, else the file's start."""
        slot = self._search(offset - self.base_offset, probes)
        return (self.base_offset, 0) if slot < 0 else self[slot]

    def beyond(self, position: int) -> tuple[int, int] | None:
        """The first (offset, position) entry at a position or after it."""
        slot = bisect_left(range(self.count), position, key=lambda slot: self[slot][1])
        return self[slot] if slot < self.count else None

    def truncate(self, offset: int) -> None:
        """Remove the entries at an offset or after it."""
        self._keep(self._search(offset - self.base_offset - 1) + 1)

    def __getitem__(self, slot: int) -> tuple[int, int]:
        relative, position = self._unpack(slot if slot >= 0 else self.count + slot)
        return self.base_offset + relative, position


class TimeIndex(Index):
    """From a timestamp to the offset up to which no record is newer."""

    ENTRY = struct.Struct(">qi")
    KEY = struct.Struct(">q")

    @property
    def is_full(self) -> bool:
        """One slot is kept free: closing a segment always writes its largest timestamp."""
        return self.count >= self.capacity - 1

    def append(self, timestamp: int, offset: int) -> None:
        """Add a new largest timestamp; a smaller one is ignored."""
        newest = self[-1][0] if self.count else NO_TIMESTAMP
        if self.count < self.capacity and timestamp > newest:
            self._pack(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int, probes: list[int] | None = None) -> tuple[int, int]:
        """The last (timestamp, offset) entry not after the given time, else the segment's start."""
        slot = self._search(timestamp, probes)
        return (NO_TIMESTAMP, self.base_offset) if slot < 0 else self[slot]

    def truncate(self, offset: int) -> None:
        """Remove the entries at an offset or after it."""
        self._keep(bisect_left(range(self.count), offset, key=lambda slot: self[slot][1]))

    def __getitem__(self, slot: int) -> tuple[int, int]:
        timestamp, relative = self._unpack(slot if slot >= 0 else self.count + slot)
        return timestamp, self.base_offset + relative


def read_offset_entries(path: Path) -> list[tuple[int, int]]:
    """The (offset, position) entries of an .index file, without its preallocated tail."""
    base_offset, entries = _stored(path, OffsetIndex.ENTRY)
    return [(base_offset + relative, position) for relative, position in entries]


def read_time_entries(path: Path) -> list[tuple[int, int]]:
    """The (timestamp, offset) entries of a .timeindex file, without its preallocated tail."""
    base_offset, entries = _stored(path, TimeIndex.ENTRY)
    return [(timestamp, base_offset + relative) for timestamp, relative in entries]


def _stored(path: Path, entry: struct.Struct) -> tuple[int, list[tuple[int, ...]]]:
    """The base offset in a file's name, and the entries as the file has them."""
    data = path.read_bytes()
    entries = entry.iter_unpack(data[: len(data) - len(data) % entry.size])
    first = [*islice(entries, 1)]  # it alone may be all zeros
    return int(path.name.split(".")[0]), [*first, *takewhile(any, entries)]
