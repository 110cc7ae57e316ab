"""The transaction coordinator on asyncio: what coordinating.py does, and two things more.

A producer that is new, or has used up its epochs, gets a producer id. Those come from ZooKeeper,
for which the core can't wait; so one lies ready before it is asked. And the end of a transaction
goes to all partitions that it wrote to (marking.py).
"""

from typing import Any

from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.broker.coordinating import Coordinating, Means
from engine.broker.groups import Groups
from engine.broker.marking import Marking
from engine.broker.producer_ids import ProducerIds
from engine.broker.reigns import TRANSACTIONS_SHELF
from engine.coordinator.effects import Mark
from engine.coordinator.transactions.coordinator import Transactions as Core
from engine.links import Links
from engine.model import TopicPartition


class Transactions(Coordinating):
    def __init__(
        self, means: Means, groups: Groups, producer_ids: ProducerIds, links: Links
    ) -> None:
        self._core = Core(means.config, groups.partition_of, means.exists, means.emit)
        self._producer_ids = producer_ids
        self._marking = Marking(
            means.config.broker_id, means.metadata, links, self._lasts, self._marked
        )
        super().__init__(
            means,
            TRANSACTIONS_SHELF,
            self._core,
            lambda mark: means.spawn(self._marking.carry_out(mark)),
        )

    async def ask(self, request: Any, version: int, client_id: str, host: str) -> Any:
        if isinstance(request, InitProducerIdRequest):
            await self._have_an_id_ready()
        return await super().ask(request, version, client_id, host)

    async def _have_an_id_ready(self) -> None:
        while self._core.needs_id:
            self._core.give(await self._producer_ids.next())

    def close(self) -> None:
        self._marking.close()

    def _lasts(self, mark: Mark) -> bool:
        return self._reigns.lasts(mark.coordinator, mark.coordinator_epoch)

    def _marked(self, mark: Mark, partitions: tuple[TopicPartition, ...]) -> None:
        name, writer = mark.transactional_id, mark.writer
        self._carry_out(self._core.marked(name, writer, partitions, self._now()))
