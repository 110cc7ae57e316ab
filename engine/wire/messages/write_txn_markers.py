"""WriteTxnMarkers (api key 27): a transaction coordinator ends a transaction in its partitions.

    coordinator                                            leader of orders-0
      | -- producer 4000, epoch 2, COMMIT, orders: 0, 2 ----> |  appends a marker to each
      | <----------------- error code of each partition ----- |

    request  | markers: producer id, epoch, committed?, topics, coordinator's epoch |
    answer   | markers: producer id, topics, partitions: index, error |

Versions 0 and 1, which differ only in how lengths are written. A coordinator of Kafka sends version
0 below `inter.broker.protocol.version` 2.8.
"""

from dataclasses import dataclass

from engine.errors import ErrorCode
from engine.wire.messages.versions import Bool, Error, Int16, Int32, Int64, Partitions, String


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerTopic:
    name: String
    partition_indexes: Partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarker:
    producer_id: Int64
    producer_epoch: Int16
    transaction_result: Bool  # true: committed
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: Int32  # of the transaction's partition of __transaction_state


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersRequest:
    markers: tuple[WritableTxnMarker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerPartitionResult:
    partition_index: Int32
    error_code: Error = ErrorCode.none


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerTopicResult:
    name: String
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerResult:
    producer_id: Int64
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersResponse:
    markers: tuple[WritableTxnMarkerResult, ...]
