"""A log to try things on: batches in short, a directory for it, and what it is compared by.

log = disk.open(segment_bytes=500)
log.append(batch(3), 0, NOW)
log = disk.kill()              # and look what a restart makes of the files as they are
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from engine.config import TopicConfig
from engine.model import Event, TopicPartition
from engine.storage import control, loading, records
from engine.storage.batch import Header
from engine.storage.control import ControlType, Marker
from engine.storage.log import Log
from engine.storage.producers import ProducerEntry
from engine.storage.records import Record
from engine.storage.segment import Slice

ORDERS = TopicPartition("orders", 0)
NOW = 1_700_000_000_000


def batch(count: int = 1, size: int = 10, at: int = NOW, **fields: Any) -> bytes:
    """As a producer sends it: records of so many bytes, all from one moment."""
    made = [Record(offset, at, b"%d" % offset, b"v" * size) for offset in range(count)]
    return records.encode(made, **fields)


def sequenced(producer: int, sequence: int, count: int = 1, epoch: int = 0, **more: Any) -> bytes:
    """A batch of an idempotent producer."""
    return batch(count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **more)


def marker(
    producer: int, kind: ControlType, epoch: int = 0, coordinator: int = 0, at: int = NOW
) -> bytes:
    """The end of a transaction, as a broker writes it."""
    key, value = control.encode(Marker(kind, coordinator))
    return records.encode(
        [Record(0, at, key, value)],
        producer_id=producer,
        producer_epoch=epoch,
        transactional=True,
        control=True,
    )


def place(data: bytes, offset: int, epoch: int = 0) -> bytes:
    """The batch as it stands in a log."""
    return offset.to_bytes(8, "big") + data[8:12] + epoch.to_bytes(4, "big") + data[16:]


class Stored(NamedTuple):
    """A batch in a log."""

    header: Header
    data: bytes


def stored(log: Log) -> list[Stored]:
    """Every batch of a log, by plainly going through its files."""
    return [
        Stored(header, Slice(segment.file, position, header.size).read())
        for segment, position, header in log.headers()
    ]


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def remembered(log: Log) -> dict[int, ProducerEntry]:
    """What a log knows of each producer, as far as a snapshot can tell it."""
    return {entry.producer_id: entry for entry in log.producers.entries()}


class Disk:
    """The directory of one log, which outlives the log that has it open."""

    def __init__(self, path: Path, **config: Any) -> None:
        self.directory = path / str(ORDERS)
        self.config = config
        self.events: list[Event] = []
        self.log: Log | None = None

    def open(self, now: int = NOW, **how: Any) -> Log:
        """Open the log: `clean`, `recovery_point`, `start_offset`, or a topic's configuration."""
        known = {name: how.pop(name) for name in _LOAD if name in how}
        self.config |= how
        self.log = loading.load(
            self.directory,
            ORDERS,
            TopicConfig(**self.config),
            now=now,
            emit=self.events.append,
            **known,
        )
        return self.log

    def kill(self, **how: Any) -> Log:
        """The process is gone; another one finds the files as they are."""
        self.abandon()
        self.events.clear()
        return self.open(**how)

    def restart(self, **how: Any) -> Log:
        """Stopped and started in good order."""
        assert self.log is not None
        self.log.close(NOW)
        how.setdefault("recovery_point", self.log.recovery_point)
        how.setdefault("start_offset", self.log.start_offset)
        self.log = None
        return self.open(clean=True, **how)

    def abandon(self) -> None:
        if self.log is not None:
            self.log.abandon()
            self.log = None

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.directory.iterdir())}

    def write(self, files: dict[str, bytes]) -> None:
        """Make the directory hold exactly these files."""
        for path in self.directory.iterdir():
            path.unlink()
        for name, data in files.items():
            (self.directory / name).write_bytes(data)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]


_LOAD = ("clean", "recovery_point", "start_offset", "high_watermark")


@contextmanager
def temporary_disk(**config: Any) -> Iterator[Disk]:
    """A disk in its own directory, which forgets to wait for the platter: a kill loses nothing."""
    with tempfile.TemporaryDirectory() as path, patch("os.fsync"):
        disk = Disk(Path(path), **config)
        try:
            yield disk
        finally:
            disk.abandon()
