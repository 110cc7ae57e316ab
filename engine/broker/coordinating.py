"""A coordinator on asyncio: clients ask and wait, deadlines ring, logs are read.

    a client's request ─── ask ────┐
    the deadline that is due ──────┼──> coordinator ──> effects ──> reigns: log, answers
    a partition's role has changed ┘

What is decided is decided in engine/coordinator, what is written and awaited in broker/reigns.py.
Here a waiting request is a future, and reading a long log lets others work meanwhile. There are
two of the kind: Groups (groups.py) and Transactions (transactions.py).
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from itertools import count
from typing import Any, NamedTuple, Protocol

from engine.broker.metadata import Metadata, Node
from engine.broker.reigns import END, START, Coordinator, Reigns, Shelf, Surroundings
from engine.config import BrokerConfig
from engine.coordinator.effects import Caller, Effect, Mark, Reply
from engine.coordinator.groups import partition_of
from engine.errors import KafkaError
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas


class Asked(Coordinator, Protocol):
    """A coordinator that clients may ask, too."""

    partition_count: int

    def configure(self, config: BrokerConfig) -> None: ...
    def handle(self, request: Any, caller: Caller, now: int) -> list[Effect]: ...
    def snapshot(self) -> list[dict[str, Any]]: ...


class Means(NamedTuple):
    """What a broker lends to its coordinators."""

    config: BrokerConfig
    metadata: Metadata
    replicas: Replicas
    now: Callable[[], int]
    emit: Callable[[Event], None]
    spawn: Callable[[Coroutine[Any, Any, None]], object]

    def exists(self, partition: TopicPartition) -> bool:
        return self.metadata.partition(partition) is not None


class Coordinating:
    def __init__(
        self,
        means: Means,
        shelf: Shelf,
        coordinator: Asked,
        mark: Callable[[Mark], object] | None = None,
    ) -> None:
        self._config = means.config
        self._metadata = means.metadata
        self._now = means.now
        self._shelf = shelf
        self._asked_of = coordinator
        self._reigns = Reigns(
            means.config,
            shelf,
            coordinator,
            means.replicas,
            Surroundings(
                now=means.now,
                clock=lambda: time.monotonic() * 1000,  # asyncio's too
                answer=self._answer,
                wake=self._wake,
                begin=lambda number, reign: means.spawn(self._load(number, reign)),
                emit=means.emit,
                mark=mark,
            ),
        )
        self._asked: dict[int, asyncio.Future[Any]] = {}  # by the number of the request
        self._numbers = count()
        self._alarm: asyncio.TimerHandle | None = None
        means.replicas.changed.append(self._changed)

    def configure(self, config: BrokerConfig) -> None:
        self._config = self._reigns.config = config
        self._asked_of.configure(config)

    def snapshot(self) -> list[dict[str, Any]]:
        return self._asked_of.snapshot()

    # -- who coordinates whom --------------------------------------------------------------

    @property
    def partition_count(self) -> int:
        """As the topic has it, once there is one."""
        topic = self._metadata.topics.get(self._shelf.topic)
        return len(topic.partitions) if topic else self._shelf.partitions(self._config)

    def partition_of(self, name: str) -> TopicPartition:
        """Where the records about a group or a transactional id are."""
        return TopicPartition(self._shelf.topic, partition_of(name, self.partition_count))

    def coordinator_of(self, name: str) -> Node | None:
        """Who leads that partition; None: nobody, for now."""
        info = self._metadata.partition(self.partition_of(name))
        return self._metadata.node(info.leader) if info else None

    # -- what clients ask ------------------------------------------------------------------

    async def ask(self, request: Any, version: int, client_id: str, host: str) -> Any:
        """The answer, which may have to wait for others."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        caller = Caller(number, version, client_id, host)
        self._asked_of.partition_count = self.partition_count
        try:
            self._carry_out(self._asked_of.handle(request, caller, self._now()))
            return await answer
        finally:
            del self._asked[number]

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        self._reigns.carry_out(effects)

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
        """Read all that was ever decided in a partition, and let others work meanwhile."""
        never, reigns, topic = float("inf"), self._reigns, self._shelf.topic
        await self._metadata.until(lambda: topic in self._metadata.topics, never)
        self._asked_of.partition_count = self.partition_count
        offset, read = START, 0
        try:
            while reigns.lasts(number, reign) and offset != END:
                offset, records = reigns.read(number, offset)
                read += records
                if offset != END:  # otherwise nothing may happen before `loaded`
                    await asyncio.sleep(0)
        except KafkaError as error:  # a damaged log: what came before the damage is known
            reigns.tell("unreadable", number, reason=error.message)
        if reigns.lasts(number, reign):
            reigns.loaded(number, read)
