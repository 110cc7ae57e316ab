"""What the tests of tables, windows and the farm share: records put into topics, and patience."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.cluster.cluster import Cluster
from tests.interop.watch import until

SLOW = 120.0  # seconds; the first batch of a query takes a busy machine its time


def put(cluster: Cluster, topic: str, *records: tuple[str | None, Any], at: int = -1) -> None:
    """A value is JSON of what it is, or the text that it is; `at` is its time in milliseconds."""
    producer = cluster.producer({"acks": "all"})
    for key, value in records:
        stored = value if value is None or isinstance(value, str) else json.dumps(value)
        time = {} if at < 0 else {"timestamp": at}
        producer.produce(topic, key=key, value=stored, **time)
    producer.flush()


def finished(query: StreamingQuery) -> StreamingQuery:
    """A query that reads what there is, when it has."""
    assert query.awaitTermination(SLOW), query.status
    return query


def rows(df: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Its rows, in an order of their own."""
    chosen = df.select(*columns) if columns else df
    return sorted((tuple(row) for row in chosen.collect()), key=repr)


def shows(spark: SparkSession, table: str, wanted: list[tuple[Any, ...]], *columns: str) -> None:
    """A running query's table comes to have these rows; a query that ended is not waited for."""

    def seen() -> bool:
        assert spark.streams.active, "no query runs any more"
        return rows(spark.table(table), *columns) == wanted

    until(seen, SLOW)


def folder(path: Path, name: str) -> str:
    return str(path / name)
