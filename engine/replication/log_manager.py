"""The log manager: the logs on this broker, and the directory that each of them is in.

    Directory (one disk)   Directory (another)
      orders-0               orders-1             a new log goes to the directory with the fewest
      orders-3               users-0

When a directory fails, its partitions are offline, and no others. A log that cannot be opened is
offline alone.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig, TopicConfig
from engine.errors import ApiException, ErrorCode, invalid_config
from engine.model import TopicPartition
from engine.replication.logs import Directory, InThread, PartitionLog
from engine.replication.partition import UNKNOWN

ConfigOf = Callable[[str], TopicConfig]


class LogManager:
    def __init__(
        self, config: BrokerConfig, directories: Sequence[Any], clock: Callable[[], int]
    ) -> None:
        self.directories: Sequence[Any] = directories  # each is a `Directory`
        self.directory_of: dict[TopicPartition, Directory] = {}  # it has the log, or is offline
        self._now = clock
        self._config_of: ConfigOf = lambda topic: config.topic_defaults()

    def load(self, config_of: ConfigOf) -> None:
        self._config_of = config_of
        now = self._now()
        self._refuse_duplicates(now)
        for directory in self.directories:
            directory.attempt(now, partial(directory.load, config_of, now))
            self.directory_of |= dict.fromkeys(directory.logs, directory)

    def _refuse_duplicates(self, now: int) -> None:
        """One of two logs is old, and nothing tells which: a person has to decide."""
        found: dict[TopicPartition, Directory] = {}
        for directory in self.directories:
            for partition in directory.partitions(now):
                other = found.setdefault(partition, directory)
                if other is not directory:
                    raise invalid_config(
                        f"Duplicate log directories found: {other.path}/{partition}, "
                        f"{directory.path}/{partition}! Stop the broker, and move the one away "
                        "that is older, or whose disk has failed: this broker cannot tell which."
                    )

    def reconfigure(self, config_of: ConfigOf) -> None:
        """The configuration of topics has changed: every log gets its own again."""
        self._config_of = config_of
        for partition, directory in self.directory_of.items():
            if directory.offline is None:
                directory.logs[partition].reconfigure(config_of(partition.topic))

    def offline(self) -> list[TopicPartition]:
        """The partitions in directories that have failed."""
        return [tp for tp, directory in self.directory_of.items() if directory.offline is not None]

    def check(self, partition: TopicPartition, *, is_new: bool) -> None:
        """Raise an error if the log of a replica is offline. A replica that is not new has a log:
        if none is found, it may be in a directory that is offline, and no empty one replaces it."""
        found = self.find(partition) is not None
        for directory in () if found or is_new else self.directories:
            if directory.offline is not None:
                self.directory_of[partition] = directory
                raise ApiException(
                    ErrorCode.kafka_storage_error,
                    f"the log of {partition} may be in {directory.path}, which is offline",
                )

    def create(self, partition: TopicPartition, topic_id: UUID | None) -> PartitionLog:
        """The log of a partition: a new one if there is none yet."""
        directory = self.directory_of.get(partition) or self._emptiest()
        now, config = self._now(), self._config_of(partition.topic)
        try:
            with directory.guard(now):
                return directory.create(partition, config, now, topic_id)
        finally:
            if partition in directory.logs or directory.offline is not None:
                self.directory_of[partition] = directory

    def _emptiest(self) -> Directory:
        """The usable directory with the fewest logs."""
        usable: list[Directory] = [it for it in self.directories if it.offline is None]
        if not usable:
            raise ApiException(ErrorCode.kafka_storage_error, "no log directory is left")
        return min(usable, key=lambda directory: len(directory.logs))

    def __getitem__(self, partition: TopicPartition) -> PartitionLog:
        return self.directory_of[partition].logs[partition]

    def find(self, partition: TopicPartition) -> PartitionLog | None:
        """The log of a partition, if there is one. Raises an error if it is offline."""
        directory = self.directory_of.get(partition)
        if directory is None:
            reasons = [each.failed.get(partition) for each in self.directories]
            reason = next(filter(None, reasons), None)
        else:
            reason = directory.offline
        if reason is not None:
            raise ApiException(ErrorCode.kafka_storage_error, reason)
        return directory.logs[partition] if directory else None

    def log_start(self, partition: TopicPartition) -> int:
        directory = self.directory_of.get(partition)
        log = directory.logs.get(partition) if directory else None
        return log.start_offset if log else UNKNOWN

    def guard(self, partition: TopicPartition) -> AbstractContextManager[None]:
        """An error of the disk in this block takes the directory of the partition offline."""
        return self.directory_of[partition].guard(self._now())

    def delete(self, partition: TopicPartition) -> bool:
        """Returns whether there was a log to delete."""
        directory = self.directory_of.pop(partition, None)
        if directory is None or directory.offline is not None:
            return False
        now = self._now()
        directory.attempt(now, partial(directory.delete, partition, now))
        return True

    # -- upkeep --------------------------------------------------------------------------

    def each(self, work: Callable[[Any], object]) -> None:
        """Do something with every log. When a directory fails, the rest of its logs is skipped."""
        for partition, directory in list(self.directory_of.items()):
            if directory.offline is None:
                directory.attempt(self._now(), partial(work, directory.logs[partition]))

    def flush_due(self) -> None:
        self.each(lambda log: log.flush_if_due(self._now()))

    def expire_producers(self, silent_ms: int) -> None:
        """Remove the producers that have not written for so long."""
        self.each(lambda log: log.producers.expire(self._now() - silent_ms))

    def sweep(self) -> None:
        """Remove the files that were marked as deleted long enough ago."""
        now = self._now()
        for directory in self.directories:
            directory.attempt(now, partial(directory.sweep, now))

    async def checkpoint(
        self, high_watermarks: Mapping[TopicPartition, int], in_thread: InThread
    ) -> None:
        """Write the checkpoints of each directory in a thread, as Kafka's scheduler does: requests
        don't wait for a disk."""
        prepared = [
            (directory, directory.prepare_checkpoint(_high_watermarks(directory, high_watermarks)))
            for directory in self.directories
        ]
        for directory, write in prepared:
            await self._wait_for(directory, in_thread, write)

    async def flush_closed(self, in_thread: InThread) -> None:
        """Flush the closed segments of all logs, one log after the other."""
        for directory in self.directories:
            for closed in directory.closed_segments():
                if not await self._wait_for(directory, in_thread, closed.flush):
                    break
                closed.flushed()

    async def _wait_for(
        self, directory: Directory, in_thread: InThread, work: Callable[[], None]
    ) -> bool:
        """Do something on a disk, in a thread. Returns False if the disk has failed."""
        try:
            with directory.guard(self._now()):
                await in_thread(work)
        except ApiException:
            if directory.offline is None:
                raise
        return directory.offline is None

    def close(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        for directory in self.directories:
            directory.close(self._now(), _high_watermarks(directory, high_watermarks))


def _high_watermarks(
    directory: Directory, current: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Of all logs there. A log without a role keeps the one of the last checkpoint."""
    before = directory.high_watermarks
    return {each: current.get(each, before.get(each, 0)) for each in directory.logs}
