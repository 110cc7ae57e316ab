"""The same in SQL, on a running stream: what KSQL does for Kafka Streams, Spark's SQL does for it.

orders ──> view "orders" ──> SELECT tea, count(*) FROM orders GROUP BY tea ──> a table
       └─> groupBy("tea").count() ──────────────────────────────────────────> the same table
"""

import inspect
import re
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from table import Table

from engine import Cluster
from engine.wire.apis import Api
from streams import house, pipes, stand
from streams.flow import Counts
from streams.unbounded import Cases

COUNT = "SELECT value AS tea, count(*) AS cups FROM orders GROUP BY value"
FILTER = "SELECT key AS guest, value AS tea FROM orders WHERE value = 'oolong'"


def count(orders: DataFrame) -> DataFrame:
    """The count, as a program says it."""
    teas = orders.withColumnRenamed("value", "tea")
    return teas.groupBy("tea").count().withColumnRenamed("count", "cups")


def only_oolong(orders: DataFrame) -> DataFrame:
    chosen = orders.where("value = 'oolong'")
    return chosen.selectExpr("key AS guest", "value AS tea")


@dataclass
class Same:
    """A count and a filter: each in SQL and as a program, restarted in the middle."""

    truth: Counts  # cups
    counts: dict[str, Counts]  # by SQL, by the program
    chosen: dict[str, int]  # rows of the filter
    oolong: int  # orders of it
    operators: dict[str, list[str]]  # of the count, as they are run
    words: dict[str, int]  # characters that one types
    told: bool  # whoever mistypes a column

    def __repr__(self) -> str:
        rows = [
            (name, it == self.truth, self.chosen[name], len(self.operators[name]))
            for name, it in self.counts.items()
        ]
        return repr(Table(("", "cups are right", "oolongs", "operators that run"), rows))

    def plan(self) -> Table:
        """What runs, whoever said it."""
        return Table(tuple(self.operators), zip(*self.operators.values(), strict=True))

    def verdicts(self) -> Cases:
        sql, program = self.counts.values()
        return {
            "C173": {
                "a count can be said in SQL on a running stream": sql == self.truth,
                "so can a filter": self.chosen["SQL"] == self.oolong,
                "it comes with Kafka: brokers have a request for it": any(
                    "SQL" in api.name for api in Api
                ),
            },
            "C174": {
                "both are run by the same operators": self.operators["SQL"]
                == self.operators["program"],
                "and give the same": sql == program and len(set(self.chosen.values())) == 1,
                "after a restart both go on as if nothing had happened": sql
                == program
                == self.truth,
            },
            "C175": {
                "it is shorter to type than the program": self.words["SQL"] < self.words["program"],
                "who mistypes a column is told at once which ones there are": self.told,
            },
        }


def same(cluster: Cluster, spark: SparkSession) -> Same:
    source, orders = stand.topic(cluster, "orders", 2), house.orders(60)
    stream = pipes.stream(spark, cluster, source)
    stream.createOrReplaceTempView("orders")
    counts = {"SQL": spark.sql(COUNT), "program": count(stream)}
    filters = {"SQL": spark.sql(FILTER), "program": only_oolong(stream)}
    jobs = {name: Job(spark, df) for name, df in counts.items()}
    for part in (orders[:30], orders[30:]):  # each job ends in between
        stand.send(cluster, source, part)
        for job in jobs.values():
            job.run()
    return Same(
        house.counts((tea, guest) for guest, tea in orders),
        {name: pipes.rows(spark.table(job.name)) for name, job in jobs.items()},
        {name: Job(spark, df, "append").run() for name, df in filters.items()},
        sum(tea == "oolong" for _, tea in orders),
        {name: job.operators for name, job in jobs.items()},
        {"SQL": len(COUNT), "program": len(inspect.getsource(count))},
        "`value`" in mistyped(spark),
    )


def mistyped(spark: SparkSession) -> str:
    """What is said about a column that is not there."""
    try:
        spark.sql("SELECT valeu FROM orders")
    except AnalysisException as error:
        return str(error)
    return ""


class Job:
    """A query that may be run again, and goes on where it was."""

    def __init__(self, spark: SparkSession, df: DataFrame, mode: str = "complete") -> None:
        self.name = stand.fresh("cups").replace("-", "_")
        self.operators: list[str] = []  # of the last run, as its plan names them
        self._spark, self._df, self._mode = spark, df, mode
        self._at = pipes.place("cups")

    def run(self) -> int:
        """All that is there by now; how many rows the table has then."""
        query = pipes.table(self._df, self.name, self._at, self._mode, available_now=True)
        query.awaitTermination()
        plan = str(query._jsq.explainInternal(False))
        self.operators = re.findall(r"^[ :+\-*()\d]*([A-Z]\w+)", plan, re.MULTILINE)[1:]
        return self._spark.table(self.name).count()
