"""The controller's context: its copy of the state in ZooKeeper.

    brokers        the live brokers and their epochs (the czxid of the registration: the number of
                   the transaction that created the znode)
    topics         each topic's id and partitions, each partition's replicas
    leadership     leader and ISR, with the version of the znode
    deleting       topics to be deleted             moving    partitions that are being reassigned

ZooKeeper is always written first, and this copy after it. So the next controller reads the same
state there, and continues.

Invariant: a context belongs to one epoch; the next controller starts with a new one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.zookeeper import znodes

UNASSIGNED = ReplicaAssignment(())


class PartitionAndReplica(NamedTuple):
    partition: TopicPartition
    broker: int


class LiveBroker(NamedTuple):
    epoch: int  # the czxid of its znode: another one after each start
    registration: znodes.BrokerInfo


class Leadership(NamedTuple):
    state: znodes.LeaderAndIsr
    version: int  # of the znode; every change names it


@dataclass
class Context:
    """What one controller knows, for as long as its epoch lasts."""

    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)  # alive, but must not become leader
    broken: dict[int, set[TopicPartition]] = field(default_factory=dict)  # on failed disks
    topic_ids: dict[str, UUID | None] = field(default_factory=dict)
    topics: dict[str, dict[int, TopicPartition]] = field(default_factory=dict)
    assignments: dict[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    leadership: dict[TopicPartition, Leadership] = field(default_factory=dict)
    moving: set[TopicPartition] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)  # topics; one waits while a partition moves
    deletable: set[str] = field(default_factory=set)  # of these, the topics that do not wait

    # -- brokers -------------------------------------------------------------------------

    @property
    def live(self) -> list[int]:
        """The brokers that may become leader."""
        return sorted(self.brokers.keys() - self.shutting_down)

    def online(self, broker: int, partition: TopicPartition) -> bool:
        return broker not in self.shutting_down and self.reachable(broker, partition)

    def reachable(self, broker: int, partition: TopicPartition) -> bool:
        """Online, or about to shut down."""
        return broker in self.brokers and partition not in self.broken.get(broker, ())

    # -- topics and their replicas -------------------------------------------------------

    def add_topic(self, name: str, topic: znodes.Topic) -> None:
        self.topic_ids[name] = topic.topic_id
        self.topics.setdefault(name, {})
        for number, replicas in sorted(topic.partitions.items()):
            partition = TopicPartition(name, number)
            self.topics[name][number] = partition
            self.assignments[partition] = replicas
            if replicas.adding or replicas.removing:
                self.moving.add(partition)

    @property
    def moving_topics(self) -> set[str]:
        return {partition.topic for partition in self.moving}

    def remove_topic(self, name: str) -> None:
        self.topic_ids.pop(name, None)
        self.deleting.discard(name)
        self.deletable.discard(name)
        for partition in self.topics.pop(name, {}).values():
            self.assignments.pop(partition, None)
            self.leadership.pop(partition, None)
            self.moving.discard(partition)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        return self.assignments.get(partition, UNASSIGNED).replicas

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[PartitionAndReplica]:
        return [
            PartitionAndReplica(each, broker)
            for each in partitions
            for broker in self.replicas(each)
        ]

    def replicas_on(self, brokers: Iterable[int]) -> list[PartitionAndReplica]:
        wanted = set(brokers)
        return [each for each in self.replicas_of(self.assignments) if each.broker in wanted]

    def deleted(self, partition: TopicPartition) -> bool:
        """Whether the topic of a partition is being deleted; then there is no election."""
        return partition.topic in self.deletable

    # -- leaders -------------------------------------------------------------------------

    def leader(self, partition: TopicPartition) -> int | None:
        """The leader of a partition; None before the first one, -1 if there is none now."""
        known = self.leadership.get(partition)
        return known.state.leader if known else None

    def led(self) -> Iterator[tuple[TopicPartition, Leadership]]:
        """Partitions that have a leader, or had one, and are not being deleted."""
        return (item for item in self.leadership.items() if not self.deleted(item[0]))

    def leaderless(self) -> list[TopicPartition]:
        return [each for each, known in self.led() if not self.online(known.state.leader, each)]
