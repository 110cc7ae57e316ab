"""The metadata of the cluster in each broker: live brokers, the controller, the leaders.

    controller ── UpdateMetadata ──> every broker ── Metadata ──> clients
                  (without ZooKeeper: the records of the metadata log)

Clients ask any broker, and use the answer until an error shows that it is old. So the metadata may
be a moment behind ZooKeeper, or behind the log. Only the controller changes it.
"""

import asyncio
from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from engine.metadata.delta import BrokerEndpoint, MetadataDelta, PartitionChange, endpoint_of
from engine.model import NO_BROKER, TopicPartition


class AliveBroker(NamedTuple):
    """A live broker, as the other brokers reach it."""

    id: int
    host: str
    port: int
    rack: str | None = None
    endpoints: tuple[BrokerEndpoint, ...] = ()  # of all its listeners

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
    # Brokers that are fenced or stopping, and so may join no ISR. With ZooKeeper: none is known.
    ineligible: frozenset[int] = frozenset()
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)  # by the id of the topic
    listener: str = "PLAINTEXT"  # by which brokers reach each other
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    def at(self, listener: str) -> dict[int, AliveBroker]:
        """The live brokers, as clients of a listener reach them."""
        found = {number: broker.at(listener) for number, broker in self.brokers.items()}
        return {number: broker for number, broker in found.items() if broker is not None}

    @property
    def registered(self) -> Set[int]:
        """The brokers to which replicas can be assigned by hand: the live ones, and those that are
        fenced, whose replicas join the ISR when the brokers are back."""
        return self.brokers.keys() | self.ineligible

    @property
    def eligible(self) -> list[int]:
        """The live brokers that new replicas are placed on."""
        return sorted(self.brokers.keys() - self.ineligible)

    @property
    def fenced(self) -> list[int]:
        """The brokers that are registered and fenced: they get new replicas where there are not
        enough live ones. With ZooKeeper none is known."""
        return sorted(self.ineligible - self.brokers.keys())

    @property
    def racks(self) -> dict[int, str | None]:
        """The rack of each live broker; None: it has none."""
        return {number: broker.rack for number, broker in self.brokers.items()}

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

    def apply(self, delta: MetadataDelta) -> None:
        """The live brokers, and the partitions that have changed."""
        if delta.controller is not None:
            self.controller = delta.controller
        if delta.brokers is not None:
            self.brokers = {
                id: AliveBroker(id, endpoint.host, endpoint.port, rack, endpoints)
                for id, endpoints, rack in delta.brokers
                if endpoints and (endpoint := endpoint_of(endpoints, self.listener))
            }
        if delta.ineligible is not None:
            self.ineligible = delta.ineligible
        for change in delta.partitions:
            self._update(change)
        self.changed()

    def _update(self, change: PartitionChange) -> None:
        """A new topic under the name of a deleted one gets a new `TopicInfo`."""
        (name, number), topic_id, now = change
        topic = self.topics.get(name)
        if topic is None or topic.id != topic_id:
            self._forget_id(topic)
            topic = TopicInfo(name, topic_id)
        if now is None:
            topic.partitions.pop(number, None)
        else:
            topic.partitions[number] = PartitionInfo(
                now.leader, now.leader_epoch, now.replicas, now.isr, now.offline
            )
        if topic.partitions:
            self.topics[name] = topic
            if topic_id is not None:
                self.topic_names[topic_id] = name
        else:
            self.topics.pop(name, None)
            self._forget_id(topic)

    def _forget_id(self, topic: TopicInfo | None) -> None:
        if topic is not None and topic.id is not None:
            self.topic_names.pop(topic.id, None)

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
