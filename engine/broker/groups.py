"""The group coordinator on asyncio; see coordinating.py, which does nearly all of it."""

from collections.abc import Iterable
from uuid import uuid4

from engine.broker.coordinating import Coordinating, Means
from engine.broker.reigns import GROUPS_SHELF
from engine.coordinator.coordinator import Coordinator
from engine.model import TopicPartition


class Groups(Coordinating):
    def __init__(self, means: Means) -> None:
        self._coordinator = Coordinator(
            means.config, lambda: str(uuid4()), means.exists, means.emit
        )
        super().__init__(means, GROUPS_SHELF, self._coordinator)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They were deleted, with their topics."""
        self._carry_out(self._coordinator.forget(partitions, self._now()))

    def ended(self, partition: int, producer_id: int, committed: bool) -> None:
        """A transaction with offsets, in a partition that we lead. While that is still being read,
        the marker is come by in its place."""
        if partition not in self._coordinator.groups.loading:
            self._carry_out(self._coordinator.ended(partition, producer_id, committed, self._now()))
