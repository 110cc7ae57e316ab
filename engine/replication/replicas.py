"""The replicas of this broker, as producers, consumers and followers meet them.

    producers ── append ──> leader <── read_for_follower ── followers
    consumers ── read ────> leader, or a follower that is nearer

The one place where a decision about a partition meets its log. What a handler needs is here in the
protocol's words. Every other word about a replica is the controller's: see roles.py.

Invariant: no consumer sees what is not committed, and no producer with acks=all hears of success
before all replicas in sync have its records, `min.insync.replicas` of them or more.
"""

from collections.abc import Collection, Container, Mapping

from engine.config.broker import RACK_AWARE
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.hosting import enforce
from engine.replication.logs import Log
from engine.replication.partition import Partition, Reader, Role
from engine.replication.reading import (
    ANY_EPOCH,
    NO_REPLICA,
    Read,
    Wanted,
    divergence,
    last_stable,
    preferred,
)
from engine.replication.roles import Roles
from engine.replication.throttle import is_listed
from engine.storage.files import Buffer
from engine.storage.log import Appended

NO_RACKS: Mapping[int, str | None] = {}


class Replicas(Roles):
    def find(
        self, partition: TopicPartition, epoch: int = ANY_EPOCH, *, leads: bool = True
    ) -> tuple[Partition, Log]:
        """A partition in the epoch that the client believes in, led by this broker if need be."""
        home, role = self._home.get(partition), self.partitions.get(partition)
        if home is not None and home.offline is not None:
            raise KafkaError(ErrorCode.kafka_storage_error, home.offline)
        if home is None or role is None or role.role is Role.NONE:
            known = self.elsewhere(partition)
            raise KafkaError(
                ErrorCode.not_leader_or_follower if known else ErrorCode.unknown_topic_or_partition,
                f"{partition} is not on this broker",
            )
        if epoch not in (ANY_EPOCH, role.leader_epoch):
            older = epoch < role.leader_epoch
            raise KafkaError(
                ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch,
                f"{partition} is in leader epoch {role.leader_epoch}, not {epoch}",
            )
        if leads and not role.is_leader:
            raise KafkaError(
                ErrorCode.not_leader_or_follower, f"{partition} is led by broker {role.leader}"
            )
        return role, home.logs[partition]

    def append(
        self, partition: TopicPartition, batch: Buffer, *, to_all: bool, client: bool = True
    ) -> Appended:
        """Store a batch as leader. `to_all`: acks=all, which min.insync.replicas may forbid.

        `client=False`: it is the broker's own, a marker or what a coordinator has decided.
        """
        role, log = self.find(partition)
        if to_all:
            self._require(role, log, role.isr, ErrorCode.not_enough_replicas)
        now = self.now()
        with self._home[partition].guard(now):
            stored = log.append(batch, role.leader_epoch, now, client=client)
        if not stored.duplicate:
            if role.appended(log.end_offset, now):
                self._tell(partition)
            else:  # consumers see no more than before
                self._tell_followers(partition)
        return stored

    def is_committed(self, partition: TopicPartition, offset: int, reign: int) -> bool:
        """Whether what was appended in a reign of ours is on enough replicas; or never will be."""
        role, log = self.find(partition)
        if role.reign != reign:
            raise KafkaError(
                ErrorCode.not_leader_or_follower, f"{partition} was led by another meanwhile"
            )
        if role.high_watermark <= offset:
            return False
        self._require(role, log, role.counted, ErrorCode.not_enough_replicas_after_append)
        return True

    @staticmethod
    def _require(role: Partition, log: Log, isr: Collection[int], otherwise: ErrorCode) -> None:
        required = log.config.min_insync_replicas
        if len(isr) < required:
            raise KafkaError(
                otherwise,
                f"The size of the current ISR {sorted(isr)} is insufficient to satisfy the "
                f"min.isr requirement of {required} for partition {role.id}",
            )

    def read(
        self,
        partition: TopicPartition,
        wanted: Wanted,
        max_bytes: int,
        *,
        at_least_one: bool,
        committed: bool = False,
        leads: bool = True,
        rack: str = "",
        racks: Mapping[int, str | None] = NO_RACKS,
    ) -> Read:
        """What a consumer may see from an offset on: nothing beyond the high watermark.

        With `committed`, nothing beyond the last stable offset either, and with a list of what was
        aborted before. Only of a leader, if `leads`; a leader may send a consumer on to a replica
        in its rack.
        """
        role, log = self.find(partition, wanted.leader_epoch, leads=leads)
        nearer = NO_REPLICA
        if rack and role.is_leader and self.config.replica_selector_class == RACK_AWARE:
            nearer = preferred(role, wanted.offset, rack, racks)
        limit = last_stable(log, role) if committed else role.high_watermark
        read = self._read(role, log, wanted, limit, max_bytes, at_least_one, nearer)
        if not (committed and read.records.size):
            return read
        with self._home[partition].guard(self.now()):
            limit = min(limit, log.reach(wanted.offset, read.records))
            return read._replace(aborted=log.aborted(wanted.offset, limit))

    def read_for_follower(
        self,
        partition: TopicPartition,
        replica: int,
        wanted: Wanted,
        max_bytes: int,
        *,
        at_least_one: bool,
        reader: Reader | None = None,
        again: bool = False,
    ) -> Read:
        """What a follower has to copy; and so we learn how far it is, unless it is read `again`
        while one and the same request waits."""
        role, log = self.find(partition, wanted.leader_epoch)
        known, now = replica in role.followers, self.now()
        if not known or self._is_held(role, log, replica, now):
            max_bytes, at_least_one = 0, False
        read = self._read(role, log, wanted, log.end_offset, max_bytes, at_least_one, NO_REPLICA)
        if known and not again and read.diverging is None:
            log_start = role.followers[replica].log_start
            self._propose(role.fetched(replica, wanted.offset, wanted.log_start, now, reader))
            if role.advance(now) or log_start != wanted.log_start:
                self._tell(partition)
        return read

    def replay(self, partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        """Of a log that we lead, all that it has from an offset on: for coordinators, whose
        decisions it holds, whether consumers may see them yet or not."""
        _, log = self.find(partition)
        with self._home[partition].guard(self.now()):
            return log.read(max(offset, log.start_offset), max_bytes).read()

    def _read(
        self,
        role: Partition,
        log: Log,
        wanted: Wanted,
        limit: int,
        max_bytes: int,
        at_least_one: bool,
        nearer: int,
    ) -> Read:
        diverging, offset = divergence(log, wanted), wanted.offset
        elsewhere = diverging is not None or nearer != NO_REPLICA
        if elsewhere:
            offset, max_bytes, at_least_one = log.end_offset, 0, False
        with self._home[role.id].guard(self.now()):
            records = log.read(offset, max_bytes, limit=limit, at_least_one=at_least_one)
        return Read(
            records,
            records.file is not log.active.file,
            role.high_watermark,
            last_stable(log, role),
            log.start_offset,
            not elsewhere and offset >= limit,
            diverging,
            nearer,
        )

    def _is_held(self, role: Partition, log: Log, replica: int, now: int) -> bool:
        """A follower out of sync is held back while the rate is exceeded."""
        return (
            replica not in role.isr
            and self._is_throttled(log)
            and self._sent.exceeds(self.config.leader_replication_throttled_rate, now)
        )

    def _is_throttled(self, log: Log) -> bool:
        listed = log.config.leader_replication_throttled_replicas
        return is_listed(listed, log.partition, self.broker_id)

    def note_sent(self, partition: TopicPartition, size: int) -> None:
        """So many bytes of a partition go to a follower."""
        if self._is_throttled(self.log(partition)):
            self._sent.record(size, self.now())

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
            enforce(log, now, role.high_watermark)
        self._tell(partition)
        return log.start_offset

    def low_watermark(self, partition: TopicPartition, alive: Container[int]) -> int:
        """The first offset that is still on any live replica: records are deleted up to here."""
        role, log = self.find(partition)
        starts = [each.log_start for each in role.followers.values() if each.id in alive]
        return min([log.start_offset, *starts])
