"""Streams as tables: a value for each key, which every further record of that key changes.

    stream     ann 3   bob 1   ann 4   bob -          each line a record, in time
    count      ann 1   bob 1   ann 2
    total      ann 3   bob 1   ann 7                  each line a change of the table;
    latest     ann 3   bob 1   ann 4   bob deleted    the changes are a stream again

A KTable of Kafka Streams is an aggregation in Spark: its state is in RocksDB, and its output (in
mode "update") is the changes of the table. Written to a compacted topic, the changes are the
table's changelog, from which `from_changelog` builds the same table again.

As in Kafka Streams, a table ignores records without a key. Unlike there, the changes of a
micro-batch are merged: a key that changed twice in one batch is output once.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from engine.errors import ApiException, ErrorCode
from sparkstreams.record_columns import (
    CORRUPT,
    DELETED,
    KEY,
    ORIGIN,
    Schema,
    good,
    is_deleted,
    records,
)

Keys = str | Sequence[str]
REST = "rest"


def names(keys: Keys) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)


def keyed(df: DataFrame, key: Keys) -> DataFrame:
    """Without the rows that have no key."""
    return df.dropna(how="any", subset=names(key))


def count(df: DataFrame, key: Keys) -> DataFrame:
    """How many rows each key has had: column `count`. Tombstones don't count."""
    return keyed(df, key).where(~is_deleted(df)).groupBy(*names(key)).count()


def total(df: DataFrame, key: Keys, column: str) -> DataFrame:
    """The sum of a column for each key: column `total`."""
    return keyed(df, key).groupBy(*names(key)).agg(f.sum(column).alias("total"))


def latest(df: DataFrame, key: Keys = KEY) -> DataFrame:
    """The last row of each key; one whose last record is a tombstone is marked as `_deleted`.

    Last is what has the highest offset, as it is for compaction; so all records of a key have to
    be in one partition, as they are where the topic's key is the table's.
    A deleted key stays in the state as a mark; `expiring_state.kept` removes it.
    """
    last = [name for name in df.columns if name not in (*names(key), *ORIGIN, DELETED)]
    row = f.struct(*last, is_deleted(df).alias(DELETED))
    grouped = keyed(df, key).groupBy(*names(key)).agg(f.max_by(row, "offset").alias("_last"))
    return grouped.select(*names(key), "_last.*")


def alive(table: DataFrame) -> DataFrame:
    """Without the keys that were deleted."""
    return table.where(~f.col(DELETED)).drop(DELETED) if DELETED in table.columns else table


def from_changelog(
    spark: SparkSession, bootstrap: str, topic: str, schema: Schema | None = None
) -> DataFrame:
    """The table of a topic of changes, replayed from its beginning; later changes are not read."""
    changes = records(spark, bootstrap, topic, schema)
    return alive(latest(good(changes) if CORRUPT in changes.columns else changes))


def enrich(stream: DataFrame, table: DataFrame, on: Keys) -> DataFrame:
    """Each row of the stream with the table's row of the same key beside it, or nulls.

    The table of a running query, `spark.table(name)` of `as_table`, is followed: Spark plans the
    table's side again for each micro-batch, and reads its current rows. One that was read as a
    batch (`from_changelog`) stays as it was when the query began. Kafka Streams keeps the table's
    state beside the stream's and follows both by their timestamps. In all of these cases rows that
    were output before stay as they are when the table changes.
    """
    twice = set(stream.columns) & set(table.columns) - set(names(on))
    return stream.join(table.drop(*twice), names(on), "left")


def branch(df: DataFrame, **conditions: Column | str) -> dict[str, DataFrame]:
    """Each row goes to the first branch whose condition holds, or to `rest`."""
    if REST in conditions:
        raise ApiException(ErrorCode.invalid_request, f"{REST!r} is where all other rows go")
    branches = {}
    free = f.lit(True)
    for name, condition in conditions.items():
        holds = f.expr(condition) if isinstance(condition, str) else condition
        holds = f.coalesce(holds, f.lit(False))  # null counts as false
        branches[name] = df.where(free & holds)
        free = free & ~holds
    return branches | {REST: df.where(free)}


def merge(first: DataFrame, *others: DataFrame) -> DataFrame:
    """All rows of all streams; a column that a stream lacks is null in its rows."""
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first
