"""ListOffsets (API 2), versions 0 to 7, and OffsetForLeaderEpoch (API 23), versions 0 to 4.

    timestamp  -2  the first offset that can be read
               -1  the offset after the last one that a consumer can read: the high watermark, or
                   the last stable offset with isolation_level 1 (read committed)
               -3  the record with the largest timestamp; from version 7 on
              >=0  the first record at that time or later: time index, offset index, short scan

A follower (replica_id >= 0) gets the log end, committed or not. So does a debugging consumer (-2),
which may ask a follower, too. A consumer (-1) that asks for the end just after an election may get
OFFSET_NOT_AVAILABLE and ask again: until its followers have fetched, a new leader does not know how
much of its log is committed. Each row of a partition that is named twice has INVALID_REQUEST.

OffsetForLeaderEpoch returns the offset at which an epoch ended. A client or follower that has more
records of that epoch has records that were lost.

Between the rows of a large request the loop serves others (results.py).
"""

from collections import Counter
from typing import Any

from kio.schema.list_offsets.v6 import response as offsets_v6
from kio.schema.offset_for_leader_epoch.v4 import response as epochs_v4

from engine.broker.call import Call
from engine.broker.handlers.results import Turns
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import TopicPartition
from engine.replication.log_read import NO_REPLICA, READ_COMMITTED, last_stable
from engine.replication.logs import PartitionLog
from engine.replication.replica_manager import ReplicaManager
from engine.wire.primitives import NO_THROTTLE

DEBUGGING_REPLICA = -2
LOOKUPS = 10  # without a look at the clock
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
MAX_TIMESTAMP_SINCE = 7
NOT_AVAILABLE_SINCE = 5  # the version that knows OFFSET_NOT_AVAILABLE
NOT_FOUND = (-1, -1, -1)  # offset, timestamp, epoch


async def list_offsets(
    replicas: ReplicaManager, call: Call, request: Any
) -> offsets_v6.ListOffsetsResponse:
    times = Counter(
        TopicPartition(topic.name, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    )
    turns, topics = Turns(LOOKUPS), []
    for topic in request.topics:
        rows = []
        for each in topic.partitions:
            await turns.next()
            partition = TopicPartition(topic.name, each.partition_index)
            rows.append(_offset(replicas, call, request, partition, each, times[partition]))
        topics.append(offsets_v6.ListOffsetsTopicResponse(name=topic.name, partitions=tuple(rows)))
    return offsets_v6.ListOffsetsResponse(throttle_time=NO_THROTTLE, topics=tuple(topics))


def _offset(
    replicas: ReplicaManager,
    call: Call,
    request: Any,
    topic_partition: TopicPartition,
    asked: Any,
    times: int,
) -> offsets_v6.ListOffsetsPartitionResponse:
    code = ErrorCode.none
    try:
        if times > 1:
            raise invalid_request(f"{topic_partition} is in the request {times} times")
        offset, timestamp, epoch = _find(replicas, call, topic_partition, asked, request)
    except ApiException as error:
        code, (offset, timestamp, epoch) = error.code, NOT_FOUND
        if code == ErrorCode.offset_not_available and call.version < NOT_AVAILABLE_SINCE:
            code = ErrorCode.leader_not_available
    return offsets_v6.ListOffsetsPartitionResponse(
        partition_index=topic_partition.partition,
        error_code=code,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch,
    )


def _find(
    replicas: ReplicaManager, call: Call, topic_partition: TopicPartition, asked: Any, request: Any
) -> tuple[int, int, int]:
    leads = request.replica_id != DEBUGGING_REPLICA
    partition, log = replicas.find(topic_partition, asked.current_leader_epoch, leads=leads)
    consumes, isolation = request.replica_id == NO_REPLICA, request.isolation_level
    end = partition.high_watermark if consumes else log.end_offset
    if consumes and isolation == READ_COMMITTED:
        end = last_stable(log, partition)
    if asked.timestamp == EARLIEST:
        epoch = partition.leader_epoch if _is_new(log) else log.epochs.at(log.start_offset)
        return log.start_offset, -1, epoch
    if asked.timestamp != LATEST:
        of_max = asked.timestamp == MAX_TIMESTAMP and call.version >= MAX_TIMESTAMP_SINCE
        found = log.offset_for_time(log.max_timestamp if of_max else asked.timestamp)
        if found and found[0] < end:
            return found
    if consumes and partition.high_watermark < partition.epoch_start:
        raise ApiException(
            ErrorCode.offset_not_available,
            f"{topic_partition}: a new leader does not know its high watermark yet",
        )
    return (end, -1, partition.leader_epoch) if asked.timestamp == LATEST else NOT_FOUND


def _is_new(log: PartitionLog) -> bool:
    """The leader writes down its epoch with the first record, but it has one before."""
    return not log.epochs.entries and log.start_offset == log.end_offset


async def for_leader_epoch(
    replicas: ReplicaManager, call: Call, request: Any
) -> epochs_v4.OffsetForLeaderEpochResponse:
    turns, topics = Turns(LOOKUPS), []
    for topic in request.topics:
        rows = []
        for each in topic.partitions:
            await turns.next()
            rows.append(_epoch_end(replicas, TopicPartition(topic.topic, each.partition), each))
        topics.append(
            epochs_v4.OffsetForLeaderTopicResult(topic=topic.topic, partitions=tuple(rows))
        )
    return epochs_v4.OffsetForLeaderEpochResponse(throttle_time=NO_THROTTLE, topics=tuple(topics))


def _epoch_end(
    replicas: ReplicaManager, topic_partition: TopicPartition, asked: Any
) -> epochs_v4.EpochEndOffset:
    code, epoch, end = ErrorCode.none, -1, -1
    try:
        partition, log = replicas.find(topic_partition, asked.current_leader_epoch)
        if _is_new(log) and asked.leader_epoch == partition.leader_epoch:
            epoch, end = partition.leader_epoch, log.end_offset
        else:
            epoch, end = log.epochs.end_of(asked.leader_epoch, log.end_offset)
    except ApiException as error:
        code = error.code
    return epochs_v4.EpochEndOffset(
        error_code=code, partition=topic_partition.partition, leader_epoch=epoch, end_offset=end
    )
