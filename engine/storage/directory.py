"""A log directory: all the partitions that one broker keeps on one disk.

    data/
      .lock                              held while a broker uses the directory
      .kafka_cleanshutdown               the last broker stopped in good order: no recovery needed
      meta.properties                    whose directory this is
      recovery-point-offset-checkpoint   up to where each log was flushed
      log-start-offset-checkpoint        where each log starts, if not at its first segment
      replication-offset-checkpoint      each replica's high watermark
      orders-0/  orders-1/  ...          one log each
      old-0.d5b7...-delete/              a deleted one, removed a little later

An I/O error takes the whole directory offline, as a broken disk would be: its partitions answer
KAFKA_STORAGE_ERROR, and the partitions of other directories go on.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

from engine.config import TopicConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.storage import checkpoints, files
from engine.storage.loading import load
from engine.storage.log import Emit, Log

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
DELETED = "-delete"

_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9][0-9]*)")


class LogDirectory:
    def __init__(self, path: Path, emit: Emit = lambda event: None) -> None:
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}  # as of the last checkpoint
        self.offline: str | None = None  # why the directory is not usable any more
        self.doomed: list[tuple[int, Path, Log]] = []  # (when to delete, renamed directory, log)
        self._written: dict[str, dict[TopicPartition, int]] = {}  # what each checkpoint says
        self._emit = emit
        path.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()

    # -- opening -------------------------------------------------------------------------

    def _take_lock(self) -> int:
        fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(fd)
            raise KafkaError(
                ErrorCode.kafka_storage_error,
                f"Failed to acquire lock on file .lock in {self.path}. "
                "A Kafka instance in another process or thread is using this directory.",
            ) from error
        return fd

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Refuse a directory that belongs to another broker or cluster; sign a new one."""
        path = self.path / checkpoints.META
        owner = checkpoints.read_meta(path)
        if owner is None:
            checkpoints.write_meta(path, broker_id, cluster_id)
            return
        stored_id, stored_cluster = owner
        if stored_cluster != cluster_id:
            raise KafkaError(
                ErrorCode.inconsistent_cluster_id,
                f"The Cluster ID {cluster_id} doesn't match stored clusterId {stored_cluster} in "
                f"{path}. The broker is trying to join the wrong cluster. "
                "Configured zookeeper.connect may be wrong.",
            )
        if stored_id != broker_id:
            raise KafkaError(
                ErrorCode.invalid_config,
                f"Configured broker.id {broker_id} doesn't match stored broker.id {stored_id} in "
                f"{path}. If you moved your data, make sure your configured broker.id matches. "
                "If you intend to create a new broker, you should use an empty data directory.",
            )

    def load(self, config_of: Callable[[str], TopicConfig], now: int) -> None:
        """Open every log; `config_of` gives a topic's configuration."""
        marker = self.path / CLEAN_SHUTDOWN
        clean = marker.exists()
        recovery_points = self._checkpoint(checkpoints.RECOVERY_POINT, now)
        starts = self._checkpoint(checkpoints.LOG_START, now)
        self.high_watermarks = self._checkpoint(checkpoints.HIGH_WATERMARK, now)
        for path in sorted(path for path in self.path.iterdir() if path.is_dir()):
            if path.name.endswith(DELETED):
                shutil.rmtree(path)
                continue
            partition = parse_name(path.name)
            if partition is None:
                self._report("directory.foreign", now, directory=str(path))
                continue
            self.logs[partition] = load(
                path,
                partition,
                config_of(partition.topic),
                now=now,
                clean=clean,
                recovery_point=recovery_points.get(partition, 0),
                start_offset=starts.get(partition, 0),
                high_watermark=self.high_watermarks.get(partition, 0),
                emit=self._emit,
            )
        files.remove(marker)
        files.flush_path(self.path)  # after a power cut, too, it must be gone

    def _checkpoint(self, name: str, now: int) -> dict[TopicPartition, int]:
        """A checkpoint's offsets. A damaged one only costs time: everything is checked again."""
        try:
            return checkpoints.read_offsets(self.path / name)
        except KafkaError as error:
            self._report("checkpoint.damaged", now, file=name, reason=error.message)
            return {}

    # -- partitions ----------------------------------------------------------------------

    def create(
        self, partition: TopicPartition, config: TopicConfig, now: int, topic_id: UUID | None = None
    ) -> Log:
        """The log of a partition, made if it is not there yet."""
        if partition not in self.logs:
            directory = self.path / str(partition)
            self.logs[partition] = load(directory, partition, config, now=now, emit=self._emit)
            if topic_id is not None:
                checkpoints.write_topic_id(directory / checkpoints.PARTITION, topic_id)
        return self.logs[partition]

    def delete(self, partition: TopicPartition, now: int) -> None:
        """Take a partition away: renamed at once, so that a new one may have its name."""
        log = self.logs.pop(partition)
        self.high_watermarks.pop(partition, None)
        unique = f".{uuid4().hex}{DELETED}"
        renamed = self.path / f"{str(partition)[: 255 - len(unique)]}{unique}"
        files.rename(log.directory, renamed)
        self.doomed.append((now + log.config.file_delete_delay_ms, renamed, log))

    def sweep(self, now: int) -> None:
        """Delete what was retired and whose delay is over."""
        for log in self.logs.values():
            log.sweep(now)
        for due, path, log in self.doomed:
            if due <= now:
                log.abandon()
                shutil.rmtree(path)
        self.doomed = [item for item in self.doomed if item[0] > now]

    def checkpoint(self, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        """Write down how far each log is flushed and where it starts, if that has changed."""
        logs = self.logs.items()
        self._write(checkpoints.RECOVERY_POINT, {tp: log.recovery_point for tp, log in logs})
        starts = {
            partition: log.start_offset
            for partition, log in logs
            if log.start_offset > log.segments[0].base_offset
        }
        self._write(checkpoints.LOG_START, starts)
        if high_watermarks is not None:
            self.high_watermarks = high_watermarks
            self._write(checkpoints.HIGH_WATERMARK, high_watermarks)

    def _write(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        if self._written.get(name) != offsets:
            checkpoints.write_offsets(self.path / name, offsets)
            self._written[name] = offsets

    # -- failing and closing -------------------------------------------------------------

    @contextmanager
    def guard(self, now: int) -> Iterator[None]:
        """Around whatever touches the disk: an I/O error takes the directory offline."""
        if self.offline is not None:
            raise KafkaError(
                ErrorCode.kafka_storage_error, f"{self.path} is offline: {self.offline}"
            )
        try:
            yield
        except (OSError, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code != ErrorCode.kafka_storage_error:
                raise
            self.offline = str(error)
            self._report("directory.offline", now, directory=str(self.path), reason=str(error))
            raise KafkaError(ErrorCode.kafka_storage_error, str(error)) from error

    @contextmanager
    def attempt(self, now: int) -> Iterator[None]:
        """The same for work that nobody waits for: if the disk fails, that was reported."""
        try:
            with self.guard(now):
                yield
        except KafkaError:
            if self.offline is None:
                raise

    def close(self, now: int, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        """An orderly end: the next start needs no recovery."""
        if self.offline is None:
            with self.attempt(now):
                for log in self.logs.values():
                    log.close(now)
                self.checkpoint(high_watermarks)
                files.write(self.path / CLEAN_SHUTDOWN, b"")
        self.abandon()

    def abandon(self) -> None:
        """Let go of the directory as it is; the next start will look for damage."""
        for log in [*self.logs.values(), *(log for _, _, log in self.doomed)]:
            log.abandon()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _report(self, kind: str, now: int, **facts: object) -> None:
        self._emit(Event(kind, now, facts))


def parse_name(name: str) -> TopicPartition | None:
    """The partition that a directory's name stands for; None if it is no partition's."""
    match = _PARTITION.fullmatch(name)
    return TopicPartition(match[1], int(match[2])) if match else None
