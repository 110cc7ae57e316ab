"""Makes the image of the metadata from the committed records of one node (MetadataLoader).

    the mark is beyond new records ──> read, decode, replay ──> MetadataImage, its offset and epoch
    the log begins beyond the image ──> read the last snapshot ──> another image, to go on from

A follower that was far behind gets a snapshot in place of records. The new image then takes over
what the one before had as changed: nobody has told what happened in between.

Invariant: the image is the replay of all records up to its offset, and these are committed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.metadata.image import MetadataImage
from engine.metadata.records.framing import decode_record
from engine.raft.log import RaftLog
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_files import snapshot_name
from engine.raft.snapshot_records import decode_snapshot
from engine.storage.batch import scan
from engine.storage.records import stream

READ_BYTES = 8 * 2**20

Watch = Callable[[MetadataImage, Any], None]  # the image, and the record that is applied next


class MetadataLoader:
    def __init__(self, log: RaftLog, watch: Watch = lambda image, record: None) -> None:
        self.image = MetadataImage()
        self.bytes_since_snapshot = 0  # of records that are in no snapshot
        self.last_contained_ms = 0  # the time of the newest record in the image
        self._log, self._watch = log, watch

    def committed(self, offset: int) -> None:
        """Apply the records before this offset that are not in the image."""
        last = self._log.last_snapshot
        if last is not None and self._next < self._log.start_offset:
            self._load(last)
        while self._next < offset:
            data = self._log.read(self._next, READ_BYTES)
            assert data, "a committed record is missing"
            for position, header in scan(data):
                if header.next_offset > offset:
                    return
                batch = data[position : position + header.size]
                if not header.is_control:
                    self._replay(batch)
                image = self.image
                image.offset, image.epoch = header.next_offset - 1, header.leader_epoch
                self.last_contained_ms = header.max_timestamp
                self.bytes_since_snapshot += header.size

    @property
    def _next(self) -> int:
        return self.image.offset + 1

    def _replay(self, batch: bytes) -> None:
        for record in stream(batch):
            found = decode_record(record.value, record.offset).record
            self._watch(self.image, found)
            self.image.replay(found)

    def _load(self, snapshot: OffsetAndEpoch) -> None:
        size = self._log.snapshot_size(snapshot)
        assert size is not None, "the last snapshot is missing"
        data = self._log.read_snapshot(snapshot, 0, size)
        content = decode_snapshot(data, Path(snapshot_name(snapshot)))
        image = MetadataImage()
        for record in content.records:
            image.replay(decode_record(record.value, record.offset).record)
        image.succeed(self.image)
        image.offset, image.epoch = snapshot.offset - 1, snapshot.epoch
        self.image, self.last_contained_ms = image, content.last_contained_ms
        self.bytes_since_snapshot = 0
