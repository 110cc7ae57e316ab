"""Leader epochs: the first offset of each leader of the partition.

    leader-epoch-checkpoint        epoch 0 -> offset 0
                                   epoch 2 -> offset 1500     (no records of epoch 1)

A follower asks the leader where the last epoch in its own log ended, and truncates its log there.
So replicas agree without comparing bytes (KIP-101). Before, they truncated to the high watermark,
and could lose acknowledged records.

Invariant: epochs and their start offsets both strictly grow.
Invariant: the recovery point passes no batch whose epoch is not on the disk.
"""

from itertools import pairwise
from pathlib import Path

from engine.model import NO_EPOCH
from engine.storage import checkpoints, files


class Epochs:
    """The leader epochs of one log, in memory and in their file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / checkpoints.LEADER_EPOCH
        self.entries: list[tuple[int, int]] = []
        self._flushed = True  # the file is flushed

    def load(self) -> None:
        entries = checkpoints.read_epochs(self.path)
        for before, after in pairwise(entries):
            if not (before[0] < after[0] and before[1] < after[1]):
                raise checkpoints.malformed(self.path, f"{after} comes after {before}")
        self.entries = entries

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """A leader of this epoch writes from this offset on. Contradicting entries are removed."""
        assert epoch >= 0 and start_offset >= 0
        if self.entries and epoch == self.latest and start_offset >= self.entries[-1][1]:
            return
        kept = [known for known in self.entries if known[0] < epoch and known[1] < start_offset]
        self._save([*kept, (epoch, start_offset)])

    def at(self, offset: int) -> int:
        """The epoch in which an offset was written; -1 if it is not known."""
        return next((epoch for epoch, start in reversed(self.entries) if start <= offset), NO_EPOCH)

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int]:
        """The largest known epoch up to the requested one, and the offset where it ended.

        (-1, -1) if the requested one is newer than all known ones. If it is older than all, its
        records are gone, and its end is the start of the oldest known one.
        """
        if epoch == self.latest != NO_EPOCH:
            return epoch, log_end
        younger = [entry for entry in self.entries if entry[0] > epoch]
        if not younger or epoch == NO_EPOCH:
            return NO_EPOCH, -1
        older = [known for known, _ in self.entries if known <= epoch]
        return older[-1] if older else epoch, younger[0][1]

    def truncate_end(self, offset: int) -> None:
        """The log now ends at this offset."""
        if self.entries and self.entries[-1][1] >= offset:
            self._save([entry for entry in self.entries if entry[1] < offset])

    def truncate_start(self, offset: int) -> None:
        """The log now starts at this offset: the epoch it lies in starts there too."""
        epoch, later = self.at(offset), [entry for entry in self.entries if entry[1] > offset]
        kept = [(epoch, offset), *later] if epoch != NO_EPOCH else later
        if kept != self.entries:
            self._save(kept)

    def clear(self) -> None:
        self._save([])

    @property
    def is_flushed(self) -> bool:
        return self._flushed

    def flush(self) -> None:
        """Flush the file; its name is flushed with the directory."""
        if not self._flushed:
            files.flush_path(self.path)
            self._flushed = True

    def _save(self, entries: list[tuple[int, int]]) -> None:
        checkpoints.write_epochs(self.path, entries)
        self.entries, self._flushed = entries, False
