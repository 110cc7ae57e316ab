"""The metadata of the cluster in each broker: live brokers, the controller, the leaders.

    controller ── UpdateMetadata ──> every broker ── Metadata ──> clients

Clients ask any broker, and use the answer until an error shows that it is old. So the metadata may
be a moment behind ZooKeeper. Only the controller changes it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from engine.controller.requests import endpoint_of
from engine.model import TopicPartition
from engine.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataTopicState

NO_BROKER = -1
DELETED = -2  # as a leader: the partition is being deleted


class AliveBroker(NamedTuple):
    """A live broker, as the other brokers reach it."""

    id: int
    host: str
    port: int
    rack: str | None = None
    endpoints: tuple[tuple[str, str, int], ...] = ()  # listener, host, port: of all its listeners

    def at(self, listener: str) -> "AliveBroker | None":
        """As a client of one listener reaches it; None if it has no such listener."""
        if not self.endpoints:
            return self  # it is not known by its listeners
        for name, host, port in self.endpoints:
            if name == listener:
                return AliveBroker(self.id, host, port, self.rack)
        return None


class PartitionInfo(NamedTuple):
    leader: int  # -1: none now
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
    brokers: dict[int, AliveBroker] = field(default_factory=dict)
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    listener: str = "PLAINTEXT"  # by which brokers reach each other
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, listener: str) -> dict[int, AliveBroker]:
        """The live brokers, as clients of a listener reach them."""
        found = {number: broker.at(listener) for number, broker in self.brokers.items()}
        return {number: broker for number, broker in found.items() if broker is not None}

    def node(self, broker: int) -> AliveBroker | None:
        """Where a broker listens, if it is alive."""
        return self.brokers.get(broker)

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def leader(self, partition: TopicPartition) -> AliveBroker | None:
        """Where its leader listens; None if it has none that is alive."""
        info = self.partition(partition)
        return self.node(info.leader) if info else None

    def update(self, request: UpdateMetadataRequest) -> None:
        """From the controller: all live brokers, and the partitions that have changed."""
        self.controller = request.controller_id
        self.brokers = {
            broker.id: AliveBroker(
                broker.id,
                endpoint.host,
                endpoint.port,
                broker.rack,
                tuple((each.listener, each.host, each.port) for each in broker.endpoints),
            )
            for broker in request.live_brokers
            if broker.endpoints and (endpoint := endpoint_of(broker.endpoints, self.listener))
        }
        for topic in request.topic_states:
            self._update_topic(topic)
        self.changed()

    def _update_topic(self, update: UpdateMetadataTopicState) -> None:
        """A new topic under the name of a deleted one gets a new `TopicInfo`."""
        name, known = update.topic_name, self.topics.get(update.topic_name)
        if known is None or known.id != update.topic_id:
            known = TopicInfo(name, update.topic_id)
        for each in update.partition_states:
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
        """Wake the tasks in `until`."""
        self._change.set()
        self._change = asyncio.Event()

    async def until(self, holds: Callable[[], bool], deadline: float) -> bool:
        """Wait for a condition on the metadata; False if it is not met by the deadline."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not holds():
                    await self._change.wait()
        return holds()
