"""The survey of a partition's directory: may the log be opened? It only reads.

    after an orderly stop, or        the last batch is whole, the indexes are valid; otherwise
    below the recovery point         every batch is read, and its CRC is checked
    above the recovery point,        every batch is read, and its CRC is checked
    after an unclean stop

The result of a fault:

    an index, or the leader epochs, contradict a log that is whole     rebuilt from the log
    a batch has a bad length or CRC above the recovery point,          the log is cut there
    after an unclean stop
    anything else                                                      `LogOffline`

A power failure can only cause the second one: only unflushed bytes can be torn. If the recovery
point is not known, only the last segment counts as unflushed. Other damaged data was whole before,
and whole data that is not understood may be valuable: an older format (magic 0 or 1), a newer one,
unknown attributes. None of that is deleted. The partition stays offline, and its files unchanged,
until a person has decided.

A log may end below its start: records were deleted by DeleteRecords before they were flushed, and
a power failure took the tail. Then it is empty, and begins at its start.

The CRC covers neither offset nor leader epoch, so they are compared with the batches around them.
Two kinds of damage are not noticed: a wrong offset that lies in a gap left by compaction, and a
wrong epoch that lies between those of the batches around it.
"""

import os
import re
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple
from zlib import crc32

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage import checkpoints
from engine.storage.batch import (
    HEADER_SIZE,
    LEAST_LENGTH,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    Header,
    crc_ok,
    unknown,
)
from engine.storage.epochs import Epochs
from engine.storage.files import Buffer
from engine.storage.index import OffsetIndex, TimeIndex
from engine.storage.log import Log
from engine.storage.segment import REACH, Segment, files_of

NEVER = 2**63  # an offset that no log reaches

RESTORE = (
    "Stop the broker, then put the file back from a copy; or, if another replica is in sync, "
    "move the partition's directory away: the broker will copy it from the leader."
)
CONVERT = (
    "This broker reads batches of magic 2 only. Let a Kafka broker that knows this format serve "
    "the directory and copy the topic to a new one, or move the directory away."
)

_OURS = re.compile(
    r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)(\.deleted|\.cleaned|\.swap|\.tmp)?"
    rf"|({re.escape(checkpoints.LEADER_EPOCH)}|{re.escape(checkpoints.PARTITION)})(\.tmp)?"
)


class LogOffline(ApiException):
    """A log that is not opened, and not changed: a person has to decide.

    `place`: position, offset and bytes of the data that is not understood, if they are known.
    """

    def __init__(self, file: Path, reason: str, advice: str = RESTORE, **place: int) -> None:
        super().__init__(ErrorCode.kafka_storage_error, f"{file}: {reason}. {advice}")
        place = {"position": 0, "offset": -1, "bytes": 0} | place
        self.facts = {"file": str(file), **place, "reason": reason, "advice": advice}


class Fault(NamedTuple):
    """The first bytes of a segment that are not a valid batch at this place."""

    segment: Segment
    position: int
    offset: int  # the lowest possible offset there
    reason: str
    torn: bool = False  # its length or its CRC is wrong: an unclean stop can cause that
    advice: str = RESTORE

    def refuse(self, why: str = "") -> LogOffline:
        return LogOffline(
            self.segment.path,
            self.reason + why,
            self.advice,
            position=self.position,
            offset=self.offset,
            bytes=self.segment.size - self.position,
        )


@dataclass
class Survey:
    """A log that may be opened, and the repairs before."""

    leftovers: list[Path] = field(default_factory=list)  # unfinished work, to be removed
    stale: dict[Segment, str] = field(default_factory=dict)  # indexes to be rebuilt, and why
    aborted: dict[Segment, str] = field(default_factory=dict)  # the same, of aborted transactions
    unflushed: list[Segment] = field(default_factory=list)  # to be recovered; all CRCs were checked
    cut: Fault | None = None  # where the torn tail begins, in one of these
    epochs: str = ""  # why the leader epochs are to be rebuilt


