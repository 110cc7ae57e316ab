"""What a stream processor does: it takes a stream, and gives results for as long as it runs.

orders ──> count by tea ──> a table that changes with every order             C152
       └─> upper case ──> a topic, and a database beside Kafka                C154 C156
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from streams import house, pipes, stand
from streams.crew import Crew
from streams.unbounded import Cases

Counts = dict[str, int]
PARTS, PART = 3, 8  # orders come in so many parts of so many

# -- results that go on ----------------------------------------------------------------------


@dataclass
class Flowing:
    """Cups by tea, after each part of the orders; and a batch, when all is over."""

    tables: list[Counts]
    batches: list[int]  # micro-batches that had run by then
    batch: Counts

    def __repr__(self) -> str:
        teas = sorted(house.PRICES)
        rows = [
            (f"after {PART * number} orders", *self._row(table))
            for number, table in enumerate(self.tables, 1)
        ]
        rows.append(("one batch, in the end", *self._row(self.batch)))
        return repr(Table(("cups", *teas), rows))

    def _row(self, table: Mapping[str, int]) -> list[int]:
        return [table.get(tea, 0) for tea in sorted(house.PRICES)]

    def verdicts(self) -> Cases:
        return {
            "C152": {
                "there are results while more orders are to come": all(self.tables),
                "each part of the orders has changed them": len(
                    {tuple(it.items()) for it in self.tables}
                )
                == PARTS,
                "the last is what a batch over all orders finds": self.tables[-1] == self.batch,
            }
        }


def flowing(cluster: Cluster, spark: SparkSession) -> Flowing:
    topic, orders = stand.topic(cluster, "orders", 2), house.orders(PARTS * PART)
    cups = pipes.stream(spark, cluster, topic).groupBy("value").count()
    query, tables, batches = pipes.table(cups), [], []
    for number in range(PARTS):
        stand.send(cluster, topic, orders[PART * number : PART * number + PART])
        pipes.settle(query)
        tables.append(pipes.rows(spark.table(query.name)))
        batches.append(len(query.recentProgress))
    query.stop()
    whole = pipes.batch(spark, cluster, topic).groupBy("value").count()
    return Flowing(tables, batches, pipes.rows(whole))


# -- from topic to topic ---------------------------------------------------------------------


@dataclass
class Processed:
    """The same orders: read by another process, and processed on their way to two places."""

    sent: list[tuple[str, str]]
    queued: list[tuple[str, str]]  # what a plain consumer in another process was given
    topic: list[tuple[str, str]]  # what the job wrote to a topic,
    base: list[tuple[str, str]]  # and to a database
    running: bool  # the job, when its results were read

    def __repr__(self) -> str:
        rows = [
            ("topic in", self._some(self.sent), len(self.sent)),
            ("another process, as from a queue", self._some(self.queued), len(self.queued)),
            ("topic out", self._some(self.topic), len(self.topic)),
            ("a database", self._some(self.base), len(self.base)),
        ]
        return repr(Table(("", "first", "records"), rows))

    def _some(self, found: list[tuple[str, str]]) -> str:
        return " ".join(sorted(found)[0]) if found else "-"

    def verdicts(self) -> Cases:
        shouted = sorted((guest, tea.upper()) for guest, tea in self.sent)
        return {
            "C154": {
                "a bus: what one process writes, another one reads": sorted(self.queued)
                == sorted(self.sent),
                "and what passes can be processed meanwhile": self.running
                and sorted(self.topic) == shouted,
            },
            "C156": {
                "from a topic to a topic: every record is there, processed": sorted(self.topic)
                == shouted,
                "and to a database outside of Kafka": sorted(self.base) == shouted,
            },
        }


def processed(cluster: Cluster, spark: SparkSession) -> Processed:
    orders = house.orders(30)
    source, target, copied = (stand.topic(cluster, name) for name in ("orders", "loud", "copied"))
    stand.send(cluster, source, orders)
    base = pipes.place("base").with_suffix(".db")
    loud = pipes.stream(spark, cluster, source).select("key", F.upper("value").alias("value"))
    jobs = [
        pipes.to_topic(loud, cluster, target),
        loud.writeStream.foreachBatch(Keeper(base))
        .option("checkpointLocation", str(pipes.place("base")))
        .start(),
    ]
    with Crew(cluster) as crew:
        crew.start("reader", source=source, target=copied, steps="copy", group=stand.fresh("g"))
        for job in jobs:
            pipes.settle(job)
        until("the queue's reader", lambda: len(stand.read(cluster, copied)) == len(orders))
    found = Processed(
        orders, _pairs(cluster, copied), _pairs(cluster, target), read(base), jobs[0].isActive
    )
    for job in jobs:
        job.stop()
    return found


def _pairs(cluster: Cluster, topic: str) -> list[tuple[str, str]]:
    return [(it.key, it.value or "") for it in stand.read(cluster, topic)]


class Keeper:
    """Writes micro-batches into SQLite, each once: its number is a part of the key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE loud (batch, row, key, value, PRIMARY KEY (batch, row))")

    def __call__(self, df: DataFrame, number: int) -> None:
        rows = [(number, row, *pair) for row, pair in enumerate(df.collect())]
        with sqlite3.connect(self.path) as base:
            base.executemany("INSERT OR REPLACE INTO loud VALUES (?, ?, ?, ?)", rows)


def read(path: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(path) as base:
        return [(key, value) for key, value in base.execute("SELECT key, value FROM loud")]


# -- in which language -----------------------------------------------------------------------


@dataclass
class Languages:
    """The same count, in Python by hand and in Python with Spark."""

    truth: Counts
    hand: Counts
    spark: Counts
    languages: dict[str, str]  # of the program, by its file
    machine: bool  # a JVM works below Spark
    none: bool  # none below the program by hand

    def __repr__(self) -> str:
        rows = [
            ("plain clients", self.languages["hand"], not self.none, self.hand == self.truth),
            ("PySpark", self.languages["spark"], self.machine, self.spark == self.truth),
        ]
        return repr(Table(("", "written in", "a JVM below", "counts are right"), rows))

    def verdicts(self) -> Cases:
        return {
            "C172": {
                "with PySpark the engine below is a JVM": self.machine and self.spark == self.truth,
                "with PySpark the program is in a language of the JVM": self.languages["spark"]
                != "Python",
                "with plain clients it takes a JVM, too": not (
                    self.none and self.hand == self.truth
                ),
            }
        }


def languages(cluster: Cluster, spark: SparkSession) -> Languages:
    events = house.some_cards(200)
    source, target = stand.topic(cluster, "cards"), stand.topic(cluster, "counts")
    stand.send(cluster, source, house.pairs(events))
    with Crew(cluster) as crew:
        crew.start("hand", source=source, target=target, steps="count", group=stand.fresh("g"))
        query = pipes.table(pipes.stream(spark, cluster, source).groupBy("key").count())
        pipes.settle(query)
        until("the count by hand", lambda: len(stand.read(cluster, target)) == len(events))
        hand = {it.key: int(it.value or 0) for it in stand.read(cluster, target)}
        none = "without a JVM" in crew.said("hand")
    counts = pipes.rows(spark.table(query.name))
    query.stop()
    files = {"hand": Path(__file__).with_name("loop.py"), "spark": Path(__file__)}
    kinds = {name: "Python" if it.suffix == ".py" else it.suffix for name, it in files.items()}
    machine = spark.sparkContext._jvm is not None
    hand = dict(sorted(hand.items()))
    return Languages(house.counts(events), hand, counts, kinds, machine, none)
