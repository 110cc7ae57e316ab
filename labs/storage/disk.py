"""A log on a directory of its own, with no broker and no clock: the engine's storage, by hand.

    log = disk.log(segment_bytes=10_000)      a new, empty log; settings as in Kafka, with _ for .
    disk.fill(log, 100)                       a hundred batches of one record each
    disk.killed(log)                          the log as a restart finds it after a crash
    disk.files(cluster, "orders")             the leader's directory of a partition

Time is an argument, so an experiment about a week takes no longer than one about a second.
"""

import atexit
import os
import random
import shutil
import time
import weakref
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from engine import Cluster
from engine.cluster.scratch import Scratch
from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.cleaner import Cleaner
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
    weakref.finalize(log, _close, log.segments, log.deleted)
    return log


def _close(segments: list[Segment], deleted: list[tuple[int, Segment]]) -> None:
    for segment in [*segments, *(each for _, each in deleted)]:
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
    """As a producer sends it: `number` records with values of `size` bytes, from one moment."""
    name = None if key is None else key.encode()
    return records.encode([Record(it, at, name, os.urandom(size)) for it in range(number)])


def fill(log: Log, batches: int, size: int = 100, *, every: int = SECOND, start: int = NOW) -> Log:
    """Append batches of one record, `every` milliseconds apart."""
    for number in range(batches):
        at = start + number * every
        log.append(batch(1, size, at), 0, at)
    return log


def grow(log: Log, megabytes: float, size: int = 4000) -> Log:
    """Append the same batch until the log has this many megabytes."""
    one = batch(1, size)
    while log.size < megabytes * (1 << 20):
        log.append(one, 0, NOW)
    return log


def stored(log: Log) -> Iterator[Record]:
    """Every record of a log, by plainly going through its files."""
    for segment, position, header in log.headers():
        yield from records.decode(Slice(segment.file, position, header.size).read())


def shuffled(interval: int = 4096, number: int = 400) -> Log:
    """A log whose records carry the times of `number` seconds, in no order."""
    it, moments = log(index_interval_bytes=interval), list(range(number))
    random.Random(1).shuffle(moments)
    for each in moments:
        it.append(batch(at=NOW + each * SECOND), 0, NOW)
    return it


# -- a compacted topic's log -------------------------------------------------------------------


def keyed(script: str) -> Log:
    """ "a=1 b=1 a=" appends three records, the last of them a tombstone."""
    it = log(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    for text in script.split():
        key, _, value = text.partition("=")
        record = Record(0, NOW, key.encode(), value.encode() or None)
        it.append(records.encode([record]), 0, NOW)
    it.roll(NOW)
    return it


def compact(log: Log) -> None:
    """One round of the cleaner."""
    cleaner = Cleaner(log.directory.parent, 1 << 20, NOW)
    work = cleaner.choose([(log, log.end_offset)], NOW)
    assert work is not None, "there is nothing to clean"
    for _ in cleaner.clean(work, NOW):
        pass


def texts(log: Log) -> dict[int, str]:
    """By offset: key=value."""
    return {it.offset: f"{_text(it.key)}={_text(it.value)}" for it in stored(log)}


def _text(data: bytes | None) -> str:
    return (data or b"").decode()


# -- a broker's files --------------------------------------------------------------------------


def files(cluster: Cluster, topic: str, partition: int = 0) -> Path:
    """The leader's directory of a partition."""
    return cluster.directory(cluster.leader(topic, partition)) / f"{topic}-{partition}"


def endings(directory: Path) -> dict[str, set[str]]:
    """By base name: the endings of a directory's segment files."""
    found: dict[str, set[str]] = {}
    for path in sorted(directory.glob("[0-9]*")):
        base, _, ending = path.name.partition(".")
        found.setdefault(base, set()).add(ending)
    return found


def bases(directory: Path) -> list[int]:
    """The numbers in the names of the .log files."""
    return sorted(int(path.stem) for path in directory.glob("[0-9]*.log"))


def sizes(cluster: Cluster, topic: str) -> dict[int, int]:
    """By broker: the bytes of a topic that it has on its disk."""
    return {
        broker: sum(
            path.stat().st_size
            for path in cluster.directory(broker).glob(f"{topic}-[0-9]*/*.log")
            if path.parent.name.rpartition("-")[0] == topic
        )
        for broker in cluster.brokers
    }


def decoded(path: Path) -> list[Record]:
    """Every record in a .log file."""
    data = path.read_bytes()
    return [
        record
        for position, header in scan(data)
        for record in records.decode(data[position : position + header.size])
    ]


def ago(milliseconds: int) -> int:
    """A real moment, for brokers, whose clock is not ours to set."""
    return time.time_ns() // 1_000_000 - milliseconds
