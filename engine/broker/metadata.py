"""What a broker knows of the cluster: who is alive, who is controller, who leads what.

    controller ── UpdateMetadata ──> every broker ── Metadata ──> clients

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
from engine.wire.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

NO_BROKER = -1
DELETED = -2  # a leader that is none: the partition is on its way out


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
    offline: tuple[int, ...] = ()  # replicas on brokers or disks that are down


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

    def node(self, broker: int) -> Node | None:
        """Where a broker listens, if it is alive."""
        return self.brokers.get(broker)

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def update(self, request: UpdateMetadataRequest) -> None:
        """What the controller says: all brokers that are alive, and the partitions that changed."""
        self.controller = request.controller_id
        self.brokers = {
            broker.id: Node(
                broker.id, broker.endpoints[0].host, broker.endpoints[0].port, broker.rack
            )
            for broker in request.live_brokers
        }
        for told in request.topic_states:
            self._update_topic(told)
        self.changed()

    def _update_topic(self, told: UpdateMetadataTopicState) -> None:
        """A topic created anew under an old name is another: it gets a `TopicInfo` of its own."""
        name, known = told.topic_name, self.topics.get(told.topic_name)
        if known is None or known.id != told.topic_id:
            known = TopicInfo(name, told.topic_id)
        for each in told.partition_states:
            if each.leader == DELETED:
                known.partitions.pop(each.partition_index, None)
            else:
                known.partitions[each.partition_index] = PartitionInfo(
                    each.leader, each.leader_epoch, each.replicas, each.isr, each.offline_replicas
                )
        if known.partitions:
            self.topics[name] = known
        else:
            self.topics.pop(name, None)

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
