"""Opening a partition's directory: finish what was begun, repair what was torn, find the end.

    *.deleted, *.cleaned, *.tmp half-done work that nobody counts on: removed
    *.swap                      a finished compaction that was not yet put in place: put in place
    .index, .timeindex          missing, of a wrong size, or pointing nowhere: rebuilt from the log
    .txnindex                   torn, or of other offsets than the segment's: rebuilt from the log
    after an unclean stop       every batch from the recovery point on is read and its CRC checked;
                                from the first one that is not whole the log is cut, and the cut
                                is reported with file, offset and bytes

The CRC covers neither offset nor leader epoch, so recovery holds these two against the batches
around them, and the epoch against its checkpoint as well. What no one can tell from a log that
compaction has been at is not cut: a batch whose damaged offset has moved it inside a gap, or, if
it is the very last one, further on. What could be the batch or the checkpoint, an epoch that seems
to begin one batch early or late, is taken for the batch.

Why cutting is right: the tail was never flushed, so never promised to survive on this machine
alone. Replicas are what makes it safe; the leader sends the lost part again.

Invariant: what `load` returns holds only whole batches, in offset order, up to `end_offset`.
"""

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path

from engine.config import TopicConfig
from engine.errors import KafkaError
from engine.model import TopicPartition
from engine.storage import control, files
from engine.storage.batch import (
    MAGIC,
    NO_EPOCH,
    NO_TIMESTAMP,
    Header,
    crc_ok,
    scan,
)
from engine.storage.control import Marker
from engine.storage.epochs import Epochs
from engine.storage.index import OffsetIndex, TimeIndex
from engine.storage.log import Emit, Log
from engine.storage.producers import Producers
from engine.storage.segment import REACH, Segment, Slice, file_name, files_of
from engine.storage.snapshots import first_marker, rebuild_aborted

NEVER = 2**63  # an offset that no log reaches


def load(
    directory: Path,
    partition: TopicPartition,
    config: TopicConfig,
    *,
    now: int,
    clean: bool = False,
    recovery_point: int = 0,
    start_offset: int = 0,
    high_watermark: int | None = None,
    emit: Emit = lambda event: None,
) -> Log:
    """Open a log, or make a new one. `clean`: the broker that had it stopped in good order.

    Of transactions it tells which are open, and which have ended at `high_watermark` or later.
    """
    directory.mkdir(parents=True, exist_ok=True)
    log = Log(directory, partition, config, emit)
    try:
        _load(log, None if clean else recovery_point, start_offset, high_watermark, now)
    except BaseException:
        log.abandon()
        raise
    log.recovery_point = min(max(recovery_point, log.start_offset), log.end_offset)
    log.last_flush = now
    return log


def _load(
    log: Log, recovery_point: int | None, start_offset: int, high_watermark: int | None, now: int
) -> None:
    _finish_unfinished(log, now)
    log.segments = [log.open_segment(base, now) for base in files_of(log.directory, ".log")]
    _load_epochs(log, now)
    doubtful = _doubtful(log, recovery_point, now)
    since = None if high_watermark is None else first_marker(log.segments, high_watermark)
    if doubtful:
        _recover(log, doubtful, since, now)
    if not log.segments:
        log.segments = [log.open_segment(start_offset, now)]
    log.active.open_for_appends(log.config.segment_index_bytes)
    log.end_offset = log.active.end()[0]
    log.start_offset = max(start_offset, log.segments[0].base_offset)
    if log.start_offset > log.end_offset:  # what was left is older than what may be read
        log.restart_at(start_offset, now)
    log.epochs.truncate_end(log.end_offset)
    log.epochs.truncate_start(log.start_offset)
    if not doubtful:
        log.rebuild_producers(log.end_offset, since)


def _finish_unfinished(log: Log, now: int) -> None:
    for pattern in ("*.deleted", "*.cleaned", "*.tmp", "*.index.swap", "*.timeindex.swap"):
        for path in log.directory.glob(pattern):
            files.remove(path)
    for base_offset, path in files_of(log.directory, ".txnindex.swap").items():
        if not path.with_name(file_name(base_offset, ".log.swap")).exists():
            files.remove(path)
    for base_offset in files_of(log.directory, ".log.swap"):
        swap = log.open_segment(base_offset, now, suffix=".swap")
        swap.rebuild_indexes()
        replace_segments(log, swap, _overlapping(log, swap, now), now)
        swap.close()
        log.emit("log.swap.completed", now, base_offset=swap.base_offset)


