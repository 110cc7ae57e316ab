"""What `list_topics` of any client gives, and `list_groups`, of confluent-kafka's shape.

    ClusterMetadata -> brokers: BrokerMetadata
                    -> topics:  TopicMetadata -> PartitionMetadata
    GroupMetadata   -> members: GroupMember

Brokers are told by their numbers, -1 for nobody; what is wrong with a topic is its `error`.
"""

from dataclasses import dataclass, field
from typing import Self

from engine.client.metadata import NO_BROKER, Metadata
from engine.client.values import KafkaError
from engine.errors import ErrorCode


@dataclass
class BrokerMetadata:
    id: int = NO_BROKER
    host: str | None = None
    port: int = -1

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


@dataclass
class PartitionMetadata:
    id: int = -1
    leader: int = NO_BROKER
    replicas: list[int] = field(default_factory=list)
    isrs: list[int] = field(default_factory=list)
    error: KafkaError | None = None


@dataclass
class TopicMetadata:
    topic: str | None = None
    partitions: dict[int, PartitionMetadata] = field(default_factory=dict)
    error: KafkaError | None = None

    def __str__(self) -> str:
        return str(self.topic)


@dataclass
class ClusterMetadata:
    cluster_id: str | None = None
    controller_id: int = NO_BROKER
    brokers: dict[int, BrokerMetadata] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    orig_broker_id: int = NO_BROKER
    orig_broker_name: str | None = None

    def __str__(self) -> str:
        return str(self.cluster_id)

    @classmethod
    def of(cls, metadata: Metadata) -> Self:
        """What `list_topics` gives, of what a broker has answered."""
        return cls(
            metadata.cluster_id,
            metadata.controller,
            {number: BrokerMetadata(number, *at) for number, at in metadata.brokers.items()},
            {
                topic.name: TopicMetadata(
                    topic.name,
                    {
                        number: PartitionMetadata(
                            number, it.leader, list(it.replicas), list(it.isr)
                        )
                        for number, it in topic.partitions.items()
                    },
                    None if topic.error == ErrorCode.none else KafkaError(topic.error),
                )
                for topic in metadata.topics.values()
            },
        )


@dataclass
class GroupMember:
    id: str
    client_id: str
    client_host: str
    metadata: bytes  # its subscription
    assignment: bytes


@dataclass
class GroupMetadata:
    broker: BrokerMetadata
    id: str
    error: KafkaError | None
    state: str
    protocol_type: str
    protocol: str
    members: list[GroupMember]
