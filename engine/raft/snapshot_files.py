"""Snapshots in the directory of the metadata log.

    00000000000000000080-0000000004.checkpoint        end offset 80, epoch 4
    00000000000000000080-0000000004.checkpoint.part   while it is written: forgotten by a restart

A snapshot is flushed before it gets its name. So a file with the name of a snapshot is whole, and
one that is not is an error.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_records import SnapshotContent, decode_snapshot
from engine.storage import files

CHECKPOINT, PART, DELETED = ".checkpoint", ".part", ".deleted"
_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


def snapshot_name(snapshot: OffsetAndEpoch) -> str:
    return f"{snapshot.offset:020}-{snapshot.epoch:010}{CHECKPOINT}"


def parse_snapshot_name(name: str) -> OffsetAndEpoch | None:
    found = _NAME.fullmatch(name)
    return OffsetAndEpoch(int(found[1]), int(found[2])) if found else None


class SnapshotFiles:
    def __init__(self, directory: Path) -> None:
        """Remove what a process has left unfinished, and check each snapshot."""
        self._directory = directory
        for left in [*directory.glob(f"*{CHECKPOINT}{PART}"), *directory.glob(f"*{DELETED}")]:
            if parse_snapshot_name(left.name.removesuffix(left.suffix)) is not None:
                files.remove(left)
        named = ((parse_snapshot_name(path.name)) for path in directory.iterdir())
        self.ids: Sequence[OffsetAndEpoch] = sorted(id for id in named if id is not None)
        for id in self.ids:
            self.content(id)

    def path(self, snapshot: OffsetAndEpoch) -> Path:
        return self._directory / snapshot_name(snapshot)

    def content(self, snapshot: OffsetAndEpoch) -> SnapshotContent:
        path = self.path(snapshot)
        return decode_snapshot(path.read_bytes(), path)

    def size(self, snapshot: OffsetAndEpoch) -> int:
        return self.path(snapshot).stat().st_size

    def read(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        with self.path(snapshot).open("rb") as file:
            file.seek(position)
            return file.read(max_bytes)

    def write(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        part = self._part(snapshot)
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            files.truncate(fd, position)
            files.append_whole(fd, [data], len(data), position, part)
        finally:
            os.close(fd)

    def finish(self, snapshot: OffsetAndEpoch) -> None:
        """Refused if it is not a whole snapshot, by a sentence that names the byte."""
        part = self._part(snapshot)
        decode_snapshot(part.read_bytes(), part)
        files.flush_path(part)
        files.rename(part, self.path(snapshot))
        files.flush_path(self._directory)
        self.ids = sorted({*self.ids, snapshot})

    def delete(self, snapshot: OffsetAndEpoch) -> None:
        self.ids = [id for id in self.ids if id != snapshot]
        files.remove(self.path(snapshot))

    def _part(self, snapshot: OffsetAndEpoch) -> Path:
        path = self.path(snapshot)
        return path.with_name(path.name + PART)
