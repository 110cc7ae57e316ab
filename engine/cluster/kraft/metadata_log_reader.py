"""Reads the metadata log of a quorum from the disks of its voters, as it is written.

    controller-1/__cluster_metadata-0/   0 1 2 3 4 5         epoch 1 1 1 1 1 1
    controller-2/                        0 1 2 3 4 5 6       epoch 1 1 1 1 3 3 3
    ───────────────────────────────────────────────────
    entries    RECORD 0 ... RECORD 5, TRUNCATED 4, RECORD 4, RECORD 5, RECORD 6, SNAPSHOT ...

The same works for every Kafka without ZooKeeper: only files are read, and nothing of the nodes is
asked. A record may be here before it is committed, or although it never will be. Two voters may
have different records at an offset: the one of the higher epoch stays, since a later leader was
elected with it.

Invariant: an offset has one record. Applying all entries in order gives the log.
"""

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Self

from engine.cluster.state import now
from engine.metadata.records.framing import decode_record
from engine.metadata.records.record_json import json_fields
from engine.raft.control_records import decode_control
from engine.storage.batch import HEADER_SIZE, Header, scan
from engine.storage.records import Record, stream

LOG_TRACK = "metadata_log"  # its name in a recording
SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
NO_FIELDS: Mapping[str, Any] = {}
Directories = Callable[[], Iterable[Path]]


class MetadataEntryKind(Enum):
    RECORD = "record"
    TRUNCATED = "truncated"  # all records from this offset on are gone
    SNAPSHOT = "snapshot"  # it stands for all records before this offset


class MetadataLogEntry(NamedTuple):
    number: int  # 1, 2, 3, ...
    at: int  # ms since 1970: by the leader that wrote the record
    kind: MetadataEntryKind
    offset: int
    epoch: int
    record: str = ""  # its type in Kafka's words: "PartitionChangeRecord"; "" if it is none
    fields: Mapping[str, Any] = (
        NO_FIELDS  # in Kafka's names; of a snapshot: how many records of each type
    )

    def row(self) -> list[Any]:
        """The entry as a row of a recording."""
        return [self.number, self.at, self.kind.value, *self[3:]]

    @classmethod
    def parse(cls, row: list[Any]) -> Self:
        number, at, kind, *others = row
        return cls(number, at, MetadataEntryKind(kind), *others)


@dataclass(slots=True)
class LogCursor:
    """How far a directory has been read."""

    base: int = -1  # the first offset of the segment
    position: int = 0  # of the next batch
    last: int = 0  # of the batch before it,
    header: bytes = b""  # which begins with this: if not, the log was truncated since
    end: int = 0  # the offset after the last record


class MetadataLogReader:
    """`entries` may be called from several threads."""

    def __init__(self, directories: Directories) -> None:
        """The directories `__cluster_metadata-0` of the voters."""
        self._directories = directories
        self._cursors: dict[Path, LogCursor] = {}
        self._entries: list[MetadataLogEntry] = []
        self._epochs: dict[int, int] = {}  # of each record, by its offset
        self._snapshots: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def entries(self, after: int = 0) -> list[MetadataLogEntry]:
        """All that is known by now, after the entry with that number."""
        with self._lock:
            for directory in self._directories():
                with suppress(FileNotFoundError):  # not there yet, or deleted with its cluster
                    self._read(directory)
            return self._entries[after:]

    def ends(self) -> dict[Path, int]:
        """How far each directory has been read: the offset after its last record."""
        with self._lock:
            return {directory: cursor.end for directory, cursor in self._cursors.items()}

    def epochs(self) -> tuple[tuple[int, int], ...]:
        """Each epoch of the log, and the offset of its first record."""
        with self._lock:
            first = {epoch: offset for offset, epoch in sorted(self._epochs.items(), reverse=True)}
        return tuple(sorted(first.items()))

    def track(self) -> Callable[[], list[Any] | None]:
        """For a recording: each call returns what is new, as rows."""
        number = 0

        def new_rows() -> list[Any] | None:
            nonlocal number
            new = self.entries(number)
            number += len(new)
            return [entry.row() for entry in new] or None

        return new_rows

    # -- files -----------------------------------------------------------------------------

    def _read(self, directory: Path) -> None:
        names = sorted(os.listdir(directory))
        cursor = self._cursors.setdefault(directory, LogCursor())
        for name in names:
            if (found := SNAPSHOT_NAME.fullmatch(name)) and int(found[1]):
                self._snapshot(directory / name, int(found[1]), int(found[2]))
        bases = [int(name.removesuffix(".log")) for name in names if name.endswith(".log")]
        if cursor.base not in bases or not self._is_same(directory, cursor):
            cursor.base, cursor.position, cursor.header = -1, 0, b""
        for base in bases:
            if base > cursor.base:
                cursor.base, cursor.position, cursor.header = base, 0, b""
            if base == cursor.base:
                self._read_segment(_segment(directory, base), cursor)

    def _is_same(self, directory: Path, cursor: LogCursor) -> bool:
        if not cursor.header:
            return True
        with _segment(directory, cursor.base).open("rb") as file:
            file.seek(cursor.last)
            return file.read(HEADER_SIZE) == cursor.header

    def _read_segment(self, path: Path, cursor: LogCursor) -> None:
        with path.open("rb") as file:
            file.seek(cursor.position)
            data = file.read()
        start = cursor.position
        for place, header in scan(data):
            for record in stream(data[place : place + header.size]):
                self._add(header, record)
            cursor.last, cursor.position = start + place, start + place + header.size
            cursor.header = data[place : place + HEADER_SIZE]
            cursor.end = header.base_offset + header.last_offset_delta + 1

    # -- entries ---------------------------------------------------------------------------

    def _add(self, header: Header, record: Record) -> None:
        offset, epoch = record.offset, header.leader_epoch
        known = self._epochs.get(offset, -1)
        if known >= epoch:
            return  # another voter had it already, or a later leader has another one here
        if known >= 0:
            self._truncate(offset)
        self._epochs[offset] = epoch
        name, fields = _told(header, record)
        self._note(record.timestamp, MetadataEntryKind.RECORD, offset, epoch, name, fields)

    def _truncate(self, offset: int) -> None:
        epoch = self._epochs[offset]
        for gone in [each for each in self._epochs if each >= offset]:
            del self._epochs[gone]
        self._note(now(), MetadataEntryKind.TRUNCATED, offset, epoch)

    def _snapshot(self, path: Path, offset: int, epoch: int) -> None:
        if (offset, epoch) in self._snapshots:
            return
        data, at = path.read_bytes(), path.stat().st_mtime_ns // 1_000_000
        names = Counter(name for name, _ in _records(data))
        self._snapshots.add((offset, epoch))
        self._note(at, MetadataEntryKind.SNAPSHOT, offset, epoch, "", dict(names))

    def _note(self, at: int, kind: MetadataEntryKind, *facts: Any) -> None:
        self._entries.append(MetadataLogEntry(len(self._entries) + 1, at, kind, *facts))


def _segment(directory: Path, base: int) -> Path:
    return directory / f"{base:020}.log"


def _records(data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a snapshot, without those that say where it begins and ends."""
    for place, header in scan(data):
        for record in stream(data[place : place + header.size]):
            if not header.is_control:
                yield _told(header, record)


def _told(header: Header, record: Record) -> tuple[str, dict[str, Any]]:
    """The type and the fields of a record."""
    if header.is_control:
        _, message = decode_control(record)
        return type(message).__name__, json_fields(message, 0)
    message, version = decode_record(record.value, record.offset)
    return type(message).__name__, json_fields(message, version)
