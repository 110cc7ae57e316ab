"""The batch: what is sent, kept and fetched; and the records in it, byte by byte."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from table import Table

from engine.storage import records, retention
from engine.storage.batch import Header, scan
from engine.storage.records import Record
from storage import disk


def headers(path: Path) -> list[Header]:
    """Of every batch in a .log file."""
    return [header for _, header in scan(path.read_bytes())]


def first(path: Path) -> Record:
    """The first record in a .log file."""
    return next(iter(decoded(path)))


def decoded(path: Path) -> list[Record]:
    data = path.read_bytes()
    return [
        record
        for position, header in scan(data)
        for record in records.decode(data[position : position + header.size])
    ]


def fields(header: Header) -> Table:
    """A header's fields, those left out that change from run to run."""
    shown: Sequence[str] = (
        *("base_offset", "leader_epoch", "magic", "attributes"),
        *("last_offset_delta", "producer_id", "producer_epoch", "base_sequence", "count"),
    )
    return Table("field, value", [(name, getattr(header, name)) for name in shown])


def bodies(path: Path) -> int:
    """Bytes of keys and values, of all that a .log file holds."""
    return sum(len(it.key or b"") + len(it.value or b"") for it in decoded(path))


def uses_of_time() -> dict[str, bool]:
    """Whether the broker itself acts on the times in records: three tries, two logs each.

    They differ in nothing but what time the producer gave its messages.
    """
    old, new = (_aged(start) for start in (disk.NOW - 9 * disk.DAY, disk.NOW - disk.HOUR))
    slow, quick = (_spaced(every) for every in (disk.DAY, disk.SECOND))
    return {
        "retention": _left(old) < _left(new),
        "rolling": len(slow.segments) > len(quick.segments),
        "lookup": _found(slow) != _found(quick),
    }


def _aged(start: int) -> Any:
    log = disk.log()
    for _ in range(3):
        log.append(disk.batch(at=start), 0, disk.NOW)
    return log


def _left(log: Any) -> int:
    retention.enforce(log, disk.NOW, log.end_offset)
    return int(log.end_offset - log.start_offset)


def _spaced(every: int) -> Any:
    log = disk.log(segment_ms=disk.DAY + 1)
    for number in range(6):
        log.append(disk.batch(at=disk.NOW + number * every), 0, disk.NOW)
    return log


def _found(log: Any) -> int:
    found = log.offset_for_time(disk.NOW + 2 * disk.SECOND)
    return int(found[0]) if found else -1
