"""The replicas that live on this broker: their logs on disk, their roles, and who waits for them.

The one place where a decision about a partition (replication/) meets its log (storage/). What a
handler needs is here in the protocol's words: append a batch, read from an offset, find a time.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from engine.broker.purgatory import Purgatory
from engine.config import TopicConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.partition import Partition
from engine.storage import retention
from engine.storage.directory import LogDirectory
from engine.storage.files import Buffer
from engine.storage.log import Appended, Log
from engine.storage.segment import Slice

ANY_EPOCH = -1
READ_COMMITTED = 1  # an isolation level; the other is 0


class Read(NamedTuple):
    """What a reader gets of one partition."""

    records: Slice
    sealed: bool  # they end with their segment: more come from the next one, by another read
    high_watermark: int
    last_stable: int  # before it, every transaction has ended
    log_start: int


class Replicas:
    def __init__(
        self,
        broker_id: int,
        directories: list[LogDirectory],
        purgatory: Purgatory,
        clock: Callable[[], int],
    ) -> None:
        self.broker_id = broker_id
        self.directories = directories
        self.purgatory = purgatory
        self.partitions: dict[TopicPartition, Partition] = {}
        self.deleted: list[Callable[[TopicPartition], None]] = []  # called when a replica goes
        self._home: dict[TopicPartition, LogDirectory] = {}
        self.now = clock

    # -- roles ---------------------------------------------------------------------------

    def load(self, config_of: Callable[[str], TopicConfig]) -> None:
        for directory in self.directories:
            directory.load(config_of, self.now())
            self._home |= dict.fromkeys(directory.logs, directory)

    def lead(
        self,
        partition: TopicPartition,
        epoch: int,
        replicas: Iterable[int],
        isr: Iterable[int],
        config: TopicConfig,
        topic_id: UUID | None,
    ) -> None:
        """Become the leader of a partition, as the controller decided."""
        directory = self._home.get(partition) or self._roomiest()
        self._home[partition] = directory
        with directory.attempt(self.now()):  # if it fails, `find` will tell
            log = directory.create(partition, config, self.now(), topic_id)
            role = self.partitions.setdefault(partition, Partition(partition, self.broker_id))
            if epoch > role.leader_epoch:
                known = directory.high_watermarks.get(partition, 0)
                role.lead(epoch, tuple(replicas), tuple(isr), log.end_offset, known)
        self.purgatory.wake(partition)

    def _roomiest(self) -> LogDirectory:
        """The usable directory with the fewest logs: where a new one goes."""
        usable = [directory for directory in self.directories if directory.offline is None]
        if not usable:
            raise KafkaError(ErrorCode.kafka_storage_error, "no log directory is left")
        return min(usable, key=lambda directory: len(directory.logs))

    def delete(self, partition: TopicPartition) -> None:
        self.partitions.pop(partition, None)
        directory = self._home.pop(partition, None)
        if directory is not None and directory.offline is None:
            with directory.attempt(self.now()):
                directory.delete(partition, self.now())
            for tell in self.deleted:
                tell(partition)
        self.purgatory.wake(partition)

    def find(self, partition: TopicPartition, epoch: int = ANY_EPOCH) -> tuple[Partition, Log]:
        """A partition that this broker leads, in the epoch that the client believes in."""
        directory, role = self._home.get(partition), self.partitions.get(partition)
        if directory is not None and directory.offline is not None:
            raise KafkaError(ErrorCode.kafka_storage_error, directory.offline)
        if directory is None or role is None:
            raise KafkaError(
                ErrorCode.unknown_topic_or_partition, f"{partition} is not on this broker"
            )
        if not role.is_leader:
            raise KafkaError(
                ErrorCode.not_leader_or_follower, f"{partition} is led by broker {role.leader}"
            )
        if epoch not in (ANY_EPOCH, role.leader_epoch):
            older = epoch < role.leader_epoch
            raise KafkaError(
                ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch,
                f"{partition} is in leader epoch {role.leader_epoch}, not {epoch}",
            )
        return role, directory.logs[partition]

    # -- what clients ask ----------------------------------------------------------------

    def append(self, partition: TopicPartition, batch: Buffer, *, to_all: bool) -> Appended:
        """Store a batch as leader. `to_all`: acks=all, which min.insync.replicas may forbid."""
        role, log = self.find(partition)
        required = log.config.min_insync_replicas
        if to_all and len(role.isr) < required:
            raise KafkaError(
                ErrorCode.not_enough_replicas,
                f"The size of the current ISR {list(role.isr)} is insufficient to satisfy the "
                f"min.isr requirement of {required} for partition {partition}",
            )
        now = self.now()
        with self._home[partition].guard(now):
            stored = log.append(batch, role.leader_epoch, now)
        if not stored.duplicate:
            role.appended(log.end_offset)
            self.purgatory.wake(partition)
        return stored

    def read(
        self,
        partition: TopicPartition,
        offset: int,
        max_bytes: int,
        epoch: int,
        *,
        at_least_one: bool,
        committed: bool = False,
    ) -> Read:
        """What a consumer may see from an offset on: nothing beyond the high watermark.

        With `committed`, nothing beyond the last stable offset either.
        """
        role, log = self.find(partition, epoch)
        stable = last_stable(log, role)
        with self._home[partition].guard(self.now()):
            limit = stable if committed else role.high_watermark
            records = log.read(offset, max_bytes, limit=limit, at_least_one=at_least_one)
        sealed = records.file is not log.active.file
        return Read(records, sealed, role.high_watermark, stable, log.start_offset)

    def delete_records(self, partition: TopicPartition, before: int) -> int:
        """Move the log's start; -1 stands for the high watermark. Returns the new start."""
        role, log = self.find(partition)
        if before == -1:
            before = role.high_watermark
        if not log.start_offset <= before <= role.high_watermark:
            if 0 <= before < log.start_offset:
                return log.start_offset
            raise KafkaError(
                ErrorCode.offset_out_of_range,
                f"{partition} can be deleted up to {role.high_watermark}, not {before}",
            )
        now = self.now()
        with self._home[partition].guard(now):
            log.advance_start(before, now)
            retention.enforce(log, now, role.high_watermark)
        return log.start_offset

    def log_start(self, partition: TopicPartition) -> int:
        return self._home[partition].logs[partition].start_offset

    def reconfigure(self, config_of: Callable[[str], TopicConfig]) -> None:
        """Configurations have changed: every log takes over its own."""
        self.each_log(lambda log, role: log.reconfigure(config_of(log.partition.topic)))

    # -- upkeep --------------------------------------------------------------------------

    def each_log(self, work: Callable[[Log, Partition], object]) -> None:
        """Do something with every log; a directory that fails on the way is left out."""
        now = self.now()
        for partition, directory in list(self._home.items()):
            role = self.partitions.get(partition)
            if role is None or directory.offline is not None:
                continue
            with directory.attempt(now):
                work(directory.logs[partition], role)

    def committed(self, directory: LogDirectory) -> list[tuple[Log, int]]:
        """The logs of a directory, each with the offset up to which it will not change any more."""
        return [
            (log, last_stable(log, self.partitions[partition]))
            for partition, log in directory.logs.items()
            if partition in self.partitions
        ]

    def enforce_retention(self) -> None:
        now = self.now()
        self.each_log(lambda log, role: retention.enforce(log, now, role.high_watermark))

    def forget(self, silent_ms: int) -> None:
        """Forget the producers that have not written for so long."""
        horizon = self.now() - silent_ms
        self.each_log(lambda log, role: log.producers.expire(horizon))

    def flush_due(self) -> None:
        now = self.now()
        self.each_log(lambda log, role: log.flush_if_due(now))

    def checkpoint(self) -> None:
        now = self.now()
        for directory in self.directories:
            if directory.offline is None:
                with directory.attempt(now):
                    directory.sweep(now)
                    directory.checkpoint(self._high_watermarks(directory))

    def close(self) -> None:
        for directory in self.directories:
            directory.close(self.now(), self._high_watermarks(directory))

    def _high_watermarks(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        return {
            partition: self.partitions[partition].high_watermark
            for partition in directory.logs
            if partition in self.partitions
        }


def last_stable(log: Log, role: Partition) -> int:
    """The high watermark, or where the oldest transaction that is still open begins."""
    undecided = log.producers.first_undecided()
    return role.high_watermark if undecided is None else min(role.high_watermark, undecided)
