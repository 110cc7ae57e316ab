"""The log files of partitions in a recording: the bytes that were added, with their times.

    disk       000.log  [======)          FileTrack is called ten times a second: what is new?
                               [====)     file 7, and these bytes from byte 4096 on
    recording  {"files": [[7, "1/orders-0/000.log", 5120, 4096, "AAAB..."], ...]}
                           |   name                 size  from  what was added, in base64
                           which file: under another name it is still the same
    later      Archive.at(time): every file as it was then; RebuiltFiles writes them to a disk

A log only grows, so there is little to record. A file can also be truncated (its size is smaller),
renamed (`.deleted`), replaced by another (compaction), or deleted ([7] alone). An index is
preallocated; only the part that is filled is recorded.

At most 2 MB are recorded; then {"full": ...} follows, and nothing after it.

Invariant: the files are only read. An archive returns the bytes that the files had when they were
read for the recording.
"""

import base64
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from engine.cluster.recording import Recording
from engine.errors import invalid_request

FILES_TRACK = "files"
MOST = 2_000_000  # bytes of a recording
ENTRIES = {".index": 8, ".timeindex": 12}  # bytes of an entry; the rest of the file is zeros
KINDS = (".log", *ENTRIES)
CHUNK = 4096
TAIL = 64  # last bytes that are known: if they differ, the file was truncated and written again

WantedFiles = Collection[str] | Mapping[str, Collection[int]]


class FileTrack:
    """A track for engine.cluster.recording.Recorder."""

    def __init__(
        self,
        directory: Callable[[int], Path],
        brokers: Callable[[], Iterable[int]],
        wanted: WantedFiles,
        most: int = MOST,
    ) -> None:
        """`wanted`: names of partitions ("orders-0"); in a mapping, with the brokers of each."""
        if isinstance(wanted, str):
            reason = f'files is a list of partitions: files=["{wanted}"]'
            raise invalid_request(reason)
        self._directory = directory
        self._brokers = brokers
        self._wanted = wanted
        self._most = most
        self._left = most  # below 0: full
        self._known: dict[tuple[int, int], _Known] = {}  # by device and inode
        self._number = 0  # of the last file

    def __call__(self) -> dict[str, Any] | None:
        """What is new since the last call."""
        if self._left < 0:
            return None
        changes: list[list[Any]] = []
        there: set[tuple[int, int]] = set()
        for name, path in self._paths():
            with suppress(FileNotFoundError):  # it was deleted meanwhile
                fd = os.open(path, os.O_RDONLY)
                try:
                    there.add(self._read(fd, name, changes))
                finally:
                    os.close(fd)
            if self._left < 0:
                return {FILES_TRACK: changes, "full": self._most}
        for gone in self._known.keys() - there:
            changes.append([self._known.pop(gone).number])
        return {FILES_TRACK: changes} if changes else None

    def _paths(self) -> Iterator[tuple[str, Path]]:
        """Logs after their indexes, so that no index points behind the log recorded with it."""
        wanted = self._wanted
        for partition in wanted:
            for broker in wanted[partition] if isinstance(wanted, Mapping) else self._brokers():
                folder = self._directory(broker) / partition
                with suppress(FileNotFoundError):
                    names = [it for it in os.listdir(folder) if _kind(it)]
                    for name in sorted(names, key=lambda it: (_kind(it) == ".log", it)):
                        yield f"{broker}/{partition}/{name}", folder / name

    def _read(self, fd: int, name: str, changes: list[list[Any]]) -> tuple[int, int]:
        found = os.fstat(fd)
        key = found.st_dev, found.st_ino
        known = self._known.get(key)
        if known is None:
            self._number += 1
            known = self._known[key] = _Known(self._number)
        start = _same(fd, known.data)
        data = _filled(fd, name, start, found.st_size)
        same = (name, found.st_size, start) == (known.name, known.size, len(known.data))
        if same and not data:
            return key
        self._left -= len(data)
        if self._left >= 0:
            added = base64.b64encode(data).decode()
            changes.append([known.number, name, found.st_size, start, added])
            known.name, known.size, known.data[start:] = name, found.st_size, data
        return key


@dataclass(slots=True)
class _Known:
    number: int
    name: str = ""
    size: int = -1
    data: bytearray = field(default_factory=bytearray)  # what was recorded


def _kind(name: str) -> str:
    """The suffix that says what a file is, also of NAME.log.deleted; "": not a log's file."""
    base, _, rest = name.rpartition("/")[2].partition(".")
    kind = "." + rest.removesuffix(".deleted")
    return kind if base.isdigit() and kind in KINDS else ""


def _same(fd: int, known: bytearray) -> int:
    """How many of the known bytes are still in the file."""
    tail = known[-TAIL:]
    if os.pread(fd, len(tail), len(known) - len(tail)) == tail:
        return len(known)
    for start in range(0, len(known), CHUNK):
        now, then = os.pread(fd, CHUNK, start), known[start : start + CHUNK]
        if now[: len(then)] != then:
            pairs = enumerate(zip(now, then, strict=False))
            return start + next((it for it, (a, b) in pairs if a != b), len(now))
    return len(known)


