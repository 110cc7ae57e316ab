"""The logs on this broker, and what is to be done for them from time to time.

    Home (one disk)      Home (another)
      orders-0             orders-1          a new log goes where the fewest are
      orders-3             users-0

A directory that fails takes its partitions with it, and no others. A log has a role only once the
controller has spoken; until then its high watermark is what the checkpoint said, and stays so.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig, TopicConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.logs import Home, Log
from engine.replication.partition import UNKNOWN, Partition, Reader
from engine.replication.reading import NO_REPLICA, last_stable
from engine.storage import retention
from engine.storage.log import Emit

ConfigOf = Callable[[str], TopicConfig]

enforce: Callable[[Any, int, int], int] = retention.enforce  # a simulator's log may have no files


class Hosting:
    def __init__(
        self, config: BrokerConfig, homes: Sequence[Any], clock: Callable[[], int], emit: Emit
    ) -> None:
        self.config = config
        self.broker_id = config.broker_id
        self.directories: Sequence[Any] = homes  # of whatever kind of `Home` they are
        self.partitions: dict[TopicPartition, Partition] = {}
        self.now = clock
        self.deleted: list[Callable[[TopicPartition], None]] = []  # called when a replica goes
        self.changed: list[Callable[[TopicPartition], None]] = []  # role, ISR, high watermark, ...
        self.elsewhere: Callable[[TopicPartition], bool] = lambda partition: False  # known at all?
        self._home: dict[TopicPartition, Home] = {}
        self._readers: dict[TopicPartition, dict[Reader, None]] = {}
        self._emit = emit
        self._config_of: ConfigOf = lambda topic: config.topic_defaults()

    def load(self, config_of: ConfigOf) -> None:
        self._config_of = config_of
        for home in self.directories:
            home.load(config_of, self.now())
            self._home |= dict.fromkeys(home.logs, home)

    def reconfigure(self, config_of: ConfigOf, config: BrokerConfig | None = None) -> None:
        """Configurations have changed: every log takes over its own."""
        self.config, self._config_of = config or self.config, config_of
        for partition, home in self._home.items():
            if home.offline is None:
                home.logs[partition].reconfigure(config_of(partition.topic))

    def emit(self, kind: str, about: Partition, /, **facts: object) -> None:
        topic, partition = about.id
        facts = {"topic": topic, "partition": partition, **facts}
        self._emit(Event(kind, self.now(), facts))

    # -- where a log is ------------------------------------------------------------------

    def _create(self, partition: TopicPartition, topic_id: UUID | None) -> tuple[Partition, Log]:
        """The log of a partition and what we know of it, both made if they are not there yet."""
        home, now = self._home.get(partition) or self._roomiest(), self.now()
        self._home[partition] = home  # also if it fails: then this is the disk to blame
        with home.guard(now):
            log = home.create(partition, self._config_of(partition.topic), now, topic_id)
        role = self.partitions.get(partition)
        if role is None:
            role = Partition(partition, self.broker_id, self.config.replica_lag_time_max_ms)
            known = home.high_watermarks.get(partition, 0)
            role.high_watermark = max(log.start_offset, min(known, log.end_offset))
            self.partitions[partition] = role
        return role, log

    def _roomiest(self) -> Home:
        """The usable directory with the fewest logs: where a new one goes."""
        usable: list[Home] = [home for home in self.directories if home.offline is None]
        if not usable:
            raise KafkaError(ErrorCode.kafka_storage_error, "no log directory is left")
        return min(usable, key=lambda home: len(home.logs))

    def log(self, partition: TopicPartition) -> Log:
        return self._home[partition].logs[partition]

    def log_start(self, partition: TopicPartition) -> int:
        home = self._home.get(partition)
        log = home.logs.get(partition) if home else None
        return log.start_offset if log else UNKNOWN

    def delete(self, partition: TopicPartition) -> None:
        """Let go of a replica and its log."""
        self.partitions.pop(partition, None)
        home, now = self._home.pop(partition, None), self.now()
        if home is not None and home.offline is None:
            with home.attempt(now):
                home.delete(partition, now)
            for tell in self.deleted:
                tell(partition)
        self._tell(partition)

    # -- who is told ---------------------------------------------------------------------

    def watch(self, partition: TopicPartition, reader: Reader) -> None:
        self._readers.setdefault(partition, {})[reader] = None

    def unwatch(self, partition: TopicPartition, reader: Reader) -> None:
        readers = self._readers.get(partition, {})
        readers.pop(reader, None)
        if not readers:
            self._readers.pop(partition, None)
        role = self.partitions.get(partition)
        follower = role.followers.get(reader.replica_id) if role else None
        if role is not None and follower is not None and follower.reader is reader:
            follower.seen(role.end)
            follower.reader = None

    def _tell(self, partition: TopicPartition) -> None:
        """Whoever waits for something to happen to a partition looks again."""
        for reader in self._readers.get(partition, ()):
            reader.changed(partition)
        for tell in self.changed:
            tell(partition)

    def _tell_followers(self, partition: TopicPartition) -> None:
        """There is more to copy, and nothing else is new."""
        for reader in self._readers.get(partition, ()):
            if reader.replica_id != NO_REPLICA:
                reader.changed(partition)

    # -- upkeep --------------------------------------------------------------------------

    def each_log(self, work: Callable[[Any, Partition], object]) -> None:
        """Do something with every log; a directory that fails on the way is left out."""
        now = self.now()
        for partition, home in list(self._home.items()):
            role = self.partitions.get(partition)
            if role is not None and home.offline is None:
                with home.attempt(now):
                    work(home.logs[partition], role)

    def committed(self, home: Home) -> list[tuple[Any, int]]:
        """The logs of a directory, each with the offset up to which it will not change any more."""
        return [
            (log, last_stable(log, self.partitions[partition]))
            for partition, log in home.logs.items()
            if partition in self.partitions
        ]

    def enforce_retention(self) -> None:
        now = self.now()
        self.each_log(lambda log, role: enforce(log, now, role.high_watermark))

    def forget(self, silent_ms: int) -> None:
        """Forget the producers that have not written for so long."""
        horizon = self.now() - silent_ms
        self.each_log(lambda log, role: log.producers.expire(horizon))

    def flush_due(self) -> None:
        now = self.now()
        self.each_log(lambda log, role: log.flush_if_due(now))

    def sweep(self) -> None:
        """Files that were deleted long enough ago go for good."""
        self._each_home(lambda home, now: home.sweep(now))

    def checkpoint(self) -> None:
        self._each_home(lambda home, now: home.checkpoint(self._high_watermarks(home)))

    def _each_home(self, work: Callable[[Home, int], None]) -> None:
        now = self.now()
        for home in self.directories:
            if home.offline is None:
                with home.attempt(now):
                    work(home, now)

    def close(self) -> None:
        for home in self.directories:
            home.close(self.now(), self._high_watermarks(home))

    def _high_watermarks(self, home: Home) -> dict[TopicPartition, int]:
        """Also of logs without a role yet: what was known of them must not be forgotten."""
        return {
            partition: (
                self.partitions[partition].high_watermark
                if partition in self.partitions
                else home.high_watermarks.get(partition, 0)
            )
            for partition in home.logs
        }
