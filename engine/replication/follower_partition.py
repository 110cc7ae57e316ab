"""One partition on a follower: first truncate the log to what the leader has, then copy.

    TRUNCATING      ask the leader where the epoch of our last record ended, and remove the records
                    after that offset: they were never committed                    (KIP-101)
    FETCHING        copy the records after our log end
    SEEKING_END     our log end is not in the leader's log: if it is after the leader's, truncate
    SEEKING_START   if it is before the leader's start, begin a new log there
    WAITING         fenced, the disk is broken, or the leader has batches that we cannot read: wait
                    for the controller's next decision

A new leader may not have the epoch in the request. Then it answers with the nearest older one, and
the follower asks again with its own epoch before that, until both have the same one (KIP-279):

    leader   epoch 1 |---------|  epoch 3 |------      asked for 2: "1 ended at 10"
    follower epoch 1 |-------|  epoch 2 |-----         here 1 ended at 8: truncate to 8; up to
                             8                         there both logs are the same

From protocol 2.7 on there is no request for that. Each Fetch says which epoch the last record
before its offset has. If the leader's log has no such record there, it answers with no records, but
with the epoch after which the logs diverge, and where that ended. The follower truncates, and
fetches again.

Before KIP-101 (`inter.broker.protocol.version=0.10.2`) a follower truncated to its own high
watermark, which it gets one fetch late. It could remove committed records, or keep records that no
other replica had. A lab shows both.

Invariant: records are only appended to a log that is a part of the leader's.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.replication.logs import Directory, PartitionLog
from engine.replication.partition import Partition
from engine.storage.batch import HEADER_SIZE, Header
from engine.storage.epochs import Epochs


class Stage(Enum):
    TRUNCATING = "truncating"
    FETCHING = "fetching"
    SEEKING_END = "seeking end"
    SEEKING_START = "seeking start"
    WAITING = "waiting"


class StageChange(Enum):
    """The meaning of an answer from the leader, or of an error of the disk."""

    MET = "met"  # both logs are the same up to our log end
    UNASKED = "unasked"  # the responses to Fetch tell where the logs diverge
    NOT_YET = "not yet"  # truncated, but there is an older epoch to ask for
    OUT_OF_RANGE = "out of range"
    BEHIND = "behind"  # the leader's log end is not before ours
    FENCED = "fenced"
    BROKEN = "broken"


STAGES: Mapping[tuple[Stage, StageChange], Stage] = {
    (Stage.TRUNCATING, StageChange.MET): Stage.FETCHING,
    (Stage.TRUNCATING, StageChange.UNASKED): Stage.FETCHING,
    (Stage.TRUNCATING, StageChange.NOT_YET): Stage.TRUNCATING,
    (Stage.FETCHING, StageChange.OUT_OF_RANGE): Stage.SEEKING_END,
    (Stage.SEEKING_END, StageChange.MET): Stage.FETCHING,
    (Stage.SEEKING_END, StageChange.BEHIND): Stage.SEEKING_START,
    (Stage.SEEKING_START, StageChange.MET): Stage.FETCHING,
} | {
    (stage, change): Stage.WAITING
    for stage in Stage
    for change in (StageChange.FENCED, StageChange.BROKEN)
}


class LogListener(NamedTuple):
    """Functions to call after changes of the log."""

    truncated: Callable[[PartitionLog], None]
    changed: Callable[[Partition], None]  # the high watermark has moved


class FollowerPartition:
    """One partition that this broker follows, under one leader in one epoch."""

    def __init__(
        self, partition: Partition, log: PartitionLog, directory: Directory, listener: LogListener
    ) -> None:
        self.partition = partition
        self.log = log
        self.stage = Stage.TRUNCATING
        self.epoch = partition.leader_epoch  # of the leader that we follow
        self.lag: int | None = None  # how many records are missing here; None: not known
        self._directory = directory
        self._listener = listener
        self._agreed = partition.high_watermark  # where to truncate if no epoch is in both logs

    def move(self, change: StageChange) -> None:
        self.stage = STAGES[self.stage, change]

    def check(self, code: ErrorCode) -> None:
        """Raise the error in the leader's answer, if there is one."""
        if code == ErrorCode.fenced_leader_epoch:  # a newer leader has been elected
            self.move(StageChange.FENCED)
        if code != ErrorCode.none:
            raise ApiException(code, f"in the answer of the leader of {self.partition.id}")

    @property
    def is_broken(self) -> bool:
        return self._directory.offline is not None

    # -- truncating ----------------------------------------------------------------------

    def truncate_to_high_watermark(self, now: int) -> None:
        """Truncate without the leader's help: a log without epochs, or before KIP-101."""
        self._truncate(self._agreed, now)
        self.move(StageChange.MET)

    def epoch_end_received(self, answer: Any, now: int) -> None:
        """The leader's answer to OffsetForLeaderEpoch: where our last epoch ended."""
        self.check(answer.error_code)
        if answer.end_offset < 0:
            self.truncate_to_high_watermark(now)
            return
        met = self._truncate_to_epoch(answer.leader_epoch, answer.end_offset, now)
        self.move(StageChange.MET if met else StageChange.NOT_YET)

    def offset_received(self, answer: Any, now: int) -> None:
        """The leader's answer to ListOffsets: its log end, or its log start."""
        self.check(answer.error_code)
        offset, log = answer.offset, self.log
        if offset < 0:
            raise ApiException(
                ErrorCode.offset_out_of_range, f"{self.partition.id} has no offset {offset}"
            )
        if self.stage is Stage.SEEKING_END:
            ahead = offset < log.end_offset  # after an unclean election, which loses records
            if ahead:
                self._truncate(offset, now)
            self.move(StageChange.MET if ahead else StageChange.BEHIND)
            return
        if offset > log.end_offset:  # the leader has deleted the next records
            self._restart(offset, now)
        self.move(StageChange.MET)

    def _truncate_to_epoch(self, epoch: int, end: int, now: int) -> bool:
        """The leader's `epoch` ended at `end`. Returns whether both logs are the same now."""
        offset, met = agreement(self.log.epochs, self.log.end_offset, epoch, end)
        self._truncate(offset, now)
        self._agreed = self.log.end_offset
        return met

    def _truncate(self, offset: int, now: int) -> None:
        log, was = self.log, self.log.end_offset
        with self._directory.guard(now):
            log.truncate(offset, now)
            log.epochs.truncate_end(log.end_offset)  # also an epoch without records
        if log.end_offset < was:
            self._truncated()

    def _restart(self, offset: int, now: int) -> None:
        with self._directory.guard(now):
            self.log.restart_at(offset, now)
            self.log.epochs.clear()
        self._truncated()

    def _truncated(self) -> None:
        log, partition = self.log, self.partition
        partition.high_watermark = max(
            log.start_offset, min(partition.high_watermark, log.end_offset)
        )
        self._listener.truncated(log)

    # -- fetching ------------------------------------------------------------------------

    def copy(self, data: Any, now: int) -> int:
        """Store the records from the leader. Returns the number of bytes."""
        if data.error_code == ErrorCode.offset_out_of_range:
            self.move(StageChange.OUT_OF_RANGE)
            return 0
        self.check(data.error_code)
        if (diverging := data.diverging_epoch).end_offset >= 0:
            self._truncate_to_epoch(diverging.epoch, diverging.end_offset, now)
            return 0
        log, partition, size = self.log, self.partition, len(data.records or b"")
        with self._directory.guard(now):
            if size:
                self._append(data.records, now)
            if data.log_start_offset > log.start_offset:
                log.advance_start(min(data.log_start_offset, log.end_offset), now)
        self.lag = max(0, data.high_watermark - log.end_offset)
        was = partition.high_watermark
        partition.high_watermark = max(log.start_offset, min(data.high_watermark, log.end_offset))
        if partition.high_watermark != was:
            self._listener.changed(partition)
        return size

    def _append(self, records: Any, now: int) -> None:
        log = self.log
        if log.start_offset == log.end_offset and len(records) >= HEADER_SIZE:
            first = Header.parse(records)
            if first.base_offset < log.end_offset <= first.last_offset:
                self._restart(first.base_offset, now)  # the leader's log starts within a batch
        log.append_copied(records, now)


def agreement(epochs: Epochs, log_end: int, epoch: int, end: int) -> tuple[int, bool]:
    """Where to truncate if `epoch` ended at `end` on the leader; whether that is the last step."""
    known, ours = epochs.end_of(epoch, log_end)
    if NO_EPOCH in (epoch, known):
        return min(end, log_end), True
    if known != epoch:  # that epoch is not in our log: ask for an older one
        return min(ours, log_end), False
    return min(ours, end, log_end), True
