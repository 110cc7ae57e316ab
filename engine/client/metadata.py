"""What a Metadata request brings back: who is alive, who is controller, who leads what.

A client acts on it until an error tells that it is out of date, and then asks again.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from uuid import UUID

from engine.client.connection import Address
from engine.errors import ErrorCode
from engine.model import TopicPartition

NO_BROKER = -1
NO_EPOCH = -1


class Partition(NamedTuple):
    leader: int  # -1: nobody, for now
    replicas: tuple[int, ...]  # the preferred leader first
    isr: tuple[int, ...]
    epoch: int = NO_EPOCH  # grows with each new leader: of two answers, it tells the newer


class Topic(NamedTuple):
    name: str
    id: UUID | None
    error: ErrorCode  # why there are no partitions, or "none"
    is_internal: bool
    partitions: dict[int, Partition]


class Metadata(NamedTuple):
    cluster_id: str | None
    controller: int
    brokers: dict[int, Address]
    topics: dict[str, Topic]  # those that were asked for
    racks: Mapping[int, str] = MappingProxyType({})  # where a broker stands, if it says so

    @classmethod
    def of(cls, response: Any) -> Self:
        """The answer to a Metadata request."""
        return cls(
            cluster_id=response.cluster_id,
            controller=response.controller_id,
            brokers={each.node_id: Address(each.host, each.port) for each in response.brokers},
            topics={
                topic.name: Topic(
                    topic.name,
                    topic.topic_id,
                    topic.error_code,
                    topic.is_internal,
                    {
                        each.partition_index: Partition(
                            each.leader_id, each.replica_nodes, each.isr_nodes, each.leader_epoch
                        )
                        for each in sorted(topic.partitions, key=lambda it: it.partition_index)
                    },
                )
                for topic in sorted(response.topics, key=lambda topic: topic.name)
            },
            racks={each.node_id: each.rack for each in response.brokers if each.rack is not None},
        )

    def leader(self, partition: TopicPartition) -> int:
        """The id of the broker to ask, or -1 for "nobody that we know of"."""
        found = self.partition(partition)
        return found.leader if found else NO_BROKER

    def partition(self, partition: TopicPartition) -> Partition | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None
