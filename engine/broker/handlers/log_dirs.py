"""DescribeLogDirs (API 35), versions 0 to 4: the logs in each of this broker's directories.

    topics null    every partition; else those that are named, where this broker has them
    offset lag     how far a log is behind the high watermark; -1 if that is not known
    total bytes    of the disk, and what is free there; from version 4 on

For a directory that failed, the response has KAFKA_STORAGE_ERROR and nothing else; for a partition
that is offline alone, the size of its files and an unknown offset lag.

AlterReplicaLogDirs (API 34), versions 0 to 2: move a replica to another directory of this broker

    LOG_DIR_NOT_FOUND        this broker has no such directory
    KAFKA_STORAGE_ERROR      that directory, or the partition, is offline
    REPLICA_NOT_AVAILABLE    only other brokers have replicas of the partition
    INVALID_TOPIC_EXCEPTION  the name is too long for the directory of a second log
    no error                 it is there already

Left out: the move itself. Kafka copies the replica to a second log there, which follows the first
one. Here a broker with several directories answers OPERATION_NOT_ATTEMPTED.
"""

import shutil
from typing import Any

from kio.schema.alter_replica_log_dirs.v2 import response as alter_v2
from kio.schema.describe_log_dirs.v4 import response as describe_v4

from engine.broker.call import Call
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.directory import LogDirectory
from engine.storage.log import Log
from engine.wire.by_topic import partitions_in, topics_of
from engine.wire.primitives import NO_THROTTLE

NO_LAG = UNKNOWN = -1
FUTURE_SUFFIX = len(".-future") + 32  # that Kafka gives the second log's directory
LONGEST_NAME = 255
SIZES_SINCE = 4  # the version that has the sizes of disks


async def handle(
    replicas: ReplicaManager, call: Call, request: Any
) -> describe_v4.DescribeLogDirsResponse:
    wanted = None if request.topics is None else set(partitions_in(request.topics, "topic"))
    sized, directories = call.version >= SIZES_SINCE, replicas.logs.directories
    return describe_v4.DescribeLogDirsResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        results=tuple(_directory(replicas, each, wanted, sized) for each in directories),
    )


def _directory(
    replicas: ReplicaManager,
    directory: LogDirectory,
    wanted: set[TopicPartition] | None,
    sized: bool,
) -> describe_v4.DescribeLogDirsResult:
    try:
        if directory.offline is not None:
            raise OSError(directory.offline)
        disk = shutil.disk_usage(directory.path) if sized else None
    except OSError:
        return describe_v4.DescribeLogDirsResult(
            error_code=ErrorCode.kafka_storage_error,
            log_dir=str(directory.path.absolute()),
            topics=(),
        )
    rows = [(each, _partition(replicas, log)) for each, log in sorted(directory.logs.items())]
    rows += [(each, _failed(directory, each)) for each in sorted(directory.failed)]
    rows = [(each, row) for each, row in rows if wanted is None or each in wanted]
    return describe_v4.DescribeLogDirsResult(
        error_code=ErrorCode.none,
        log_dir=str(directory.path.absolute()),
        topics=topics_of(describe_v4.DescribeLogDirsTopic, rows),
        total_bytes=disk.total if disk else UNKNOWN,
        usable_bytes=disk.free if disk else UNKNOWN,
    )


def _partition(replicas: ReplicaManager, log: Log) -> describe_v4.DescribeLogDirsPartition:
    partition = replicas.partitions.get(log.partition)
    return describe_v4.DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size,
        offset_lag=NO_LAG
        if partition is None
        else max(partition.high_watermark - log.end_offset, 0),
        is_future_key=False,
    )


def _failed(
    directory: LogDirectory, partition: TopicPartition
) -> describe_v4.DescribeLogDirsPartition:
    found = (directory.path / str(partition)).glob("*")
    return describe_v4.DescribeLogDirsPartition(
        partition_index=partition.partition,
        partition_size=sum(path.stat().st_size for path in found if path.is_file()),
        offset_lag=NO_LAG,
        is_future_key=False,
    )


async def alter(
    replicas: ReplicaManager, call: Call, request: Any
) -> alter_v2.AlterReplicaLogDirsResponse:
    rows = (
        (
            each,
            alter_v2.AlterReplicaLogDirPartitionResult(
                partition_index=each.partition, error_code=_move(replicas, each, asked.path)
            ),
        )
        for asked in request.dirs
        for each in partitions_in(asked.topics)
    )
    return alter_v2.AlterReplicaLogDirsResponse(
        throttle_time=NO_THROTTLE,
        results=topics_of(alter_v2.AlterReplicaLogDirTopicResult, rows, "topic_name"),
    )


def _move(replicas: ReplicaManager, partition: TopicPartition, path: str) -> ErrorCode:
    if len(str(partition)) + FUTURE_SUFFIX > LONGEST_NAME:
        return ErrorCode.invalid_topic_exception
    directories = {str(each.path.absolute()): each for each in replicas.logs.directories}
    if (target := directories.get(path)) is None:
        return ErrorCode.log_dir_not_found
    if target.offline is not None or any(partition in it.failed for it in directories.values()):
        return ErrorCode.kafka_storage_error
    if replicas.logs.find(partition) is None:
        known = replicas.elsewhere(partition)
        return ErrorCode.replica_not_available if known else ErrorCode.unknown_topic_or_partition
    return ErrorCode.none if partition in target.logs else ErrorCode.operation_not_attempted
