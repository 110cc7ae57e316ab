"""The sink for a table's changes: an epoch of a stream, written as a batch.

    stream, mode "update"  ── foreachBatch(rows, epoch) ──>  rows.write.format("kafka-lab-epoch")
                                                             epoch, and maybe query, as options

Spark lets a data source in Python take a stream in the modes "append" and "complete", and a table
changes in neither. But it hands each micro-batch to a function, and a batch may be written
anywhere. At least once that is the sink as it is. For exactly once the sink has to know the epoch,
which a batch has not: here it is an option, and the rest is the sink for streams.

Whose epoch it is Spark tells the tasks, but not where a server runs the stream (Spark Connect):
there the query has a name, by which the batch finds it among those that run.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from engine.streams.sink import EpochWriter, Messages, taken_from

FORMAT = "kafka-lab-epoch"
EPOCH, QUERY = "epoch", "query"


class KafkaLabEpoch(DataSource):
    """What is registered with Spark, beside the source and sink for all."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        options = dict(self.options)
        epoch, query = int(options.pop(EPOCH)), options.pop(QUERY, None)
        return OneEpoch(EpochWriter(taken_from(options, schema), query), epoch)


class OneEpoch(DataSourceArrowWriter):
    """Tasks stage, the driver decides and publishes, all by the query's id and the epoch."""

    def __init__(self, writer: EpochWriter, epoch: int) -> None:
        self._writer = writer
        self._epoch = epoch

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._writer.write(iterator)

    def commit(self, messages: Messages) -> None:
        self._writer.commit(messages, self._epoch)

    def abort(self, messages: Messages) -> None:
        self._writer.abort(messages, self._epoch)


def register(spark: SparkSession) -> None:
    spark.dataSource.register(KafkaLabEpoch)


class Named(NamedTuple):
    """A query that can be found by its name, where it runs."""

    spark: SparkSession
    name: str

    def id(self) -> str:
        return next(it.id for it in self.spark.streams.active if it.name == self.name)


def write(
    sink: Mapping[str, str], exactly_once: bool, query: Named | None, rows: DataFrame, epoch: int
) -> None:
    """What a stream calls with each micro-batch."""
    if exactly_once:
        once = {"exactlyOnce": "true", EPOCH: str(epoch)}
        known = {QUERY: query.id()} if query else {}
        rows.write.format(FORMAT).options(**sink, **once, **known).mode("append").save()
    else:
        rows.write.format("kafka-lab").options(**sink).mode("append").save()
