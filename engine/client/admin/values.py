"""Arguments and results of an AdminClient, with confluent-kafka's classes.

    NewTopic, NewPartitions                 to create
    ConfigResource -> ConfigEntry           a topic's or broker's configuration, and each key of it
    TopicDescription, DescribeClusterResult topics and brokers (Node)
    ConsumerGroupDescription ...            a group, its members, their partitions

The classes of list_topics and list_groups are in client/values.py. Enums have the protocol's
numbers; the states of a group have none there, so they have librdkafka's. Access control and SCRAM
are in security_values.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Self
from uuid import UUID

from engine.client.values import KafkaError, TopicPartition, need_text
from engine.model import id_text


class Ordered(Enum):
    """An enum that differs from its numbers, and has their order."""

    def __lt__(self, other: Self) -> bool:
        return bool(self.value < other.value)


class ResourceType(Ordered):
    UNKNOWN, ANY, TOPIC, GROUP, BROKER, TRANSACTIONAL_ID = range(6)
    BROKER_LOGGER = 8  # confluent-kafka has no name for it


class ElectionType(Ordered):
    PREFERRED, UNCLEAN = range(2)


class IsolationLevel(Ordered):
    READ_UNCOMMITTED, READ_COMMITTED = range(2)


class AlterConfigOpType(Enum):
    """The change of a key; the last two are for lists."""

    SET, DELETE, APPEND, SUBTRACT = range(4)


class ConfigSource(IntEnum):
    """The origin of a value; the one with precedence first."""

    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class ConsumerGroupState(Ordered):
    UNKNOWN, PREPARING_REBALANCING, COMPLETING_REBALANCING, STABLE, DEAD, EMPTY = range(6)

    @classmethod
    def of(cls, text: str) -> "ConsumerGroupState":
        """From a broker's name for it, such as PreparingRebalance."""
        return _STATES.get(text, cls.UNKNOWN)

    @property
    def text(self) -> str:
        return next((text for text, state in _STATES.items() if state is self), "Unknown")


_STATES = {
    "PreparingRebalance": ConsumerGroupState.PREPARING_REBALANCING,
    "CompletingRebalance": ConsumerGroupState.COMPLETING_REBALANCING,
    "Stable": ConsumerGroupState.STABLE,
    "Dead": ConsumerGroupState.DEAD,
    "Empty": ConsumerGroupState.EMPTY,
}


class ConsumerGroupType(Ordered):
    """Kafka 2.8 knows the classic ones, without saying so: UNKNOWN."""

    UNKNOWN, CONSUMER, CLASSIC = range(3)


# -- topics ------------------------------------------------------------------------------------


