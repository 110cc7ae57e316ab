"""DescribeLogDirs (API 35), versions 1 to 2: what lies on each of this broker's disks.

    topics null    every partition; else those that are named, where this broker has them
    offset lag     how far a replica's log is behind the high watermark; -1 if that is not known

A directory that failed is answered with KAFKA_STORAGE_ERROR and nothing else.

Left out: future replicas, which Kafka has while it moves a partition from one disk to another.
"""

from typing import Any

from kio.schema.describe_log_dirs.v2.response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.replicas import Replicas
from engine.storage.directory import LogDirectory
from engine.storage.log import Log

NO_LAG = -1


async def handle(broker: Broker, call: Call, request: Any) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {
            TopicPartition(topic.topic, number)
            for topic in request.topics
            for number in topic.partitions
        }
    return DescribeLogDirsResponse(
        throttle_time=NO_THROTTLE,
        results=tuple(
            _directory(broker.replicas, directory, wanted)
            for directory in broker.replicas.directories
        ),
    )


def _directory(
    replicas: Replicas, directory: LogDirectory, wanted: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    if directory.offline is None:
        for partition, log in sorted(directory.logs.items()):
            if wanted is None or partition in wanted:
                topics.setdefault(partition.topic, []).append(_partition(replicas, log))
    return DescribeLogDirsResult(
        error_code=ErrorCode.none if directory.offline is None else ErrorCode.kafka_storage_error,
        log_dir=str(directory.path.absolute()),
        topics=tuple(
            DescribeLogDirsTopic(name=name, partitions=tuple(partitions))
            for name, partitions in topics.items()
        ),
    )


def _partition(replicas: Replicas, log: Log) -> DescribeLogDirsPartition:
    role = replicas.partitions.get(log.partition)
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size,
        offset_lag=NO_LAG if role is None else max(role.high_watermark - log.end_offset, 0),
        is_future_key=False,
    )
