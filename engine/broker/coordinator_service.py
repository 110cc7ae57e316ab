"""The coordinators in a broker: client requests, deadlines, and the partitions of their topics.

    a client's request ─── handle ───────┐
    a deadline is over ──────────────────┼──> coordinator ──> effects ──┬─> Reply       the response
    the role of a partition has changed ─┘        ^                     ├─> TxnMarkers  are sent
                                                  │                     └─> Append
                                                  │                           │
        the high watermark is beyond it, or an error, or a timeout <── log of __consumer_offsets-n

The coordinators decide (engine/coordinator). A waiting request is a future here.

When this broker becomes leader of a partition of __consumer_offsets or __transaction_state, it
reads the whole log in chunks, and other tasks run meanwhile. Until then it refuses requests for the
partition. When another broker becomes leader, everything known of the partition is dropped.

Invariant: the results of appends to a partition are reported in the order of the appends.
Invariant: no result of an append that was made under an earlier leader epoch reaches the
coordinator after the partition was loaded anew.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.broker import coordinator_topic
from engine.broker.metadata import AliveBroker, Metadata
from engine.broker.peer import Connect
from engine.broker.producer_ids import ProducerIds
from engine.broker.txn_marker_sender import TxnMarkerSender
from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Append, Caller, Effect, Reply, TxnMarkers
from engine.coordinator.group_coordinator import GroupCoordinator
from engine.coordinator.owned_partitions import partition_of
from engine.coordinator.transactions.coordinator import TransactionCoordinator
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage import control
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.control import ControlType
from engine.storage.records import Record, encode

C = TypeVar("C", bound=Coordinator)

STEP_MS = 1000  # by which the wall clock may differ from the loop's, before it counts as set

# The errors of a partition that this broker does not lead any more.
LED_BY_ANOTHER = {ErrorCode.not_leader_or_follower, ErrorCode.unknown_topic_or_partition}


class BrokerServices(NamedTuple):
    """The parts of a broker that its coordinators use."""

    config: BrokerConfig
    metadata: Metadata
    replicas: ReplicaManager
    emit: Callable[[Event], None]
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    new_id: Callable[[], str]  # a unique id

    def exists(self, partition: TopicPartition) -> bool:
        return self.metadata.partition(partition) is not None


class PendingAppend(NamedTuple):
    """Records that were appended, and are not known to be replicated yet."""

    token: int
    last_offset: int
    deadline: float


class CoordinatorService(Generic[C]):
    """What both coordinators need."""

    def __init__(
        self, services: BrokerServices, topic: coordinator_topic.CoordinatorTopic, coordinator: C
    ) -> None:
        self._config = services.config
        self._metadata = services.metadata
        self._replicas = services.replicas
        self._wall_clock = services.replicas.now
        self._ahead: float | None = None  # the wall clock, of the loop's
        self._emit = services.emit
        self._spawn = services.spawn
        self._topic = topic
        self.coordinator = coordinator
        self._fixed_count: int | None = None  # of the topic's partitions; None: not known yet
        self._waiting: dict[int, asyncio.Future[Any]] = {}  # by the number of the request
        self._numbers = count()
        self._alarm: asyncio.TimerHandle | None = None
        self._leader_since: dict[int, int] = {}  # by partition: the first leader epoch in a row
        self._pending: dict[int, deque[PendingAppend]] = {}  # by partition; never empty
        self._changed: set[int] = set()  # partitions to look at in `_poll`
        services.replicas.changed.append(self._on_change)

    def configure(self, config: BrokerConfig) -> None:
        self._config = config
        self.coordinator.configure(config)

    def snapshot(self) -> list[dict[str, Any]]:
        return self.coordinator.snapshot()

    # -- the coordinator of a group or a transactional id ------------------------------------

    @property
    def partition_count(self) -> int:
        """Of the topic, or its configured count before it is created. A group keeps its partition
        when more are added, until the broker starts again, as in Kafka. A topic with fewer than
        configured may be incomplete: the metadata lacks a new partition without a live replica."""
        topic = self._metadata.topics.get(self._topic.name)
        configured = self._topic.partitions(self._config)
        if topic is None:
            self._fixed_count = None
            return configured
        if self._fixed_count is None and len(topic.partitions) >= configured:
            self._fixed_count = len(topic.partitions)
        return self._fixed_count or len(topic.partitions)

    def partition_of(self, id: str) -> TopicPartition:
        """Where the records of a group or a transactional id are."""
        return self._partition(partition_of(id, self.partition_count))

    def coordinator_of(self, id: str) -> AliveBroker | None:
        """The leader of that partition; None if it has none now."""
        return self._metadata.leader(self.partition_of(id))

    def _partition(self, number: int) -> TopicPartition:
        return TopicPartition(self._topic.name, number)

    # -- requests and effects --------------------------------------------------------------

    async def handle(self, request: Any, version: int, client_id: str, host: str) -> Any:
        """Returns the response, which may have to wait for other clients."""
        number = next(self._numbers)
        response = self._waiting[number] = asyncio.get_running_loop().create_future()
        caller = Caller(number, version, client_id, host)
        self.coordinator.set_partition_count(self.partition_count)
        try:
            self._carry_out(self.coordinator.handle(request, caller, self._now()))
            return await response
        finally:
            del self._waiting[number]

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        todo = deque(effects)
        while todo:
            match todo.popleft():
                case Append() as append:
                    todo.extend(self._append(append))
                case TxnMarkers() as markers:
                    self._send_markers(markers)
                case Reply() as reply:
                    self._respond(reply)
        self._set_alarm()

    def _respond(self, reply: Reply) -> None:
        assert isinstance(reply.to, int)
        waiting = self._waiting.get(reply.to)
        if waiting is not None and not waiting.done():  # otherwise the client has disconnected
            waiting.set_result(reply.response)

    def _send_markers(self, markers: TxnMarkers) -> None:
        raise AssertionError("only the transaction coordinator sends markers")

    # -- deadlines -------------------------------------------------------------------------

    def _now(self) -> int:
        """The time in records, and of deadlines. If the clock was set, or the machine slept, the
        deadlines are moved along: members are given as long as before, no more and no less."""
        now = self._wall_clock()
        ahead = now - self._clock()
        moved = 0 if self._ahead is None else round(ahead - self._ahead)
        if self._ahead is None or abs(moved) > STEP_MS:
            self._ahead = ahead
            self.coordinator.move_deadlines(moved)
        return now

    def _clock(self) -> float:
        """In whole milliseconds: a timer of the loop never fires before its time."""
        return round(asyncio.get_running_loop().time() * 1000)

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        times = [each[0].deadline for each in self._pending.values()]
        now = self._now()
        if (due := self.coordinator.due()) is not None:
            times.append(self._clock() + due - now)
        if times:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_at(min(times) / 1000, self._on_deadline)

    def _on_deadline(self) -> None:
        """A deadline of the coordinator is over, or the timeout of an append."""
        effects = self.coordinator.tick(self._now())
        for number in sorted(self._pending):
            effects += self._complete(number)
        self._carry_out(effects)

    # -- appends ---------------------------------------------------------------------------

    def _append(self, append: Append) -> list[Effect]:
        """Returns the effects that follow at once: of an error, or if no replica is awaited."""
        number, token = append.partition, append.token
        to_all = token is not None and self._topic.acks(self._config) == coordinator_topic.ALL
        try:
            stored = self._replicas.append(
                self._partition(number), _batch(append), to_all=to_all, client=False
            )
        except ApiException as error:
            code = error.code
            return [] if token is None else self.coordinator.written(token, code, self._now())
        if token is None:
            return []
        if not to_all:
            return self.coordinator.written(token, ErrorCode.none, self._now())
        deadline = self._clock() + self._topic.timeout_ms(self._config)
        pending = self._pending.setdefault(number, deque())
        pending.append(PendingAppend(token, stored.last_offset, deadline))
        return self._complete(number)

    def _complete(self, number: int) -> list[Effect]:
        """Report the oldest appends to a partition, up to the first without a result."""
        effects: list[Effect] = []
        pending = self._pending.get(number)
        while pending and (code := self._result(number, pending[0])) is not None:
            effects += self.coordinator.written(pending.popleft().token, code, self._now())
        if not pending:
            self._pending.pop(number, None)
        return effects

    def _result(self, number: int, append: PendingAppend) -> ErrorCode | None:
        partition, leader_since = self._partition(number), self._leader_since.get(number, -1)
        try:
            if self._replicas.is_committed(partition, append.last_offset, leader_since):
                return ErrorCode.none
        except ApiException as error:
            return error.code
        return ErrorCode.request_timed_out if self._clock() >= append.deadline else None

    # -- leadership ------------------------------------------------------------------------

    def _on_change(self, partition: TopicPartition) -> None:
        """The role or the high watermark of a partition has changed. The caller may be in the
        middle of an append, so the partition is looked at afterwards."""
        if partition.topic == self._topic.name:
            if not self._changed:
                asyncio.get_running_loop().call_soon(self._poll)
            self._changed.add(partition.partition)

    def _poll(self) -> None:
        changed, self._changed = sorted(self._changed), set()
        effects: list[Effect] = []
        for number in changed:
            partition = self._replicas.partitions.get(self._partition(number))
            leader_since = (
                partition.leader_since if partition is not None and partition.is_leader else None
            )
            if leader_since != self._leader_since.get(number):
                effects += self._change_leader(number, leader_since)
            effects += self._complete(number)
        self._carry_out(effects)

    def _change_leader(self, number: int, leader_since: int | None) -> list[Effect]:
        """This broker no longer leads the partition, or leads it anew, or both."""
        effects: list[Effect] = []
        if self._leader_since.pop(number, None) is not None:
            self._pending.pop(number, None)
            effects = self.coordinator.unload(number, self._now())
            self._report("unloaded", number)
        if leader_since is not None:
            self._leader_since[number] = leader_since
            self.coordinator.load(number, leader_since)
            self._spawn(self._load(number, leader_since))
        return effects

    def _leads(self, number: int, leader_since: int) -> bool:
        """Whether this broker has led the partition without a break since that epoch."""
        return self._leader_since.get(number) == leader_since

    # -- loading ---------------------------------------------------------------------------

    async def _load(self, number: int, leader_since: int) -> None:
        """Read the partition from the first record to the last, in chunks."""
        name = self._topic.name
        await self._metadata.until(lambda: name in self._metadata.topics, float("inf"))
        self.coordinator.set_partition_count(self.partition_count)
        offset, total = 0, 0
        try:
            while self._leads(number, leader_since):
                next_offset, records = self._load_chunk(number, offset)
                total += records
                if next_offset is None:
                    break  # nothing may be appended before `loaded`, so do not wait
                offset = next_offset
                await asyncio.sleep(0)  # let other tasks run
        except ApiException as error:
            if error.code in LED_BY_ANOTHER:
                return  # `_poll` is about to notice it
            # The log is damaged, or its disk fails: the records before the damage count.
            self._report("unreadable", number, reason=error.message)
        if self._leads(number, leader_since):
            self._carry_out(self.coordinator.loaded(number, self._now()))
            self._report("loaded", number, records=total)

    def _load_chunk(self, number: int, offset: int) -> tuple[int | None, int]:
        """Returns the offset of the next chunk, or None at the end, and the count of records."""
        coordinator, now = self.coordinator, self._now()
        load_bytes = self._topic.load_bytes(self._config)
        data = self._replicas.replay(self._partition(number), offset, load_bytes)
        next_offset, total = None, 0
        for header, records in coordinator_topic.batches(data, offset):
            next_offset, total = header.next_offset, total + len(records)
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            if not header.is_control:
                coordinator.replay(number, records, now, producer_id)
            elif (committed := _is_commit(records)) is not None:
                self._carry_out(coordinator.ended(number, producer_id, committed, now))
        return next_offset, total

    def _report(self, what: str, number: int, **facts: Any) -> None:
        facts = self._partition(number)._asdict() | facts
        self._emit(Event(f"{self._topic.events}.{what}", self._now(), facts))


def _batch(append: Append) -> bytes:
    if append.producer is None:
        return encode(append.records)
    producer_id, epoch = append.producer
    return encode(append.records, producer_id=producer_id, producer_epoch=epoch, transactional=True)


def _is_commit(records: list[Record]) -> bool | None:
    """Whether a control batch is a COMMIT or an ABORT; None if it is neither."""
    kinds = {control.decode(record).type for record in records} - {ControlType.UNKNOWN}
    return ControlType.COMMIT in kinds if kinds else None


class GroupService(CoordinatorService[GroupCoordinator]):
    def __init__(self, services: BrokerServices, kind: type[GroupCoordinator]) -> None:
        coordinator = kind(services.config, services.new_id, services.exists, services.emit)
        super().__init__(services, coordinator_topic.OFFSETS_TOPIC, coordinator)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They were deleted, with their topics."""
        self._carry_out(self.coordinator.forget(partitions, self._now()))

    def ended(self, partition: int, producer_id: int, committed: bool) -> None:
        """This broker has written a marker to a partition of __consumer_offsets. While the
        partition is being loaded, the marker is found in its place between the records."""
        if not self.coordinator.is_loading(partition):
            self._carry_out(self.coordinator.ended(partition, producer_id, committed, self._now()))


