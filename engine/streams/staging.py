"""A task's part in exactly once: its rows as finished batches, put where no consumer looks.

    rows -> one batch in the making for each target partition -> staging topic
                                                                   |  |  |
    report to the driver:   orders-0: partition 1, offset 17, 300 records ...

What a task stages is worth nothing until the driver decides for it. So tasks that fail, run twice
or are thought dead leave only what retention sweeps up. The batches have no producer yet: whoever
publishes them gives them one, and does not unpack them.

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
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import Codec
from engine.storage.records import Builder
from engine.streams.ledger import Staged
from engine.streams.remote import Remote
from engine.streams.rows import Row, rows
from engine.streams.settings import HOUR_MS, WriteOptions

BATCH_BYTES = str(256 << 10)  # when a batch is full, unless kafka.batch.size says it
OPEN_BYTES = 32 << 20  # all batches in the making together
PARTITIONS = 3  # of a staging topic that we make
SEGMENT_BYTES = 64 << 20  # it is swept segment by segment
QUERY_ID = "sql.streaming.queryId"  # the same after every restart from one checkpoint


@dataclass
class Report(WriterCommitMessage):
    """What a task tells the driver."""

    query: str
    staged: list[tuple[TopicPartition, Staged]]  # by target


class Stage:
    """Rows in, batches out."""

    def __init__(self, remote: Remote, options: WriteOptions, task: int) -> None:
        self.staged: list[tuple[TopicPartition, Staged]] = []
        self._remote = remote
        config = options.config
        self._full = int(options.kafka.get("batch.size", BATCH_BYTES))
        self._codec = Codec[config.compression_type.upper()]
        self._choice = partitioner(PARTITIONERS[config.partitioner_class], random.randrange)
        count = remote.ensure(options.staging, PARTITIONS, staging_configs(options))
        self._place = TopicPartition(options.staging, task % count)
        self._partitions: dict[str, int] = {}  # of each target topic
        self._open: dict[TopicPartition, Builder] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self._waiting = 0  # bytes, in all of them

    def add(self, row: Row, now: int) -> None:
        """`now` in milliseconds since 1970."""
        target = self._target(row)
        builder = self._open.get(target) or self._open.setdefault(target, Builder())
        size = builder.append(row.key, row.value, now, row.headers)
        self._waiting += size - self._sizes.get(target, 0)
        self._sizes[target] = size
        if size >= self._full:
            self._close(target)
            self._choice.filled(target.topic, self._partitions[target.topic], ())
        elif self._waiting >= OPEN_BYTES:
            self.flush()

    def flush(self) -> None:
        for target in list(self._open):
            self._close(target)

    def _target(self, row: Row) -> TopicPartition:
        count = self._partitions.get(row.topic)
        if count is None:
            count = self._remote.partitions(row.topic, create=True)
            self._partitions[row.topic] = count
        if row.partition is None:
            number = self._choice.choose(row.topic, row.key, count, ())
        elif 0 <= row.partition < count:
            number = row.partition
        else:
            raise KafkaError(
                ErrorCode.unknown_topic_or_partition,
                f"a row asks for partition {row.partition} of {row.topic}, which has {count}",
            )
        return TopicPartition(row.topic, number)

    def _close(self, target: TopicPartition) -> None:
        builder = self._open.pop(target)
        self._waiting -= self._sizes.pop(target)
        offset = self._remote.append_one(self._place, builder.build(self._codec))
        self.staged.append((target, Staged(self._place.partition, offset, builder.count)))


def stage(
    remote: Remote, options: WriteOptions, batches: Iterable[pa.RecordBatch], query: str | None
) -> Report:
    """All that a task does. `query`: its id, where Spark does not tell its tasks."""
    context = TaskContext.get()
    assert context is not None, "rows are staged in a task"
    query = query or context.getLocalProperty(QUERY_ID)
    assert query is not None, "exactly once is for streams"
    work = Stage(remote, options, context.partitionId())
    for batch in batches:
        now = time.time_ns() // 1_000_000
        for row in rows(batch, options.topic):
            work.add(row, now)
    work.flush()
    return Report(query, work.staged)


def staging_configs(options: WriteOptions) -> dict[str, str]:
    """Batches must come out as they went in, and go when nobody can want them any more."""
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(options.staging_hours * HOUR_MS),
        "segment.bytes": str(SEGMENT_BYTES),
        "message.timestamp.type": "CreateTime",
        "compression.type": "producer",
    }
