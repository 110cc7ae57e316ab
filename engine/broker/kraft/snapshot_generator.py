"""Snapshots of the committed metadata, from time to time (SnapshotGenerator).

Each node makes its own, from its own image, when the log has many bytes or has waited for long. The
records that a snapshot replaces are deleted with it, and so are older snapshots.
"""

import logging

from engine.broker.kraft.raft_manager import RaftManager
from engine.config.quorum import QuorumKeys
from engine.metadata.records.framing import encode_record
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_files import snapshot_name
from engine.raft.snapshot_records import encode_snapshot

log = logging.getLogger(__name__)


class SnapshotGenerator:
    def __init__(self, config: QuorumKeys, raft: RaftManager, loader: MetadataLoader) -> None:
        self._config, self._raft, self._loader = config, raft, loader
        self._last_ms = raft.now()

    def generate(self, now: int) -> None:
        """Make a snapshot, if it is time."""
        loader, config, image = self._loader, self._config, self._loader.image
        if image.offset < 0 or loader.bytes_since_snapshot == 0:
            return
        interval = config.metadata_log_max_snapshot_interval_ms
        is_long = interval > 0 and now >= self._last_ms + interval
        most = config.metadata_log_max_record_bytes_between_snapshots
        if not is_long and loader.bytes_since_snapshot < most:
            return
        snapshot = OffsetAndEpoch(image.offset + 1, image.epoch)
        values = (encode_record(record) for record in image.records())
        data = encode_snapshot(values, loader.last_contained_ms, now, epoch=image.epoch)
        self._raft.snapshot(snapshot, data)
        self._last_ms, loader.bytes_since_snapshot = now, 0
        log.info("wrote the snapshot %s (%s bytes)", snapshot_name(snapshot), len(data))
