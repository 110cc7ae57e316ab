"""The log of one partition: numbered batches, one after the other, in a row of segments.

    log start                                       recovery point         log end
       |                                                  |                   |
    [ 00..0000.log ][ 00..4711.log ][ 00..9204.log ][ 00..13377.log ............
                                                      active: the only one written to

An append assigns the offsets of a batch (leader) or keeps those that it has (follower), and writes
it without reading the records. A read finds a position and returns a slice of a file. Old segments
are deleted at the start of the log (retention, DeleteRecords), never in the middle. Only a follower
removes the end of a log, to agree with a new leader.

Invariant: log start <= log end, recovery point <= log end; offsets in the log strictly grow.
Invariant: everything below the recovery point is on the disk, and needs no recovery.

The log knows nothing of replicas: the high watermark, up to which a consumer may read, is an
argument, and so is the time.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.storage import checkpoints, control, files, snapshots
from engine.storage.aborted import Aborted, search
from engine.storage.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Header,
    placed,
    seal,
    with_log_append_time,
)
from engine.storage.control import Marker
from engine.storage.epochs import Epochs
from engine.storage.producers import Producers
from engine.storage.records import recompressed
from engine.storage.roll import full
from engine.storage.segment import Segment, Slice, file_name
from engine.storage.validation import check_size, newest_timestamp, validate, validate_copied

Emit = Callable[[Event], None]


class Appended(NamedTuple):
    """The place of an appended batch."""

    first_offset: int
    last_offset: int
    append_time: int  # -1 unless the topic stamps batches with the broker's clock
    duplicate: bool  # it was stored before; nothing was written


class Log:
    """One partition's log on one disk. Use `loading.load` to open one."""

    def __init__(
        self, directory: Path, partition: TopicPartition, config: TopicConfig, emit: Emit
    ) -> None:
        self.directory = directory
        self.partition = partition
        self.config = config
        self.segments: list[Segment] = []
        self.deleted: list[tuple[int, Segment]] = []  # (when to delete, renamed segment)
        self.producers = Producers()
        self.epochs = Epochs(directory)
        self.start_offset = 0  # the first offset that may be read
        self.end_offset = 0  # the offset that the next record gets (LEO)
        self.is_deleted = False  # its directory was renamed; another log may have the name
        self.recovery_point = 0  # everything before it was flushed
        self.last_flush = 0
        self.topic_id: UUID | None = None  # if it is known
        self._is_topic_id_flushed = True
        self.lowered: Callable[[], None] = lambda: None  # is called to write lower checkpoints
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
        """Use a new configuration, from the next append on."""
        self.config = config
        for segment in self.segments:
            segment.index_interval = config.index_interval_bytes

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write the topic's id to a file. It is flushed before the first record is appended, as by
        Kafka since 3.0: two flushes for each of many new partitions would take far longer than
        all the rest."""
        checkpoints.write_topic_id(self.directory / checkpoints.PARTITION, topic_id)
        self.topic_id, self._is_topic_id_flushed = topic_id, False

    def _flush_topic_id(self) -> None:
        files.flush_path(self.directory / checkpoints.PARTITION)
        files.flush_path(self.directory)
        self._is_topic_id_flushed = True

    # -- append --------------------------------------------------------------------------

    def append(self, batch: files.Buffer, epoch: int, now: int, *, client: bool = True) -> Appended:
        """As leader: check the batch, assign offsets, the epoch and perhaps the time, and store it.

        `client=False` allows the broker's own batches: markers, a transaction's offsets.
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
        parts = placed(batch, first, epoch)
        self.active.append(parts, len(batch), last, (header.max_timestamp, last))
        self.end_offset = last + 1
        if header.producer_id != NO_PRODUCER_ID:
            self._update_producers(header._replace(base_offset=first, leader_epoch=epoch), marker)
        self._flush_if_full(now)
        append_time = header.max_timestamp if header.is_log_append_time else NO_TIMESTAMP
        return Appended(first, last, append_time, False)

    def _as_kept(
        self, batch: files.Buffer, header: Header, now: int
    ) -> tuple[files.Buffer, Header]:
        """The batch in the format of this topic: unchanged, or with its codec or its time."""
        config = self.config
        if config.compression_type != "producer" and not header.is_control:
            batch = recompressed(batch, config.compression_type)
            check_size(len(batch), config)
            header = Header.parse(batch)
        if config.message_timestamp_type == "LogAppendTime":
            batch = with_log_append_time(batch, now)
            return batch, Header.parse(batch)
        if header.max_timestamp < header.base_timestamp:  # a client that left it out
            header = header._replace(max_timestamp=newest_timestamp(batch, header))
            batch = seal(header, memoryview(batch)[HEADER_SIZE:])
        return batch, header

    def append_copied(self, data: files.Buffer, now: int) -> int:
        """As follower: store unchanged batches from the leader. Returns the new log end.

        Several batches are one write, so a follower's index has one entry for them.
        """
        try:
            headers = validate_copied(data, self.end_offset)
        except ApiException as error:
            if error.code is ErrorCode.unsupported_for_message_format:
                self.emit("log.refused", now, offset=self.end_offset, reason=error.message)
            raise
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
            self._update_producers(header, marker)
        self._flush_if_full(now)
        return self.end_offset

    def _update_producers(self, header: Header, marker: Marker | None) -> None:
        aborted = self.producers.apply(header, marker)
        if aborted is not None:
            self.active.aborted.append(aborted)

    def _flush_if_full(self, now: int) -> None:
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now)

    # -- roll and flush ------------------------------------------------------------------

    def _make_room(self, size: int, timestamp: int, first: int, last: int, now: int) -> None:
        """Begin a new segment if this append does not fit into the active one, or if the active
        one is too old.

        It begins at the append's first offset: on a follower there may be a wide gap before it.
        """
        if not self._is_topic_id_flushed:
            self._flush_topic_id()
        reason = full(self.active, self.partition, self.config, size, timestamp, last, now)
        if reason:
            self.roll(now, reason, first)

    def roll(self, now: int, reason: str = "asked for", base_offset: int | None = None) -> None:
        """Close the active segment and begin a new one, at the log end or after it."""
        base_offset = self.end_offset if base_offset is None else base_offset
        if self.active.size:
            self.active.close_for_appends()
            self.producers.save(self.snapshot_path(base_offset))
        elif self.active.base_offset == base_offset:  # use the empty one
            self.active.offsets.reset(self.config.segment_index_bytes)
            self.active.times.reset(self.config.segment_index_bytes)
            return
        else:
            self.segments.pop().delete()
        self.segments.append(self._open_active(base_offset, now))
        self.emit("segment.rolled", now, base_offset=base_offset, reason=reason)

    def flush(self, now: int) -> None:
        """Flush everything up to the log end."""
        for segment in self.segments_from(self.recovery_point):
            segment.flush()
        self.epochs.flush()
        files.flush_path(self.directory)
        self.recovery_point, self.last_flush = self.end_offset, now

    def flush_records(self, now: int) -> None:
        """Flush the appended records, but no index: one flush, unless there are new files.

        For the metadata log, whose indexes are compared with its records when it is opened.
        """
        if self.recovery_point <= self.active.base_offset or not self.epochs.is_flushed:
            return self.flush(now)
        self.active.flush_records()
        self.recovery_point, self.last_flush = self.end_offset, now

    def flush_if_due(self, now: int) -> None:
        if self.recovery_point < self.end_offset and now - self.last_flush >= self.config.flush_ms:
            self.flush(now)

    # -- read ----------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, limit: int | None = None, at_least_one: bool = True
    ) -> Slice:
        """A slice of one segment that begins with the batch of `offset`.

        It has no record from `limit` (a high watermark) on; `max_bytes` may cut the last batch
        short, which readers ignore.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise ApiException(
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
        """The position in a segment file where a read up to an offset must end."""
        if limit >= self.end_offset:
            return segment.size
        beyond = segment.locate(limit)
        return beyond.position if beyond else segment.size

    def reach(self, offset: int, found: Slice) -> int:
        """An offset after all records in a slice. It is found by the index, so it may be later than
        the first such offset."""
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

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of a record."""
        return max((each.greatest[0] for each in self.segments if each.size), default=NO_TIMESTAMP)

    def headers(self) -> Iterator[tuple[Segment, int, Header]]:
        """Every batch of the log: its segment, position and header."""
        for segment in self.segments:
            for position, header in segment.headers():
                yield segment, position, header

    # -- truncate ------------------------------------------------------------------------

    def truncate(self, offset: int, now: int) -> None:
        """Remove the end of the log, from the batch of `offset` on."""
        if offset >= self.end_offset:
            return
        if offset <= self.segments[0].base_offset:
            self.restart_at(offset, now)
            return
        last, was = next(self.segments_from(offset)), self.end_offset
        found = last.locate(offset)
        end = min(offset, found.header.base_offset) if found else offset  # may lie in a gap
        self._lower_checkpoints(end)
        while self.active is not last:
            self.retire(self.segments.pop(), now)
        last.open_for_appends(self.config.segment_index_bytes)
        if found:
            last.cut(found.position, end)
        in_gap = last.end()[0] < end  # then only the name of a new segment has the end
        if in_gap:
            last.close_for_appends()
            last.flush()
            self.segments.append(self._open_active(end, now))
        self._set_end(end)
        if in_gap:  # as after a roll: retention may delete the segments and snapshots before
            self.producers.save(self.snapshot_path(end))
        self.emit("log.truncated", now, end_offset=end, was=was)

    def restart_at(self, offset: int, now: int) -> None:
        """Delete everything and begin at an offset (a follower out of range)."""
        self._lower_checkpoints(0)
        was = self.end_offset
        for segment in self.segments:
            self.retire(segment, now)
        self.segments = [self._open_active(offset, now)]
        self.start_offset = offset
        self._set_end(offset)
        self.emit("log.truncated", now, end_offset=offset, was=was)

    def _lower_checkpoints(self, offset: int) -> None:
        """Before the log is truncated to an offset, no checkpoint may be above it."""
        if offset < max(self.recovery_point, self.start_offset):
            self.recovery_point = min(self.recovery_point, offset)
            self.start_offset = min(self.start_offset, offset)
            self.lowered()

    def _set_end(self, offset: int) -> None:
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
        self.deleted.append((now + self.config.file_delete_delay_ms, segment))

    def sweep(self, now: int) -> None:
        """Delete the retired segments whose delay is over."""
        for due, segment in self.deleted:
            if due <= now:
                segment.delete()
        self.deleted = [item for item in self.deleted if item[0] > now]

    # -- parts ---------------------------------------------------------------------------

    def open_segment(
        self, base_offset: int, now: int, *, index_size: int = 0, suffix: str = ""
    ) -> Segment:
        return Segment(
            self.directory,
            base_offset,
            now=now,
            index_interval=self.config.index_interval_bytes,
            index_size=index_size,
            suffix=suffix,
        )

    def _open_active(self, base_offset: int, now: int) -> Segment:
        return self.open_segment(base_offset, now, index_size=self.config.segment_index_bytes)

    def snapshot_path(self, offset: int) -> Path:
        return self.directory / file_name(offset, snapshots.SUFFIX)

    def rebuild_producers(
        self, end: int, since: int | None = None, drop: Callable[[Path], None] = files.remove
    ) -> None:
        """Restore the producers as of `end`, and the transactions that ended from `since` on."""
        self.producers = snapshots.restore(self.directory, self.segments, end, since, drop)
        snapshots.tidy(self.directory, self.segments, end)

    def close(self, now: int) -> None:
        """An orderly end: the next start needs no recovery, and does not read the log."""
        self.active.close_for_appends()
        self.flush(now)
        self.producers.save(self.snapshot_path(self.end_offset))
        self.abandon()

    def abandon(self) -> None:
        """Close the files as they are."""
        for segment in [*self.segments, *(segment for _, segment in self.deleted)]:
            segment.close()
