"""What the controller knows of the cluster: a copy of what ZooKeeper has, good for one term.

    brokers        who is alive, and in which of its lives (the czxid of its registration)
    topics         each topic's id and partitions, each partition's replicas
    leadership     who leads and who is in sync, with the version of the znode that says so
    deleting       topics on their way out          moving    partitions on their way elsewhere

ZooKeeper is always written first, and this copy after it. So whoever takes over reads the same
things there, and goes on from where its predecessor was stopped.

Invariant: nothing here outlives the term; a new one starts from what it reads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from engine.controller import znodes
from engine.model import TopicPartition

UNASSIGNED = znodes.Replicas(())


class Replica(NamedTuple):
    partition: TopicPartition
    broker: int


class LiveBroker(NamedTuple):
    epoch: int  # of this life: the transaction that created its znode
    registration: znodes.Broker


class Leadership(NamedTuple):
    state: znodes.PartitionState
    version: int  # of the znode; a leader that changes its ISR must name it, and so must we


@dataclass
class Context:
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    shutting_down: set[int] = field(default_factory=set)  # alive, but not to lead any more
    broken: dict[int, set[TopicPartition]] = field(default_factory=dict)  # on failed disks
    topic_ids: dict[str, UUID | None] = field(default_factory=dict)
    topics: dict[str, dict[int, TopicPartition]] = field(default_factory=dict)
    assignments: dict[TopicPartition, znodes.Replicas] = field(default_factory=dict)
    leadership: dict[TopicPartition, Leadership] = field(default_factory=dict)
    moving: set[TopicPartition] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)  # asked for; waits while a partition moves
    doomed: set[str] = field(default_factory=set)  # of these, those that wait no longer

    # -- brokers -------------------------------------------------------------------------

    @property
    def live(self) -> list[int]:
        """Brokers that may lead; one that is shutting down may not."""
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
        self.doomed.discard(name)
        for partition in self.topics.pop(name, {}).values():
            self.assignments.pop(partition, None)
            self.leadership.pop(partition, None)
            self.moving.discard(partition)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        return self.assignments.get(partition, UNASSIGNED).replicas

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[Replica]:
        return [Replica(each, broker) for each in partitions for broker in self.replicas(each)]

    def replicas_on(self, brokers: Iterable[int]) -> list[Replica]:
        wanted = set(brokers)
        return [each for each in self.replicas_of(self.assignments) if each.broker in wanted]

    def deleted(self, partition: TopicPartition) -> bool:
        """Whether its topic is on its way out; then nobody is elected any more."""
        return partition.topic in self.doomed

    # -- leaders -------------------------------------------------------------------------

    def leader(self, partition: TopicPartition) -> int | None:
        """None where nobody has ever led; -1 where nobody leads now."""
        known = self.leadership.get(partition)
        return known.state.leader if known else None

    def led(self) -> Iterator[tuple[TopicPartition, Leadership]]:
        """Partitions that have a leader, or had one, and are not being deleted."""
        return (item for item in self.leadership.items() if not self.deleted(item[0]))

    def leaderless(self) -> list[TopicPartition]:
        return [each for each, known in self.led() if not self.online(known.state.leader, each)]