@dataclass(order=True, unsafe_hash=True)
class NewTopic:
    """A topic to be created; -1 leaves a number to the broker."""

    topic: str
    num_partitions: int = field(default=-1, compare=False)
    replication_factor: int = field(default=-1, compare=False)
    replica_assignment: Sequence[Sequence[int]] | None = field(default=None, compare=False)
    config: Mapping[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        need_text(self.topic)


@dataclass(order=True, unsafe_hash=True)
class NewPartitions:
    """A new number of partitions for a topic; the replicas are those of the added ones."""

    topic: str
    new_total_count: int
    replica_assignment: Sequence[Sequence[int]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        need_text(self.topic)


@dataclass
class TopicCollection:
    topic_names: list[str]


@dataclass(unsafe_hash=True)
class Node:
    """A broker; without an address if only its number is known."""

    id: int
    host: str = ""
    port: int = -1
    rack: str | None = None

    def __post_init__(self) -> None:
        self.id_string = str(self.id)

    def __str__(self) -> str:
        return f"({self.id}) {self.host}:{self.port} {f'(Rack - {self.rack})' if self.rack else ''}"


@dataclass(frozen=True)
class Uuid:
    """A topic's id; as text, as Kafka's tools print it."""

    value: UUID

    def get_most_significant_bits(self) -> int:
        return _signed(self.value.int >> 64)

    def get_least_significant_bits(self) -> int:
        return _signed(self.value.int & (1 << 64) - 1)

    def __str__(self) -> str:
        return id_text(self.value)

    __repr__ = __str__


def _signed(bits: int) -> int:
    return bits - (bits >> 63 << 64)


@dataclass
class TopicPartitionInfo:
    id: int
    leader: Node | None  # None: there is none now
    replicas: list[Node]
    isr: list[Node]


@dataclass
class TopicDescription:
    name: str
    topic_id: Uuid | None
    is_internal: bool
    partitions: list[TopicPartitionInfo]
    authorized_operations: None = None


@dataclass
class DescribeClusterResult:
    controller: Node | None
    nodes: list[Node]
    cluster_id: str | None = None
    authorized_operations: None = None


class OffsetSpec:
    """An offset to look up: by a time, or by a negative number with a special meaning."""

    def __init__(self, value: int) -> None:
        self.value = value

    @classmethod
    def latest(cls) -> Self:
        return cls(-1)

    @classmethod
    def earliest(cls) -> Self:
        return cls(-2)

    @classmethod
    def max_timestamp(cls) -> Self:
        return cls(-3)

    @classmethod
    def for_timestamp(cls, timestamp: int) -> Self:
        return cls(timestamp)


@dataclass
class ListOffsetsResultInfo:
    offset: int
    timestamp: int  # -1, unless the offset was asked for by time
    leader_epoch: int | None


@dataclass
class DeletedRecords:
    low_watermark: int  # the first offset that is still there


class PartitionReassignment(NamedTuple):
    """Named as in Kafka's Java client: confluent-kafka has none."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReplicaInfo(NamedTuple):
    size: int  # bytes
    offset_lag: int  # records behind the leader
    is_future: bool


class LogDirDescription(NamedTuple):
    """Named as in Kafka's Java client: confluent-kafka has none."""

    error: KafkaError | None  # why the directory is offline
    replica_infos: dict[TopicPartition, ReplicaInfo]


# -- configurations ----------------------------------------------------------------------------


@dataclass
class ConfigEntry:
    name: str
    value: str | None
    source: ConfigSource = ConfigSource.UNKNOWN_CONFIG
    is_read_only: bool = False
    is_default: bool = False
    is_sensitive: bool = False
    is_synonym: bool = False
    synonyms: dict[str, "ConfigEntry"] = field(default_factory=dict)
    incremental_operation: AlterConfigOpType | None = None

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'


@dataclass(order=True, unsafe_hash=True, init=False)
class ConfigResource:
    """A topic or broker with a configuration, and changes to it. Resources of a name are equal."""

    restype: ResourceType
    name: str

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: Mapping[str, str] | None = None,
        described_configs: dict[str, ConfigEntry] | None = None,
        error: KafkaError | None = None,
        incremental_configs: Iterable[ConfigEntry] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("Expected resource name to be a string")
        if isinstance(restype, str):
            if restype.upper() not in ResourceType.__members__:
                raise ValueError(
                    f'Unknown resource type "{restype}": should be a ConfigResource.Type'
                )
            restype = ResourceType[restype.upper()]
        self.restype = ResourceType(restype)
        self.restype_int = int(self.restype.value)
        self.name = name
        self.set_config_dict = dict(set_config or {})
        self.incremental_configs = list(incremental_configs or ())
        self.configs = described_configs
        self.error = error

    def set_config(self, name: str, value: str, overwrite: bool = True) -> None:
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        self.incremental_configs.append(config_entry)

    def __repr__(self) -> str:
        return f"ConfigResource({self.restype},{self.name})"

    def __len__(self) -> int:
        return len(self.set_config_dict)


# -- groups ------------------------------------------------------------------------------------


@dataclass
class ConsumerGroupTopicPartitions:
    """A group and some of its partitions; None: all with a committed offset."""

    group_id: str
    topic_partitions: list[TopicPartition] | None = None


@dataclass
class ConsumerGroupListing:
    group_id: str
    is_simple_consumer_group: bool  # it commits offsets, and has no members by protocol
    state: ConsumerGroupState | None = None
    type: ConsumerGroupType | None = ConsumerGroupType.UNKNOWN


@dataclass
class ListConsumerGroupsResult:
    valid: list[ConsumerGroupListing]
    errors: list[Exception]  # of the brokers that could not be asked


@dataclass
class MemberAssignment:
    topic_partitions: list[TopicPartition]


@dataclass
class MemberDescription:
    member_id: str
    client_id: str
    host: str
    assignment: MemberAssignment
    group_instance_id: str | None = None
    target_assignment: None = None  # of groups that Kafka 2.8 does not know


@dataclass
class ConsumerGroupDescription:
    group_id: str
    is_simple_consumer_group: bool
    members: list[MemberDescription]
    partition_assignor: str
    state: ConsumerGroupState
    coordinator: Node
    authorized_operations: None = None
    type: ConsumerGroupType = ConsumerGroupType.UNKNOWN
