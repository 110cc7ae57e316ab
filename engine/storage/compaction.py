"""One round of compaction: the latest record of each key stays, at its offset.

               clean: done by earlier rounds     dirty                          not changed
    before   | 0 a=1 | 3 b=1 | 4 c=1 |         | 5 a=2 | 6 b=∅ | 7 a=3 |      | 8 c=2 ... active
                                  map:           a -> 7   b -> 6
    after    | 4 c=1 | 6 b=∅ | 7 a=3 |                                        | 8 c=2 ... active

First the dirty part is read into a map, key -> latest offset; then every closed segment up to the
end of the map is rewritten without the records that have a later one in the map. Small segments are
merged. The map has bounded memory: when it is full, the round ends there.

Also removed:

    tombstone (null value)  delete.retention.ms after it became clean, so that a slow consumer
                            still reads the deletion; the clock is the files' mtime
    aborted records         at once; they never hide a record of the same key
    transaction marker      like a tombstone, but not in a round that has read batches of its
                            transaction: a follower that has copied those needs the marker
    empty batch             unless it is its producer's last one: that one keeps the sequence
                            number, or the next retry would be stored as a new batch

Invariant: no record changes its offset, and a batch that loses no record keeps its bytes.
Invariant: a record is removed only after its replacement is on the disk.
Invariant: after a crash at any point, a restart finds a whole log. One rename, to .swap, decides:
before it the old segments are valid, after it the new one.

It runs on the broker's event loop in small steps: a generator yields in between. If the log is
truncated or its segments are deleted meanwhile, the round ends.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator

from engine.errors import ApiException, ErrorCode
from engine.storage import files, records
from engine.storage.aborted import Aborted
from engine.storage.batch import HEADER_SIZE, MAGIC, Header, crc_ok, scan
from engine.storage.index import TimeIndex
from engine.storage.loading import replace_segments
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import REACH, Segment

PIECE = 128 * 1024  # bytes of log between two yields: a few milliseconds
ENTRY_COST = 160  # bytes of a map entry beside the key


class LogChanged(Exception):
    """The segments of the round have changed."""


class Compaction:
    """One round over one log. `run` does it, step by step."""

    def __init__(self, log: Log, start: int, end: int, memory: int, now: int) -> None:
        """Clean the dirty part from `start` to `end`, where a closed segment must end."""
        self.log = log
        self.start = start
        self.end = end  # when the map is complete: the first offset that it does not cover
        self.kept = self.dropped = 0  # records
        self.bytes_before = self.bytes_after = 0
        self._now = now
        self._memory = memory  # bytes left for the map
        self._latest: dict[bytes, int] = {}  # key -> offset of its latest record
        self._aborted: dict[int, list[Aborted]] = {}  # by producer, oldest first
        self._open: set[int] = set()  # producers with batches since their last marker
        self._horizon = self._delete_horizon()
        self._waiting = [segment for segment in log.segments if segment.base_offset < end]
        following = log.segments[len(self._waiting) :]
        if not self._waiting or not following or following[0].base_offset != end:
            raise LogChanged("it was truncated before the round began")
        self._last = self._waiting[-1]
        self._as_it_was = self._last.size, self._last.modified

    def _delete_horizon(self) -> int:
        """Tombstones are removed from segments that were last written before this time."""
        clean = [segment for segment in self.log.segments if segment.base_offset < self.start]
        return clean[-1].modified - self.log.config.delete_retention_ms if clean else 0

    def run(self) -> Iterator[None]:
        dirty = [it for it in self._spans() if it[1] > self.start]
        for segment, _ in dirty:
            segment.flush()
            yield from self._pause()
        for aborted in self.log.aborted(self.start, self.end):
            self._aborted.setdefault(aborted.producer_id, []).append(aborted)
        yield from self._fill_map(dirty)
        for group in self._groups():
            yield from self._rewrite(group)

    def _spans(self) -> list[tuple[Segment, int]]:
        """The segments of this round, each with the offset where the next one begins."""
        following = [segment.base_offset for segment in self.log.segments[1:]]
        return list(zip(self._waiting, following, strict=False))

    def _pause(self) -> Iterator[None]:
        """Yield; then check that the segments have not changed.

        A closed segment never changes, unless the log is truncated: then the last segment of the
        round is gone, or shorter, or active. Retention deletes the first ones. If the topic was
        deleted, its directory has another name, and a new topic may have this one.
        """
        yield
        closed = set(self.log.segments[:-1])
        if self.log.is_deleted:
            raise LogChanged("it was deleted")
        if self._last.file.closed or not closed.issuperset(self._waiting):
            raise LogChanged("its segments were deleted or truncated")
        if (self._last.size, self._last.modified) != self._as_it_was:
            raise LogChanged(f"{self._last.path.name} was truncated and written to again")

    # -- the map -------------------------------------------------------------------------

    def _fill_map(self, dirty: list[tuple[Segment, int]]) -> Iterator[None]:
        for segment, _ in dirty:
            found = segment.locate(self.start)
            for piece, batches in _pieces(segment, found.position if found else segment.size):
                for position, header in batches:
                    if header.is_control or self._is_aborted(header):
                        continue
                    for record in records.stream(piece[position : position + header.size]):
                        if record.offset >= self.start and not self._add_key(record):
                            self.end = record.offset
                            return
                yield from self._pause()

    def _is_aborted(self, header: Header) -> bool:
        """Whether a batch lies between the first of an aborted transaction and its marker."""
        if not header.is_transactional:
            return False
        ones = self._aborted.get(header.producer_id, [])
        before = bisect_right(ones, header.base_offset, key=lambda it: it.first_offset)
        return before > 0 and header.base_offset < ones[before - 1].last_offset

    def _add_key(self, record: Record) -> bool:
        """Add a key to the map; False if it is full. The first key always fits."""
        key = record.key
        if key is not None:
            if key not in self._latest:
                self._memory -= len(key) + ENTRY_COST
                if self._memory < 0 and self._latest:
                    return False
            self._latest[key] = record.offset
        return True

    def _groups(self) -> list[list[Segment]]:
        """Neighbours that fit into one segment, by bytes, index size and range of offsets."""
        config, groups, size = self.log.config, list[list[Segment]](), 0
        for segment, following in self._spans():
            if segment.base_offset >= self.end:
                break
            size += segment.size
            if (
                groups
                and size <= config.segment_bytes
                and _index_size(size, config.index_interval_bytes) <= config.segment_index_bytes
                and following - 1 - groups[-1][0].base_offset <= REACH
            ):
                groups[-1].append(segment)
            else:
                groups.append([segment])
                size = segment.size
        return groups

    # -- rewriting -----------------------------------------------------------------------

    def _rewrite(self, group: list[Segment]) -> Iterator[None]:
        """Copy the remaining records into a new segment, and replace the old ones by it."""
        before = sum(segment.size for segment in group)
        room = _index_size(before, self.log.config.index_interval_bytes)
        base_offset = group[0].base_offset
        new = self.log.open_segment(base_offset, self._now, index_size=room, suffix=".cleaned")
        try:
            lasting = self.log.producers.last_batches()
            for segment in group:
                markers: set[int] = set()  # the offsets of those that stay
                tombstones_go = segment.modified <= self._horizon
                for piece, batches in _pieces(segment):
                    chosen = _Chosen(new)
                    for position, header in batches:
                        batch = piece[position : position + header.size]
                        staying = self._filtered(header, batch, tombstones_go, lasting)
                        chosen.add(header, staying)
                        if header.is_control and staying is not None:
                            markers.add(header.last_offset)
                    chosen.write()
                    yield from self._pause()
                for aborted in segment.aborted.entries:
                    if aborted.last_offset in markers:
                        new.aborted.append(aborted)
            self._complete(new, group[-1].modified)
            yield from self._pause()
        except BaseException:
            new.delete()
            raise
        self._swap(new, group)
        self.bytes_before += before
        self.bytes_after += new.size

    def _filtered(
        self, header: Header, batch: bytes, tombstones_go: bool, lasting: set[int]
    ) -> bytes | None:
        """The rest of a batch: all of it, some records, the header alone, or None."""
        if header.is_control:
            return batch if self._keeps_marker(header, tombstones_go) else None
        if header.is_transactional:
            self._open.add(header.producer_id)
        staying: list[Record] = []
        if header.base_offset >= self.end:
            kept = header.count
        else:
            if not self._is_aborted(header):
                found = records.decode(batch)
                staying = [it for it in found if self._stays(it, tombstones_go)]
            kept = len(staying)
        self.kept += kept
        self.dropped += header.count - kept
        if not kept and (header.producer_id < 0 or header.last_offset not in lasting):
            return None
        return batch if kept == header.count else records.retain(header, staying)

    def _stays(self, record: Record, tombstones_go: bool) -> bool:
        if record.offset >= self.end:
            return True
        if record.key is None or self._latest.get(record.key, -1) > record.offset:
            return False
        return record.value is not None or not tombstones_go

    def _keeps_marker(self, header: Header, tombstones_go: bool) -> bool:
        """A marker stays with its transaction, and as the last batch of its producer."""
        producer = self.log.producers.known.get(header.producer_id)
        alone = producer and not producer.batches and producer.epoch == header.producer_epoch
        met = header.producer_id in self._open
        self._open.discard(header.producer_id)
        return met or bool(alone) or not tombstones_go or header.base_offset >= self.end

    def _complete(self, new: Segment, modified: int) -> None:
        """Flush the new segment, with the mtime of the old ones: a tombstone's age begins there."""
        new.close_for_appends()
        files.set_modified(new.file.fileno(), modified)
        new.flush()
        new.close_indexes()

    def _swap(self, new: Segment, group: list[Segment]) -> None:
        log = self.log
        new.rename(".cleaned", ".swap")
        files.flush_path(log.directory)
        replace_segments(log, new, group, self._now)
        first = log.segments.index(group[0])
        log.segments[first : first + len(group)] = [new]
        for segment in group[1:]:
            files.remove(log.snapshot_path(segment.base_offset))
        del self._waiting[: len(group)]


