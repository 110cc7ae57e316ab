"""DeleteRecords (API 21), versions 0 to 2: move the start of a log forward.

    offset     the first one to keep; -1 for the high watermark: delete all that consumers can see
    answer     the low watermark, the first offset that is still there

What lies below the new start can't be read from now on; the segments go when all they hold is
below it. A topic that is only compacted keeps its records for ever, so it refuses.

Left out: waiting for the followers to move their starts, too.
"""

from typing import Any

from kio.schema.delete_records.v2.response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE
from engine.controller.topics import INTERNAL
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

NO_LOW_WATERMARK = -1


async def delete(broker: Broker, call: Call, request: Any) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(
                    _answer(broker, TopicPartition(topic.name, each.partition_index), each.offset)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _answer(broker: Broker, partition: TopicPartition, before: int) -> DeleteRecordsPartitionResult:
    code, low_watermark = ErrorCode.none, NO_LOW_WATERMARK
    try:
        low_watermark = _delete(broker, partition, before)
    except KafkaError as error:
        code = error.code
    return DeleteRecordsPartitionResult(
        partition_index=partition.partition, low_watermark=low_watermark, error_code=code
    )


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
