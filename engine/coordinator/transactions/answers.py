"""What producers are answered, in the shape of each API's newest version.

That somebody was fenced has a name of its own, PRODUCER_FENCED, since Kafka 2.7. Older clients are
told INVALID_PRODUCER_EPOCH, and understand the same.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from kio.schema.add_offsets_to_txn.v3.response import AddOffsetsToTxnResponse
from kio.schema.add_partitions_to_txn.v3.response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kio.schema.end_txn.v3.response import EndTxnResponse
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse

from engine.coordinator.answers import NO_THROTTLE
from engine.coordinator.effects import Caller, Writer
from engine.coordinator.transactions.image import NOBODY
from engine.errors import ErrorCode
from engine.model import TopicPartition


class Since(IntEnum):
    """From which version of its request on a client knows PRODUCER_FENCED."""

    FENCED_AT_ITS_START = 4  # InitProducerId
    FENCED = 2  # the others


def known(caller: Caller, error: ErrorCode, since: Since = Since.FENCED) -> ErrorCode:
    """The error, as the caller knows it."""
    is_old = error == ErrorCode.producer_fenced and caller.version < since
    return ErrorCode.invalid_producer_epoch if is_old else error


def initialized(caller: Caller, error: ErrorCode, writer: Writer = NOBODY) -> Any:
    return InitProducerIdResponse(
        throttle_time=NO_THROTTLE,
        error_code=known(caller, error, Since.FENCED_AT_ITS_START),
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
    )


def added(caller: Caller, codes: Mapping[TopicPartition, ErrorCode]) -> Any:
    rows: dict[str, list[Any]] = {}
    for (topic, number), error in codes.items():
        code = known(caller, error)
        row = AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
        rows.setdefault(topic, []).append(row)
    return AddPartitionsToTxnResponse(
        throttle_time=NO_THROTTLE,
        results_by_topic_v3_and_below=tuple(
            AddPartitionsToTxnTopicResult(name=topic, results_by_partition=tuple(each))
            for topic, each in rows.items()
        ),
    )


def offsets_added(caller: Caller, error: ErrorCode) -> Any:
    code = known(caller, error)
    return AddOffsetsToTxnResponse(throttle_time=NO_THROTTLE, error_code=code)


def ended(caller: Caller, error: ErrorCode) -> Any:
    code = known(caller, error)
    return EndTxnResponse(throttle_time=NO_THROTTLE, error_code=code)
