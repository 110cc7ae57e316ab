"""A query that has something to do for a while, to be looked at.

somebody who orders ──> orders ──> count by tea ──> a table          StreamView shows all of it
"""

import threading
from dataclasses import dataclass

from lab import until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from streams import house, pipes, stand
from streams.flow import Counts
from widgets import StreamView

PAUSE = 0.1  # seconds between two orders
BATCHES = 3  # that have run before anybody looks


_open: list["Tap"] = []  # one at most


def opened(cluster: Cluster, spark: SparkSession) -> "Tap":
    """A new one; the one before is closed."""
    while _open:
        _open.pop().close()
    _open.append(Tap(cluster, spark))
    return _open[0]


@dataclass
class Emptied:
    """What was ordered, and what the table came to."""

    ordered: Counts
    counted: Counts

    def __repr__(self) -> str:
        return repr(Table(("", "every order is counted"), [("cups", self.ordered == self.counted)]))


class Tap:
    def __init__(self, cluster: Cluster, spark: SparkSession) -> None:
        self._spark, self._cluster = spark, cluster
        self.topic = stand.topic(cluster, "orders", 2)
        self._ordered: list[tuple[str, str]] = []
        self._ends = threading.Event()
        self._guests = threading.Thread(target=self._order, daemon=True)
        self._guests.start()
        cups = pipes.stream(spark, cluster, self.topic).withWatermark("timestamp", "5 seconds")
        counts = cups.groupBy(F.col("value").alias("tea")).count()
        self.query = pipes.table(counts, stand.fresh("cups").replace("-", "_"))

    def table(self) -> DataFrame:
        return self._spark.table(self.query.name).orderBy("tea")

    def view(self) -> StreamView:
        """A picture of it, once there is something to be seen."""
        until("some batches", lambda: len(self.query.recentProgress) >= BATCHES)
        return StreamView(self.query, self._cluster, self.table)

    def close(self) -> Emptied:
        """No more orders; those that were made are counted, and the query ends."""
        self._ends.set()
        self._guests.join()
        if self.query.isActive:
            pipes.settle(self.query)
        counted = pipes.rows(self.table())
        self.query.stop()
        return Emptied(house.counts((tea, guest) for guest, tea in self._ordered), counted)

    def _order(self) -> None:
        with self._cluster.producer(stand.WRITER) as producer:
            while not self._ends.is_set():
                for guest, tea in house.orders(100):
                    if self._ends.wait(PAUSE):
                        break
                    producer.produce(self.topic, tea, guest)
                    self._ordered.append((guest, tea))
