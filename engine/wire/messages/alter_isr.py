"""AlterIsr (api key 56): a leader asks the controller to change the in-sync replicas (KIP-497).

    leader                                                  controller
      | -- partition 0: leader epoch 7, ISR 1,2, version 12 -> |  writes it to ZooKeeper
      | <------- error, or leader, epoch, ISR, version 13 ---- |

    request    | broker id | broker epoch | topics |
    topic      | name | partitions: index, leader epoch, new ISR, version |
    answer     | throttle time | error | topics |
    topic      | name | partitions: index, error, leader, leader epoch, ISR, version |

Version 0. The version of a partition's ISR is that of its znode: a leader names the one that it
knows. An error of the whole request is NOT_CONTROLLER or STALE_BROKER_EPOCH.
"""

from dataclasses import dataclass

from engine.errors import ErrorCode
from engine.wire.messages.versions import Brokers, Error, Int32, Int64, String


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrPartition:
    partition_index: Int32
    leader_epoch: Int32
    new_isr: Brokers
    current_isr_version: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrTopic:
    name: String
    partitions: tuple[AlterIsrPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrRequest:
    broker_id: Int32
    broker_epoch: Int64 = -1
    topics: tuple[AlterIsrTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrPartitionResult:
    """After an error the other fields have no meaning."""

    partition_index: Int32
    error_code: Error = ErrorCode.none
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    isr: Brokers = ()
    current_isr_version: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrTopicResult:
    name: String
    partitions: tuple[AlterIsrPartitionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsrResponse:
    throttle_time_ms: Int32 = 0
    error_code: Error = ErrorCode.none
    topics: tuple[AlterIsrTopicResult, ...] = ()
