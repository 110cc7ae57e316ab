"""The log of one partition: numbered batches, one after the other, in a row of segments.

    log start                                       recovery point         log end
       |                                                  |                   |
    [ 00..0000.log ][ 00..4711.log ][ 00..9204.log ][ 00..13377.log ............
                                                      active: the only one written to

An append gives a batch its offsets (leader) or keeps the ones it came with (follower), and writes
it without looking at the records. A read finds a position and hands out a slice of a file. Old
segments leave at the front (retention, DeleteRecords), never from the middle; only a follower
that must agree with a new leader cuts the end.

Invariant: log start <= recovery point <= log end after a flush; offsets in the log strictly grow.
Invariant: what lies below the recovery point is on the disk itself and needs no recovery.

The log knows nothing of replicas: how far a consumer may read (the high watermark) comes in as an
argument, and so does the time.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from engine.config import TopicConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.storage import batch as batches
from engine.storage import control, files, snapshots
from engine.storage.aborted import Aborted, search
from engine.storage.batch import HEADER_SIZE, NO_PRODUCER_ID, NO_TIMESTAMP, Header
from engine.storage.control import Marker
from engine.storage.epochs import Epochs
from engine.storage.producers import Producers
from engine.storage.records import recompressed
from engine.storage.segment import REACH, Segment, Slice, file_name
from engine.storage.validation import newest_timestamp, validate, validate_copied

Emit = Callable[[Event], None]


class Appended(NamedTuple):
    """Where a batch is now."""

    first_offset: int
    last_offset: int
    append_time: int  # -1 unless the topic stamps batches with the broker's clock
    duplicate: bool  # it had been stored before; nothing was written


class Log:
    """One partition's log on one disk. Use `loading.load` to open one."""

    def __init__(
        self, directory: Path, partition: TopicPartition, config: TopicConfig, emit: Emit
    ) -> None:
        self.directory = directory
        self.partition = partition
        self.config = config
        self.segments: list[Segment] = []
        self.doomed: list[tuple[int, Segment]] = []  # (when to delete, renamed segment)
        self.producers = Producers()
        self.epochs = Epochs(directory)
        self.start_offset = 0  # the first offset that may be read
        self.end_offset = 0  # the offset that the next record gets (LEO)
        self.recovery_point = 0  # everything before it was flushed
        self.last_flush = 0
        self._emit = emit

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def emit(self, kind: str, now: int, **facts: object) -> None:
        topic, partition = self.partition
        self._emit(Event(kind, now, {"topic": topic, "partition": partition, **facts}))

    def reconfigure(self, config: TopicConfig) -> None:
        """Take a new configuration over; it counts from the next append on."""
        self.config = config
        for segment in self.segments:
            segment.index_interval = config.index_interval_bytes

    # -- append --------------------------------------------------------------------------

    def append(self, batch: files.Buffer, epoch: int, now: int, *, client: bool = True) -> Appended:
        """As leader: check the batch, give it offsets, the epoch and perhaps the time, store it.

        `client=False` lets the broker's own batches through: markers, a transaction's offsets.
        """
        header = validate(batch, self.config, now, client=client)
        marker = control.find(batch, header)
        stored = self.producers.check(header, marker)
        if stored is not None:
            return Appended(stored.first_offset, stored.last_offset, NO_TIMESTAMP, True)
        batch, header = self._as_kept(batch, header, now)
        first = self.end_offset
        last = first + header.last_offset_delta
        self._make_room(len(batch), header.max_timestamp, first, last, now)
        if epoch != self.epochs.latest:
            self.epochs.assign(epoch, first)
        parts = batches.placed(batch, first, epoch)
        self.active.append(parts, len(batch), last, (header.max_timestamp, last))
        self.end_offset = last + 1
        if header.producer_id != NO_PRODUCER_ID:
            self._learn(header._replace(base_offset=first, leader_epoch=epoch), marker)
        self._flush_if_full(now)
        append_time = header.max_timestamp if header.is_log_append_time else NO_TIMESTAMP
        return Appended(first, last, append_time, False)

    def _as_kept(
        self, batch: files.Buffer, header: Header, now: int
    ) -> tuple[files.Buffer, Header]:
        """The batch as this topic keeps it: but for its own codec or time, as it came."""
        config = self.config
        if config.compression_type != "producer" and not header.is_control:
            batch = recompressed(batch, config.compression_type)
            header = Header.parse(batch)
        if config.message_timestamp_type == "LogAppendTime":
            batch = batches.with_log_append_time(batch, now)
            return batch, Header.parse(batch)
        if header.max_timestamp < header.base_timestamp:  # a client that left it out
            header = header._replace(max_timestamp=newest_timestamp(batch, header))
            batch = batches.seal(header, memoryview(batch)[HEADER_SIZE:])
        return batch, header

    def append_copied(self, data: files.Buffer, now: int) -> int:
        """As follower: store batches as they come from the leader. Returns the new log end.

        Several batches go in as one write, so a follower's index has one entry for them.
        """
        headers = validate_copied(data, self.end_offset)
        if not headers:
            return self.end_offset
        first, last = headers[0].base_offset, headers[-1].last_offset
        newest = max(headers, key=lambda header: header.max_timestamp)
        size = sum(header.size for header in headers)
        markers = control.find_all(data, headers)
        self._make_room(size, newest.max_timestamp, first, last, now)
        for header in headers:
            if header.leader_epoch > self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
        whole = memoryview(data)[:size]
        self.active.append([whole], size, last, (newest.max_timestamp, newest.last_offset))
        self.end_offset = last + 1
        for header, marker in zip(headers, markers, strict=True):
            self._learn(header, marker)
        self._flush_if_full(now)
        return self.end_offset

    def _learn(self, header: Header, marker: Marker | None) -> None:
        aborted = self.producers.apply(header, marker)
        if aborted is not None:
            self.active.aborted.append(aborted)

    def _flush_if_full(self, now: int) -> None:
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now)

    # -- roll and flush ------------------------------------------------------------------

    def _make_room(self, size: int, timestamp: int, first: int, last: int, now: int) -> None:
        """Begin a new segment if this append does not fit the active one, or its time is up.

        It begins at the append's first offset: a follower may have to leap over a wide gap.
        """
        active, config = self.segments[-1], self.config
        reason = None
        if active.size and active.size + size > config.segment_bytes:
            reason = "size"
        elif active.size and self._age(timestamp, now) > self._patience():
            reason = "time"
        elif active.offsets.is_full or active.times.is_full:
            reason = "index full"
        elif last - active.base_offset > REACH:
            reason = "offset range"
        if reason:
            self.roll(now, reason, first)

    def _age(self, timestamp: int, now: int) -> int:
        """How long the active segment has been filling, by the records' own time if there is."""
        first = self.active.first_timestamp
        if first is not None and first >= 0 and timestamp >= 0:
            return timestamp - first
        return now - self.active.created

    def _patience(self) -> int:
        """How old the active segment may get; jitter keeps logs from rolling all at once."""
        most = self.config.segment_ms
        if not self.config.segment_jitter_ms:
            return most
        chance = crc32(f"{self.partition} {self.active.base_offset}".encode())
        return most - chance % (min(self.config.segment_jitter_ms, most) + 1)

    def roll(self, now: int, reason: str = "asked for", base_offset: int | None = None) -> None:
        """Close the active segment and begin one, at the log end or further on."""
        base_offset = self.end_offset if base_offset is None else base_offset
        if self.active.size:
            self.active.close_for_appends()
            self.producers.save(self.snapshot_path(base_offset))
        elif self.active.base_offset == base_offset:  # an empty one serves as well
            self.active.offsets.reset(self.config.segment_index_bytes)
            self.active.times.reset(self.config.segment_index_bytes)
            return
        else:
            self.segments.pop().delete()
        self.segments.append(self.open_segment(base_offset, now, active=True))
        self.emit("segment.rolled", now, base_offset=base_offset, reason=reason)

    def flush(self, now: int) -> None:
        """Force everything up to the log end to the disk."""
        for segment in self.segments_from(self.recovery_point):
            segment.flush()
        self.epochs.flush()
        files.flush_path(self.directory)
        self.recovery_point, self.last_flush = self.end_offset, now

    def flush_if_due(self, now: int) -> None:
        if self.recovery_point < self.end_offset and now - self.last_flush >= self.config.flush_ms:
            self.flush(now)

    # -- read ----------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, limit: int | None = None, at_least_one: bool = True
    ) -> Slice:
        """A slice of one segment that begins with the batch that holds `offset`.

        Nothing at or beyond `limit` (a high watermark) is in it; the last batch may be cut short
        by `max_bytes`, which readers know to ignore.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise KafkaError(
                ErrorCode.offset_out_of_range,
                f"{self.partition} has offsets {self.start_offset} to {self.end_offset}, "
                f"not {offset}",
            )
        limit = self.end_offset if limit is None else min(limit, self.end_offset)
        if offset < limit:
            for segment in self.segments_from(offset):
                if segment.base_offset >= limit:
                    break
                end = self._end_position(segment, limit)
                found = segment.read(offset, max_bytes, end, at_least_one=at_least_one)
                if found is not None:
                    return found
        return Slice(self.active.file, self.active.size, 0)

    def _end_position(self, segment: Segment, limit: int) -> int:
        """Up to where in a segment file a reader bounded by an offset may look."""
        if limit >= self.end_offset:
            return segment.size
        beyond = segment.locate(limit)
        return beyond.position if beyond else segment.size

    def reach(self, offset: int, found: Slice) -> int:
        """An offset behind all that was found from `offset` on: by the index, so not the first."""
        segments = self.segments_from(offset)
        segment = next(it for it in segments if it.file is found.file)
        end = next((it.base_offset for it in segments), self.end_offset)
        following = segment.following(found.position + found.size)
        return end if following is None else following

    def aborted(self, start: int, limit: int) -> tuple[Aborted, ...]:
        """The aborted transactions with records from `start` on and below `limit`, oldest first."""
        indexes = (segment.aborted for segment in self.segments_from(start))
        return search(chain.from_iterable(it.ending_from(start) for it in indexes), start, limit)

    def segments_from(self, offset: int) -> Iterator[Segment]:
        """The segment that holds an offset, and all after it: binary search by base offset."""
        first = bisect_right(self.segments, offset, key=lambda segment: segment.base_offset)
        return iter(self.segments[max(first - 1, 0) :])

    def offset_for_time(self, timestamp: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, epoch) of the first record that is not older than a time."""
        for segment in self.segments:
            if segment.size and segment.greatest[0] >= timestamp:
                found = segment.offset_for_time(timestamp, self.start_offset)
                if found:
                    return found
        return None

    def headers(self) -> Iterator[tuple[Segment, int, Header]]:
        """Every batch of the log: its segment, position and header."""
        for segment in self.segments:
            for position, header in segment.headers():
                yield segment, position, header

    # -- cut -----------------------------------------------------------------------------

    def truncate(self, offset: int, now: int) -> None:
        """Cut the end of the log, from the batch that holds `offset` on."""
        if offset >= self.end_offset:
            return
        if offset <= self.segments[0].base_offset:
            self.restart_at(offset, now)
            return
        end, was = offset, self.end_offset
        while self.active.base_offset > offset:
            self.retire(self.segments.pop(), now)
        self.active.open_for_appends(self.config.segment_index_bytes)
        found = self.active.locate(offset)
        if found:
            end = min(offset, found.header.base_offset)  # which may lie behind a gap
            self.active.cut(found.position, end)
        self._ends_at(end)
        self.emit("log.truncated", now, end_offset=end, was=was)

    def restart_at(self, offset: int, now: int) -> None:
        """Throw everything away and begin anew at an offset (a follower out of range)."""
        was = self.end_offset
        for segment in self.segments:
            self.retire(segment, now)
        self.segments = [self.open_segment(offset, now, active=True)]
        self.start_offset = offset
        self._ends_at(offset)
        self.emit("log.truncated", now, end_offset=offset, was=was)

    def _ends_at(self, offset: int) -> None:
        self.end_offset = offset
        self.start_offset = min(self.start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.epochs.truncate_end(offset)
        unreplicated = self.producers.unreplicated
        self.rebuild_producers(offset, unreplicated[0].last_offset if unreplicated else None)

    def advance_start(self, offset: int, now: int) -> None:
        """Records below this offset may no longer be read; whole segments below it can go."""
        if offset <= self.start_offset:
            return
        assert offset <= self.end_offset
        self.start_offset = offset
        self.recovery_point = max(self.recovery_point, offset)
        self.epochs.truncate_start(offset)
        self.emit("log.start", now, start_offset=offset)

    def drop(self, segments: list[Segment], now: int, reason: str) -> None:
        """Retire segments: renamed at once, deleted a little later, when no reader is left."""
        for segment in segments:
            if segment is self.active:
                self.roll(now, "retention")
            self.segments.remove(segment)
            self.retire(segment, now)
            files.remove(self.snapshot_path(segment.base_offset))
            self.emit("segment.deleted", now, base_offset=segment.base_offset, reason=reason)
        self.advance_start(self.segments[0].base_offset, now)

    def retire(self, segment: Segment, now: int) -> None:
        segment.rename("", ".deleted")
        self.doomed.append((now + self.config.file_delete_delay_ms, segment))

    def sweep(self, now: int) -> None:
        """Delete the retired segments whose delay is over."""
        for due, segment in self.doomed:
            if due <= now:
                segment.delete()
        self.doomed = [item for item in self.doomed if item[0] > now]

    # -- parts ---------------------------------------------------------------------------

    def open_segment(
        self, base_offset: int, now: int, *, active: bool = False, suffix: str = ""
    ) -> Segment:
        return Segment(
            self.directory,
            base_offset,
            now=now,
            index_interval=self.config.index_interval_bytes,
            index_size=self.config.segment_index_bytes if active else 0,
            suffix=suffix,
        )

    def snapshot_path(self, offset: int) -> Path:
        return self.directory / file_name(offset, snapshots.SUFFIX)

    def rebuild_producers(self, end: int, since: int | None = None) -> None:
        """Know the producers as of `end`, and which transactions ended at `since` or later."""
        self.producers = snapshots.restore(self.directory, self.segments, end, since)
        snapshots.tidy(self.directory, self.segments, end)

    def close(self, now: int) -> None:
        """An orderly end: all on disk, indexes trimmed, producers saved for a quick start."""
        self.active.close_for_appends()
        self.flush(now)
        self.producers.save(self.snapshot_path(self.end_offset))
        self.abandon()

    def abandon(self) -> None:
        """Let go of the files as they are."""
        for segment in [*self.segments, *(segment for _, segment in self.doomed)]:
            segment.close()
