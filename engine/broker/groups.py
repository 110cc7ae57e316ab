"""The group coordinator on asyncio: members ask and wait, deadlines ring, logs are read.

    a member's request ── ask ─────┐
    the deadline that is due ──────┼──> coordinator ──> effects ──> reigns: log, answers
    a partition's role has changed ┘

What is decided is decided in engine/coordinator, what is written and awaited in broker/reigns.py.
Here a waiting request is a future, and reading a long log lets others work meanwhile.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from itertools import count
from typing import Any
from uuid import uuid4

from engine.broker.metadata import Metadata, Node
from engine.broker.reigns import END, OFFSETS, START, Reigns, Surroundings
from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator
from engine.coordinator.effects import Caller, Reply
from engine.coordinator.groups import partition_of
from engine.errors import KafkaError
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas


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
        self._now = now
        self._coordinator = Coordinator(
            config, lambda: str(uuid4()), lambda it: metadata.partition(it) is not None, emit
        )
        self._reigns = Reigns(
            config,
            self._coordinator,
            replicas,
            Surroundings(
                now=now,
                clock=lambda: time.monotonic() * 1000,  # asyncio's too
                answer=self._answer,
                wake=self._wake,
                begin=lambda number, reign: spawn(self._load(number, reign)),
                emit=emit,
            ),
        )
        self._asked: dict[int, asyncio.Future[Any]] = {}  # by the number of the request
        self._numbers = count()
        self._alarm: asyncio.TimerHandle | None = None
        replicas.changed.append(self._changed)

    def configure(self, config: BrokerConfig) -> None:
        self._config = self._reigns.config = config
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
            self._reigns.carry_out(self._coordinator.handle(request, caller, self._now()))
            return await answer
        finally:
            del self._asked[number]

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They were deleted, with their topics."""
        self._reigns.carry_out(self._coordinator.forget(partitions, self._now()))

    def _answer(self, reply: Reply) -> None:
        assert isinstance(reply.to, int)
        waiting = self._asked.get(reply.to)
        if waiting is not None and not waiting.done():  # otherwise the client has hung up
            waiting.set_result(reply.response)

    # -- in time ---------------------------------------------------------------------------

    def _wake(self, due: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_at(due / 1000, self._reigns.ring)

    def _changed(self, partition: TopicPartition) -> None:
        if self._reigns.stir(partition):
            asyncio.get_running_loop().call_soon(self._reigns.look)

    async def _load(self, number: int, reign: int) -> None:
        """Read all that the groups of a partition ever said, and let others work meanwhile."""
        never, reigns = float("inf"), self._reigns
        await self._metadata.until(lambda: OFFSETS in self._metadata.topics, never)
        self._coordinator.groups.partition_count = self.partition_count
        offset, read = START, 0
        try:
            while reigns.lasts(number, reign) and offset != END:
                offset, records = reigns.read(number, offset)
                read += records
                await asyncio.sleep(0)
        except KafkaError as error:  # a damaged log: what came before the damage is known
            reigns.tell("group.unreadable", number, reason=error.message)
        if reigns.lasts(number, reign):
            reigns.loaded(number, read)
