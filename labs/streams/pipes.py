"""The engine's pieces of pipelines, with what is the same for a whole lab already said.

    orders = pipes.stream(spark, cluster, "orders")       key and value as text, and where from
    query = pipes.table(orders.groupBy("key").count())    a table that goes on changing
    pipes.rows(spark.table(query.name))                   ... as it is now
    query = pipes.to_topic(some, cluster, "bills")        columns key and value, as records

The pieces are in engine/streams (parsing, queries, tables, windows), each a few lines over Spark's
Structured Streaming. A checkpoint lies in a directory that goes with the kernel.
"""

import atexit
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine import Cluster
from engine.cluster.scratch import Scratch
from engine.streams import parsing, queries
from streams import stand

_places: list[Scratch] = []  # all checkpoints of this kernel


def place(name: str) -> Path:
    """A directory for a checkpoint, not made yet."""
    if not _places or not _places[0].path.exists():
        _places[:] = [Scratch()]
        atexit.register(_places[0].remove)
    return _places[0].path / stand.fresh(name)


def stream(spark: SparkSession, cluster: Cluster, topic: str, **options: Any) -> DataFrame:
    """Records as they come, from the first on."""
    return parsing.stream(spark, cluster.bootstrap, topic, **options)


def batch(spark: SparkSession, cluster: Cluster, topic: str) -> DataFrame:
    """Records that are there now."""
    return parsing.records(spark, cluster.bootstrap, topic)


def table(
    df: DataFrame,
    name: str = "",
    at: Path | None = None,
    mode: str = "complete",
    available_now: bool = False,
) -> StreamingQuery:
    """A query whose result is a table of that name, kept up to date."""
    name = name or stand.fresh("table").replace("-", "_")
    at = at or place(name)
    return queries.as_table(df, name, checkpoint=at, mode=mode, available_now=available_now)


def rows(df: DataFrame) -> dict[str, int]:
    """A table of two columns, as it is now."""
    return dict(sorted((str(row[0]), int(row[1])) for row in df.collect()))


def to_topic(
    df: DataFrame,
    cluster: Cluster,
    topic: str,
    at: Path | None = None,
    mode: str = "append",
    once: bool = False,
) -> StreamingQuery:
    """Columns key and value, as records: of new rows, or ("update") of those that have changed.

    `once`: each of them exactly once.
    """
    return queries.to_topic(
        df,
        cluster.bootstrap,
        topic,
        checkpoint=at or place(topic),
        value="value",
        mode=mode,
        exactly_once=once,
    )


def settle(query: StreamingQuery) -> None:
    """Until all that is in its topics is worked off; an error of the query is raised."""
    query.processAllAvailable()


def progress(query: StreamingQuery) -> Mapping[str, Any]:
    """What it told of the last micro-batch that had rows."""
    every = [json.loads(each.json) for each in query.recentProgress]
    return next((each for each in reversed(every) if each["numInputRows"]), every[-1])
