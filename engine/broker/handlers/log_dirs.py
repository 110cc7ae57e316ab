"""DescribeLogDirs (API 35), versions 1 to 2: the logs in each of this broker's directories.

    topics null    every partition; else those that are named, where this broker has them
    offset lag     how far a log is behind the high watermark; -1 if that is not known

For a directory that failed, the response has KAFKA_STORAGE_ERROR and nothing else; for a partition
that is offline alone, the size of its files and an unknown offset lag.

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
from engine.broker.handlers.results import NO_THROTTLE
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.directory import LogDirectory
from engine.storage.log import Log
from engine.wire.by_topic import by_topic, partitions_in

NO_LAG = -1


async def handle(broker: Broker, call: Call, request: Any) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = set(partitions_in(request.topics, "topic"))
    return DescribeLogDirsResponse(
        throttle_time=NO_THROTTLE,
        results=tuple(
            _directory(broker.replicas, directory, wanted)
            for directory in broker.replicas.logs.directories
        ),
    )


def _directory(
    replicas: ReplicaManager, directory: LogDirectory, wanted: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    rows = []
    if directory.offline is None:
        rows = [(each, _partition(replicas, log)) for each, log in sorted(directory.logs.items())]
        rows += [(each, _failed(directory, each)) for each in sorted(directory.failed)]
    rows = [(each, row) for each, row in rows if wanted is None or each in wanted]
    return DescribeLogDirsResult(
        error_code=ErrorCode.none if directory.offline is None else ErrorCode.kafka_storage_error,
        log_dir=str(directory.path.absolute()),
        topics=tuple(
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in by_topic(rows)
        ),
    )


def _partition(replicas: ReplicaManager, log: Log) -> DescribeLogDirsPartition:
    role = replicas.partitions.get(log.partition)
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition,
        partition_size=log.size,
        offset_lag=NO_LAG if role is None else max(role.high_watermark - log.end_offset, 0),
        is_future_key=False,
    )


def _failed(directory: LogDirectory, partition: TopicPartition) -> DescribeLogDirsPartition:
    found = (directory.path / str(partition)).glob("*")
    return DescribeLogDirsPartition(
        partition_index=partition.partition,
        partition_size=sum(path.stat().st_size for path in found if path.is_file()),
        offset_lag=NO_LAG,
        is_future_key=False,
    )
