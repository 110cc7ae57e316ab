"""A broker's disk in memory: what storage/ keeps in files, for the same replication code.

    Disk ── logs ──> Log     | batch | batch | batch | batch | batch |
         ── checkpoints          on the platter  ^   in the page cache
                                          recovery point

The effect of a crash depends on its kind. A killed process loses nothing that it wrote, because
the kernel has the bytes. A power cut loses what was not flushed (`power_cut`): the end of a log,
and the epochs that belong to it. The checkpoints of all logs are flushed at once.

Batches have the same bytes as in the real log, and pass the same checks. They are kept in a list
instead of a file, for speed: a record on three replicas costs the real log 220 µs of system calls,
even on the fastest file system, and this log a tenth of that. An hour of a cluster has to be
simulated in seconds.

Invariant: batches are in offset order, and those below the recovery point survive a power cut.

Left out: segments, indexes and retention; topics that compress anew or stamp the broker's time;
disks that fail.
"""

from bisect import bisect_left
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.storage import control
from engine.storage.aborted import Aborted, search
from engine.storage.batch import NO_TIMESTAMP, Header, placed
from engine.storage.control import Marker
from engine.storage.epochs import Epochs
from engine.storage.files import Buffer
from engine.storage.log import Appended, Emit
from engine.storage.producers import Producers
from engine.storage.records import stream
from engine.storage.validation import validate, validate_copied

T = TypeVar("T")

UNGUARDED = nullcontext[None]()  # nothing fails here


class Remembered(Epochs):
    """Leader epochs without a file."""

    def __init__(self) -> None:
        super().__init__(Path())
        self._safe: list[tuple[int, int]] = []  # those that survive a power cut

    def flush(self) -> None:
        self._safe = self.entries

    def power_cut(self) -> None:
        self.entries = self._safe

    def _save(self, entries: list[tuple[int, int]]) -> None:
        self.entries = entries


class Piece(NamedTuple):
    """The result of a read: as storage's `Slice`, but with the bytes in memory."""

    file: object  # the log: there is only one file
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self) -> bytes:
        return self.data


class Stored(NamedTuple):
    header: Header
    data: bytes


