"""Around Spark's queries: options, checkpoints, and what a query tells of itself.

    stream = spark.readStream.format("kafka-lab").options(**pipes.source(cluster, "orders")).load()
    writer = rows.writeStream.format("kafka-lab").options(**pipes.sink(cluster, "bills"))
    pipes.rows(spark.table(name))      a table of two columns, as it is now

Checkpoints lie in a directory that goes with the kernel.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from engine import Cluster
from streams.database import folder

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STORES = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB, IN_MEMORY = f"{STORES}.RocksDBStateStoreProvider", f"{STORES}.HDFSBackedStateStoreProvider"

_numbers = count(1)


def name(of: str) -> str:
    """Of a query and its table: one that was not used yet."""
    return f"{of}_{next(_numbers)}"


def place(of: str) -> str:
    """A directory for a checkpoint, not made yet."""
    return str(folder() / name(of))


def source(cluster: Cluster, topic: str) -> dict[str, str]:
    """Options to read a topic from its first record on."""
    servers = {"kafka.bootstrap.servers": cluster.bootstrap}
    return servers | {"subscribe": topic, "startingOffsets": "earliest"}


def sink(cluster: Cluster, topic: str, at: str | None = "") -> dict[str, str]:
    """Options to write to a topic; the checkpoint is a new one, or none for a batch."""
    servers = {"kafka.bootstrap.servers": cluster.bootstrap, "topic": topic}
    return servers if at is None else servers | {"checkpointLocation": at or place(topic)}


def rows(df: DataFrame) -> dict[str, int]:
    """A table of two columns, as it is now."""
    return dict(sorted((str(row[0]), int(row[1])) for row in df.collect()))


def run_to_end(writer: DataStreamWriter) -> StreamingQuery:
    """A query that has processed all that is in its topics, and has ended."""
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def forget_last_commit(checkpoint: str) -> None:
    """Remove Spark's note that the last epoch is done: so a crash before the note leaves it."""
    notes = Path(checkpoint) / "commits"
    last = max(int(it.name) for it in notes.iterdir() if it.name.isdigit())
    (notes / f".{last}.crc").unlink(missing_ok=True)
    (notes / f"{last}").unlink()


# -- what a query tells of itself ------------------------------------------------------------


def progress(query: StreamingQuery) -> Mapping[str, Any]:
    """What it told of the last micro-batch that had rows."""
    every = [json.loads(each.json) for each in query.recentProgress]
    return next((each for each in reversed(every) if each["numInputRows"]), every[-1])


def state_rows(query: StreamingQuery) -> int:
    return sum(each["numRowsTotal"] for each in progress(query)["stateOperators"])


def state_ms(query: StreamingQuery) -> int:
    """Milliseconds for all updates of the state and their commit."""
    told = progress(query)["stateOperators"][0]
    return int(told["allUpdatesTimeMs"] + told["commitTimeMs"])


def tasks(query: StreamingQuery) -> int:
    """Over how many tasks the state is spread."""
    return int(progress(query)["stateOperators"][0]["numStateStoreInstances"])


def dropped(query: StreamingQuery) -> int:
    """Rows that came too late for their window."""
    every = [json.loads(each.json) for each in query.recentProgress]
    return sum(it["numRowsDroppedByWatermark"] for each in every for it in each["stateOperators"])


def kind(checkpoint: str) -> str:
    """Which store has written the files of a query's state."""
    kinds = {it.suffix for it in (Path(checkpoint) / "state").rglob("*") if it.is_file()}
    return (
        "RocksDB" if kinds & {".zip", ".changelog"} else "deltas" if ".delta" in kinds else "none"
    )


def operators(query: StreamingQuery) -> list[str]:
    """What has run, as the plan names it."""
    plan = str(query._jsq.explainInternal(False))
    return re.findall(r"^[ :+\-*()\d]*([A-Z]\w+)", plan, re.MULTILINE)[1:]


# -- a database beside Kafka -----------------------------------------------------------------


def base() -> Path:
    path = folder() / name("base")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE loud (epoch, row, key, value, PRIMARY KEY (epoch, row))")
    return path


def store(path: Path, rows: Iterable[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT OR REPLACE INTO loud VALUES (?, ?, ?, ?)", rows)


def stored(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return list(connection.execute("SELECT key, value FROM loud"))
