"""What a Metadata request brings back: who is alive, who is controller, who leads what.

A client acts on it until an error tells that it is out of date, and then asks again.
"""

from typing import Any, NamedTuple, Self
from uuid import UUID

from engine.client.connection import Address
from engine.errors import ErrorCode
from engine.model import TopicPartition

NO_BROKER = -1


class Partition(NamedTuple):
    leader: int  # -1: nobody, for now
    replicas: tuple[int, ...]  # the preferred leader first
    isr: tuple[int, ...]


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
                            each.leader_id, each.replica_nodes, each.isr_nodes
                        )
                        for each in sorted(topic.partitions, key=lambda it: it.partition_index)
                    },
                )
                for topic in sorted(response.topics, key=lambda topic: topic.name)
            },
        )

    def leader(self, partition: TopicPartition) -> int:
        """The id of the broker to ask, or -1 for "nobody that we know of"."""
        topic = self.topics.get(partition.topic)
        found = topic.partitions.get(partition.partition) if topic else None
        return found.leader if found else NO_BROKER
