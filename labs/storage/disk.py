"""A log on a directory of its own, with no broker and no clock: the engine's storage, by hand.

    log = disk.log(segment_bytes=10_000)      a new, empty log; settings as in Kafka, with _ for .
    disk.fill(log, 100)                       a hundred batches of one record each
    disk.killed(log)                          the log as a restart finds it after a crash

Time is an argument, so an experiment about a week takes no longer than one about a second.
"""

import atexit
import os
import shutil
import time
import weakref
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from engine.cluster.scratch import Scratch
from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.loading import load
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import Segment, Slice

ORDERS = TopicPartition("orders", 0)
NOW = 1_700_000_000_000  # milliseconds since 1970: an evening in November 2023
SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
SMALL_INDEX = 1 << 20  # bytes that an index may grow to; Kafka's 10 MB would be room for nothing

_numbers = count(1)
_scratch: list[Scratch] = []  # made with the first log, gone with the kernel


def log(**config: Any) -> Log:
    """A new, empty log."""
    if not _scratch:
        _scratch.append(Scratch())
        atexit.register(_scratch[0].remove)
    directory = _scratch[0].path / f"log-{next(_numbers)}" / str(ORDERS)
    settings = {"segment_index_bytes": SMALL_INDEX, "max_message_bytes": 2 << 20, **config}
    return _kept(load(directory, ORDERS, TopicConfig(**settings), now=NOW))


def _kept(log: Log) -> Log:
    """Its files are closed when nobody has the log any more."""
    weakref.finalize(log, _close, log.segments, log.doomed)
    return log


def _close(segments: list[Segment], doomed: list[tuple[int, Segment]]) -> None:
    for segment in [*segments, *(each for _, each in doomed)]:
        segment.close()


def killed(old: Log, **how: Any) -> Log:
    """The process is gone; a new one finds the files as they are. (`clean`: it was stopped.)"""
    old.abandon()
    return _kept(load(old.directory, old.partition, old.config, now=NOW, **how))


def drop(old: Log) -> None:
    """Let go of a large log, and of its room on the disk."""
    old.abandon()
    shutil.rmtree(old.directory)


def batch(number: int = 1, size: int = 100, at: int = NOW, key: str | None = None) -> bytes:
    """As a producer sends it: so many records with values of so many bytes, from one moment."""
    name = None if key is None else key.encode()
    return records.encode([Record(it, at, name, os.urandom(size)) for it in range(number)])


def fill(log: Log, batches: int, size: int = 100, *, every: int = SECOND, start: int = NOW) -> Log:
    """Append batches of one record, `every` milliseconds apart."""
    for number in range(batches):
        at = start + number * every
        log.append(batch(1, size, at), 0, at)
    return log


def grow(log: Log, megabytes: float, size: int = 4000) -> Log:
    """Append the same batch until the log is so large."""
    one = batch(1, size)
    while log.size < megabytes * (1 << 20):
        log.append(one, 0, NOW)
    return log


def stored(log: Log) -> Iterator[Record]:
    """Every record of a log, by plainly going through its files."""
    for segment, position, header in log.headers():
        yield from records.decode(Slice(segment.file, position, header.size).read())


def ago(milliseconds: int) -> int:
    """A real moment, for brokers, whose clock is not ours to set."""
    return time.time_ns() // 1_000_000 - milliseconds


def names(directory: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in directory.glob(pattern))