class MemoryLog:
    """One partition's log; storage/log.py describes the methods."""

    def __init__(
        self, partition: TopicPartition, config: TopicConfig, now: int, emit: Emit
    ) -> None:
        self.partition = partition
        self.topic_id: UUID | None = None
        self.config = config
        self.batches: list[Stored] = []
        self.epochs = Remembered()
        self.producers = Producers()
        self.first_offset = 0  # the first one in memory; it may be below start_offset
        self.start_offset = 0
        self.end_offset = 0
        self.recovery_point = 0
        self.last_flush = now
        self.segments: list[object] = []  # always empty, so retention deletes nothing
        self.size = 0  # for retention, too
        self.cuts = 0  # how often its end was cut
        self.cut_to = 0  # the last cut; a real log has it in a file's name if it is in a gap
        self._lasts: list[int] = []  # each batch's last offset, to look it up by
        self._aborted: list[Aborted] = []
        self._emit = emit

    @property
    def active(self) -> "MemoryLog":
        return self

    @property
    def file(self) -> object:
        return self

    def emit(self, kind: str, now: int, **facts: object) -> None:
        topic, partition = self.partition
        self._emit(Event(kind, now, {"topic": topic, "partition": partition, **facts}))

    def reconfigure(self, config: TopicConfig) -> None:
        self.config = config

    # -- append --------------------------------------------------------------------------

    def append(self, batch: Buffer, epoch: int, now: int, *, client: bool = True) -> Appended:
        header = validate(batch, self.config, now, client=client)
        marker = control.find(batch, header)
        stored = self.producers.check(header, marker)
        if stored is not None:
            return Appended(stored.first_offset, stored.last_offset, NO_TIMESTAMP, True)
        first = self.end_offset
        if epoch != self.epochs.latest:
            self.epochs.assign(epoch, first)
        data = b"".join(placed(batch, first, epoch))
        self._store(header._replace(base_offset=first, leader_epoch=epoch), data, marker, now)
        return Appended(first, self.end_offset - 1, NO_TIMESTAMP, False)

    def append_copied(self, data: Buffer, now: int) -> int:
        at = 0
        for header in validate_copied(data, self.end_offset):
            if header.leader_epoch > self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
            whole = bytes(data[at : at + header.size])
            self._store(header, whole, control.find(whole, header), now)
            at += header.size
        return self.end_offset

    def _store(self, header: Header, data: bytes, marker: Marker | None, now: int) -> None:
        self.batches.append(Stored(header, data))
        self._lasts.append(header.last_offset)
        self._learn(header, marker)
        self.end_offset = header.next_offset
        if self.end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush(now)

    def _learn(self, header: Header, marker: Marker | None) -> None:
        aborted = self.producers.apply(header, marker)
        if aborted is not None:
            self._aborted.append(aborted)

    def flush(self, now: int) -> None:
        self.epochs.flush()
        self.recovery_point, self.last_flush = self.end_offset, now

    def flush_if_due(self, now: int) -> None:
        if self.recovery_point < self.end_offset and now - self.last_flush >= self.config.flush_ms:
            self.flush(now)

    # -- read ----------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, limit: int | None = None, at_least_one: bool = True
    ) -> Piece:
        """Whole batches only: a reader would ignore one that is cut short."""
        if not self.start_offset <= offset <= self.end_offset:
            raise ApiException(
                ErrorCode.offset_out_of_range,
                f"{self.partition} has offsets {self.start_offset} to {self.end_offset}, "
                f"not {offset}",
            )
        limit = self.end_offset if limit is None else min(limit, self.end_offset)
        found: list[bytes] = []
        at, left = bisect_left(self._lasts, offset), max_bytes
        while at < len(self.batches) and self._lasts[at] < limit:
            data = self.batches[at].data
            if len(data) > left and (found or not at_least_one):
                break
            found.append(data)
            at, left = at + 1, left - len(data)
        return Piece(self, b"".join(found))

    def reach(self, offset: int, found: Piece) -> int:
        at, left = bisect_left(self._lasts, offset), found.size
        while left > 0:
            offset, left = self._lasts[at] + 1, left - len(self.batches[at].data)
            at += 1
        return offset

    def aborted(self, start: int, limit: int) -> tuple[Aborted, ...]:
        return search((it for it in self._aborted if it.last_offset >= start), start, limit)

    def before(self, offset: int) -> int:
        """How many batches end before an offset."""
        return bisect_left(self._lasts, offset)

    @property
    def max_timestamp(self) -> int:
        return max((header.max_timestamp for header, _ in self.batches), default=-1)

    def offset_for_time(self, timestamp: int) -> tuple[int, int, int] | None:
        for header, data in self.batches:
            if header.max_timestamp >= timestamp and header.last_offset >= self.start_offset:
                for record in stream(data):
                    if record.timestamp >= timestamp and record.offset >= self.start_offset:
                        return record.offset, record.timestamp, header.leader_epoch
        return None

    # -- cut -----------------------------------------------------------------------------

    def truncate(self, offset: int, now: int) -> None:
        if offset >= self.end_offset:
            return
        if offset <= self.first_offset:
            self.restart_at(offset, now)
            return
        was = self.end_offset
        at = bisect_left(self._lasts, offset)
        if at < len(self.batches):
            offset = min(offset, self.batches[at].header.base_offset)
        self._cut(at, offset)
        self.emit("log.truncated", now, end_offset=self.end_offset, was=was)

    def restart_at(self, offset: int, now: int) -> None:
        was = self.end_offset
        self.first_offset = self.start_offset = offset
        self._cut(0, offset)
        self.emit("log.truncated", now, end_offset=offset, was=was)

    def _cut(self, at: int, end: int) -> None:
        self.cuts += 1
        del self.batches[at:], self._lasts[at:]
        self.end_offset = self.cut_to = end
        self.start_offset = min(self.start_offset, end)
        self.recovery_point = min(self.recovery_point, end)
        self.epochs.truncate_end(end)
        self._rebuild_producers()

    def _rebuild_producers(self) -> None:
        self.producers = Producers()
        self._aborted = []
        for header, data in self.batches:
            self._learn(header, control.find(data, header))

    def advance_start(self, offset: int, now: int) -> None:
        if offset <= self.start_offset:
            return
        assert offset <= self.end_offset
        self.start_offset = offset
        self.epochs.truncate_start(offset)
        self.emit("log.start", now, start_offset=offset)

    def drop(self, segments: list[object], now: int, reason: str) -> None:
        assert not segments, "there are none"

    def sweep(self, now: int) -> None:
        """Nothing was dropped."""

    # -- crashes -------------------------------------------------------------------------

    def power_cut(self) -> int:
        """Lose what was not flushed. Returns how many offsets that is."""
        was = self.end_offset
        self.epochs.power_cut()
        if self.recovery_point < was:
            self._cut(bisect_left(self._lasts, self.recovery_point), self.recovery_point)
        return was - self.end_offset

    def reopen(self, config: TopicConfig, start_offset: int, now: int) -> None:
        """Open the log as a new process does, which knows only what is on the disk."""
        self.config, self.last_flush = config, now
        end = self.batches[-1].header.next_offset if self.batches else self.first_offset
        self.end_offset = max(end, self.cut_to)
        self.start_offset = max(self.first_offset, start_offset)
        if self.start_offset > self.end_offset:  # all that is left is below the start
            self.restart_at(start_offset, now)
        self.epochs.truncate_end(self.end_offset)
        self.epochs.truncate_start(self.start_offset)
        self._rebuild_producers()


