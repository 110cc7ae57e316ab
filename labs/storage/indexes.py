"""The two indexes beside a segment: what is in them, how they are searched, what that costs."""

import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from table import Table

from engine.storage.index import read_offset_entries, read_time_entries
from engine.storage.log import Log
from engine.storage.segment import Segment
from storage import disk
from storage.count import counted
from widgets.log.directory import Look
from widgets.log.directory import look as look_at
from widgets.log.lookup import Lookup, find_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

Entry = tuple[int, int]


def offsets(log: Log) -> list[Entry]:
    """(offset, position), as the bytes of the first segment's .index have it."""
    return read_offset_entries(log.segments[0].paths[1])


def times(log: Log) -> list[Entry]:
    """(timestamp, offset), from the .timeindex."""
    return read_time_entries(log.segments[0].paths[2])


def batches(log: Log) -> dict[int, range]:
    """Where each batch of the first segment begins, and the offsets in it."""
    return {at: range(it.base_offset, it.next_offset) for at, it in log.segments[0].headers()}


def keys(entries: Sequence[Entry]) -> list[int]:
    """The searched column."""
    return [it[0] for it in entries]


def grows(values: Iterable[int]) -> bool:
    """Whether each is larger than the one before."""
    return all(one < other for one, other in pairwise(values))


def sample(interval: int = 4096, number: int = 400, size: int = 100) -> Log:
    """A log of one-record batches, with an index entry every `interval` bytes."""
    return disk.fill(disk.log(index_interval_bytes=interval), number, size)


def shuffled(interval: int = 4096, number: int = 400) -> Log:
    """The same, but the messages' times are in no order."""
    log, moments = disk.log(index_interval_bytes=interval), list(range(number))
    random.Random(1).shuffle(moments)
    for each in moments:
        log.append(disk.batch(at=disk.NOW + each * disk.SECOND), 0, disk.NOW)
    return log


def stamped(number: int = 400) -> Log:
    """The broker's own time on each batch, whatever the producer said."""
    log = disk.log(message_timestamp_type="LogAppendTime")
    for each in range(number):
        log.append(disk.batch(at=disk.NOW), 0, disk.NOW + disk.HOUR + each)
    return log


def sent_at(log: Log) -> dict[int, int]:
    """The time that each message's producer gave it, by offset."""
    return {record.offset: record.timestamp for record in disk.stored(log)}


def spacing() -> Table:
    """Entries in the index of a log of about 1 MB: batches of two sizes, three settings."""
    rows = []
    for size in (1000, 16_000):
        for interval in (0, 4096, 65_536):
            log = disk.grow(disk.log(index_interval_bytes=interval), 1, size)
            log.roll(disk.NOW)  # a closed segment's index is as large as its entries
            count, room = len(offsets(log)), log.segments[0].paths[1].stat().st_size
            rows.append((size, interval, sum(1 for _ in log.headers()), count, room))
            disk.drop(log)
    return Table("batch, interval, batches, entries, bytes of index", rows)


class Cost(NamedTuple):
    """Of finding offsets at random."""

    entries: int
    files: int  # looked at in halves, at most
    probes: int  # of index entries, at most
    scanned: int  # bytes of log hopped over, at most
    right: bool  # each led to the batch that a plain walk finds


def costs(log: Log, wanted: int = 1000) -> Cost:
    walk: dict[int, tuple[Segment, int]] = {}  # offset -> where its batch is, found the slow way
    for segment, position, header in log.headers():
        walk |= dict.fromkeys(range(header.base_offset, header.next_offset), (segment, position))
    files, probes, scanned, right = 0, 0, 0, True
    for offset in random.Random(2).choices(range(log.start_offset, log.end_offset), k=wanted):
        seen: list[int] = []
        segment = next(log.segments_from(offset))
        found = segment.locate(offset, seen)
        assert found is not None
        files, probes = max(files, _files(log, offset)), max(probes, len(seen))
        scanned = max(scanned, found.skipped)
        right = right and (segment, found.position) == walk[offset]
    entries = sum(it.offsets.count for it in log.segments)
    return Cost(entries, files, probes, scanned, right)


def _files(log: Log, offset: int) -> int:
    """How many file names `Log.segments_from` compares: the same search, with its eyes open."""
    seen: list[int] = []

    def base(segment: Segment) -> int:
        seen.append(segment.base_offset)
        return segment.base_offset

    bisect_right(log.segments, offset, key=base)
    return len(seen)


def growing(sizes: Sequence[float] = (0.5, 1, 2, 4, 8, 16, 32)) -> Table:
    """A lookup and an append in logs of so many megabytes."""
    rows = []
    for megabytes in sizes:
        log = disk.grow(disk.log(), megabytes)
        found = costs(log, 300)
        rows.append((megabytes, found.entries, found.probes, found.scanned, _append(log)))
        disk.drop(log)
    return Table("MB, entries, probes, bytes scanned, writes of an append", rows)


def _append(log: Log) -> int:
    with counted() as work:
        log.append(disk.batch(), 0, disk.NOW)
    return work.writes


def chart(table: Table) -> "Figure":
    """Probes beside megabytes."""
    import plotly.graph_objects as go  # type: ignore[import-untyped] # noqa: PLC0415

    x = table.column("MB")
    figure = go.Figure(go.Scatter(x=x, y=table.column("probes"), name="a lookup: probes"))
    figure.add_scatter(x=x, y=table.column("writes of an append"), name="an append: writes")
    figure.update_traces(mode="lines+markers")
    figure.update_xaxes(title="megabytes in the log")
    figure.update_yaxes(title="steps", rangemode="tozero")
    figure.update_layout(template="plotly_white", width=860, height=320, margin={"t": 20, "b": 50})
    return figure


def look(log: Log) -> Look:
    """The log's files, opened to be read only."""
    return look_at(log.directory)


def by_time(log: Log, timestamp: int) -> Lookup:
    """A lookup by time, step by step."""
    return find_time(look(log), timestamp)


def order(search: Lookup) -> list[str]:
    """Where a search looks, one thing after the other, once it has chosen the file."""
    kinds = dict.fromkeys(step.kind for step in search.steps)
    return [kind for kind in kinds if kind != "newest"]


def paired(log: Log) -> bool:
    """Whether each entry of .index has one beside it, with its message's offset and time."""
    sent = sent_at(log)
    return times(log) == [(sent[offset], offset) for offset, _ in offsets(log)]


def slowly(log: Log, timestamp: int) -> int:
    """The same by reading everything."""
    return next(it.offset for it in disk.stored(log) if it.timestamp >= timestamp)
