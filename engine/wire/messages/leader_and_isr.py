"""LeaderAndIsr (api key 4): the controller sends a broker the roles of its replicas.

    controller                                      broker
        | -- partition 0: leader 1, epoch 7, ISR 1,2 -> |  leads it, or fetches from its leader
        | <--------- error code of each partition ----- |

    request  | controller, its epoch, broker epoch | type | topics | leaders' addresses |
                                                     v5
    topic    | name | id | partitions |            id: from v5
    answer   | error | partitions |                until v4, each with its topic's name
             | error | topics, by id | partitions  from v5

Versions 2 to 5. A request with an older controller epoch than the newest known one gets error 11; a
request that is addressed to a previous session of this broker, error 77.
"""

from dataclasses import dataclass, field

from engine.errors import ErrorCode
from engine.wire.messages.versions import (
    Bool,
    Brokers,
    Error,
    Int8,
    Int32,
    Int64,
    String,
    Uuid,
    since,
    until,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrPartitionState:
    partition_index: Int32
    controller_epoch: Int32  # of the controller that decided this
    leader: Int32  # -1: none
    leader_epoch: Int32
    isr: Brokers
    zk_version: Int32  # of the partition's znode: what the leader compares with to change the ISR
    replicas: Brokers
    adding_replicas: Brokers = field(default=(), metadata=since(3))
    removing_replicas: Brokers = field(default=(), metadata=since(3))
    is_new: Bool = False  # the replica has not existed before: it has no log


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrTopicState:
    topic_name: String
    topic_id: Uuid = field(default=None, metadata=since(5))
    partition_states: tuple[LeaderAndIsrPartitionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrLiveLeader:
    """The address of a leader."""

    broker_id: Int32
    host_name: String
    port: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrRequest:
    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = -1
    type: Int8 = field(default=0, metadata=since(5))  # Kafka 2.8 itself always leaves it 0
    topic_states: tuple[LeaderAndIsrTopicState, ...]
    live_leaders: tuple[LeaderAndIsrLiveLeader, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrPartitionError:
    topic_name: String = field(default="", metadata=until(4))
    partition_index: Int32
    error_code: Error = ErrorCode.none


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrTopicError:
    topic_id: Uuid = None
    partition_errors: tuple[LeaderAndIsrPartitionError, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrResponse:
    """A broker fills both lists: the codec writes the one of the version."""

    error_code: Error = ErrorCode.none
    partition_errors: tuple[LeaderAndIsrPartitionError, ...] = field(default=(), metadata=until(4))
    topics: tuple[LeaderAndIsrTopicError, ...] = field(default=(), metadata=since(5))
