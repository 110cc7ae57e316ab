"""A task's part of exactly once: it writes its rows as finished batches to a staging topic.

    rows -> one open batch for each target partition -> staging topic
                                                          |  |  |
    report to the driver:   orders-0: partition 1, offset 17, 300 records ...

A staged batch counts only if the driver's decision names it. So tasks that fail, run twice or are
believed dead leave nothing but garbage, which retention deletes. The batches have no producer id
yet: the publisher sets it, without unpacking them.

Invariant: a batch has the records of one target partition, and their offsets without a gap.
"""

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from engine.client.partitioner import partitioner
from engine.config.producer import PARTITIONERS
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import Codec
from engine.storage.records import Builder
from sparkstreams.ledger import Staged
from sparkstreams.partition_client import PartitionClient
from sparkstreams.rows import SinkRow, rows
from sparkstreams.sink_options import HOUR_MS, WriteOptions

BATCH_BYTES = str(256 << 10)  # when a batch is full, unless kafka.batch.size says it
OPEN_BYTES = 32 << 20  # all open batches together
PARTITIONS = 3  # of a staging topic that we create
SEGMENT_BYTES = 64 << 20  # retention deletes whole segments
QUERY_ID = "sql.streaming.queryId"  # the same after every restart from one checkpoint


@dataclass
class TaskReport(WriterCommitMessage):
    """What a task reports to the driver."""

    query: str
    staged: list[tuple[TopicPartition, Staged]]  # by target


class StagingWriter:
    """Rows in, batches out."""

    def __init__(self, client: PartitionClient, options: WriteOptions, task: int) -> None:
        self.staged: list[tuple[TopicPartition, Staged]] = []
        self._client = client
        config = options.config
        self._full = int(options.kafka.get("batch.size", BATCH_BYTES))
        self._codec = Codec[config.compression_type.upper()]
        self._choice = partitioner(PARTITIONERS[config.partitioner_class], random.randrange)
        count = client.ensure(options.staging, PARTITIONS, staging_configs(options))
        self._place = TopicPartition(options.staging, task % count)
        self._partitions: dict[str, int] = {}  # of each target topic
        self._open: dict[TopicPartition, Builder] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self._waiting = 0  # bytes, in all of them

    def add(self, row: SinkRow, now: int) -> None:
        """`now` in milliseconds since 1970."""
        target = self._target(row)
        builder = self._open.get(target) or self._open.setdefault(target, Builder())
        size = builder.append(row.key, row.value, now, row.headers)
        self._waiting += size - self._sizes.get(target, 0)
        self._sizes[target] = size
        if size >= self._full:
            self._close(target)
            self._choice.filled(*target, self._partitions[target.topic], ())
        elif self._waiting >= OPEN_BYTES:
            self.flush()

    def flush(self) -> None:
        for target in list(self._open):
            self._close(target)

    def _target(self, row: SinkRow) -> TopicPartition:
        count = self._partitions.get(row.topic)
        if count is None:
            count = self._client.partitions(row.topic, create=True)
            self._partitions[row.topic] = count
        if row.partition is None:
            number = self._choice.choose(row.topic, row.key, count, ())
        elif 0 <= row.partition < count:
            number = row.partition
        else:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition,
                f"a row asks for partition {row.partition} of {row.topic}, which has {count}",
            )
        return TopicPartition(row.topic, number)

    def _close(self, target: TopicPartition) -> None:
        builder = self._open.pop(target)
        self._waiting -= self._sizes.pop(target)
        offset = self._client.append_one(self._place, builder.build(self._codec))
        self.staged.append((target, Staged(self._place.partition, offset, builder.count)))


def stage(
    client: PartitionClient,
    options: WriteOptions,
    batches: Iterable[pa.RecordBatch],
    query: str | None,
) -> TaskReport:
    """Stage the rows of a task. `query`: its id, if Spark does not give it to the tasks."""
    context = TaskContext.get()
    assert context is not None, "rows are staged in a task"
    query = query or context.getLocalProperty(QUERY_ID)
    assert query is not None, "exactly once is for streams"
    work = StagingWriter(client, options, context.partitionId())
    for batch in batches:
        now = time.time_ns() // 1_000_000
        for row in rows(batch, options.topic):
            work.add(row, now)
    work.flush()
    return TaskReport(query, work.staged)


def staging_configs(options: WriteOptions) -> dict[str, str]:
    """Batches must be stored unchanged, and be deleted when no query can need them any more."""
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(options.staging_hours * HOUR_MS),
        "segment.bytes": str(SEGMENT_BYTES),
        "message.timestamp.type": "CreateTime",
        "compression.type": "producer",
    }