def _overlapping(log: Log, swap: Segment, now: int) -> list[Segment]:
    """The segments still lying about whose records a finished compaction already holds."""
    bases = files_of(log.directory, ".log")
    end = max(swap.end()[0], swap.base_offset + 1)
    return [log.open_segment(base, now) for base in bases if swap.base_offset <= base < end]


def replace_segments(log: Log, swap: Segment, replaced: list[Segment], now: int) -> None:
    """The last steps of a compaction, in an order that a crash can interrupt anywhere.

    The new segment's data is complete under the name .swap; from that moment on it wins.
    """
    for segment in replaced:
        log.retire(segment, now)
    swap.rename(".swap", "")
    files.flush_path(log.directory)


def _load_epochs(log: Log, now: int) -> None:
    """The epochs from their checkpoint, or, if it is missing or damaged, from the batches."""
    try:
        if log.epochs.path.exists():
            log.epochs.load()
        elif log.size:
            _rebuild_epochs(log, "it is missing", now)
    except KafkaError as error:
        _rebuild_epochs(log, error.message, now)


def _rebuild_epochs(log: Log, reason: str, now: int) -> None:
    log.epochs.clear()
    for _, _, header in log.headers():
        if header.leader_epoch > log.epochs.latest:
            log.epochs.assign(header.leader_epoch, header.base_offset)
    log.emit("log.epochs.rebuilt", now, file=str(log.epochs.path), reason=reason)


def _doubtful(log: Log, recovery_point: int | None, now: int) -> list[Segment]:
    """The segments that must be read through: what was not flushed, or is visibly torn.

    For the others it is enough that their indexes make sense and their last batch is whole.
    """
    for number, segment in enumerate(log.segments):
        rest = log.segments[number + 1 :]
        if recovery_point is not None and (not rest or rest[0].base_offset > recovery_point):
            return log.segments[number:]
        fault = _index_fault(segment)
        if fault:
            segment.rebuild_indexes()
            log.emit("index.rebuilt", now, file=str(segment.path), reason=fault)
        fault = _aborted_fault(segment, rest[0].base_offset if rest else NEVER)
        if fault:
            rebuild_aborted(log.directory, log.segments, segment)
            log.emit("index.rebuilt", now, file=str(segment.path), reason=fault)
        if segment.end()[1] != segment.size:
            return log.segments[number:]
        segment.close_indexes()
    return []


def _index_fault(segment: Segment) -> str:
    """Why the indexes beside a segment cannot be trusted; nothing if they can."""
    entries = (OffsetIndex.ENTRY.size, TimeIndex.ENTRY.size)
    for path, entry in zip(segment.paths[1:], entries, strict=True):
        if not path.exists():
            return f"{path.name} is missing"
        if path.stat().st_size % entry:
            return f"{path.name} is torn"
    for index in (segment.offsets, segment.times):
        if index.count > 1 and index[-1] <= index[0]:
            return f"{index.path.name} has {index[-1]} after {index[0]}"
    if segment.offsets.count:
        offset, position = segment.offsets[-1]
        if not segment.starts_batch(position, offset):
            return f"no batch with offset {offset} starts at position {position}"
    if segment.times.count:
        timestamp, offset = segment.times[-1]
        if not segment.has_newest(timestamp, offset):
            return f"offset {offset} does not have the timestamp {timestamp}"
    elif segment.size and segment.greatest[0] != NO_TIMESTAMP:
        return "the time index has no entry"
    return ""


def _aborted_fault(segment: Segment, limit: int) -> str:
    """Why the index of aborted transactions cannot be trusted; nothing if it can."""
    try:
        entries = segment.aborted.entries
    except KafkaError as error:
        return error.message
    for entry in entries[:1] + entries[-1:]:
        if not segment.base_offset <= entry.last_offset < limit:
            return f"{segment.aborted.path.name} has {entry}, whose marker is in another segment"
    return ""


def _recover(log: Log, doubtful: list[Segment], since: int | None, now: int) -> None:
    """Check every batch of these segments; cut at the first bad one, and drop what follows."""
    log.rebuild_producers(doubtful[0].base_offset, since)
    epochs = _Epochs(log.epochs)
    for number, segment in enumerate(doubtful):
        later = doubtful[number + 1 :]
        segment.forget_aborted()
        check = _Check(segment, later[0] if later else None, epochs, log.producers)
        segment.rebuild_indexes(check)
        if not check.reason:
            if later:
                log.producers.save(log.snapshot_path(later[0].base_offset))
            continue
        _report_cut(log, segment, check.position, check.offset, check.reason, now)
        segment.cut(check.position, check.offset)
        for gone in later:
            _report_cut(log, gone, 0, gone.base_offset, "it follows a file that was cut", now)
            log.segments.remove(gone)
            gone.delete()
        break
    if epochs.damaged:
        _rebuild_epochs(log, "it is unlike the batches", now)


