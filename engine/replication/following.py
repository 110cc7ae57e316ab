"""One partition as its follower works on it: first agree with the leader, then copy.

    TRUNCATING      in which epoch was your last record written, and where did that epoch end?
                    what lies beyond was never committed: cut it off                (KIP-101)
    FETCHING        copy what comes after our log end
    SEEKING_END     our log end is not in the leader's log: is it beyond the leader's end? cut
    SEEKING_START   or before the leader's start? begin anew there
    WAITING         fenced, or the disk is broken: until the controller says something new

A new leader may have neither the records of an epoch that we know nor the epoch itself. Then it
tells of the nearest older one, and both go down in steps until they have met (KIP-279):

    leader   epoch 1 |---------|  epoch 3 |------      asked for 2: "1 ended at 10"
    follower epoch 1 |-------|  epoch 2 |-----         1 ended here at 8: cut to 8, and there
                             8                         both logs are the same

Before KIP-101 (`inter.broker.protocol.version=0.10.2`) a follower was cut to its own high
watermark, which it hears of one fetch late: it could throw away what was committed, or keep what
nobody else had. A lab shows both.

Invariant: nothing is copied before the end of the log is known to be the leader's, too.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from engine.errors import ErrorCode, KafkaError
from engine.replication.logs import Home, Log
from engine.replication.partition import UNKNOWN, Partition
from engine.storage.batch import HEADER_SIZE, NO_EPOCH, Header
from engine.storage.epochs import Epochs

EARLIEST, LATEST = -2, -1  # timestamps that stand for the leader's log start and log end


class Stage(Enum):
    TRUNCATING = "truncating"
    FETCHING = "fetching"
    SEEKING_END = "seeking end"
    SEEKING_START = "seeking start"
    WAITING = "waiting"


class Heard(Enum):
    """What the leader's answer, or our own disk, comes down to."""

    MET = "met"  # both logs are the same up to our end
    NOT_YET = "not yet"  # cut, but there is an older epoch to ask about
    OUT_OF_RANGE = "out of range"
    BEHIND = "behind"  # the leader's end is not before ours
    FENCED = "fenced"
    BROKEN = "broken"


STAGES: Mapping[tuple[Stage, Heard], Stage] = {
    (Stage.TRUNCATING, Heard.MET): Stage.FETCHING,
    (Stage.TRUNCATING, Heard.NOT_YET): Stage.TRUNCATING,
    (Stage.FETCHING, Heard.OUT_OF_RANGE): Stage.SEEKING_END,
    (Stage.SEEKING_END, Heard.MET): Stage.FETCHING,
    (Stage.SEEKING_END, Heard.BEHIND): Stage.SEEKING_START,
    (Stage.SEEKING_START, Heard.MET): Stage.FETCHING,
} | {(stage, heard): Stage.WAITING for stage in Stage for heard in (Heard.FENCED, Heard.BROKEN)}


class Host(NamedTuple):
    """Who is told what happens to the log of a followed partition."""

    truncated: Callable[[Log], None]
    changed: Callable[[Partition], None]  # the high watermark has moved


class Following:
    def __init__(self, role: Partition, log: Log, home: Home, host: Host) -> None:
        self.role = role
        self.log = log
        self.stage = Stage.TRUNCATING
        self.epoch = role.leader_epoch  # of the leader that we talk to
        self.lag: int | None = None  # records that the leader had, and we had not; None: who knows
        self._home = home
        self._host = host
        self._agreed = role.high_watermark  # where to cut if the leader knows no epoch of ours

    def move(self, heard: Heard) -> None:
        self.stage = STAGES[self.stage, heard]

    def check(self, code: ErrorCode) -> None:
        """The error that the leader answered with, if it is one."""
        if code == ErrorCode.fenced_leader_epoch:  # a newer leader has been elected
            self.move(Heard.FENCED)
        if code != ErrorCode.none:
            raise KafkaError(code, f"so says the leader of {self.role.id}")

    @property
    def is_broken(self) -> bool:
        return self._home.offline is not None

    # -- truncating ----------------------------------------------------------------------

    def cut_to_high_watermark(self, now: int) -> None:
        """Without epochs, this is all that a follower can trust."""
        self._cut(self._agreed, now)
        self.move(Heard.MET)

    def told_epoch_end(self, answer: Any, now: int) -> None:
        """The leader's answer to: where did the last epoch that we know end?"""
        self.check(answer.error_code)
        if answer.end_offset == UNKNOWN:
            self.cut_to_high_watermark(now)
            return
        epoch, end, log = answer.leader_epoch, answer.end_offset, self.log
        offset, met = agreement(log.epochs, log.end_offset, epoch, end)
        self._cut(offset, now)
        self._agreed = log.end_offset
        self.move(Heard.MET if met else Heard.NOT_YET)

    def told_offset(self, answer: Any, now: int) -> None:
        """The leader's answer to: where does your log end, or start?"""
        self.check(answer.error_code)
        offset, log = answer.offset, self.log
        if self.stage is Stage.SEEKING_END:
            ahead = offset < log.end_offset  # after an unclean election; records are lost
            if ahead:
                self._cut(offset, now)
            self.move(Heard.MET if ahead else Heard.BEHIND)
            return
        if offset > log.end_offset:  # we were away while the leader deleted what comes next
            self._restart(offset, now)
        self.move(Heard.MET)

    def _cut(self, offset: int, now: int) -> None:
        log, was = self.log, self.log.end_offset
        with self._home.guard(now):
            log.truncate(offset, now)
            log.epochs.truncate_end(log.end_offset)  # of a reign in which we wrote nothing
        if log.end_offset < was:
            self._told_of_cut()

    def _restart(self, offset: int, now: int) -> None:
        with self._home.guard(now):
            self.log.restart_at(offset, now)
            self.log.epochs.clear()
        self._told_of_cut()

    def _told_of_cut(self) -> None:
        log, role = self.log, self.role
        role.high_watermark = max(log.start_offset, min(role.high_watermark, log.end_offset))
        self._host.truncated(log)

    # -- fetching ------------------------------------------------------------------------

    def copy(self, data: Any, now: int) -> int:
        """Store what the leader sent; returns the bytes."""
        if data.error_code == ErrorCode.offset_out_of_range:
            self.move(Heard.OUT_OF_RANGE)
            return 0
        self.check(data.error_code)
        log, role, size = self.log, self.role, len(data.records or b"")
        with self._home.guard(now):
            if size:
                self._append(data.records, now)
            if data.log_start_offset > log.start_offset:
                log.advance_start(min(data.log_start_offset, log.end_offset), now)
        self.lag = max(0, data.high_watermark - log.end_offset)
        was = role.high_watermark
        role.high_watermark = max(log.start_offset, min(data.high_watermark, log.end_offset))
        if role.high_watermark != was:
            self._host.changed(role)
        return size

    def _append(self, records: Any, now: int) -> None:
        log = self.log
        if log.start_offset == log.end_offset and len(records) >= HEADER_SIZE:
            first = Header.parse(records)
            if first.base_offset < log.end_offset <= first.last_offset:
                self._restart(first.base_offset, now)  # the leader's log starts within a batch
        log.append_copied(records, now)


def agreement(epochs: Epochs, log_end: int, epoch: int, end: int) -> tuple[int, bool]:
    """Where to cut, and whether that is all: the leader says that `epoch` ended at `end`."""
    known, ours = epochs.end_of(epoch, log_end)
    if NO_EPOCH in (epoch, known):
        return min(end, log_end), True
    if known != epoch:  # we never heard of that one: ask again about the one that we have
        return min(ours, log_end), False
    return min(ours, end, log_end), True
