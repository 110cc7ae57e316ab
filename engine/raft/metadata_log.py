"""The log of the quorum, made of a log of storage/ and of snapshots beside it.

                      snapshot 80-4                            log end: 97, epoch 6
    deleted records  |  start 80                               |
    0 ........... 79 | 80 epoch 4 ... 85 | 86 epoch 6 ... 96   |

An offset's epoch is that of the record before it. Where no record is left, it is that of the last
snapshot.

Invariant: a log that starts beyond 0 has a snapshot whose end is its start, or after it.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from engine.model import NO_EPOCH
from engine.raft.model import OffsetAndEpoch
from engine.storage.epochs import Epochs


class StoredLog(Protocol):
    """What is used of storage/log.py; the simulator's log in memory has it, too."""

    @property
    def epochs(self) -> Epochs: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...

    @property
    def segments(self) -> Sequence[Any]: ...  # with a `base_offset`; in memory there are none

    def append(self, batch: bytes, epoch: int, now: int, *, client: bool = True) -> Any: ...
    def append_copied(self, data: bytes, now: int) -> int: ...
    def read(self, offset: int, max_bytes: int) -> Any: ...  # with `read()`: the bytes
    def flush(self, now: int) -> None: ...
    def flush_records(self, now: int) -> None: ...  # not the indexes
    def truncate(self, offset: int, now: int) -> None: ...
    def restart_at(self, offset: int, now: int) -> None: ...
    def advance_start(self, offset: int, now: int) -> None: ...
    def drop(self, segments: list[Any], now: int, reason: str) -> None: ...
    def sweep(self, now: int) -> None: ...  # delete what was dropped some time ago


class SnapshotStore(Protocol):
    """Snapshots, by their ids."""

    @property
    def ids(self) -> Sequence[OffsetAndEpoch]: ...  # the oldest first

    def size(self, snapshot: OffsetAndEpoch) -> int: ...
    def read(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes: ...
    def write(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None: ...
    def finish(self, snapshot: OffsetAndEpoch) -> None: ...
    def delete(self, snapshot: OffsetAndEpoch) -> None: ...


class MetadataLog:
    def __init__(self, log: StoredLog, snapshots: SnapshotStore, now: int) -> None:
        """The last snapshot may be ahead of the log: a process died between the last chunk of the
        snapshot and the new start of its log."""
        self._log = log
        self._snapshots = snapshots
        self._flush_first(now)
        last = self.last_snapshot
        end = OffsetAndEpoch(log.end_offset, max(0, log.epochs.latest))
        if last is not None and not end.is_at_least(last):
            self.restart_after(last, now)

    def _flush_first(self, now: int) -> None:
        """A process that was killed may have left records that are in the page cache only. They
        have to be on the disk before a Fetch or a vote tells of them."""
        self._log.flush(now)

    # -- where it begins and ends ----------------------------------------------------------

    @property
    def start_offset(self) -> int:
        return self._log.start_offset

    @property
    def end(self) -> OffsetAndEpoch:
        epoch, last = self._log.epochs.latest, self.last_snapshot
        if epoch == NO_EPOCH:
            epoch = 0 if last is None else last.epoch
        return OffsetAndEpoch(self._log.end_offset, epoch)

    @property
    def epochs(self) -> Sequence[tuple[int, int]]:
        """Each epoch of the log, and the offset where it begins."""
        return self._log.epochs.entries

    def end_of(self, epoch: int) -> OffsetAndEpoch:
        known, offset = self._log.epochs.end_of(epoch, self._log.end_offset)
        if known == NO_EPOCH:
            return self.end
        found, first = OffsetAndEpoch(offset, known), self.first_snapshot
        is_first = first is not None and found == (first.offset, epoch)
        return first if first is not None and is_first else found

    @property
    def first_snapshot(self) -> OffsetAndEpoch | None:
        return next(iter(self._snapshots.ids), None)

    @property
    def last_snapshot(self) -> OffsetAndEpoch | None:
        return next(reversed(self._snapshots.ids), None)

    # -- records ---------------------------------------------------------------------------

    def append(self, batch: bytes, epoch: int, now: int) -> int:
        offset: int = self._log.append(batch, epoch, now, client=False).first_offset
        return offset

    def append_copied(self, batches: bytes, now: int) -> None:
        self._log.append_copied(batches, now)

    def flush(self, now: int) -> None:
        """Flush the records. The indexes are compared with them whenever the log is opened."""
        self._log.flush_records(now)

    def read(self, offset: int, max_bytes: int) -> bytes:
        found: bytes = self._log.read(offset, max_bytes).read()
        return found

    def truncate(self, offset: int, now: int) -> None:
        self._log.truncate(offset, now)

    # -- snapshots -------------------------------------------------------------------------

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int | None:
        return self._snapshots.size(snapshot) if snapshot in self._snapshots.ids else None

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return self._snapshots.read(snapshot, position, max_bytes)

    def write_snapshot(self, snapshot: OffsetAndEpoch, position: int, data: bytes) -> None:
        self._snapshots.write(snapshot, position, data)

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        self._snapshots.finish(snapshot)

    def restart_after(self, snapshot: OffsetAndEpoch, now: int) -> None:
        self._log.restart_at(snapshot.offset, now)
        self._log.epochs.clear()
        self._log.flush(now)
        self._log.sweep(now)
        self._delete_snapshots_before(snapshot)

    def delete_before(self, snapshot: OffsetAndEpoch, now: int) -> None:
        self._log.advance_start(snapshot.offset, now)
        ends = [segment.base_offset for segment in self._log.segments[1:]]
        old = [
            it for it, end in zip(self._log.segments, ends, strict=False) if end <= snapshot.offset
        ]
        self._log.drop(old, now, "snapshot")
        self._log.sweep(now)
        self._delete_snapshots_before(snapshot)

    def _delete_snapshots_before(self, snapshot: OffsetAndEpoch) -> None:
        for old in [known for known in self._snapshots.ids if known.offset < snapshot.offset]:
            self._snapshots.delete(old)
