"""Writes the rows of a stream or a batch to Kafka topics: at least once, or exactly once.

    at least once    task: rows -> engine.Producer (idempotent, acks=all) -> topic

    exactlyOnce      task: rows -> staging topic      driver: decide -> publish -> topic
                           (staging.py)                       (ledger.py, publisher.py)

Spark repeats a task that failed, and an epoch that it does not know to be finished. With "at least
once" the rows are then written again: none is lost, some may be duplicated. With "exactly once" no
row is written to its topic before the whole epoch is decided, and a decided row is stored once. It
costs writing everything twice, and an epoch's rows become visible when the epoch ends.

The changes of a table come in Spark's mode "update", which a Python data source cannot take. But
Spark passes each micro-batch to a function, and the function may write it as a batch:

    stream, mode "update"  ── foreachBatch(rows, epoch) ──>  rows.write.format("kafka-lab-epoch")
                                                             epoch, and maybe query, as options

For exactly once the sink needs the epoch and the query's id. The epoch is an option here. Spark
gives the query's id to the tasks, except on a server (Spark Connect): there the batch finds the
query among the running ones by its name.

Left out: exactly once for an ordinary batch, which has no epoch that would identify a repetition.

Invariant: a task or an epoch succeeds only if all its rows are stored by all replicas in sync.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from engine.client.cluster import ClusterClient
from engine.client.producer import Producer
from engine.client.values import KafkaError, KafkaException, Message
from sparkstreams.offsets import bad
from sparkstreams.partition_client import PartitionClient
from sparkstreams.publisher import Publisher
from sparkstreams.rows import check, rows
from sparkstreams.sink_options import WriteOptions
from sparkstreams.staging import TaskReport, stage

Messages = list[WriterCommitMessage | None]
EPOCH_FORMAT = "kafka-lab-epoch"
EPOCH, QUERY = "epoch", "query"


def batch_writer(options: Any, schema: StructType) -> DataSourceArrowWriter:
    """The writer of a batch DataFrame."""
    taken = taken_from(options, schema)
    if taken.exactly_once:
        raise bad(
            "exactlyOnce",
            "only a stream has epochs; a batch that is run again writes its rows again",
        )
    return BatchWriter(taken)


def stream_writer(options: Any, schema: StructType) -> DataSourceStreamArrowWriter:
    taken = taken_from(options, schema)
    return EpochWriter(taken) if taken.exactly_once else StreamWriter(taken)


def taken_from(options: Any, schema: StructType) -> WriteOptions:
    taken = WriteOptions.of(options)
    check(schema, taken.topic)
    return taken


class _RowSender:
    """Each task sends its rows; there is nothing left to commit."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return send(self._options, iterator)


class BatchWriter(_RowSender, DataSourceArrowWriter):
    """The writer of an ordinary batch."""


class StreamWriter(_RowSender, DataSourceStreamArrowWriter):
    """The writer of a stream, epoch by epoch."""

    def commit(self, messages: Messages, batchId: int) -> None:
        """All is done by the tasks."""

    def abort(self, messages: Messages, batchId: int) -> None:
        """What was written can't be taken back: at least once."""


class EpochWriter(DataSourceStreamArrowWriter):
    """Tasks write to the staging topic; the driver decides and publishes."""

    def __init__(self, options: WriteOptions, query: str | None = None) -> None:
        self._options = options
        self._query = query  # its id, if Spark does not give it to the tasks

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with _connect(self._options) as cluster:
            return stage(PartitionClient(cluster), self._options, iterator, self._query)

    def commit(self, messages: Messages, batchId: int) -> None:
        reports = [each for each in messages if isinstance(each, TaskReport)]
        if not reports:
            return  # an epoch without tasks
        with _connect(self._options) as cluster:
            staged = [each for report in reports for each in report.staged]
            Publisher(PartitionClient(cluster), self._options, reports[0].query).commit(
                batchId, staged
            )

    def abort(self, messages: Messages, batchId: int) -> None:
        """The staged rows are garbage; retention deletes them."""


def _connect(options: WriteOptions) -> ClusterClient:
    return options.connect(options.config.delivery_timeout_ms / 1000)


def send(options: WriteOptions, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
    """All rows of a task, stored by all replicas in sync, or the first error."""
    troubles: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            troubles.append(error)

    with Producer(options.producer) as producer:
        for batch in batches:
            for topic, partition, key, value, headers in rows(batch, options.topic):
                number = -1 if partition is None else partition
                producer.produce(topic, value, key, number, delivered, headers=headers)
            producer.poll(0)
            _raise(troubles)
        producer.flush()
    _raise(troubles)
    return WriterCommitMessage()


def _raise(troubles: Sequence[KafkaError]) -> None:
    if troubles:
        raise KafkaException(troubles[0])


# -- an epoch of a table's changes, written as a batch -----------------------------------------


class KafkaLabEpoch(DataSource):
    """The data source that is registered with Spark, beside source and sink."""

    @classmethod
    def name(cls) -> str:
        return EPOCH_FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        options = dict(self.options)
        epoch, query = int(options.pop(EPOCH)), options.pop(QUERY, None)
        return OneEpoch(EpochWriter(taken_from(options, schema), query), epoch)


class OneEpoch(DataSourceArrowWriter):
    """An epoch written as a batch, identified by the query's id and the epoch."""

    def __init__(self, writer: EpochWriter, epoch: int) -> None:
        self._writer = writer
        self._epoch = epoch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._writer.write(iterator)

    def commit(self, messages: Messages) -> None:
        self._writer.commit(messages, self._epoch)

    def abort(self, messages: Messages) -> None:
        self._writer.abort(messages, self._epoch)


class NamedQuery(NamedTuple):
    """A running query that is found by its name."""

    spark: SparkSession
    name: str

    def id(self) -> str:
        return next(it.id for it in self.spark.streams.active if it.name == self.name)


def write_epoch(
    sink: Mapping[str, str],
    exactly_once: bool,
    query: NamedQuery | None,
    rows: DataFrame,
    epoch: int,
) -> None:
    """Called by Spark with each micro-batch."""
    if exactly_once:
        once = {"exactlyOnce": "true", EPOCH: str(epoch)}
        known = {QUERY: query.id()} if query else {}
        rows.write.format(EPOCH_FORMAT).options(**sink, **once, **known).mode("append").save()
    else:
        rows.write.format("kafka-lab").options(**sink).mode("append").save()
