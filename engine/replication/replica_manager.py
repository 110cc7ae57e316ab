"""The replica manager: the replicas on this broker, their roles, appends and reads.

    controller ── MetadataDelta ─────────────> ReplicaManager ── Proposal ──> controller
    producers ─── append ─────────────────────>      │ │
    consumers ─── read ───────────────────────>      │ └── Fetcher ──> the leaders of our followers
    followers ─── read_for_follower ──────────>      └── LogManager: the logs

A consumer reads from the leader, or from a follower that is nearer. No socket is used here: the
broker takes `proposals` and `fetchers`, writes and sends them, and is called through `work_changed`
when there may be new ones.

Invariant: no consumer sees an uncommitted record, and no producer with acks=all gets a success
before all in-sync replicas have its records, and these are `min.insync.replicas` or more.
Invariant: a delta of an older controller, for an earlier registration of this broker
(`check_controller`), or with an older epoch of the partition changes nothing.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any
from uuid import UUID

from engine.config import BrokerConfig
from engine.config.broker import RACK_AWARE
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import (
    MetadataDelta,
    PartitionChange,
    PartitionRegistration,
    ReplicaStop,
)
from engine.model import NO_EPOCH, NO_RACKS, Callbacks, Event, Racks, TopicPartition
from engine.replication.fetcher import Fetcher, Policy
from engine.replication.follower_partition import FollowerPartition, LogListener
from engine.replication.log_manager import ConfigOf, LogManager
from engine.replication.log_read import (
    ANY_EPOCH,
    NO_REPLICA,
    FetchRange,
    LogReadResult,
    last_stable,
    preferred,
    read_log,
)
from engine.replication.logs import Directory, InThread, PartitionLog
from engine.replication.partition import FetchReader, Partition, Proposal, Role
from engine.replication.throttle import Throttle, is_listed
from engine.storage import retention
from engine.storage.files import Buffer
from engine.storage.log import Appended, Emit
from engine.storage.partition_name import parse_name

of_any_log: Any = retention  # also of a simulated one


class ReplicaManager:
    """All replicas on this broker. See `apply`, `append` and `read`."""

    following = FollowerPartition  # for partitions that are followed; a challenge has its own

    def __init__(
        self,
        config: BrokerConfig,
        directories: Sequence[Any],
        clock: Callable[[], int],
        emit: Emit = lambda event: None,
        elsewhere: Callable[[TopicPartition], bool] = lambda _: False,  # on another broker?
    ) -> None:
        self.config, self.broker_id = config, config.broker_id
        self.now, self._emit = clock, emit
        self.logs = LogManager(config, directories, clock)
        self.partitions: dict[TopicPartition, Partition] = {}  # none before the first delta
        self._ineligible: set[int] = set()  # brokers that may join no ISR; partitions know it
        self.controller_epoch = self.broker_epoch = NO_EPOCH  # the broker sets its own
        self.fetchers: dict[int, Fetcher] = {}  # by leader
        self.proposals: list[Proposal] = []
        self.elsewhere = elsewhere
        self.changed = Callbacks[[TopicPartition]]()  # role, ISR, high watermark, ...
        self.deleted = Callbacks[[TopicPartition]]()  # a replica and its log
        self.truncated = Callbacks[[PartitionLog]]()  # the end of a log was removed
        self.work_changed = Callbacks[[]]()  # `proposals` or `fetchers`
        self._readers: dict[TopicPartition, dict[FetchReader, None]] = {}
        self._sent, fetched = Throttle(), Throttle()
        self._policy = Policy(self.broker_id, lambda: self.config, fetched)
        self._listener = LogListener(self.truncated, lambda partition: self._notify(partition.id))

    def reconfigure(self, config_of: ConfigOf, config: BrokerConfig | None = None) -> None:
        self.config = config or self.config
        self.logs.reconfigure(config_of)

    def _event(self, kind: str, partition: Partition, /, **facts: object) -> None:
        self._emit(Event(kind, self.now(), partition.id._asdict() | facts))

    # -- decisions of the controller -----------------------------------------------------

    def apply(self, delta: MetadataDelta) -> list[ErrorCode]:
        """Lead, follow and stop. Returns the error of each role, then of each stop."""
        self.check_controller(delta)
        errors = [_code(self._change_role, change) for change in delta.roles]
        errors += [_code(self._stop, stop) for stop in delta.stops]
        for change in delta.updates:
            self._update(change)
        if delta.ineligible is not None:
            self._ineligible.clear()
            self._ineligible.update(delta.ineligible)
            self.tick()
            for partition in self.partitions.values():  # whose sessions may have no news to ask for
                self.propose(partition.expand_next(self.now()) if partition.is_leader else None)
        self._remove_idle_fetchers()
        return errors

    def check_controller(self, delta: MetadataDelta) -> None:
        """Refuse an older controller, and a delta for an earlier registration of this broker."""
        if NO_EPOCH < delta.broker_epoch < self.broker_epoch:
            raise ApiException(
                ErrorCode.stale_broker_epoch,
                f"meant for broker epoch {delta.broker_epoch}, this is {self.broker_epoch}",
            )
        if delta.controller_epoch is None:
            return
        if delta.controller_epoch < self.controller_epoch:
            raise ApiException(
                ErrorCode.stale_controller_epoch,
                f"controller epoch {delta.controller_epoch} is older than {self.controller_epoch}",
            )
        self.controller_epoch = delta.controller_epoch

    def _change_role(self, change: PartitionChange) -> None:
        """Become leader or follower, if the epoch of the partition is newer than the known one."""
        topic_partition, topic_id, now = change
        assert now is not None, f"{topic_partition} is deleted: there is nothing to lead or follow"
        self.logs.check(topic_partition, is_new=now.is_new)
        before = self.partitions.get(topic_partition)
        known = before.leader_epoch if before else NO_EPOCH
        if now.leader_epoch <= known:
            raise ApiException(
                ErrorCode.stale_controller_epoch,
                f"{topic_partition} is in leader epoch {known}, not {now.leader_epoch}",
            )
        is_here = self.broker_id in now.replicas
        if not is_here or parse_name(str(topic_partition)) != topic_partition:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition,
                f"{topic_partition} has no replica on this broker",
            )
        partition, log = self._create(topic_partition, topic_id)
        was, proposed = partition.isr, partition.proposal
        self._stop_fetching(partition)
        if now.leader == self.broker_id:
            self._lead(partition, log, now)
        else:
            self._follow(partition, log, now)
        facts = {"leader": partition.leader, "leader_epoch": partition.leader_epoch}
        self._event("replica.role", partition, role=partition.role.value, **facts)
        if proposed is not None and partition.is_leader and {*proposed.isr} == {*now.isr}:
            self._isr_changed(partition, was)  # its own proposal, which has begun an epoch
        self._notify(topic_partition)

    def _isr_changed(self, partition: Partition, was: tuple[int, ...]) -> None:
        if was != partition.isr:
            facts = {"version": partition.version, "leader_epoch": partition.leader_epoch}
            self._event("isr.changed", partition, isr=partition.isr, was=was, **facts)

    def _update(self, change: PartitionChange) -> None:
        """Take over another ISR or assignment in the same leader epoch (without ZooKeeper)."""
        partition, state, now = self.partitions.get(change.partition), change.now, self.now()
        was = partition.isr if partition is not None else ()
        if partition is None or state is None or not partition.update(state, now):
            return  # its log is offline, or it is known already
        self._isr_changed(partition, was)
        if partition.is_leader:
            self.propose(partition.expand_next(now))
        self._notify(partition.id)

    def _create(
        self, topic_partition: TopicPartition, topic_id: UUID | None
    ) -> tuple[Partition, PartitionLog]:
        log = self.logs.create(topic_partition, topic_id)
        partition = self.partitions.get(topic_partition)
        if partition is None:
            limit_ms = self.config.replica_lag_time_max_ms
            partition = Partition(topic_partition, self.broker_id, limit_ms, self._ineligible)
            known = self.logs.directory_of[topic_partition].high_watermarks.get(topic_partition, 0)
            partition.high_watermark = max(log.start_offset, min(known, log.end_offset))
            self.partitions[topic_partition] = partition
        return partition, log

    def _lead(self, partition: Partition, log: PartitionLog, state: PartitionRegistration) -> None:
        # A follower may ask where this epoch began, even if no record is ever written in it. The
        # first epoch of a new log is left out: no replica has older records, and a new topic is
        # ready sooner.
        if state.leader_epoch > 0 or log.end_offset > 0:
            with self.logs.guard(partition.id):
                log.epochs.assign(state.leader_epoch, log.end_offset)
        partition.lead(state, log.end_offset, self.now())

    def _follow(
        self, partition: Partition, log: PartitionLog, state: PartitionRegistration
    ) -> None:
        partition.follow(state)
        if partition.leader < 0:
            return
        if partition.leader not in self.fetchers:
            self.fetchers[partition.leader] = Fetcher(partition.leader, self._policy)
        directory = self.logs.directory_of[partition.id]
        following = self.following(partition, log, directory, self._listener)
        self.fetchers[partition.leader].follow(partition.id, following)

    def _stop(self, stop: ReplicaStop) -> None:
        topic_partition, epoch, delete = stop
        self.logs.find(topic_partition)
        partition = self.partitions.get(topic_partition)
        if partition is not None:
            if epoch is not None and epoch <= partition.leader_epoch:
                raise ApiException(
                    ErrorCode.fenced_leader_epoch,
                    f"{topic_partition} is in leader epoch {partition.leader_epoch}, not {epoch}",
                )
            self._stop_fetching(partition)
            partition.stop()
        if delete:
            self.delete(topic_partition)
        self._notify(topic_partition)

    def delete(self, topic_partition: TopicPartition) -> None:
        """Remove a replica and its log."""
        self.partitions.pop(topic_partition, None)
        if self.logs.delete(topic_partition):
            self.deleted(topic_partition)
        self._notify(topic_partition)

    def directory_failed(self) -> None:
        """Stop the replicas in directories that are offline: they lead and follow no more."""
        for partition in filter(None, map(self.partitions.get, self.logs.offline())):
            self._stop_fetching(partition)
            partition.stop()
            self._notify(partition.id)
        self._remove_idle_fetchers()

    def _stop_fetching(self, partition: Partition) -> None:
        if partition.leader in self.fetchers:
            self.fetchers[partition.leader].leave(partition.id)

    def _remove_idle_fetchers(self) -> None:
        """After a change of roles: remove the fetchers that fetch nothing any more."""
        self.fetchers = {leader: each for leader, each in self.fetchers.items() if each.following}
        self.work_changed()

    # -- listeners -----------------------------------------------------------------------

    def watch(self, topic_partition: TopicPartition, reader: FetchReader) -> None:
        self._readers.setdefault(topic_partition, {})[reader] = None

    def unwatch(self, topic_partition: TopicPartition, reader: FetchReader) -> None:
        readers = self._readers.get(topic_partition, {})
        readers.pop(reader, None)
        if not readers:
            self._readers.pop(topic_partition, None)
        partition = self.partitions.get(topic_partition)
        follower = partition.followers.get(reader.replica_id) if partition else None
        if partition is not None and follower is not None and follower.reader is reader:
            follower.seen(partition.end)
            follower.reader = None

    def _notify(self, topic_partition: TopicPartition) -> None:
        for reader in self._readers.get(topic_partition, ()):
            reader.changed(topic_partition)
        self.changed(topic_partition)

    def _notify_followers(self, topic_partition: TopicPartition) -> None:
        """There is more to copy, and nothing else has changed."""
        for reader in self._readers.get(topic_partition, ()):
            if reader.replica_id >= 0:
                reader.changed(topic_partition)

    # -- the in-sync replicas ------------------------------------------------------------

    def tick(self) -> None:
        """Every half of `replica.lag.time.max.ms`: find the followers that have fallen behind. The
        high watermark no longer waits for those of them that are not in the ISR."""
        for partition in self.partitions.values():
            if partition.is_leader and self.logs.directory_of[partition.id].offline is None:
                self.propose(partition.shrink(self.now()))
                self._advance(partition)

    def _advance(self, partition: Partition) -> None:
        if partition.advance(self.now()):
            self._notify(partition.id)

    def propose(self, proposal: Proposal | None) -> None:
        if proposal is not None:
            self.proposals.append(proposal)
            self.work_changed()

    def isr_overtaken(self, proposal: Proposal, version: int) -> None:
        """The written state has another version, but the same leader and epoch: propose again."""
        partition = self.partitions.get(proposal.partition)
        if partition is not None and partition.waits_for(proposal):
            partition.version, partition.proposal = version, proposal._replace(version=version)
            self.propose(partition.proposal)

    def isr_withdrawn(self, proposal: Proposal) -> None:
        """The controller refuses a replica of the proposal for now: look for another proposal."""
        partition = self.partitions.get(proposal.partition)
        if partition is not None and partition.waits_for(proposal):
            partition.withdraw()
            self.propose(partition.expand_next(self.now()))
            self._advance(partition)

    def isr_answered(self, proposal: Proposal, version: int | None) -> None:
        """The proposal is written, in this version. None: the controller has decided otherwise."""
        partition, now = self.partitions.get(proposal.partition), self.now()
        if partition is None or not partition.waits_for(proposal):
            return  # another role has come meanwhile
        if version is None:
            partition.refused()
            facts = {"isr": proposal.isr, "leader_epoch": partition.leader_epoch}
            self._event("isr.refused", partition, **facts)
            return
        self._isr_changed(partition, partition.written(version))
        self.propose(partition.expand_next(now))
        partition.advance(now)
        self._notify(partition.id)

    # -- appends -------------------------------------------------------------------------

    def find(
        self, topic_partition: TopicPartition, epoch: int = ANY_EPOCH, *, leads: bool = True
    ) -> tuple[Partition, PartitionLog]:
        """A replica in this leader epoch; with `leads`, only if this broker is the leader."""
        log = self.logs.find(topic_partition)
        partition = self.partitions.get(topic_partition)
        if log is None or partition is None or partition.role is Role.NONE:
            known = self.elsewhere(topic_partition)
            raise ApiException(
                ErrorCode.not_leader_or_follower if known else ErrorCode.unknown_topic_or_partition,
                f"{topic_partition} is not on this broker",
            )
        if epoch not in (ANY_EPOCH, partition.leader_epoch):
            older = epoch < partition.leader_epoch
            raise ApiException(
                ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch,
                f"{topic_partition} is in leader epoch {partition.leader_epoch}, not {epoch}",
            )
        if leads and not partition.is_leader:
            raise ApiException(
                ErrorCode.not_leader_or_follower,
                f"{topic_partition} is led by broker {partition.leader}",
            )
        return partition, log

    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, to_all: bool, client: bool = True
    ) -> Appended:
        """Store a batch as leader. `to_all`: acks=all, so `min.insync.replicas` is checked.

        `client=False`: the batch is the broker's own, a marker or the records of a coordinator.
        """
        partition, log = self.find(topic_partition)
        if to_all:
            partition.require(log.config.min_insync_replicas)
        now = self.now()
        with self.logs.guard(topic_partition):
            stored = log.append(batch, partition.leader_epoch, now, client=client)
        if not stored.duplicate:
            if partition.appended(log.end_offset, now):
                self._notify(topic_partition)
            else:  # consumers see no more than before
                self._notify_followers(topic_partition)
        return stored

    def is_committed(self, topic_partition: TopicPartition, offset: int, leader_since: int) -> bool:
        """Whether a record that we appended as leader is committed. Raises an error if it may
        never be."""
        partition, log = self.find(topic_partition)
        if partition.leader_since != leader_since:
            raise ApiException(
                ErrorCode.not_leader_or_follower, f"another broker led {topic_partition} meanwhile"
            )
        if partition.high_watermark <= offset:
            return False
        partition.require(log.config.min_insync_replicas, appended=True)
        return True

    def delete_records(self, topic_partition: TopicPartition, before: int) -> int:
        """Move the log's start; -1 stands for the high watermark. Returns the new start."""
        partition, log = self.find(topic_partition)
        before = partition.high_watermark if before == -1 else before
        if not log.start_offset <= before <= partition.high_watermark:
            if 0 <= before < log.start_offset:
                return log.start_offset
            raise ApiException(
                ErrorCode.offset_out_of_range,
                f"{topic_partition} can be deleted up to {partition.high_watermark}, not {before}",
            )
        now = self.now()
        with self.logs.guard(topic_partition):
            log.advance_start(before, now)
            of_any_log.enforce_start(log, now, partition.high_watermark)
        self._notify(topic_partition)
        return log.start_offset

    def low_watermark(self, topic_partition: TopicPartition, alive: Container[int]) -> int:
        """The smallest log start of the live replicas: all of them have deleted what is before."""
        partition, log = self.find(topic_partition)
        starts = [each.log_start for each in partition.followers.values() if each.id in alive]
        return min([log.start_offset, *starts])

    # -- reads ---------------------------------------------------------------------------

    def read(
        self,
        topic_partition: TopicPartition,
        wanted: FetchRange,
        max_bytes: int,
        *,
        at_least_one: bool,
        committed: bool = False,
        leads: bool = True,
        rack: str = "",
        racks: Racks = NO_RACKS,
    ) -> LogReadResult:
        """A consumer's read: nothing beyond the high watermark.

        With `committed`, nothing beyond the last stable offset either, and with the list of aborted
        transactions. With `leads`, only from the leader, which may name a replica in the
        consumer's rack to read from.
        """
        partition, log = self.find(topic_partition, wanted.leader_epoch, leads=leads)
        nearer = NO_REPLICA
        if rack and partition.is_leader and self.config.replica_selector_class == RACK_AWARE:
            nearer = preferred(partition, wanted.offset, rack, racks)
        limit = last_stable(log, partition) if committed else partition.high_watermark
        with self.logs.guard(topic_partition):
            read = read_log(partition, log, wanted, limit, max_bytes, at_least_one, nearer)
            if not (committed and read.records.size):
                return read
            limit = min(limit, log.reach(wanted.offset, read.records))
            return read._replace(aborted=log.aborted(wanted.offset, limit))

    def read_for_follower(
        self,
        topic_partition: TopicPartition,
        replica: int,
        wanted: FetchRange,
        max_bytes: int,
        *,
        at_least_one: bool,
        reader: FetchReader | None = None,
        again: bool = False,
    ) -> LogReadResult:
        """A follower's read, up to the log end. Its offset shows how far the follower is; not if
        the same waiting request is read `again`."""
        partition, log = self.find(topic_partition, wanted.leader_epoch)
        known, now = replica in partition.followers, self.now()
        if not known and wanted.leader_epoch != ANY_EPOCH:  # it may know of its assignment sooner
            raise ApiException(ErrorCode.unknown_leader_epoch, f"no replica on broker {replica}")
        if not known or self._is_held(partition, log, replica, now):
            max_bytes, at_least_one = 0, False
        with self.logs.guard(topic_partition):
            read = read_log(partition, log, wanted, log.end_offset, max_bytes, at_least_one)
        if known and not again and read.diverging is None:
            log_start = partition.followers[replica].log_start
            self.propose(partition.fetched(replica, wanted.offset, wanted.log_start, now, reader))
            if partition.advance(now) or log_start != wanted.log_start:
                self._notify(topic_partition)
        return read

    def replay(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        """A coordinator's read of its partition, up to the log end: uncommitted records too."""
        _, log = self.find(topic_partition)
        with self.logs.guard(topic_partition):
            return log.read(max(offset, log.start_offset), max_bytes).read()

    def _is_held(self, partition: Partition, log: PartitionLog, replica: int, now: int) -> bool:
        """Whether a follower gets nothing: it is out of sync, and the rate is exceeded."""
        is_limited = replica not in partition.isr and self._is_throttled(log)
        return is_limited and self._sent.exceeds(self.config.leader_replication_throttled_rate, now)

    def _is_throttled(self, log: PartitionLog) -> bool:
        listed = log.config.leader_replication_throttled_replicas
        return is_listed(listed, log.partition, self.broker_id)

    def note_sent(self, topic_partition: TopicPartition, size: int) -> None:
        """Count the bytes of a partition that are sent to a follower, for the throttle."""
        if self._is_throttled(self.logs[topic_partition]):
            self._sent.record(size, self.now())

    # -- upkeep: what needs the high watermark -------------------------------------------

    def committed(self, directory: Directory) -> list[tuple[Any, int]]:
        """The logs of a directory, each with the offset up to which it does not change."""
        logs = [(log, self.partitions.get(log.partition)) for log in directory.logs.values()]
        return [(log, last_stable(log, replica)) for log, replica in logs if replica is not None]

    def enforce_retention(self) -> None:
        def enforce(log: PartitionLog) -> None:
            if (partition := self.partitions.get(log.partition)) is not None:
                of_any_log.enforce(log, self.now(), partition.high_watermark)

        self.logs.each(enforce)

    async def checkpoint(self, in_thread: InThread) -> None:
        await self.logs.checkpoint(self._high_watermarks(), in_thread)

    def close(self) -> None:
        self.logs.close(self._high_watermarks())

    def _high_watermarks(self) -> dict[TopicPartition, int]:
        return {each.id: each.high_watermark for each in self.partitions.values()}


def _code(step: Callable[..., None], *args: Any) -> ErrorCode:
    try:
        step(*args)
    except ApiException as error:
        return error.code
    return ErrorCode.none