def _report_cut(
    log: Log, segment: Segment, position: int, offset: int, reason: str, now: int
) -> None:
    facts = {"file": str(segment.path), "position": position, "offset": offset}
    log.emit("log.cut", now, **facts, bytes=segment.size - position, reason=reason)


Looked = tuple[Header, str]  # a batch, and what is wrong with its bytes


class _Epochs:
    """What is known of leader epochs: those of the checkpoint, and that of the batch before.

    A batch at odds with the checkpoint is damaged. Two in a row, and it is the checkpoint.
    """

    def __init__(self, known: Epochs) -> None:
        self.damaged = False  # the checkpoint
        self._known = known
        self._epoch = NO_EPOCH  # of the batch before
        self._until = 0  # the checkpoint, too, says that this epoch goes on to here

    def fault(self, header: Header, following: Header | None) -> str:
        epoch = header.leader_epoch
        if epoch == self._epoch and header.last_offset < self._until:
            return ""
        if epoch < self._epoch:
            return f"leader epoch {epoch} after {self._epoch}"
        if not self.damaged and self._differs(header):
            if following is None or not self._differs(following):
                return f"leader epoch {epoch}, unlike the checkpoint's"
            self.damaged = True
        self._epoch = epoch
        self._until = 0 if self.damaged else self._known.end_of(epoch, NEVER)[1]
        return ""

    def _differs(self, header: Header) -> bool:
        return self._known.at(header.last_offset) not in (NO_EPOCH, header.leader_epoch)


class _Check:
    """Walks over the good batches of a segment; afterwards it knows where and why it stopped.

    The CRC covers neither offset nor epoch, so these two are held against their neighbours.
    """

    def __init__(
        self,
        segment: Segment,
        next_segment: Segment | None,
        epochs: _Epochs,
        producers: Producers,
    ) -> None:
        self.position = 0  # where the good part ends in the file
        self.offset = segment.base_offset  # the lowest offset that could come there
        self.reason = ""  # why what lies behind is not good; nothing if nothing does
        self._segment = segment
        self._epochs = epochs
        self._producers = producers
        self._limit = next_segment.base_offset if next_segment else NEVER
        self._next = _first_of(next_segment) if next_segment else None

    def __iter__(self) -> Iterator[tuple[int, Header]]:
        segment = self._segment
        if not segment.size:
            return
        with mmap(segment.file.fileno(), segment.size, access=ACCESS_READ) as data:
            batches = _look_at(data)
            here = next(batches, None)
            while here is not None:
                following = next(batches, self._next)
                header, damage = here
                self.reason = damage or self._fault(header, following)
                if self.reason:
                    return
                yield self.position, header
                self.position, self.offset = self.position + header.size, header.next_offset
                self._learn(header, control.find(data, header, self.position - header.size))
                here = following if following is not self._next else None
        if self.position < segment.size:
            self.reason = f"the last {segment.size - self.position} bytes are not a whole batch"

    def _learn(self, header: Header, marker: Marker | None) -> None:
        aborted = self._producers.apply(header, marker)
        if aborted is not None:
            self._segment.aborted.append(aborted)

    def _fault(self, header: Header, following: Looked | None) -> str:
        """What is wrong with the place of a batch, in words; nothing if it is right."""
        after = following[0] if following and not following[1] else None
        first, last = header.base_offset, header.last_offset
        gap = first - self.offset
        if gap < 0:
            return f"offset {first} comes after {self.offset - 1}"
        if last - self._segment.base_offset > REACH:
            return f"offset {first} is out of the file's reach"
        if last >= self._limit:
            return f"it reaches {last}, the next file begins at {self._limit}"
        if gap and after and last - gap < after.base_offset <= last:
            return f"offset {first} is followed by {after.base_offset}"
        return self._epochs.fault(header, after)


def _first_of(segment: Segment) -> Looked | None:
    for position, header in segment.headers():
        return next(_look_at(Slice(segment.file, position, header.size).read()))
    return None


def _look_at(data: files.Buffer) -> Iterator[Looked]:
    """Each batch with what is wrong with its bytes, in words; nothing if nothing is."""
    for position, header in scan(data):
        if header.magic != MAGIC:
            yield header, f"magic {header.magic} instead of {MAGIC}"
        else:
            yield header, "" if crc_ok(data, position, header) else "its CRC does not match"