class _Chosen:
    """Batches for a new segment, written in chunks of one index entry."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._parts: list[bytes] = []
        self._size = 0
        self._last_offset = -1
        self._newest = (-1, -1)  # largest timestamp, last offset of its batch

    def add(self, header: Header, batch: bytes | None) -> None:
        if batch is None:
            return
        newest = Header.parse(batch).max_timestamp
        if not self._parts or newest > self._newest[0]:
            self._newest = newest, header.last_offset
        self._parts.append(batch)
        self._size += len(batch)
        self._last_offset = header.last_offset
        if self._size > self._segment.index_interval:
            self.write()

    def write(self) -> None:
        if self._parts:
            whole = b"".join(self._parts)
            self._segment.append([whole], len(whole), self._last_offset, self._newest)
            self._parts, self._size = [], 0


def _pieces(
    segment: Segment, position: int = 0
) -> Iterator[tuple[bytes, list[tuple[int, Header]]]]:
    """A segment in pieces: bytes, and the position and header of each batch in them."""
    while position < segment.size:
        first = next(segment.headers(position), None)
        if first is None:
            raise _corrupt(segment, position, "it does not begin with a whole batch")
        piece = os.pread(segment.file.fileno(), max(PIECE, first[1].size), position)
        batches = list(scan(piece))
        for at, header in batches:
            if header.magic != MAGIC or not crc_ok(piece, at, header):
                raise _corrupt(segment, position + at, "the batch does not match its CRC")
        yield piece, batches
        at, header = batches[-1]
        position += at + header.size


def _index_size(size: int, interval: int) -> int:
    """The size of the larger index of a segment of this size."""
    return (size // max(interval, HEADER_SIZE) + 2) * TimeIndex.ENTRY.size


def _corrupt(segment: Segment, position: int, what: str) -> ApiException:
    return ApiException(
        ErrorCode.corrupt_message, f"{segment.path.name}, position {position}: {what}"
    )
