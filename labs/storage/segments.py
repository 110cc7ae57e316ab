"""Segments: how a log is cut into files, what their names say, and what the cutting is good for."""

from typing import Any, NamedTuple

from table import Table

from engine.storage import control, records, retention
from engine.storage.control import ControlType, Marker
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import Found
from storage import disk
from storage.count import counted

PRODUCER = 7  # an id that a transactional producer would have been given


def names_and_firsts(log: Log) -> Table:
    """The number in each file's name, and the base offset of the first batch in that file."""
    rows = []
    for segment in log.segments:
        first = next(header for _, header in segment.headers())
        rows.append((segment.path.name, int(segment.path.stem), first.base_offset))
    return Table("file, in its name, first in it", rows)


def with_transactions(messages: int) -> Log:
    """A log of one-message transactions: behind each message stands a commit marker.

    The markers are those that a transaction coordinator has a broker write.
    """
    log = disk.log(segment_bytes=2000)
    key, value = control.encode(Marker(ControlType.COMMIT, 0))
    commit: Any = {"producer_id": PRODUCER, "producer_epoch": 0, "transactional": True}
    for number in range(messages):
        text = Record(0, disk.NOW, None, b"m%d" % number)
        log.append(records.encode([text], base_sequence=number, **commit), 0, disk.NOW)
        end = records.encode([Record(0, disk.NOW, key, value)], control=True, **commit)
        log.append(end, 0, disk.NOW, client=False)
    return log


def messages_below(log: Log, offset: int) -> int:
    """How many messages were written before an offset; markers are none."""
    return sum(
        it.count for _, _, it in log.headers() if not it.is_control and it.last_offset < offset
    )


class Rolled(NamedTuple):
    bases: list[int]  # of all files
    grew: set[int]  # bases of the files that grew after a later one was there


def by_size() -> Rolled:
    """3.5 times what fits in one file, watched append by append."""
    log, grew = disk.log(segment_bytes=20_000), set()
    while log.size < 70_000:
        before = {it.base_offset: it.size for it in log.segments}
        log.append(disk.batch(), 0, disk.NOW)
        active = log.active.base_offset
        grew |= {
            it.base_offset for it in log.segments if it.size != before.get(it.base_offset, 0)
        } - {active}
    return Rolled([it.base_offset for it in log.segments], grew)


def by_age() -> Rolled:
    """A message every second, and files that may be two seconds old: none of them gets full."""
    log = disk.fill(disk.log(segment_ms=2000), 9)
    return Rolled([it.base_offset for it in log.segments], set())


class Shape(NamedTuple):
    """What one way of cutting the same bytes costs, in bytes."""

    files: int
    append: int  # written for one append
    scanned: int  # read past for one lookup, at most
    crash: int  # to be checked after a crash, if all but the last file had been flushed
    largest: int


def shape(segment_bytes: int, megabytes: int = 8) -> Shape:
    log = disk.grow(disk.log(segment_bytes=segment_bytes), megabytes)
    with counted() as work:
        log.append(disk.batch(), 0, disk.NOW)
    wanted = range(0, log.end_offset, max(1, log.end_offset // 200))
    scanned = max(located(log, it).skipped for it in wanted)
    sizes = [it.size for it in log.segments]
    found = Shape(len(sizes), work.written, scanned, sizes[-1], max(sizes))
    disk.drop(log)
    return found


def located(log: Log, offset: int) -> Found:
    found = next(log.segments_from(offset)).locate(offset)
    assert found is not None, f"offset {offset} is in the log"
    return found


class Freed(NamedTuple):
    freed: int  # bytes that left the log
    written: int  # bytes written to free them
    active_untouched: bool


def by_dropping(megabytes: int = 8) -> Freed:
    """Free half of a log by retention, which takes whole files out."""
    log = disk.grow(disk.log(segment_bytes=1 << 20, retention_bytes=megabytes << 19), megabytes)
    before, active = log.size, log.active.path.read_bytes()
    with counted() as work:
        retention.enforce(log, disk.NOW, log.end_offset)
    found = Freed(before - log.size, work.written, log.active.path.read_bytes() == active)
    disk.drop(log)
    return found


def by_rewriting(megabytes: int = 8) -> Freed:
    """Free half of one large file: what is to stay is written once more."""
    log = disk.grow(disk.log(), megabytes)
    data = log.active.path.read_bytes()
    kept = located(log, log.end_offset // 2).position
    written = log.active.path.with_suffix(".half").write_bytes(data[kept:])
    disk.drop(log)
    return Freed(kept, written, False)


class Spread(NamedTuple):
    largest: int  # bytes in the largest file
    probes: int  # to find an offset, over files and index entries, at most


def spread(partitions: int, segment_bytes: int = 200_000, megabytes: int = 4) -> Spread:
    """The same bytes in one partition or in several."""
    logs = [
        disk.grow(disk.log(segment_bytes=segment_bytes), megabytes / partitions)
        for _ in range(partitions)
    ]
    largest = max(it.size for log in logs for it in log.segments)
    probes = max(_probes(log, it) for log in logs for it in range(0, log.end_offset, 37))
    for log in logs:
        disk.drop(log)
    return Spread(largest, probes)


def _probes(log: Log, offset: int) -> int:
    probes: list[int] = []
    next(log.segments_from(offset)).locate(offset, probes)
    return len(probes) + len(log.segments).bit_length()
