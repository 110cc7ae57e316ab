"""Retention: delete old segments, whether they were read or not.

Whole segments are deleted, oldest first, for one of three reasons:

    retention.ms       its newest record is older than that
    retention.bytes    the log has that many bytes without it
    log start          DeleteRecords moved the start of the log past it

Deleting a file costs the same for a kilobyte as for a gigabyte: this is one reason for segments.
The other is that closed segments can be compacted.

Invariant: only records below `up_to` (the high watermark) are deleted; one segment always stays.
"""

from collections.abc import Callable
from itertools import takewhile

from engine.storage.log import Log
from engine.storage.segment import Segment


def enforce(log: Log, now: int, up_to: int) -> int:
    """Delete the segments that are due. Returns how many."""
    config, gone = log.config, 0
    if "delete" in config.cleanup_policy:
        gone += _drop_while(log, now, up_to, "retention.ms", _older_than(config.retention_ms, now))
        gone += _drop_while(log, now, up_to, "retention.bytes", _surplus(log))
    return gone + enforce_start(log, now, up_to)


def enforce_start(log: Log, now: int, up_to: int) -> int:
    """Delete the segments before the start of the log. Returns how many."""
    return _drop_while(log, now, up_to, "log start", lambda _, end: end <= log.start_offset)


Test = Callable[[Segment, int], bool]  # (segment, the offset after it) -> may it go?


def _drop_while(log: Log, now: int, up_to: int, reason: str, may_go: Test) -> int:
    ends = [*(segment.base_offset for segment in log.segments[1:]), log.end_offset]
    # Compaction can leave segments without a batch. Only the active one stays without a batch.
    segments = [it for it in log.segments if it.size or it is not log.active]
    oldest_first = zip(segments, ends, strict=False)
    going = takewhile(lambda it: it[1] <= up_to and may_go(*it), oldest_first)
    gone = [segment for segment, _ in going]
    log.drop(gone, now, reason)
    return len(gone)


def _older_than(retention_ms: int, now: int) -> Test:
    def may_go(segment: Segment, end: int) -> bool:
        newest = segment.greatest[0] if segment.greatest[0] >= 0 else segment.modified
        return retention_ms >= 0 and now - newest > retention_ms

    return may_go


def _surplus(log: Log) -> Test:
    keep = log.config.retention_bytes
    surplus = log.size - keep if keep >= 0 else -1

    def may_go(segment: Segment, end: int) -> bool:
        nonlocal surplus
        surplus -= segment.size
        return surplus >= 0

    return may_go
