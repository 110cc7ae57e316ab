"""Kafka's transaction index: the aborted transactions of a segment, in a small file.

    offset      3     4     5     6          7     8
              | p1  | p2  | p1  | abort p1 | p2  | abort p2 |
    entries   p1: 3 to 6, stable up to 4     p2: 4 to 8, stable up to 9

    00000000000000368769.txnindex   | entry | entry | ...
    entry  | version i16 = 0 | producer id i64 | first offset i64 | last offset i64 |
           | last stable offset i64 |                                                    34 bytes

A broker sends aborted records like all others, together with this list, and read_committed readers
skip them. An entry is in the segment of its marker, and has the last stable offset at that time: a
transaction that ended later begins at it or after it. So a search may stop at the first entry whose
last stable offset is not before the end of the search.

Most segments have no aborted transaction, and then no file.

Invariant: last offsets strictly grow, last stable offsets never decrease.
Invariant: an entry that could not be written is in memory, and is written with the next one or at a
flush: the recovery point never moves past a marker whose entry is not in the file.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.storage import files

VERSION = 0

_ENTRY = Struct(">hqqqq")


class Aborted(NamedTuple):
    """One aborted transaction, in one partition."""

    producer_id: int
    first_offset: int  # of its first record
    last_offset: int  # of its marker
    last_stable: int  # the last stable offset when this one had ended


class AbortedIndex:
    """The entries of one segment, all in memory: there are few."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = read_aborted(path) if path.exists() else []
        self._stored = len(self.entries)  # how many are in the file

    def append(self, entry: Aborted) -> None:
        assert not self.entries or entry.last_offset > self.entries[-1].last_offset
        self.entries.append(entry)
        self._store()

    def _store(self) -> None:
        data = b"".join(_ENTRY.pack(VERSION, *entry) for entry in self.entries[self._stored :])
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            end = self._stored * _ENTRY.size
            files.append_whole(fd, [data], len(data), end, self.path)
        finally:
            os.close(fd)
        self._stored = len(self.entries)

    def truncate(self, offset: int) -> None:
        """Remove the transactions whose marker is at an offset or after it."""
        kept = bisect_left(self.entries, offset, key=_last_offset)
        del self.entries[kept:]
        if kept < self._stored:
            self._stored = kept
            with self.path.open("r+b") as file:
                files.truncate(file.fileno(), kept * _ENTRY.size)
            if not kept:
                files.remove(self.path)

    def flush(self) -> None:
        if self._stored < len(self.entries):
            self._store()
        if self.entries:
            files.flush_path(self.path)

    def ending_from(self, offset: int) -> Iterator[Aborted]:
        """The transactions whose marker is at an offset or after it."""
        return islice(self.entries, bisect_left(self.entries, offset, key=_last_offset), None)


def _last_offset(entry: Aborted) -> int:
    return entry.last_offset


def search(ending: Iterable[Aborted], start: int, limit: int) -> tuple[Aborted, ...]:
    """Of those that end at `start` or later, the ones with a record below `limit`, oldest first."""
    found = []
    if start < limit:
        for entry in ending:
            if entry.first_offset < limit:
                found.append(entry)
            if entry.last_stable >= limit:
                break
    return tuple(sorted(found, key=lambda entry: entry.first_offset))


def read_aborted(path: Path) -> list[Aborted]:
    """The entries of a .txnindex file, if they are valid."""
    data = path.read_bytes()
    if len(data) % _ENTRY.size:
        raise _corrupt(path, f"{len(data)} bytes are not a whole number of entries")
    entries = []
    for version, *fields in _ENTRY.iter_unpack(data):
        if version != VERSION:
            raise _corrupt(path, f"version {version} is not known")
        entries.append(Aborted(*fields))
    for entry in entries:
        if not 0 <= entry.first_offset < entry.last_offset:
            raise _corrupt(path, f"{entry} ends before it begins")
    for before, after in pairwise(entries):
        if after.last_offset <= before.last_offset:
            raise _corrupt(path, f"{after} comes after {before}")
    return entries


def _corrupt(path: Path, what: str) -> ApiException:
    return ApiException(ErrorCode.corrupt_message, f"corrupt index {path}: {what}")
