"""A log directory: the partitions of one broker on one disk.

    data/
      .lock                              held while a broker uses the directory
      .kafka_cleanshutdown               an orderly stop: no recovery is needed
      meta.properties                    the broker and the cluster that own it
      recovery-point-offset-checkpoint   up to which offset each log was flushed
      log-start-offset-checkpoint        the start of each log, if not its first segment
      replication-offset-checkpoint      each replica's high watermark
      orders-0/  orders-1/  ...          one log each
      __cluster_metadata-0/              without ZooKeeper: see raft/metadata_directory.py
      old-0.d5b7...-delete/              a deleted one, removed a little later

An I/O error takes the whole directory offline, like a broken disk: requests for its partitions get
KAFKA_STORAGE_ERROR, and other directories continue. That is so at any time: also if the directory
cannot be made, locked or listed, or if its meta.properties cannot be read, when the broker starts.
A directory that another process has locked is no broken disk: then the broker does not start.

A fault in one partition (see survey.py), or an error while its log is opened, takes only that
partition offline: its files and its lines in the checkpoints are not changed.
"""

import fcntl
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar
from uuid import UUID, uuid4

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode, invalid_config
from engine.model import Event, TopicPartition
from engine.storage import checkpoints, files
from engine.storage.closed import ClosedSegments
from engine.storage.loading import load
from engine.storage.log import Emit, Log
from engine.storage.partition_name import METADATA, parse_name
from engine.storage.survey import LogOffline

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
DELETED = "-delete"
OFFLINE = "directory.offline"  # the event of a directory that has failed
ALL = 2**63 - 1  # the recovery point of a log that is offline: all of it was flushed

T = TypeVar("T")

_DELETED = re.compile(r"[a-zA-Z0-9._-]+\.[0-9a-f]{32}-delete")


