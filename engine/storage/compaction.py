"""One round of compaction: of each key the latest record stays, where it always was.

               clean: done by earlier rounds     dirty                          not to be touched
    before   | 0 a=1 | 3 b=1 | 4 c=1 |         | 5 a=2 | 6 b=∅ | 7 a=3 |      | 8 c=2 ... active
                                  map:           a -> 7   b -> 6
    after    | 4 c=1 | 6 b=∅ | 7 a=3 |                                        | 8 c=2 ... active

First the dirty part is read for the map, key -> latest offset; then every closed segment up to the
end of the map is rewritten without the records that the map knows a later one for. Small
segments become one on the way. The map has bounded memory: if it is full the round ends there.

What else may go, and when:

    tombstone (null value)  delete.retention.ms after it became clean, so that a consumer that
                            is on its way learns of the deletion; the clock is the files' mtime
    aborted records         at once; they never hide a record of the same key
    transaction marker      as a tombstone, but in no round that met batches of its transaction:
                            a follower that has copied those must still find out how they ended
    empty batch             as soon as it is not its producer's last one: that one keeps the
                            sequence number, or the next retry would be taken for something new

Invariant: no record changes its offset, and a batch that loses nothing keeps its very bytes.
Invariant: a record goes only if what takes its place is on the disk.
Invariant: whatever call is the last before a crash, a restart finds a whole log. One rename, to
.swap, decides for each new segment: before it the old ones count, from then on the new one.

It all runs on the broker's event loop, a piece at a time: a generator yields in between.
Whatever was cut or dropped from the log in the meantime ends the round.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator

from engine.errors import ErrorCode, KafkaError
from engine.storage import files, records
from engine.storage.aborted import Aborted
from engine.storage.batch import HEADER_SIZE, MAGIC, Header, crc_ok, scan
from engine.storage.index import TimeIndex
from engine.storage.loading import replace_segments
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import REACH, Segment

PIECE = 128 * 1024  # bytes of log between two yields: some milliseconds of work
ENTRY_COST = 160  # what a key takes in the map beside its own bytes


class LogChanged(Exception):
    """The log is no longer the one that the round began with."""


class Compaction:
    def __init__(self, log: Log, start: int, end: int, memory: int, now: int) -> None:
        """Clean what is dirty from `start` on, up to `end`, where a closed segment must end."""
        self.log = log
        self.start = start
        self.end = end  # once the map is made: the first offset that it does not cover
        self.kept = self.dropped = 0  # records
        self.bytes_before = self.bytes_after = 0
        self._now = now
        self._memory = memory  # bytes left for the map
        self._latest: dict[bytes, int] = {}  # key -> offset of its latest record
        self._aborted: dict[int, list[Aborted]] = {}  # by producer, oldest first
        self._open: set[int] = set()  # producers whose batches were met since their last marker
        self._horizon = self._delete_horizon()
        self._waiting = [segment for segment in log.segments if segment.base_offset < end]
        following = log.segments[len(self._waiting) :]
        if not self._waiting or not following or following[0].base_offset != end:
            raise LogChanged("it was cut before the round began")
        self._last = self._waiting[-1]
        self._as_it_was = self._last.size, self._last.modified

    def _delete_horizon(self) -> int:
        """Tombstones go from segments that were last written before this moment."""
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
        """Let others work; then see whether they left us our segments.

        A closed segment never changes, unless the end of the log is cut: then the last segment
        of the round is gone, or cut, or active. Retention takes the first ones.
        """
        yield
        closed = set(self.log.segments[:-1])
        if self._last.file.closed or not closed.issuperset(self._waiting):
            raise LogChanged("its segments were dropped or cut")
        if (self._last.size, self._last.modified) != self._as_it_was:
            raise LogChanged(f"{self._last.path.name} was cut and written to again")

    # -- learning ------------------------------------------------------------------------

    def _fill_map(self, dirty: list[tuple[Segment, int]]) -> Iterator[None]:
        for segment, _ in dirty:
            found = segment.locate(self.start)
            for piece, batches in _pieces(segment, found.position if found else segment.size):
                for position, header in batches:
                    if header.is_control or self._is_aborted(header):
                        continue
                    for record in records.stream(piece[position : position + header.size]):
                        if record.offset >= self.start and not self._learn(record):
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

    def _learn(self, record: Record) -> bool:
        """Note where a key was seen last; False if there is no room. The first always has room."""
        key = record.key
        if key is not None:
            if key not in self._latest:
                self._memory -= len(key) + ENTRY_COST
                if self._memory < 0 and self._latest:
                    return False
            self._latest[key] = record.offset
        return True

    def _groups(self) -> list[list[Segment]]:
        """Neighbours that fit into one segment together, by bytes, index and reach of offsets."""
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
        """Copy what stays into a new segment, and put it in the place of the old ones."""
        before = sum(segment.size for segment in group)
        interval = self.log.config.index_interval_bytes
        new = Segment(
            self.log.directory,
            group[0].base_offset,
            now=self._now,
            index_interval=interval,
            index_size=_index_size(before, interval),
            suffix=".cleaned",
        )
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
        """What stays of a batch: all of it, some records, none but the header, or nothing."""
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
        """A marker stays with its transaction, and if its producer has nothing else to show."""
        producer = self.log.producers.known.get(header.producer_id)
        alone = producer and not producer.batches and producer.epoch == header.producer_epoch
        met = header.producer_id in self._open
        self._open.discard(header.producer_id)
        return met or bool(alone) or not tombstones_go or header.base_offset >= self.end

    def _complete(self, new: Segment, modified: int) -> None:
        """All on the disk, and as old as the segments were: the age of tombstones goes on."""
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
    """Batches on their way into a new segment, as much at once as its index has an entry for."""

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
    """A segment piece by piece: bytes, and the position and header of each batch in them."""
    while position < segment.size:
        first = next(segment.headers(position), None)
        if first is None:
            raise _corrupt(segment, position, "what begins there is not a whole batch")
        piece = os.pread(segment.file.fileno(), max(PIECE, first[1].size), position)
        batches = list(scan(piece))
        for at, header in batches:
            if header.magic != MAGIC or not crc_ok(piece, at, header):
                raise _corrupt(segment, position + at, "the batch does not match its CRC")
        yield piece, batches
        at, header = batches[-1]
        position += at + header.size


def _index_size(size: int, interval: int) -> int:
    """Bytes that the larger index of a segment of this size can need."""
    return (size // max(interval, HEADER_SIZE) + 2) * TimeIndex.ENTRY.size


def _corrupt(segment: Segment, position: int, what: str) -> KafkaError:
    return KafkaError(
        ErrorCode.corrupt_message, f"{segment.path.name}, position {position}: {what}"
    )
