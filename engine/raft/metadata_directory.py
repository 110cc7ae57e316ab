"""The directory `__cluster_metadata-0` of one node: log, snapshots and quorum state.

    00000000000000000000.log, .index, .timeindex   as of any partition
    00000000000000000080-0000000004.checkpoint     a snapshot
    quorum-state                                   epoch, vote, leader
    leader-epoch-checkpoint, partition.metadata    as of any partition

What a file has to say is believed, or the node does not start. A write that a power failure has
torn is cut from the end of the log: it was never flushed, so nobody was told of it. Damage before
the last write is another matter: those records were promised, and a voter that loses them in
silence could help to elect a leader without them.

Invariant: nothing that was whole is removed.
"""

from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.raft.metadata_log import MetadataLog
from engine.raft.quorum_state_file import QuorumStateFile
from engine.raft.snapshot_files import SnapshotFiles
from engine.raft.snapshot_records import damaged
from engine.storage import checkpoints, files
from engine.storage.batch import HEADER_SIZE, LOG_OVERHEAD, Header, crc_ok, scan
from engine.storage.loading import load
from engine.storage.log import Emit, Log

METADATA_PARTITION = TopicPartition("__cluster_metadata", 0)
METADATA_TOPIC_ID = UUID(int=1)
MAX_BATCH_BYTES = 8 * 2**20
CONFIG = TopicConfig(max_message_bytes=MAX_BATCH_BYTES)


class MetadataDirectory:
    def __init__(
        self, log_dir: Path, voters: Iterable[int], now: int, emit: Emit = lambda event: None
    ) -> None:
        self.path = log_dir / str(METADATA_PARTITION)
        if not self.path.is_dir():
            self.path.mkdir(parents=True)
            files.flush_path(log_dir)  # or a power failure may take the new directory, with a vote
        topic_id = self.path / checkpoints.PARTITION
        if checkpoints.read_topic_id(topic_id) is None:
            checkpoints.write_topic_id(topic_id, METADATA_TOPIC_ID)
        self.quorum_state = QuorumStateFile(self.path, voters)
        self.snapshots = SnapshotFiles(self.path)
        refuse_damage(self.path)
        self.segments: Log = load(
            self.path, METADATA_PARTITION, CONFIG, now=now, recovery_point=None, emit=emit
        )
        self._check_start()
        self.log = MetadataLog(self.segments, self.snapshots, now)

    def _check_start(self) -> None:
        start, last = self.segments.start_offset, max(self.snapshots.ids, default=None)
        if start > 0 and (last is None or last.offset < start):
            has = "no snapshot is there" if last is None else f"the last one ends at {last.offset}"
            self.segments.abandon()
            raise ApiException(
                ErrorCode.kafka_storage_error,
                f"{self.path}: the log begins at offset {start}, and the records before it should "
                f"be in a snapshot: {has}",
            )

    def close(self, now: int) -> None:
        self.segments.close(now)


def refuse_damage(directory: Path) -> None:
    """An ApiException if the last segment has damage that no torn write explains: a whole batch
    comes after it."""
    paths = sorted(directory.glob("*.log"))
    if not paths:
        return
    data, end = paths[-1].read_bytes(), 0
    offset = int(paths[-1].stem)
    for position, header in scan(data):
        if not crc_ok(data, position, header):
            break
        end, offset = position + header.size, header.next_offset
    if _whole_batch_after(data, end, offset):
        why = f"the batch at offset {offset} is damaged, and whole batches come after it"
        raise damaged(paths[-1], end, why)


def _whole_batch_after(data: bytes, start: int, offset: int) -> bool:
    """Whether a valid batch with a later offset begins at some byte after this one."""
    for position in range(start + 1, len(data) - HEADER_SIZE + 1):
        header = Header.parse(data, position)
        if (
            header.magic == 2
            and offset < header.base_offset < offset + 2**31
            and HEADER_SIZE - LOG_OVERHEAD <= header.length <= len(data) - position - LOG_OVERHEAD
            and crc_ok(data, position, header)
        ):
            return True
    return False