def _filled(fd: int, name: str, start: int, size: int) -> bytes:
    """The bytes from `start` on; of an index without the zeros at its end."""
    found, entry = bytearray(), ENTRIES.get(_kind(name))
    while start + len(found) < size:
        chunk = os.pread(fd, min(CHUNK, size - start - len(found)), start + len(found))
        if not chunk:
            break
        found += chunk
        if entry and not any(chunk[-entry:]):
            break  # no entry is all zeros, so none follows
    return bytes(found.rstrip(b"\0") if entry else found)


# -- reading them again ----------------------------------------------------------------------


@dataclass(slots=True)
class RecordedFile:
    """A file as it was at some time."""

    number: int
    name: str  # 1/orders-0/00000000000000000000.log
    size: int  # zeros follow the data up to here
    changed: int  # when its last change was recorded, ms since 1970
    data: bytearray = field(default_factory=bytearray)


_Names = dict[int, str]  # by the numbers of the files


class Archive:
    """The files of a recording."""

    def __init__(self, recording: Recording) -> None:
        self._changes = [
            (at, list(value[FILES_TRACK])) for at, value in recording.track(FILES_TRACK)
        ]
        full = [at for at, value in recording.track(FILES_TRACK) if "full" in value]
        self.full: int | None = full[0] if full else None  # when recording them stopped
        self.start, self.end = recording.start, recording.end

    def partitions(self) -> dict[str, set[int]]:
        """The recorded partitions, with their brokers."""
        found: dict[str, set[int]] = {}
        for _, changes in self._changes:
            for _, *change in changes:
                if change:
                    broker, partition, _ = change[0].split("/")
                    found.setdefault(partition, set()).add(int(broker))
        return found

    def moments(self, partition: str, broker: int) -> list[int]:
        """When something changed in a partition's files on a broker, or may have."""
        return [at for at, changed, *_ in self._steps(partition, broker) if changed]

    def file_changes(self, partition: str, broker: int) -> list[int]:
        """The moments at which a file was created, deleted or renamed."""
        return [at for at, _, then, now in self._steps(partition, broker) if then != now]

    def _steps(self, partition: str, broker: int) -> Iterator[tuple[int, bool, _Names, _Names]]:
        """Each moment, whether these files changed, and their names before and after it."""
        names: dict[int, str] = {}
        for at, changes in self._changes:
            before, changed = dict(names), False
            for number, *change in changes:
                if change and change[0].startswith(f"{broker}/{partition}/"):
                    names[number], changed = change[0], True
                elif not change:
                    changed |= names.pop(number, None) is not None
            yield at, changed, before, dict(names)

    def at(self, time: int) -> dict[str, RecordedFile]:
        """Every file that there was, by its name."""
        files: dict[int, RecordedFile] = {}
        for at, changes in self._changes:
            if at > time:
                break
            for number, *change in changes:
                if not change:
                    files.pop(number, None)
                    continue
                name, size, start, data = change
                file = files.setdefault(number, RecordedFile(number, name, size, at))
                file.name, file.size, file.changed = name, size, at
                file.data[start:] = base64.b64decode(data)
        return {file.name: file for file in files.values()}


class RebuiltFile(NamedTuple):
    """A file that was written to the disk."""

    file: RecordedFile
    path: Path


class RebuiltFiles:
    """A directory that holds an archive's files as they were at one moment.

    A file that grew, was truncated or renamed stays the same file (the same inode), as in the run;
    so a view of the directory shows the same as it would have shown then.
    """

    def __init__(self, archive: Archive, directory: Path) -> None:
        self.archive = archive
        self.directory = directory
        self._there: dict[int, RebuiltFile] = {}

    def folder(self, broker: int) -> Path:
        return self.directory / f"broker-{broker}"

    def rebuild(self, time: int) -> None:
        wanted = {file.number: file for file in self.archive.at(time).values()}
        paths = {number: self._path(file) for number, file in wanted.items()}
        for number, rebuilt in self._there.items():  # out of the way first, for names may rotate
            if rebuilt.path != paths.get(number):
                aside = rebuilt.path.with_name(f".aside-{number}")
                self._there[number] = rebuilt._replace(path=rebuilt.path.rename(aside))
        for number, file in wanted.items():
            known, path = self._there.get(number), paths[number]
            if known is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(exist_ok=False)
            elif known.path != path:
                known.path.rename(path)
            if known is None or (known.file.data, known.file.size) != (file.data, file.size):
                _write(path, known.file if known else None, file)
            os.utime(path, ns=(file.changed * 1_000_000,) * 2)
            self._there[number] = RebuiltFile(file, path)
        for number in self._there.keys() - wanted.keys():  # last, or a new one would get its inode
            self._there.pop(number).path.unlink()

    def _path(self, file: RecordedFile) -> Path:
        broker, partition, name = file.name.split("/")
        return self.folder(int(broker)) / partition / name

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def _write(path: Path, old: RecordedFile | None, new: RecordedFile) -> None:
    """Write only what differs, so that a reader never finds a hole where nothing changed."""
    same = old.data if old is not None else b""
    start = len(same) if new.data.startswith(same) else 0
    with path.open("r+b") as file:
        file.truncate(start)
        file.seek(start)
        file.write(new.data[start:])
        file.truncate(new.size)