class MemoryFile:
    """A file with a line of text."""

    def __init__(self) -> None:
        self._text = ""

    def exists(self) -> bool:
        return self._text != ""

    def read_text(self) -> str:
        return self._text

    def write_text(self, data: str) -> None:
        self._text = data


class Disk:
    """A log directory; it remains when a process that uses it ends."""

    path = Path()  # there are no files

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, MemoryLog] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}  # as of the last checkpoint
        self.offline: str | None = None
        self.failed: dict[TopicPartition, str] = {}
        self.session = MemoryFile()  # the last process's session with ZooKeeper
        self.emit: Emit = lambda event: None
        self._starts: dict[TopicPartition, int] = {}  # where logs start, as of the last checkpoint

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Nothing to check: no other broker ever uses this disk."""

    def partitions(self, now: int) -> list[TopicPartition]:
        return sorted(self.logs)

    def load(self, config_of: Callable[[str], TopicConfig], now: int) -> None:
        for partition, log in self.logs.items():
            log.reopen(config_of(partition.topic), self._starts.get(partition, 0), now)

    def create(
        self, partition: TopicPartition, config: TopicConfig, now: int, topic_id: UUID | None = None
    ) -> MemoryLog:
        if partition not in self.logs:
            self.logs[partition] = MemoryLog(partition, config, now, self._emit)
        return self.logs[partition]

    def delete(self, partition: TopicPartition, now: int) -> None:
        for known in (self.logs, self.high_watermarks, self._starts):
            known.pop(partition, None)

    def guard(self, now: int) -> AbstractContextManager[None]:
        return UNGUARDED

    def attempt(self, now: int, work: Callable[[], T]) -> T:
        return work()

    def sweep(self, now: int) -> None:
        """There is nothing to delete."""

    def closed_segments(self) -> tuple[()]:
        """A log in memory has no segments."""
        return ()

    def checkpoint(self, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        self._starts = {partition: log.start_offset for partition, log in self.logs.items()}
        if high_watermarks is not None:
            self.high_watermarks = high_watermarks

    def prepare_checkpoint(
        self, high_watermarks: dict[TopicPartition, int] | None = None
    ) -> Callable[[], None]:
        return partial(self.checkpoint, high_watermarks)

    def close(self, now: int, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        for log in self.logs.values():
            log.flush(now)
        self.checkpoint(high_watermarks)

    def power_cut(self) -> int:
        """Lose what was not flushed. Returns how many records that is."""
        return sum(log.power_cut() for log in self.logs.values())

    def _emit(self, event: Event) -> None:
        self.emit(event)
