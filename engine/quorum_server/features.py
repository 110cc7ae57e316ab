"""The features of the cluster that are finalized: what the committed records say.

    FeatureLevel "metadata.version" 7      at offset 1, committed when the mark is beyond it

A controller tells them in ApiVersions, so that brokers and tools know which versions to use. The
records before the start of the log are in a snapshot.
"""

from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import decode_record
from engine.raft.log import RaftLog
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_files import SnapshotFiles
from engine.storage.batch import scan
from engine.storage.records import Record, stream

READ_BYTES = 8 * 2**20


class FinalizedFeatures:
    def __init__(self, log: RaftLog, snapshots: SnapshotFiles) -> None:
        self.levels: dict[str, int] = {}
        self.epoch = -1  # the offset up to which the levels hold; -1: no record is known
        self._log, self._snapshots = log, snapshots
        self._next = 0  # the first offset that has not been read

    def committed(self, offset: int) -> None:
        """Read the records before this offset that have not been read."""
        last = self._log.last_snapshot
        if last is not None and self._next < self._log.start_offset:
            self._load(last)
        while self._next < offset:
            data = self._log.read(self._next, READ_BYTES)
            assert data, "a committed record is missing"
            for position, header in scan(data):
                if header.next_offset > offset:
                    return
                if not header.is_control:
                    for record in stream(data[position : position + header.size]):
                        self._replay(record)
                self._next = header.next_offset
                self.epoch = self._next - 1

    def _load(self, snapshot: OffsetAndEpoch) -> None:
        self.levels.clear()
        for record in self._snapshots.content(snapshot).records:
            self._replay(record)
        self._next, self.epoch = snapshot.offset, snapshot.offset - 1

    def _replay(self, record: Record) -> None:
        found = decode_record(record.value, record.offset).record
        if isinstance(found, FeatureLevelRecord):
            if found.feature_level == 0:
                self.levels.pop(found.name, None)
            else:
                self.levels[found.name] = found.feature_level
