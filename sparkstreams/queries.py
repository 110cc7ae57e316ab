"""Running queries: they write a stream to a topic, or keep a table that can be queried.

    to_topic    writes rows to a topic; the changes of a table become a changelog, with tombstones
    as_table    spark.table(name), spark.sql("SELECT ... FROM name"): the table as of the last batch
    lag         how far behind the topic a query is

Without `available_now` a query runs until it is stopped, one micro-batch after the other, each as
soon as there are records. With it, the query reads the existing records and ends.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.utils import is_remote

from sparkstreams.record_columns import CORRUPT, DELETED, KEY, ORIGIN, is_deleted
from sparkstreams.sink import KafkaLabEpoch, NamedQuery, write_epoch
from sparkstreams.tables import Keys, alive, names

Lag = dict[str, dict[int, int]]  # topic -> partition -> records that wait


def to_topic(
    df: DataFrame,
    bootstrap: str,
    topic: str,
    *,
    checkpoint: str | Path,
    key: Keys = KEY,
    value: Column | str | None = None,  # a column; without it, JSON of all columns but the key's
    exactly_once: bool = False,
    mode: str = "update",  # a table's changes, or a stream's rows; some joins know "append" only
    every: str = "0 seconds",
    available_now: bool = False,
    **options: object,  # the sink's
) -> StreamingQuery:
    """Write a stream to a topic; a row that is `_deleted` becomes a tombstone.

    A key of several columns is JSON too. Keys and values are text.
    """
    sink = {"kafka.bootstrap.servers": bootstrap, "topic": topic} | {
        name: str(option) for name, option in options.items()
    }
    rows = as_records(df, key, value).writeStream.option("checkpointLocation", str(checkpoint))
    if mode == "update":
        df.sparkSession.dataSource.register(KafkaLabEpoch)
        named = NamedQuery(df.sparkSession, f"{topic} {uuid4()}") if is_remote() else None
        writer = rows.foreachBatch(partial(write_epoch, sink, exactly_once, named))
        if named is not None:
            writer = writer.queryName(named.name)
    else:
        once = str(exactly_once).lower()
        writer = rows.format("kafka-lab").options(**sink, exactlyOnce=once)
    return _start(writer.outputMode(mode), every, available_now)


def as_records(df: DataFrame, key: Keys = KEY, value: Column | str | None = None) -> DataFrame:
    """Rows as `key` and `value`, both text: what a topic takes."""
    keys = names(key)
    beside = {*keys, *ORIGIN, DELETED, CORRUPT}
    rest = f.to_json(f.struct(*(name for name in df.columns if name not in beside)))
    text = rest if value is None else f.col(value) if isinstance(value, str) else value
    return df.select(
        (f.col(keys[0]) if len(keys) == 1 else f.to_json(f.struct(*keys)))
        .cast("string")
        .alias(KEY),
        f.when(~is_deleted(df), text.cast("string")).alias("value"),
    )


def as_table(
    df: DataFrame,
    name: str,
    *,
    key: Keys | None = None,
    checkpoint: str | Path | None = None,
    mode: str = "complete",
    every: str = "0 seconds",
    available_now: bool = False,
) -> StreamingQuery:
    """A query that keeps the table `spark.table(name)`, with all keys.

    In mode "complete" Spark gives the whole table in each batch, and continues from a checkpoint;
    "append" adds rows, without an aggregation. In mode "update" a batch has only the changed rows,
    which replace those of the same `key`; windows need it, as in "complete" they never close.
    """
    if mode == "update":
        assert key is not None, "which rows an update replaces is said by their key"
        writer = df.writeStream.foreachBatch(_upsert(df, name, names(key))).queryName(name)
    else:
        writer = alive(df).writeStream.format("memory").queryName(name)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    return _start(writer.outputMode(mode), every, available_now)


def lag(progress: Any) -> tuple[Lag, int]:
    """The records that wait in each partition, by a query's progress; and their sum.

    If a query reads a topic twice, the slower reader counts.
    """
    report = progress if isinstance(progress, Mapping) else json.loads(progress.json)
    behind: Lag = {}
    for source in report["sources"]:
        newest, done = (_offsets(source.get(name)) for name in ("latestOffset", "endOffset"))
        for topic, ends in newest.items():
            read, waiting = done.get(topic, {}), behind.setdefault(topic, {})
            for partition, end in ends.items():
                before = waiting.get(int(partition), 0)
                waiting[int(partition)] = max(end - read.get(partition, 0), before)
    return behind, sum(sum(partitions.values()) for partitions in behind.values())


def _offsets(report: Any) -> dict[str, dict[str, int]]:
    """The offsets of our source; other sources report something else, or nothing."""
    found = json.loads(report) if isinstance(report, str) else report
    return found if isinstance(found, dict) else {}


def _start(writer: DataStreamWriter, every: str, available_now: bool) -> StreamingQuery:
    if available_now:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=every).start()


def _upsert(df: DataFrame, name: str, keys: list[str]) -> Callable[[DataFrame, int], None]:
    """Keeps the table in this process, and makes a view of it after each batch."""
    table: dict[tuple[Any, ...], Row] = {}
    schema, marked = df.schema, DELETED in df.columns
    spark = df.sparkSession  # views of a batch's own session are visible in that session only

    def change(batch: DataFrame, number: int) -> None:
        for row in batch.collect():
            place = tuple(row[key] for key in keys)
            if marked and row[DELETED]:
                table.pop(place, None)
            else:
                table[place] = row
        alive(spark.createDataFrame(list(table.values()), schema)).createOrReplaceTempView(name)

    alive(spark.createDataFrame([], schema)).createOrReplaceTempView(name)
    return change
