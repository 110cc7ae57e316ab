"""A count in Spark: where its state is, what stands in it, and how it is found again.

cards ──> count by guest ──> a table
               │ state: RocksDB, on disk          ── changes ──> counts (a compacted topic)
               └ checkpoint: state/0/0/1.changelog ...              └──> the table, once more
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from engine.streams.state import state, state_changes
from engine.streams.tables import from_changelog
from streams import house, pipes, stand, times
from streams.flow import Counts
from streams.remote import Far, count, database
from streams.unbounded import Cases

CARDS = 300
MANY = 600
AWAY = 0.004  # seconds: another town
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

# -- one count, looked into ------------------------------------------------------------------


@dataclass
class Counted:
    """How many cards were used by each guest; the state, and the way back from a topic."""

    table: Counts
    state: Counts  # as it stands in RocksDB
    changes: list[tuple[object, ...]]  # micro-batch, what, guest, count
    rebuilt: Counts  # from the compacted topic alone

    def __repr__(self) -> str:
        rows = [
            ("the table", *self.table.values()),
            ("the state, in RocksDB", *self.state.values()),
            ("rebuilt from the compacted topic", *self.rebuilt.values()),
        ]
        return repr(Table(("", *self.table), rows))

    def feed(self) -> Table:
        return Table("batch, change, guest, count", self.changes)


def counted(cluster: Cluster, spark: SparkSession) -> Counted:
    source, changes = stand.topic(cluster, "cards"), stand.compacted(cluster, "counts")
    events, at = house.some_cards(CARDS), pipes.place("count")
    stand.send(cluster, source, house.pairs(events[: CARDS - 3]))
    counts = pipes.stream(spark, cluster, source).groupBy("key").count()
    updates = counts.select("key", F.col("count").cast("string").alias("value"))
    query = pipes.to_topic(updates, cluster, changes, at, mode="update")
    pipes.settle(query)
    stand.send(cluster, source, house.pairs(events[CARDS - 3 :]))
    pipes.settle(query)
    query.stop()  # what it had in memory is gone
    changed = state_changes(spark, at, since=1).select("batch_id", "change_type", "key", "count")
    return Counted(
        house.counts(events),
        pipes.rows(state(spark, at).select("key", "count")),
        sorted(tuple(row) for row in changed.collect()),
        pipes.rows(from_changelog(spark, cluster.bootstrap, changes)),
    )


# -- which streams have a state, and where ---------------------------------------------------


@dataclass
class Kinds:
    """Three queries over the same cards."""

    stores: dict[str, str]  # what their progress tells of a state
    keys: int  # rows of state of the count
    events: int

    def __repr__(self) -> str:
        return repr(Table(("a stream that is", "its state"), self.stores.items()))

    def verdicts(self) -> Cases:
        here = {name: it == "RocksDB" for name, it in self.stores.items()}
        return {
            "C165": {
                "aggregated: it is in a local RocksDB": here["counted"],
                "and has a row for each key, not for each record": self.keys == len(house.GUESTS),
                "aggregated, but a store in memory was chosen: it is in RocksDB": here[
                    "counted, in memory"
                ],
                "not aggregated: it is in RocksDB": here["filtered"],
            }
        }


def kinds(cluster: Cluster, spark: SparkSession) -> Kinds:
    source = stand.topic(cluster, "cards")
    stand.send(cluster, source, house.pairs(house.some_cards(CARDS)))
    cards = pipes.stream(spark, cluster, source)
    counts = cards.groupBy("key").count()
    told = {
        "counted": _told(counts, "complete"),
        "filtered": _told(cards.where("value < 0"), "append"),
    }
    usual = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, IN_MEMORY)
    try:
        told["counted, in memory"] = _told(counts, "complete")
    finally:
        spark.conf.set(PROVIDER, usual or "")
    rows = told["counted"]["stateOperators"][0]["numRowsTotal"]
    return Kinds({name: _store(it) for name, it in told.items()}, rows, CARDS)


def _told(df: DataFrame, mode: str) -> Mapping[str, Any]:
    """The progress of a query that reads all there is, and ends."""
    query = pipes.table(df, mode=mode, available_now=True)
    query.awaitTermination()
    return pipes.progress(query)


def _store(told: Mapping[str, Any]) -> str:
    if not told["stateOperators"]:
        return "none"
    metrics = told["stateOperators"][0]["customMetrics"]
    return "RocksDB" if any(name.startswith("rocksdb") for name in metrics) else "in memory"


# -- beside a database far away --------------------------------------------------------------


@dataclass
class Compared:
    """As many guests as cards, so that each is an update of its own."""

    local: Counts
    remote: Counts
    trips: int  # of the remote one
    local_ms: int  # for all updates of the state, and their commit
    remote_ms: float
    resumed: bool  # the local one goes on with what it knew, after a restart

    def __repr__(self) -> str:
        rows = [
            ("RocksDB", 0, self.resumed),
            ("a database in another town", self.trips, "-"),
        ]
        head = (f"{MANY} updates", "round trips", "is it there after a restart?")
        return repr(Table(head, rows))

    def figure(self) -> go.Figure:
        seconds = {"RocksDB": float(self.local_ms), "a database in another town": self.remote_ms}
        return times.figure(seconds, "time for all updates of the state; 1: RocksDB")

    def verdicts(self) -> Cases:
        return {
            "C169": {
                "both count the same": self.local == self.remote,
                "beside the processing an update needs no round trip, far away two": self.trips
                == 2 * MANY,
                "far away takes more than twice the time": self.remote_ms > 2 * self.local_ms,
                "and the local state is there again after a restart": self.resumed,
            }
        }


def compared(cluster: Cluster, spark: SparkSession) -> Compared:
    source, at = stand.topic(cluster, "cards"), pipes.place("local")
    events = [(f"guest-{number:04}", 1) for number in range(MANY)]
    stand.send(cluster, source, house.pairs(events))
    counts = pipes.stream(spark, cluster, source).groupBy("key").count()
    query = pipes.table(counts, "local", at, available_now=True)
    query.awaitTermination()
    told = pipes.progress(query)["stateOperators"][0]
    local = pipes.rows(spark.table("local"))
    with database(AWAY) as process:
        store = Far(process.port)
        job = Remote(store)
        cards = pipes.stream(spark, cluster, source).select("key")
        cards.writeStream.foreachBatch(job).trigger(availableNow=True).start().awaitTermination()
        trips = store.trips
        remote = {guest: store.get(guest) for guest, _ in events}
        store.close()
    stand.send(cluster, source, house.pairs(events[:1]))
    again = pipes.table(counts, "local", at, available_now=True)
    again.awaitTermination()
    resumed = pipes.rows(spark.table("local")) == local | {events[0][0]: 2}
    took = told["allUpdatesTimeMs"] + told["commitTimeMs"]
    return Compared(local, remote, trips, took, job.seconds * 1000, resumed)


class Remote:
    """Counts micro-batches in a store that is elsewhere."""

    def __init__(self, store: Far) -> None:
        self.store = store
        self.seconds = 0.0

    def __call__(self, df: DataFrame, number: int) -> None:
        keys = [row[0] for row in df.collect()]
        began = perf_counter()
        count(keys, self.store)
        self.seconds += perf_counter() - began