class Surveyor:
    """Reads a log from its first segment to its last; a subclass may judge batches otherwise."""

    def __init__(
        self, log: Log, start_offset: int, clean: bool, recovery_point: int | None, now: int
    ) -> None:
        self.found = Survey()
        self._log = log
        self._start_offset = start_offset
        self._clean = clean
        self._recovery_point = recovery_point
        self._now = now
        self._known = Epochs(log.directory)  # the leader epochs in the checkpoint
        self._epoch = NO_EPOCH  # of the last batch that was read
        self._until = 0  # the end of this epoch in the checkpoint

    def survey(self) -> Survey:
        log = self._log
        self._check_names()
        log.segments = self._open()
        self._read_epochs()
        self._read_topic_id()
        unflushed = self._first_unflushed()
        end = self._start_offset
        for number, segment in enumerate(log.segments):
            following = log.segments[number + 1 :]
            limit = following[0].base_offset if following else NEVER
            if number < unflushed:
                fault, end = self._check_quickly(segment, limit)
            else:
                self.found.unflushed.append(segment)
                fault, end = self._read_through(segment, limit)
            if fault is not None:
                self._judge(fault, flushed=number < unflushed, last=not following)
                self.found.cut, end = fault, fault.offset
                self.found.unflushed = log.segments[unflushed:]
                break
        self._check_end(end)
        return self.found

    # -- the files -----------------------------------------------------------------------

    def _check_names(self) -> None:
        """Files with other names are ignored."""
        directory, found = self._log.directory, self.found
        for path in sorted(directory.iterdir()):
            name = _OURS.fullmatch(path.name)
            if name is None:
                continue
            if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
                raise LogOffline(path, "a readable and writable file is expected")
            offset, kind, state = name[1], name[2], name[3] or name[5]
            if offset and int(offset) >= NEVER - REACH:
                raise LogOffline(path, "no log reaches this offset")
            if state in (".deleted", ".cleaned", ".tmp"):
                found.leftovers.append(path)
            elif kind in ("index", "timeindex", "txnindex"):
                beside = path.with_name(f"{offset}.log{state or ''}")
                if state and not (kind == "txnindex" and beside.exists()):
                    found.leftovers.append(path)  # those of a swap are rebuilt
                elif not beside.exists():
                    self._judge_orphan(path, int(offset))

    def _judge_orphan(self, path: Path, offset: int) -> None:
        """An index without its log: it is a leftover, or a flushed log is missing."""
        if path.with_suffix(".log.swap").exists():
            return  # it was renamed before its log: a finished compaction
        flushed = self._clean or offset < (self._recovery_point or 0)
        if flushed and not path.with_suffix(".log.deleted").exists():
            file = path.with_suffix(".log")
            raise LogOffline(file, f"it is missing, but {path.name} is there", offset=offset)
        self.found.leftovers.append(path)

    def _open(self) -> list[Segment]:
        """The segments, with those of finished compactions in place of the old ones."""
        log, now = self._log, self._now
        segments = [log.open_segment(base, now) for base in files_of(log.directory, ".log")]
        for base in files_of(log.directory, ".log.swap"):
            swap = log.open_segment(base, now, suffix=".swap")
            log.segments = [*segments, swap]  # to be closed, whatever happens
            fault, end = self._read_through(swap, NEVER)
            if fault is not None:
                raise fault.refuse(", in a compacted segment, which was flushed")
            replaced = [it for it in segments if base <= it.base_offset < max(end, base + 1)]
            for segment in replaced:
                segment.close()
                segments.remove(segment)
            segments = sorted([*segments, swap], key=lambda segment: segment.base_offset)
            self._epoch, self._until, self.found.epochs = NO_EPOCH, 0, ""
        return segments

    def _read_epochs(self) -> None:
        try:
            if self._known.path.exists():
                self._known.load()
            elif any(segment.size for segment in self._log.segments):
                self.found.epochs = "it is missing"
        except ApiException as error:
            self.found.epochs = error.message

    def _read_topic_id(self) -> None:
        path = self._log.directory / checkpoints.PARTITION
        try:
            self._log.topic_id = checkpoints.read_topic_id(path)
        except ApiException as error:  # the log may belong to another topic
            raise LogOffline(path, error.message) from error

    def _first_unflushed(self) -> int:
        """The number of the first segment that an unclean stop may have torn."""
        if self._clean:
            return len(self._log.segments)
        bases = [segment.base_offset for segment in self._log.segments]
        return max(0, sum(base <= (self._recovery_point or 0) for base in bases) - 1)

    # -- decisions -----------------------------------------------------------------------

    def _judge(self, fault: Fault, *, flushed: bool, last: bool) -> None:
        """Raise `LogOffline` unless an unclean stop can cause the fault."""
        if not fault.torn:
            raise fault.refuse()
        if self._clean:
            raise fault.refuse(", but the last stop was orderly")
        if self._recovery_point is None and not last:
            raise fault.refuse(", and it is not known whether this segment was flushed")
        if flushed or fault.offset < (self._recovery_point or 0):
            raise fault.refuse(f", below the recovery point {self._recovery_point}")

    def _check_end(self, end: int) -> None:
        segments, names, flushed = self._log.segments, [], self._recovery_point
        if end < (flushed or 0):
            names.append(f"recovery point {flushed}")
        was_there = self._clean or flushed is None or self._start_offset <= flushed
        if segments and end < self._start_offset and was_there:
            names.append(f"start {self._start_offset}")
        if names:
            file = segments[-1].path if segments else self._log.directory
            size = segments[-1].size if segments else 0
            reason = f"the log ends at {end}, below its {' and '.join(names)} in the checkpoints"
            raise LogOffline(file, reason, position=size, offset=end)

    # -- a segment that was flushed ------------------------------------------------------

    def _check_quickly(self, segment: Segment, limit: int) -> tuple[Fault | None, int]:
        """Check the indexes and the last batch; if they are wrong, read the whole segment."""
        if segment.path.suffix == ".swap":
            return self._read_through(segment, limit)
        stale, aborted, found = _index_fault(segment), aborted_fault(segment, limit), self.found
        if not (stale or aborted) and segment.size <= REACH:
            first, end = next(segment.headers(), None), segment.end()
            if end[1] == segment.size and end[0] <= limit and (first or not segment.size):
                segment.close_indexes()
                return None, end[0]
        if stale:
            found.stale[segment] = stale
        if aborted:
            found.aborted[segment] = aborted
        return self._read_through(segment, limit)

    # -- every batch ---------------------------------------------------------------------

    def _read_through(self, segment: Segment, limit: int) -> tuple[Fault | None, int]:
        """The first fault, if any, and the offset where the batches before it end."""
        position, offset = 0, segment.base_offset
        if not segment.size:
            return None, offset
        if segment.size > REACH:
            return Fault(segment, 0, offset, f"{segment.size} bytes are too many"), offset
        with mmap(segment.file.fileno(), segment.size, access=ACCESS_READ) as data:
            while position < segment.size:
                advice = RESTORE
                reason, torn = self.torn(data, position), True
                if not reason:
                    reason, torn, advice = unknown(data, position), False, CONVERT
                if not reason:
                    header, advice = Header.parse(data, position), RESTORE
                    reason = self._misplaced(segment, header, offset, limit)
                if reason:
                    return Fault(segment, position, offset, reason, torn, advice), offset
                position, offset = position + header.size, header.next_offset
        return None, offset

    @staticmethod
    def torn(data: Buffer, position: int) -> str:
        """Why the bytes at a position are no whole batch, of any format; nothing if they are."""
        left = len(data) - position
        if left <= MAGIC_AT:
            return f"the last {left} bytes are not a whole batch"
        length, _, magic = unpack_from(">iib", data, position + 8)
        end = position + LOG_OVERHEAD + length
        least = HEADER_SIZE - LOG_OVERHEAD if magic == MAGIC else LEAST_LENGTH
        if not least <= length <= left - LOG_OVERHEAD:
            return f"the last {left} bytes are not a whole batch"
        if magic == MAGIC:
            whole = crc_ok(data, position, Header.parse(data, position))
        elif magic in (0, 1):
            stored = unpack_from(">I", data, position + LOG_OVERHEAD)[0]
            whole = crc32(memoryview(data)[position + MAGIC_AT : end]) == stored
        else:
            whole = True  # who knows where that format has its CRC
        return "" if whole else "its CRC does not match"

    def _misplaced(self, segment: Segment, header: Header, offset: int, limit: int) -> str:
        """What is wrong with the place of a batch, in words; nothing if it is right."""
        first, last, epoch = header.base_offset, header.last_offset, header.leader_epoch
        if first < offset:
            return f"offset {first} comes after {offset - 1}"
        if last < first or last - segment.base_offset > REACH:
            return f"offset {first} to {last} is out of the file's reach"
        if last >= limit:
            return f"it reaches {last}, the next file begins at {limit}"
        if epoch == self._epoch and last < self._until:
            return ""
        if epoch < self._epoch and epoch != NO_EPOCH:
            return f"leader epoch {epoch} comes after {self._epoch}"
        known = self._known.at(last)
        differs = known != epoch or self._known.at(first) not in (NO_EPOCH, epoch)
        if differs and last >= self._start_offset and not self.found.epochs:
            self.found.epochs = f"it has epoch {known} at offset {last}, the log has {epoch}"
        self._epoch = max(epoch, self._epoch)
        self._until = 0 if differs else self._known.end_of(epoch, NEVER)[1]
        return ""


# -- indexes ---------------------------------------------------------------------------------


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
    elif any(header.max_timestamp != NO_TIMESTAMP for _, header in segment.headers()):
        return "the time index has no entry"
    return ""


def aborted_fault(segment: Segment, limit: int) -> str:
    """Why the index of aborted transactions cannot be trusted; nothing if it can."""
    try:
        entries = segment.aborted.entries
    except ApiException as error:
        return error.message
    for entry in entries[:1] + entries[-1:]:
        if not segment.base_offset <= entry.last_offset < limit:
            return f"{segment.aborted.path.name} has {entry}, whose marker is in another segment"
    return ""