class TransactionService(CoordinatorService[TransactionCoordinator]):
    """A new producer needs a producer id. Producer ids come from the metadata store, and the
    coordinator cannot wait for it, so one is fetched before each InitProducerId. If there is none
    now, only a request that needs one is refused."""

    def __init__(
        self,
        services: BrokerServices,
        groups: GroupService,
        producer_ids: ProducerIds,
        connect: Connect,
        kind: type[TransactionCoordinator],
    ) -> None:
        coordinator = kind(services.config, groups.partition_of, services.exists, services.emit)
        super().__init__(services, coordinator_topic.TRANSACTIONS_TOPIC, coordinator)
        self._producer_ids = producer_ids
        self._sender = TxnMarkerSender(
            services.config.broker_id,
            services.config.request_timeout_ms / 1000,
            services.metadata,
            connect,
            self._still_ends,
            self._marked,
        )

    async def handle(self, request: Any, version: int, client_id: str, host: str) -> Any:
        if isinstance(request, InitProducerIdRequest):
            with suppress(ApiException):  # the coordinator tells it to whoever needs one
                while self.coordinator.needs_producer_id:
                    self.coordinator.give_producer_id(await self._producer_ids.next())
        return await super().handle(request, version, client_id, host)

    def close(self) -> None:
        self._sender.close()

    def _send_markers(self, markers: TxnMarkers) -> None:
        self._spawn(self._sender.send(markers))

    def _still_ends(self, markers: TxnMarkers) -> bool:
        return self._leads(markers.coordinator, markers.coordinator_epoch)

    def _marked(self, markers: TxnMarkers, partitions: tuple[TopicPartition, ...]) -> None:
        id, producer = markers.transactional_id, markers.producer
        self._carry_out(self.coordinator.marked(id, producer, partitions, self._now()))
