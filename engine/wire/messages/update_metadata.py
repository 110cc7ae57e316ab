"""UpdateMetadata (api key 6): the controller sends every broker what clients may ask for.

    request  | controller, its epoch, broker epoch | topics | live brokers |
    topic    | name | id | partitions: leader, epoch, ISR, replicas ... |       id: from v7
    broker   | id | endpoints: port, host, listener, protocol | rack |
    answer   | error |

Versions 5 to 7. A listed topic replaces what the broker knew of it; the other topics stay as they
are. The list of live brokers is always complete.
"""

from dataclasses import dataclass, field

from engine.errors import ErrorCode
from engine.wire.messages.versions import (
    Brokers,
    Error,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uuid,
    since,
)

LEADER_DURING_DELETE = -2  # as a leader: the partition is being deleted, forget it


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataPartitionState:
    partition_index: Int32
    controller_epoch: Int32
    leader: Int32  # -1: none
    leader_epoch: Int32
    isr: Brokers
    zk_version: Int32
    replicas: Brokers
    offline_replicas: Brokers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataTopicState:
    topic_name: String
    topic_id: Uuid = field(default=None, metadata=since(7))
    partition_states: tuple[UpdateMetadataPartitionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataEndpoint:
    port: Int32
    host: String
    listener: String = "PLAINTEXT"
    security_protocol: Int16 = 0  # plaintext


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataBroker:
    id: Int32
    endpoints: tuple[UpdateMetadataEndpoint, ...]
    rack: NullableString = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataRequest:
    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = -1
    topic_states: tuple[UpdateMetadataTopicState, ...]
    live_brokers: tuple[UpdateMetadataBroker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataResponse:
    error_code: Error = ErrorCode.none
