"""StopReplica (api key 5): the controller sends a broker the replicas to stop or delete.

    request  | controller, its epoch, broker epoch | topics |
    topic    | name | partitions: index, leader epoch, delete it? |
    answer   | error | partitions: topic, index, error |

Version 3, which has for each partition whether its log is deleted too, and the leader epoch of the
decision: an older one than the broker's gets error 74. Epoch -2 is above all others: the topic is
being deleted.
"""

from dataclasses import dataclass

from engine.errors import ErrorCode
from engine.wire.messages.versions import Bool, Error, Int32, Int64, String

EPOCH_DURING_DELETE = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaPartitionState:
    partition_index: Int32
    leader_epoch: Int32 = -1
    delete_partition: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaTopicState:
    topic_name: String
    partition_states: tuple[StopReplicaPartitionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaRequest:
    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = -1
    topic_states: tuple[StopReplicaTopicState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaPartitionError:
    topic_name: String
    partition_index: Int32
    error_code: Error = ErrorCode.none


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaResponse:
    error_code: Error = ErrorCode.none
    partition_errors: tuple[StopReplicaPartitionError, ...] = ()
