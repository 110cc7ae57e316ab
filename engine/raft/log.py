"""What the quorum asks of a disk: a log with snapshots, and a file for the quorum state.

raft ──> RaftLog, QuorumStateStore <── metadata_log, quorum_state_file: files on a disk
                                   <── a simulator: bytes in memory

Records are opaque: a batch comes in as bytes and goes out as bytes.
"""

from collections.abc import Sequence
from typing import Protocol

from engine.raft.model import ElectionState, OffsetAndEpoch


class RaftLog(Protocol):
    """The log of the quorum on one node. A write is durable after `flush`, a snapshot at once."""

    @property
    def start_offset(self) -> int: ...  # records before it are in a snapshot only
    @property
    def end(self) -> OffsetAndEpoch: ...  # epoch 0: neither a record nor a snapshot
    @property
    def first_snapshot(self) -> OffsetAndEpoch | None: ...  # the oldest one
    @property
    def last_snapshot(self) -> OffsetAndEpoch | None: ...

    @property
    def epochs(self) -> Sequence[tuple[int, int]]: ...  # each, and the offset where it begins

    def append(self, batch: bytes, epoch: int, now: int) -> int:
        """As leader: give the batch its offsets and the epoch. Returns its first offset."""

    def append_copied(self, batches: bytes, now: int) -> None:
        """As follower: append batches as they are."""

    def flush(self, now: int) -> None: ...
    def read(self, offset: int, max_bytes: int) -> bytes: ...

    def end_of(self, epoch: int) -> OffsetAndEpoch:
        """The newest epoch of the log that is not newer than this one, and where it ended."""

    def truncate(self, offset: int, now: int) -> None: ...

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int | None:
        """Its bytes; None if there is no such snapshot."""

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes: ...
    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Bytes of a snapshot that is on its way. At position 0, begin it anew."""

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """It is whole: make it durable, under its name."""

    def restart_after(self, snapshot: OffsetAndEpoch, now: int) -> None:
        """Delete all records: the log begins at the snapshot's end."""

    def delete_before(self, snapshot: OffsetAndEpoch, now: int) -> None:
        """Delete the records and the snapshots that this snapshot replaces."""


class QuorumStateStore(Protocol):
    """The file `quorum-state`."""

    def read(self) -> ElectionState | None: ...

    def write(self, election: ElectionState) -> None:
        """Durable when it returns."""
