"""What a broker knows of the cluster: who is alive, who is controller, who leads what.

Clients ask any broker and trust the answer until an error tells them to ask again. So this may
be a moment behind ZooKeeper, but never of a mind of its own: only the controller's word changes it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from engine.model import TopicPartition

NO_BROKER = -1


class Node(NamedTuple):
    """A live broker, as clients reach it."""

    id: int
    host: str
    port: int
    rack: str | None = None


class PartitionInfo(NamedTuple):
    leader: int  # -1: nobody, for now
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass
class TopicInfo:
    name: str
    id: UUID | None
    partitions: dict[int, PartitionInfo] = field(default_factory=dict)


@dataclass
class Metadata:
    cluster_id: str = ""
    controller: int = NO_BROKER
    brokers: dict[int, Node] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def changed(self) -> None:
        """Whoever waits for something to become true looks again."""
        self._change.set()
        self._change = asyncio.Event()

    async def until(self, holds: Callable[[], bool], deadline: float) -> bool:
        """Wait until the controller has made something true; False if it is not by then."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not holds():
                    await self._change.wait()
        return holds()
