"""DeleteRecords (API 21), versions 0 to 2: move the start of a log forward.

    offset     the first one to keep; -1 for the high watermark: delete all that consumers can see
    answer     the low watermark, the first offset that is still on a live replica

What lies below the new start can't be read from now on; the segments go when all they hold is
below it. The followers hear of the new start as they fetch, and tell that they have moved theirs;
the answer waits for them, or says REQUEST_TIMED_OUT. A topic that is only compacted keeps its
records for ever, so it refuses.
"""

import asyncio
from typing import Any

from kio.schema.delete_records.v2.response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE, code_of, deadline
from engine.controller.topics import INTERNAL
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

NO_LOW_WATERMARK = -1


async def delete(broker: Broker, call: Call, request: Any) -> DeleteRecordsResponse:
    starts = {
        partition: _attempt(broker, partition, each.offset)
        for topic in request.topics
        for each in topic.partitions
        for partition in [TopicPartition(topic.name, each.partition_index)]
    }
    until = deadline(request.timeout)
    waits = (_everywhere(broker, each, start, until) for each, start in starts.items())
    outcomes = dict(zip(starts, await asyncio.gather(*waits), strict=True))
    return DeleteRecordsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(
                    _answer(
                        each.partition_index,
                        outcomes[TopicPartition(topic.name, each.partition_index)],
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _answer(number: int, outcome: int | KafkaError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=number,
        low_watermark=NO_LOW_WATERMARK if isinstance(outcome, KafkaError) else outcome,
        error_code=code_of(outcome),
    )


async def _everywhere(
    broker: Broker, partition: TopicPartition, start: int | KafkaError, until: float
) -> int | KafkaError:
    """Wait until no live replica has anything older."""
    if isinstance(start, KafkaError):
        return start
    try:
        while (low := broker.replicas.low_watermark(partition, broker.metadata.brokers)) < start:
            if not await broker.purgatory.wait([partition], until):
                raise KafkaError(ErrorCode.request_timed_out, f"{partition} is older elsewhere")
    except KafkaError as error:
        return error
    return low


def _attempt(broker: Broker, partition: TopicPartition, before: int) -> int | KafkaError:
    try:
        return _delete(broker, partition, before)
    except KafkaError as error:
        return error


def _delete(broker: Broker, partition: TopicPartition, before: int) -> int:
    if partition.topic in INTERNAL:
        raise KafkaError(
            ErrorCode.invalid_topic_exception,
            f"Cannot delete records of internal topic {partition.topic}",
        )
    _, log = broker.replicas.find(partition)
    if "delete" not in log.config.cleanup_policy:
        raise KafkaError(
            ErrorCode.policy_violation,
            f"Records of partition {partition} can not be deleted due to the configured policy",
        )
    return broker.replicas.delete_records(partition, before)
