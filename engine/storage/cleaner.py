"""The cleaner of a log directory: it chooses the next log to compact, and records the progress.

    cleaner-offset-checkpoint       orders 0 4711        first dirty offset of each log

    | clean: one record a key | dirty                | too young, or undecided   | active |
    log start                 first dirty            end                            log end

A log is due when the dirty part is more than min.cleanable.dirty.ratio of the bytes that could be
cleaned, or has waited for longer than max.compaction.lag.ms: every round rewrites the clean part
too. The dirtiest log is cleaned first, one log at a time.

Invariant: the records before the first dirty offset were in the map of some round. So `truncated`
must be called when the end of a log is removed. Otherwise later records would be taken for clean,
and a tombstone could be removed while older values of its key are still there.
"""

from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.storage import checkpoints
from engine.storage.compaction import Compaction, LogChanged
from engine.storage.log import Emit, Log
from engine.storage.segment import Segment


class Work(NamedTuple):
    """A log that is due."""

    log: Log
    start: int  # first dirty offset
    end: int  # base of the first segment that may not be cleaned
    dirty: float  # its bytes, as a share of all that would be rewritten


class Cleaner:
    def __init__(self, path: Path, memory: int, now: int, emit: Emit = lambda event: None) -> None:
        self.path = path / checkpoints.CLEANER
        self.memory = memory  # bytes for the map of a round: log.cleaner.dedupe.buffer.size
        self.uncleanable: set[TopicPartition] = set()  # damaged: skipped until a restart
        self.first_dirty: dict[TopicPartition, int] = {}
        try:
            self.first_dirty = checkpoints.read_offsets(self.path)
        except ApiException as error:  # then everything is dirty
            facts = {"file": self.path.name, "reason": error.message}
            emit(Event("checkpoint.damaged", now, facts))

    # -- choose --------------------------------------------------------------------------

    def choose(self, logs: Iterable[tuple[Log, int]], now: int) -> Work | None:
        """The dirtiest log that is due. Each comes with its last stable offset.

        From that offset on, records may still be truncated or aborted, so none of them may
        replace another.
        """
        due = [
            work
            for log, up_to in logs
            if "compact" in log.config.cleanup_policy and log.partition not in self.uncleanable
            for work in self._due(log, now, up_to)
        ]
        return max(due, key=lambda work: work.dirty, default=None)

    def _due(self, log: Log, now: int, up_to: int) -> Iterator[Work]:
        config, start = log.config, self._start(log)
        lag = config.min_compaction_lag_ms
        end, clean, dirty, oldest = start, 0, 0, now
        for segment, following in pairwise(log.segments):
            if following.base_offset <= start:
                clean += segment.size
            elif following.base_offset > up_to or _is_young(segment, now, lag):
                break
            else:
                end, dirty = following.base_offset, dirty + segment.size
                if segment.first_timestamp is not None and segment.first_timestamp >= 0:
                    oldest = min(oldest, segment.first_timestamp)
        overdue = now - oldest > config.max_compaction_lag_ms
        if dirty and (overdue or dirty / (clean + dirty) > config.min_cleanable_dirty_ratio):
            yield Work(log, start, end, dirty / (clean + dirty))

    def _start(self, log: Log) -> int:
        """The first dirty offset; the log's start if it is not known, or not in the log."""
        start = self.first_dirty.get(log.partition, log.start_offset)
        if not log.start_offset <= start <= log.end_offset:
            start = log.start_offset
            self._note(log.partition, start)
        return start

    # -- clean ---------------------------------------------------------------------------

    def clean(self, work: Work, now: int) -> Generator[None, None, None]:
        """Compact a log, with a few milliseconds between two yields; it may be closed early."""
        log = work.log
        try:
            compaction = Compaction(log, work.start, work.end, self.memory, now)
            yield from compaction.run()
        except LogChanged as change:
            log.emit("log.cleaning.aborted", now, reason=str(change))
            return
        except ApiException as error:
            if error.code is ErrorCode.kafka_storage_error:
                raise
            self.uncleanable.add(log.partition)
            log.emit("log.uncleanable", now, reason=error.message)
            return
        self._note(log.partition, compaction.end)
        log.emit(
            "log.cleaned",
            now,
            start=work.start,
            end=compaction.end,
            bytes_before=compaction.bytes_before,
            bytes_after=compaction.bytes_after,
            records_kept=compaction.kept,
            records_dropped=compaction.dropped,
        )

    # -- first dirty offsets -------------------------------------------------------------

    def truncated(self, log: Log) -> None:
        """The end of a log was removed: new records after it are dirty."""
        if self.first_dirty.get(log.partition, 0) > log.end_offset:
            self._note(log.partition, log.end_offset)

    def forget(self, partition: TopicPartition) -> None:
        """The log was deleted; a new one may get its name."""
        self.uncleanable.discard(partition)
        if self.first_dirty.pop(partition, None) is not None:
            checkpoints.write_offsets(self.path, self.first_dirty)

    def _note(self, partition: TopicPartition, offset: int) -> None:
        self.first_dirty[partition] = offset
        checkpoints.write_offsets(self.path, self.first_dirty)


def _is_young(segment: Segment, now: int, lag: int) -> bool:
    """Whether a record in it may be younger than min.compaction.lag.ms."""
    newest = segment.greatest[0] if segment.greatest[0] >= 0 else segment.modified
    return lag > 0 and newest > now - lag