class LogDirectory:
    def __init__(self, path: Path, emit: Emit = lambda event: None, now: int = 0) -> None:
        """Make the directory if there is none, and lock it."""
        self.path = path
        self.logs: dict[TopicPartition, Log] = {}
        self.failed: dict[TopicPartition, str] = {}  # partitions that are offline, and why
        self.high_watermarks: dict[TopicPartition, int] = {}  # as of the last checkpoint
        self.offline: str | None = None  # why the directory is not usable any more
        # (when to delete, renamed directory, log)
        self.deleted_logs: list[tuple[int, Path, Log]] = []
        self._written: dict[str, dict[TopicPartition, int]] = {}  # the offsets in each checkpoint
        self._taken: dict[str, int] = {}  # which state of the directory that was: 1, 2, ...
        self._states = 0
        self._writing = Lock()
        self._found: dict[str, dict[TopicPartition, int]] = {}  # the offsets in each at the start
        self._emit = emit
        self._lock = -1  # a file descriptor
        self.attempt(now, self._take_lock)

    # -- opening -------------------------------------------------------------------------

    def _take_lock(self) -> None:
        self._lock = lock_directory(self.path)

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Refuse a directory of another broker or cluster; write the ids into a new one."""
        path = self.path / checkpoints.META
        owner = checkpoints.read_meta(path)
        if owner is None:
            checkpoints.write_meta(path, broker_id, cluster_id)
            return
        stored_id, stored_cluster = owner
        if stored_cluster != cluster_id:
            raise ApiException(
                ErrorCode.inconsistent_cluster_id,
                f"The Cluster ID {cluster_id} doesn't match stored clusterId {stored_cluster} in "
                f"{path}. The broker is trying to join the wrong cluster. "
                "Configured zookeeper.connect may be wrong.",
            )
        if stored_id != broker_id:
            raise invalid_config(
                f"Configured broker.id {broker_id} doesn't match stored broker.id {stored_id} in "
                f"{path}. If you moved your data, make sure your configured broker.id matches. "
                "If you intend to create a new broker, you should use an empty data directory."
            )

    def partitions(self, now: int) -> list[TopicPartition]:
        """The partitions that have a directory here; none if the disk has failed."""
        names = self.attempt(now, lambda: os.listdir(self.path)) or []
        return sorted(filter(None, map(parse_name, names)))

    def load(self, config_of: Callable[[str], TopicConfig], now: int) -> None:
        """Open every log; `config_of` gives a topic's configuration."""
        marker = self.path / CLEAN_SHUTDOWN
        clean = marker.is_file()
        kinds = (checkpoints.RECOVERY_POINT, checkpoints.LOG_START, checkpoints.HIGH_WATERMARK)
        self._found = {name: self._checkpoint(name, now) for name in kinds}
        flushed, starts, self.high_watermarks = self._found.values()
        for path in sorted(self.path.iterdir()):
            partition = parse_name(path.name)
            if partition is None:
                self._tidy(path, now)
                continue
            try:
                known = flushed.get(partition)
                log = load(
                    path,
                    partition,
                    config_of(partition.topic),
                    now=now,
                    clean=clean or known == ALL,
                    recovery_point=None if known == ALL else known,
                    start_offset=starts.get(partition, 0),
                    high_watermark=self.high_watermarks.get(partition, 0),
                    emit=self._emit,
                )
            except (OSError, ApiException) as error:
                self._fail(partition, error, now)
                if clean:  # so it counts as flushed at the next start, too
                    flushed.setdefault(partition, ALL)
            else:
                self._add(log)
        if clean:
            files.remove(marker)
        files.flush_path(self.path)  # so that the marker is gone after a power cut, too

    def _tidy(self, path: Path, now: int) -> None:
        """A directory that is not a partition's: remove a deleted one, keep any other."""
        if path.is_dir() and path.name != METADATA:
            if _DELETED.fullmatch(path.name) and files.remove_tree(path):
                return
            self._report("directory.foreign", now, directory=str(path))

    def _add(self, log: Log) -> None:
        self.logs[log.partition] = log
        log.lowered = self.checkpoint

    def _fail(self, partition: TopicPartition, error: Exception, now: int) -> None:
        """Take one partition offline; its files are not changed before the next start."""
        self.failed[partition] = str(error)
        file = {"file": str(self.path / str(partition)), "reason": str(error)}
        facts = error.facts if isinstance(error, LogOffline) else file
        self._report("partition.offline", now, **partition._asdict(), **facts)

    def _checkpoint(self, name: str, now: int) -> dict[TopicPartition, int]:
        """A checkpoint's offsets; none if it is damaged. That costs time, but no record: all
        batches are checked, and only the last segment of a log may be cut."""
        try:
            return checkpoints.read_offsets(self.path / name)
        except ApiException as error:
            self._report("checkpoint.damaged", now, file=name, reason=error.message)
            return {}

    # -- partitions ----------------------------------------------------------------------

    def create(
        self, partition: TopicPartition, config: TopicConfig, now: int, topic_id: UUID | None = None
    ) -> Log:
        """The log of a partition: a new one if there is none yet. A deleted one of its name leaves
        it no lines in the checkpoints: they would tell the next start of other records."""
        if partition not in self.logs:
            lines = (self._found | self._written).values()
            if any(partition in offsets for offsets in lines):
                self.checkpoint(self.high_watermarks)
            directory = self.path / str(partition)
            try:
                log = load(directory, partition, config, now=now, clean=True, emit=self._emit)
            except LogOffline as error:  # there are foreign files
                self._fail(partition, error, now)
                raise
            self._add(log)
        log = self.logs[partition]
        if topic_id is not None and log.topic_id is None:
            log.assign_topic_id(topic_id)
        if topic_id is not None and log.topic_id != topic_id:
            raise ApiException(
                ErrorCode.inconsistent_topic_id,
                f"{log.directory} has the log of topic id {log.topic_id}, not {topic_id}",
            )
        return log

    def delete(self, partition: TopicPartition, now: int) -> None:
        """Delete a partition: it is renamed at once, so that a new one may have its name."""
        log = self.logs.pop(partition)
        log.is_deleted = True
        self.high_watermarks.pop(partition, None)
        unique = f".{uuid4().hex}{DELETED}"
        renamed = self.path / f"{str(partition)[: 255 - len(unique)]}{unique}"
        files.rename(log.directory, renamed)
        self.deleted_logs.append((now + log.config.file_delete_delay_ms, renamed, log))

    def sweep(self, now: int) -> None:
        """Remove the deleted partitions whose delay is over."""
        for log in self.logs.values():
            log.sweep(now)
        for due, path, log in self.deleted_logs:
            if due <= now:
                log.abandon()
                files.remove_tree(path)
        self.deleted_logs = [item for item in self.deleted_logs if item[0] > now]

    def closed_segments(self) -> list[ClosedSegments]:
        """Those that were not flushed yet, of each log."""
        logs = self.logs.values()
        return [ClosedSegments(it) for it in logs if it.recovery_point < it.active.base_offset]

    def checkpoint(self, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        """Write the recovery point and the start of each log, if they have changed."""
        self.prepare_checkpoint(high_watermarks)()

    def prepare_checkpoint(
        self, high_watermarks: dict[TopicPartition, int] | None = None
    ) -> Callable[[], None]:
        """Take the state of this moment. What is returned writes it, also later and in another
        thread, and leaves what a later checkpoint has written."""
        logs = self.logs.items()
        state = {
            checkpoints.RECOVERY_POINT: {tp: log.recovery_point for tp, log in logs},
            checkpoints.LOG_START: {
                partition: log.start_offset
                for partition, log in logs
                if log.start_offset > log.segments[0].base_offset
            },
        }
        if high_watermarks is not None:
            self.high_watermarks = high_watermarks
            state[checkpoints.HIGH_WATERMARK] = high_watermarks
        for name, offsets in state.items():  # lines of partitions that are offline are not changed
            found = self._found.get(name, {})
            state[name] = {it: found[it] for it in self.failed if it in found} | offsets
        self._states += 1
        return partial(self._write, self._states, state)

    def _write(self, number: int, state: Mapping[str, dict[TopicPartition, int]]) -> None:
        """Write the files of a state, unless a later one is there. A directory in the place of a
        file was reported at the start."""
        with self._writing:
            for name, offsets in state.items() if self._lock >= 0 else ():
                path = self.path / name
                if number < self._taken.get(name, 0) or path.is_dir():
                    continue
                if self._written.get(name) != offsets:
                    checkpoints.write_offsets(path, offsets)
                    self._written[name] = offsets
                self._taken[name] = number

    # -- failing and closing -------------------------------------------------------------

    def guard(self, now: int) -> "DiskGuard":
        """In this block an I/O error takes the directory offline."""
        return DiskGuard(self, now)

    def fail(self, now: int, reason: str) -> None:
        """Take the directory offline: this disk is not used any more."""
        self.offline = reason
        self._report(OFFLINE, now, directory=str(self.path), reason=reason)

    def attempt(self, now: int, work: Callable[[], T]) -> T | None:
        """Do something on this disk; nothing if it is offline. A disk that fails meanwhile goes
        offline and is reported, and the caller gets None, not an error."""
        try:
            with self.guard(now):
                return work()
        except ApiException:
            if self.offline is None:
                raise
        return None

    def close(self, now: int, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        """An orderly stop: the next start needs no recovery."""
        self.attempt(now, partial(self._finish, now, high_watermarks))
        self.abandon()

    def _finish(self, now: int, high_watermarks: dict[TopicPartition, int] | None) -> None:
        for log in self.logs.values():
            log.close(now)
        self.checkpoint(high_watermarks)
        if not self.failed:  # else what is damaged would count as flushed, and not be looked at
            files.write(self.path / CLEAN_SHUTDOWN, b"")

    def abandon(self) -> None:
        """Close the directory without a checkpoint; the next start does a recovery."""
        for log in [*self.logs.values(), *(log for _, _, log in self.deleted_logs)]:
            with suppress(OSError):  # of a disk that has failed: there is nothing left to save
                log.abandon()
        with self._writing:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def _report(self, kind: str, now: int, **facts: object) -> None:
        self._emit(Event(kind, now, facts))


def lock_directory(path: Path) -> int:
    """Make the directory if there is none, and lock it: until the file descriptor is closed, or
    the process ends."""
    path.mkdir(parents=True, exist_ok=True)
    fd = os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise invalid_config(
            f"Failed to acquire lock on file .lock in {path}. "
            "A Kafka instance in another process or thread is using this directory."
        ) from error
    except OSError:
        os.close(fd)
        raise
    return fd


class DiskGuard:
    """A block that uses a disk. Each append has one, so it is a class: a generator would take three
    times as long."""

    __slots__ = ("_directory", "_now")

    def __init__(self, directory: LogDirectory, now: int) -> None:
        self._directory, self._now = directory, now

    def __enter__(self) -> None:
        if self._directory.offline is not None:
            raise ApiException(
                ErrorCode.kafka_storage_error,
                f"{self._directory.path} is offline: {self._directory.offline}",
            )

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """An error of one partition, or of the request, says nothing about the disk."""
        if error is None or isinstance(error, LogOffline):
            return
        if isinstance(error, OSError) or (
            isinstance(error, ApiException) and error.code == ErrorCode.kafka_storage_error
        ):
            if self._directory.offline is None:  # or another failed while a thread wrote
                self._directory.fail(self._now, str(error))
            raise ApiException(ErrorCode.kafka_storage_error, str(error)) from error
