"""The disk of one simulated node: its log, its snapshots, its quorum state.

A killed process loses nothing that it wrote; a power cut loses what was not flushed. The process
may die in the middle of its work: `dies_after` counts the writes until then, and the next one
raises `ProcessDied`. What the invariants read here is what would survive.
"""

from collections.abc import Sequence

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.raft.metadata_log import MetadataLog
from engine.raft.model import ElectionState, OffsetAndEpoch
from engine.sim.disk import MemoryLog

METADATA = TopicPartition("__cluster_metadata", 0)
CONFIG = TopicConfig()


class ProcessDied(Exception):
    """The process was killed between two writes."""


class QuorumDisk:
    def __init__(self) -> None:
        self.log = MemoryLog(METADATA, CONFIG, 0, lambda event: None)
        self.snapshots = MemorySnapshots(self)
        self.election: ElectionState | None = None
        self.dies_after: int | None = None  # writes; None: it does not die

    def open(self, kind: type[MetadataLog], now: int) -> MetadataLog:
        self.dies_after = None
        self.snapshots.parts.clear()
        self.log.reopen(CONFIG, self.log.start_offset, now)
        return kind(DyingLog(self), self.snapshots, now)

    def power_cut(self) -> None:
        self.log.power_cut()

    def writes(self) -> None:
        """Called before each write."""
        if self.dies_after is not None:
            if self.dies_after == 0:
                raise ProcessDied
            self.dies_after -= 1

    # -- the quorum state ------------------------------------------------------------------

    def read(self) -> ElectionState | None:
        return self.election

    def write(self, election: ElectionState) -> None:
        self.writes()
        self.election = election


class DyingLog:
    """A log whose process may die before each write."""

    def __init__(self, disk: QuorumDisk) -> None:
        self._disk = disk
        self.log = disk.log
        self.epochs = disk.log.epochs
        self.segments = disk.log.segments
        self.read = disk.log.read
        self.drop = disk.log.drop
        self.sweep = disk.log.sweep

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    def append(self, batch: bytes, epoch: int, now: int, *, client: bool = True) -> object:
        self._disk.writes()
        return self.log.append(batch, epoch, now, client=client)

    def append_copied(self, data: bytes, now: int) -> int:
        self._disk.writes()
        return self.log.append_copied(data, now)

    def flush(self, now: int) -> None:
        self._disk.writes()
        self.log.flush(now)

    flush_records = flush  # there are no indexes

    def truncate(self, offset: int, now: int) -> None:
        self._disk.writes()
        self.log.truncate(offset, now)

    def restart_at(self, offset: int, now: int) -> None:
        self._disk.writes()
        self.log.restart_at(offset, now)

    def advance_start(self, offset: int, now: int) -> None:
        self._disk.writes()
        self.log.advance_start(offset, now)


class MemorySnapshots:
    """Snapshots that are whole survive; those on their way do not."""

    def __init__(self, disk: QuorumDisk) -> None:
        self.whole: dict[OffsetAndEpoch, bytes] = {}
        self.parts: dict[OffsetAndEpoch, bytes] = {}
        self._disk = disk

    @property
    def ids(self) -> Sequence[OffsetAndEpoch]:
        return sorted(self.whole)

    def size(self, snapshot: OffsetAndEpoch) -> int:
        return len(self.whole[snapshot])

    def read(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return self.whole[snapshot][position : position + max_bytes]

    def write(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        self._disk.writes()
        self.parts[snapshot] = self.parts.get(snapshot, b"")[:position] + data

    def finish(self, snapshot: OffsetAndEpoch) -> None:
        self._disk.writes()
        self.whole[snapshot] = self.parts.pop(snapshot)

    def delete(self, snapshot: OffsetAndEpoch) -> None:
        self._disk.writes()
        del self.whole[snapshot]
