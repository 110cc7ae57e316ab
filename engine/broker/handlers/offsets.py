"""ListOffsets (API 2), versions 1 to 6, and OffsetForLeaderEpoch (API 23), versions 2 to 4.

    timestamp  -2  the first offset that can be read
               -1  the offset after the last one that a consumer can see: the high watermark, or the
                   last stable offset with isolation_level 1 (read committed)
              >=0  the first record that is not older: time index, offset index, short scan

OffsetForLeaderEpoch says where a leader's records ended: a client or follower that has more of
that epoch has seen records that were lost.
"""

from typing import Any

from kio.schema.list_offsets.v6.response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kio.schema.offset_for_leader_epoch.v4.response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE
from engine.broker.replicas import READ_COMMITTED, last_stable
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

LATEST, EARLIEST = -1, -2
NOT_FOUND = (-1, -1, -1)  # offset, timestamp, epoch


async def list_offsets(broker: Broker, call: Call, request: Any) -> ListOffsetsResponse:
    committed = request.isolation_level == READ_COMMITTED
    return ListOffsetsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    _offset(
                        broker, TopicPartition(topic.name, each.partition_index), each, committed
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _offset(
    broker: Broker, partition: TopicPartition, asked: Any, committed: bool
) -> ListOffsetsPartitionResponse:
    code = ErrorCode.none
    try:
        offset, timestamp, epoch = _find(broker, partition, asked, committed)
    except KafkaError as error:
        code, (offset, timestamp, epoch) = error.code, NOT_FOUND
    return ListOffsetsPartitionResponse(
        partition_index=partition.partition,
        error_code=code,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch,
    )


def _find(
    broker: Broker, partition: TopicPartition, asked: Any, committed: bool
) -> tuple[int, int, int]:
    role, log = broker.replicas.find(partition, asked.current_leader_epoch)
    end = last_stable(log, role) if committed else role.high_watermark
    if asked.timestamp == LATEST:
        return end, -1, role.leader_epoch
    if asked.timestamp == EARLIEST:
        return log.start_offset, -1, log.epochs.at(log.start_offset)
    found = log.offset_for_time(asked.timestamp)
    return found if found and found[0] < end else NOT_FOUND


async def for_leader_epoch(
    broker: Broker, call: Call, request: Any
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=tuple(
                    _epoch_end(broker, TopicPartition(topic.topic, each.partition), each)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


def _epoch_end(broker: Broker, partition: TopicPartition, asked: Any) -> EpochEndOffset:
    code, epoch, end = ErrorCode.none, -1, -1
    try:
        _, log = broker.replicas.find(partition, asked.current_leader_epoch)
        epoch, end = log.epochs.end_of(asked.leader_epoch, log.end_offset)
    except KafkaError as error:
        code = error.code
    return EpochEndOffset(
        error_code=code, partition=partition.partition, leader_epoch=epoch, end_offset=end
    )
