"""Reads the state of a query from its checkpoint, and the changes of that state.

    CHECKPOINT/state/0/0/   of operator 0, partition 0:
        1.zip               a snapshot of its RocksDB after batch 0
        2.changelog ...     what each further batch put and deleted

Each partition of the state belongs to one task. It is local: the task reads a RocksDB in its own
process, and writes its changes to the checkpoint. If another worker takes over the partition, it
loads the last snapshot and replays the changelogs. Kafka Streams does the same with a changelog
topic.

Spark itself reads the files (its data source "statestore").
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def state(spark: SparkSession, checkpoint: str | Path, **options: object) -> DataFrame:
    """The keys and values in a query's state after its last batch (`batchId`: after another).

    Columns: those of the key, those of the value, and `partition_id`.
    """
    found = _reader(spark, checkpoint, options)
    return _flat(found.select("key.*", "value.*", "partition_id"))


def state_changes(
    spark: SparkSession, checkpoint: str | Path, since: int = 0, **options: object
) -> DataFrame:
    """What each batch from `since` on did to the state: `batch_id`, `change_type` (update or
    delete), and the columns of the key and the value."""
    feed = {"readChangeFeed": True, "changeStartBatchId": since}
    found = _reader(spark, checkpoint, feed | options)
    return _flat(found.select("batch_id", "change_type", "key.*", "value.*", "partition_id"))


def _flat(found: DataFrame) -> DataFrame:
    """A window as its start and end; of `latest`, which keeps a row and its place, both by name."""
    columns = []
    for field in found.schema:
        nested = isinstance(field.dataType, StructType)
        columns.append(f"`{field.name}`.*" if nested else f"`{field.name}`")
    return found.select(*columns).withColumnRenamed("extremumOrdering", "offset")


def _reader(spark: SparkSession, checkpoint: str | Path, options: dict[str, object]) -> DataFrame:
    texts = {name: str(value).lower() for name, value in options.items()}
    return spark.read.format("statestore").options(**texts).load(str(checkpoint))
