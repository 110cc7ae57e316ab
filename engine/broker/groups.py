"""The group coordinator's hands: its answers go out, its records go to the log, its log is read.

    a member's request ──> handle ──┐
    the deadline that is due ─ tick ┼──> effects:  Reply   the answer of a waiting request
    replicated, or not ── written ──┘              Append  ──> the log of __consumer_offsets-n
                                  ^                              │
                                  └── high watermark beyond it <─┘

What is decided is decided in engine/coordinator. Here a partition of __consumer_offsets is read
from end to end when we become its leader (no group in it is served before), records are appended
as leader, and whoever waits for them is told when the in-sync replicas have them.

Invariant: records of a partition are reported in the order in which they were appended.
Invariant: nothing that belongs to an earlier reign over a partition reaches the coordinator in a
later one.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

from engine.broker.metadata import Metadata, Node
from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Append, Caller, Effect, Reply
from engine.coordinator.groups import partition_of
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas
from engine.storage.batch import scan
from engine.storage.records import Record, decode, encode

OFFSETS = "__consumer_offsets"
ALL = -1  # offsets.commit.required.acks
START, END = 0, -1  # of a log, for who reads it from end to end


class Waiting(NamedTuple):
    """What was appended, and is not known to be replicated yet."""

    token: int
    last_offset: int
    until: float  # the loop's time when patience ends: offsets.commit.timeout.ms


class Groups:
    def __init__(
        self,
        config: BrokerConfig,
        metadata: Metadata,
        replicas: Replicas,
        now: Callable[[], int],
        emit: Callable[[Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._replicas = replicas
        self._now = now
        self._emit = emit
        self._spawn = spawn
        self._coordinator = Coordinator(
            config, lambda: str(uuid4()), lambda it: metadata.partition(it) is not None, emit
        )
        self._asked: dict[int, asyncio.Future[Any]] = {}  # by the number of the request
        self._numbers = count()
        self._reigns: dict[int, int] = {}  # the partitions that we lead, and since which epoch
        self._waiting: defaultdict[int, deque[Waiting]] = defaultdict(deque)  # by partition
        self._stirred: set[int] = set()  # partitions to look at as soon as the loop is free
        self._alarm: asyncio.TimerHandle | None = None
        replicas.changed.append(self._changed)

    def configure(self, config: BrokerConfig) -> None:
        self._config = config
        self._coordinator.configure(config)

    def snapshot(self) -> list[dict[str, Any]]:
        return self._coordinator.snapshot()

    # -- who coordinates whom --------------------------------------------------------------

    @property
    def partition_count(self) -> int:
        """As the topic has it, once there is one."""
        topic = self._metadata.topics.get(OFFSETS)
        return len(topic.partitions) if topic else self._config.offsets_topic_num_partitions

    def coordinator_of(self, group_id: str) -> Node | None:
        """Who leads the partition of a group; None: nobody, for now."""
        partition = TopicPartition(OFFSETS, partition_of(group_id, self.partition_count))
        info = self._metadata.partition(partition)
        return self._metadata.node(info.leader) if info else None

    # -- what members ask ------------------------------------------------------------------

    async def ask(self, request: Any, version: int, client_id: str, host: str) -> Any:
        """The answer, which may have to wait for other members."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        caller = Caller(number, version, client_id, host)
        self._coordinator.groups.partition_count = self.partition_count
        try:
            self._carry_out(self._coordinator.handle(request, caller, self._now()))
            return await answer
        finally:
            del self._asked[number]

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They were deleted, with their topics."""
        self._carry_out(self._coordinator.forget(partitions, self._now()))

    # -- what the coordinator wants --------------------------------------------------------

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Append):
                todo.extend(self._append(effect))
            else:
                self._answer(effect)
        self._wake_in_time()

    def _answer(self, reply: Reply) -> None:
        assert isinstance(reply.to, int)
        waiting = self._asked.get(reply.to)
        if waiting is not None and not waiting.done():  # otherwise the client has hung up
            waiting.set_result(reply.response)

    def _append(self, write: Append) -> list[Effect]:
        """Returns what follows at once: without replicas to wait for, or without success."""
        number, token = write.partition, write.token
        try:
            stored = self._replicas.append(
                TopicPartition(OFFSETS, number), encode(write.records), to_all=True
            )
        except KafkaError as error:
            return self._written(token, error.code)
        if token is None:
            return []
        if self._config.offsets_commit_required_acks != ALL:
            return self._written(token, ErrorCode.none)
        patience = self._config.offsets_commit_timeout_ms / 1000
        until = asyncio.get_running_loop().time() + patience
        self._waiting[number].append(Waiting(token, stored.last_offset, until))
        return self._settled(number)

    def _written(self, token: int | None, code: ErrorCode) -> list[Effect]:
        return [] if token is None else self._coordinator.written(token, code, self._now())

    def _settled(self, number: int) -> list[Effect]:
        """What follows for the oldest writes to a partition, as far as it is known by now."""
        effects: list[Effect] = []
        waiting = self._waiting.get(number)
        while waiting and (code := self._outcome(number, waiting[0])) is not None:
            effects += self._written(waiting.popleft().token, code)
        if not waiting:
            self._waiting.pop(number, None)
        return effects

    def _outcome(self, number: int, write: Waiting) -> ErrorCode | None:
        partition = TopicPartition(OFFSETS, number)
        reign = self._reigns.get(number, -1)
        try:
            if self._replicas.is_committed(partition, write.last_offset, reign):
                return ErrorCode.none
        except KafkaError as error:
            return error.code
        late = asyncio.get_running_loop().time() >= write.until
        return ErrorCode.request_timed_out if late else None

    def _wake_in_time(self) -> None:
        """Be there when the next deadline of a group is over, or the patience for a write."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        loop, due = asyncio.get_running_loop(), self._coordinator.due()
        times = [each[0].until for each in self._waiting.values()]
        if due is not None:
            times.append(loop.time() + (due - self._now()) / 1000)
        if times:
            self._alarm = loop.call_at(min(times), self._ring)

    def _ring(self) -> None:
        effects = self._coordinator.tick(self._now())
        for number in list(self._waiting):
            effects += self._settled(number)
        self._carry_out(effects)

    # -- partitions of __consumer_offsets --------------------------------------------------

    def _changed(self, partition: TopicPartition) -> None:
        """Its role, its high watermark: looked at later, since we may be appending this moment."""
        if partition.topic == OFFSETS:
            if not self._stirred:
                asyncio.get_running_loop().call_soon(self._look)
            self._stirred.add(partition.partition)

    def _look(self) -> None:
        stirred, self._stirred = self._stirred, set()
        effects: list[Effect] = []
        for number in stirred:
            role = self._replicas.partitions.get(TopicPartition(OFFSETS, number))
            reign = role.reign if role is not None and role.is_leader else None
            if reign != self._reigns.get(number):
                effects += self._succeed(number, reign)
            effects += self._settled(number)
        self._carry_out(effects)

    def _succeed(self, number: int, reign: int | None) -> list[Effect]:
        """A reign is over, or begins, or both."""
        effects: list[Effect] = []
        if self._reigns.pop(number, None) is not None:
            self._waiting.pop(number, None)
            effects = self._coordinator.unload(number, self._now())
            self._tell("group.unloaded", number)
        if reign is not None:
            self._reigns[number] = reign
            self._coordinator.load(number)
            self._spawn(self._load(number, reign))
        return effects

    async def _load(self, number: int, reign: int) -> None:
        """Read all that the groups of a partition ever said, and let others work meanwhile."""
        never = float("inf")
        await self._metadata.until(lambda: OFFSETS in self._metadata.topics, never)
        self._coordinator.groups.partition_count = self.partition_count
        partition, offset, read = TopicPartition(OFFSETS, number), START, 0
        try:
            while self._reigns.get(number) == reign and offset != END:
                data = self._replicas.replay(
                    partition, offset, self._config.offsets_load_buffer_size
                )
                offset, records = _unpacked(data, offset)
                self._coordinator.replay(number, records, self._now())
                read += len(records)
                await asyncio.sleep(0)
        except KafkaError as error:  # a damaged log: what came before the damage is known
            self._tell("group.unreadable", number, reason=error.message)
        if self._reigns.get(number) == reign:
            self._carry_out(self._coordinator.loaded(number, self._now()))
            self._tell("group.loaded", number, records=read)

    def _tell(self, kind: str, number: int, **facts: Any) -> None:
        self._emit(Event(kind, self._now(), {"topic": OFFSETS, "partition": number, **facts}))


def _unpacked(data: bytes, offset: int) -> tuple[int, list[Record]]:
    """The records in whole batches from an offset on, and where to go on."""
    following, records = END, []
    for position, header in scan(data):
        following = header.next_offset
        if not header.is_control:
            batch = memoryview(data)[position : position + header.size]
            records += [record for record in decode(batch) if record.offset >= offset]
    return following, records
