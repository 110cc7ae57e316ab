"""Rows of a stream or a batch into Kafka topics: at least once, or each epoch exactly once.

    at least once    task: rows -> engine.Producer (idempotent, acks=all) -> topic

    exactlyOnce      task: rows -> staging topic      driver: decide -> publish -> topic
                           (staging.py)                       (ledger.py, publishing.py)

Spark runs a task again that failed, and an epoch again that it does not know to be finished. The
first way then writes rows again: none is lost, some may be there twice. The second way puts no row
where a consumer looks before the whole epoch is decided, and what is decided is stored once. It
costs writing everything twice, and an epoch's rows are seen when the epoch ends.

Left out: exactly once for a batch, which has no epoch by which a second run could be told.

Invariant: a task or an epoch ends well only if all its rows are stored by all replicas in sync.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from engine.client.cluster import ClusterView
from engine.client.producer import Producer
from engine.client.values import KafkaError as Trouble
from engine.client.values import KafkaException, Message
from engine.streams.offsets import bad
from engine.streams.publishing import Publisher
from engine.streams.remote import Remote
from engine.streams.rows import check, rows
from engine.streams.settings import WriteOptions
from engine.streams.staging import Report, stage

Messages = list[WriterCommitMessage | None]


def batch_writer(options: Any, schema: StructType) -> DataSourceArrowWriter:
    """Of a DataFrame that ends."""
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


class BatchWriter(DataSourceArrowWriter):
    """Each task sends what it has, and there is nothing left to commit."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return send(self._options, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """The same, epoch by epoch."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return send(self._options, iterator)

    def commit(self, messages: Messages, batchId: int) -> None:
        """All is done by the tasks."""

    def abort(self, messages: Messages, batchId: int) -> None:
        """What was written can't be taken back: at least once."""


class EpochWriter(DataSourceStreamArrowWriter):
    """Tasks stage, the driver decides and publishes."""

    def __init__(self, options: WriteOptions, query: str | None = None) -> None:
        self._options = options
        self._query = query  # its id, if that is known from elsewhere than from Spark

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with _view(self._options) as cluster:
            return stage(Remote(cluster), self._options, iterator, self._query)

    def commit(self, messages: Messages, batchId: int) -> None:
        reports = [each for each in messages if isinstance(each, Report)]
        if not reports:
            return  # an epoch without tasks
        with _view(self._options) as cluster:
            staged = [each for report in reports for each in report.staged]
            Publisher(Remote(cluster), self._options, reports[0].query).commit(batchId, staged)

    def abort(self, messages: Messages, batchId: int) -> None:
        """What was staged is garbage, which retention sweeps up."""


def _view(options: WriteOptions) -> ClusterView:
    config = options.config
    return ClusterView(
        options.addresses,
        config.client_id or "brokerlab",
        timeout=config.request_timeout_ms / 1000,
        patience=config.delivery_timeout_ms / 1000,
    )


def send(options: WriteOptions, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
    """All rows of a task, stored by all replicas in sync, or the first error."""
    troubles: list[Trouble] = []

    def told(error: Trouble | None, message: Message) -> None:
        if error is not None:
            troubles.append(error)

    with Producer(options.producer) as producer:
        for batch in batches:
            for topic, partition, key, value, headers in rows(batch, options.topic):
                number = -1 if partition is None else partition
                producer.produce(topic, value, key, number, told, headers=headers)
            producer.poll(0)
            _raise(troubles)
        producer.flush()
    _raise(troubles)
    return WriterCommitMessage()


def _raise(troubles: Sequence[Trouble]) -> None:
    if troubles:
        raise KafkaException(troubles[0])
