"""Looking into the two indexes beside a segment, and counting what a search costs."""

import random
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from engine.storage.index import read_offset_entries, read_time_entries
from engine.storage.log import Log
from engine.storage.segment import Found, Segment
from storage import disk

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


def grows(values: Iterable[int]) -> bool:
    """Whether each is larger than the one before."""
    return all(one < other for one, other in pairwise(values))


def sent_at(log: Log) -> dict[int, int]:
    """The time that each message's producer gave it, by offset."""
    return {record.offset: record.timestamp for record in disk.stored(log)}


def located(log: Log, offset: int, probes: list[int] | None = None) -> Found:
    """Where the engine finds an offset, and how many bytes of log it passed on the way."""
    found = next(log.segments_from(offset)).locate(offset, probes)
    assert found is not None, f"offset {offset} is in the log"
    return found


class SearchCost(NamedTuple):
    """The most that any of the searches took."""

    files: int  # names that were compared
    probes: int  # of index entries
    scanned: int  # bytes of log hopped over
    right: bool  # each led to the batch that a walk through the whole log finds


def costs(log: Log, wanted: int = 1000) -> SearchCost:
    """Find that many offsets, taken at random."""
    walk: dict[int, tuple[Segment, int]] = {}  # offset -> where its batch is
    for segment, position, header in log.headers():
        walk |= dict.fromkeys(range(header.base_offset, header.next_offset), (segment, position))
    files, probes, scanned, right = 0, 0, 0, True
    for offset in random.Random(2).choices(range(log.start_offset, log.end_offset), k=wanted):
        seen: list[int] = []
        segment, found = next(log.segments_from(offset)), located(log, offset, seen)
        files, probes = max(files, _files(log, offset)), max(probes, len(seen))
        scanned = max(scanned, found.skipped)
        right = right and (segment, found.position) == walk[offset]
    return SearchCost(files, probes, scanned, right)


def _files(log: Log, offset: int) -> int:
    """How many file names `Log.segments_from` compares: the same search, counted."""
    seen: list[int] = []

    def base(segment: Segment) -> int:
        seen.append(segment.base_offset)
        return segment.base_offset

    bisect_right(log.segments, offset, key=base)
    return len(seen)
