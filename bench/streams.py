"""Spark's source and sink in Python, from topic to table and back: python -m bench.streams.

    topic  ->  source  ->  count           beside confluent-kafka, which only delivers records
    topic  ->  source  ->  sink  ->  topic
    record ->  source  ->  table           how long until it is there

Records of 200 bytes, and all that wait in one micro-batch (AvailableNow); its rate is Spark's own
number, with planning and checkpoint. The ratios are medians over the rounds, each taken within one
round; a first one warms up, JVMs above all.

Where SPARK_KAFKA_JARS names the jars of Spark's own Kafka connector (with commas between them) it
runs beside ours.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import NamedTuple

import confluent_kafka
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench.clients import CONSUME, QUIET, VALUE
from bench.table import number, table
from engine import Cluster
from sparkstreams import session

JARS = "SPARK_KAFKA_JARS"
RECORDS = 2_000_000  # in a topic
OURS, SPARKS = "kafka-lab", "kafka"  # formats
BARE = "confluent-kafka"
GOAL = 300_000  # records a second into a count, or ...
SHARE = 0.5  # ... of confluent-kafka's bare rate, whichever is higher
SOON = 1.5  # seconds from record to table: the goal
CHANGES = 20  # records whose way to the table is timed
WARM = 5  # of them; these come first and don't count
PATIENCE = 60.0  # seconds until something is given up
PAUSE = 0.002  # seconds between two looks

Rates = dict[str, float]  # records a second, by what was done


class Streams(NamedTuple):
    rounds: list[Rates]  # the first, which warms up, is left out
    delays: list[float]  # seconds from record to table

    def rate(self, name: str) -> float:
        return median(each[name] for each in self.rounds)

    def ratio(self, name: str, beside: str) -> float:
        return median(each[name] / each[beside] for each in self.rounds)

    def table(self) -> str:
        rates = [
            [f"{name}, records/s", f"{self.rate(name):,.0f}", number(self.ratio(name, BARE))]
            for name in self.rounds[0]
        ]
        delay = median(self.delays)
        rows = [*rates, ["from record to table, s", number(delay), ""]]
        return table(["", "rate", f"of {BARE}"], rows)

    def goals(self) -> list[tuple[str, float]]:
        """Shares of the goals; below 1 is better than asked."""
        goal = max(GOAL, SHARE * self.rate(BARE))
        return [
            (f"Spark source: {goal:,.0f} records/s into a count", goal / self.rate(into_count(1))),
            (f"... from record to table, of {SOON} s", median(self.delays) / SOON),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.streams", description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args()
    found = measure(options.records, options.rounds, print)
    print(f"\n{found.table()}\n")
    print(table(["", "of the goal"], [[name, number(share)] for name, share in found.goals()]))


def measure(records: int, rounds: int, report: Callable[[str], None]) -> Streams:
    with ExitStack() as stack:
        report("starting a broker and Spark")
        cluster = stack.enter_context(Cluster())
        jars = os.environ.get(JARS, "")
        spark = session.start("bench", **({"spark.jars": jars} if jars else {}))
        stack.callback(session.stop, spark)
        bench = Bench(spark, cluster, records, [OURS, SPARKS] if jars else [OURS])
        report(f"filling topics with {records:,} records")
        topics = {partitions: bench.fill(partitions) for partitions in (1, 2)}
        rates = []
        for turn in range(rounds + 1):
            report(f"round {turn} of {rounds}: source and sink")
            rates.append(bench.round(topics))
        report("from record to table")
        return Streams(rates[1:], bench.delays()[WARM:])


def into_count(partitions: int, source: str = OURS) -> str:
    return f"{source}: {partitions} partition{'s'[: partitions > 1]} into a count"


class Bench:
    def __init__(
        self, spark: SparkSession, cluster: Cluster, records: int, sources: list[str]
    ) -> None:
        self._spark = spark
        self._cluster = cluster
        self._records = records
        self._sources = sources
        self._topics = 0

    def topic(self, partitions: int) -> str:
        self._topics += 1
        self._cluster.admin.create_topic(f"bench-{self._topics}", partitions)
        return f"bench-{self._topics}"

    def fill(self, partitions: int) -> str:
        """A new topic, with the records shared out over its partitions."""
        topic = self.topic(partitions)
        producer = confluent_kafka.Producer({"bootstrap.servers": self._cluster.bootstrap, **QUIET})
        for n in range(self._records):
            while True:
                try:
                    producer.produce(topic, VALUE, partition=n % partitions)
                    break
                except BufferError:
                    producer.poll(0.01)
        assert producer.flush(PATIENCE) == 0
        return topic

    def round(self, topics: dict[int, str]) -> Rates:
        """`topics`: by the number of their partitions."""
        bootstrap = self._cluster.bootstrap
        rates = {BARE: self._records / CONSUME[BARE](bootstrap, topics[1], self._records)}
        for source in self._sources:
            for partitions, topic in topics.items():
                counted = self.stream(topic, source).groupBy().count()
                query = counted.writeStream.format("memory").outputMode("complete")
                rates[into_count(partitions, source)] = self.rate(query.queryName("bench"))
            values = self.stream(topics[1], source).select("value")
            rates[f"{source}: into a topic"] = self.rate(self.sink(values, source))
        exactly = self.sink(self.stream(topics[1]).select("value"), exactlyOnce="true")
        return rates | {f"{OURS}: the same, exactly once": self.rate(exactly)}

    def stream(self, topic: str, source: str = OURS, start: str = "earliest") -> DataFrame:
        reader = self._spark.readStream.format(source)
        reader = reader.option("kafka.bootstrap.servers", self._cluster.bootstrap)
        return reader.option("subscribe", topic).option("startingOffsets", start).load()

    def sink(self, rows: DataFrame, sink: str = OURS, **more: str) -> DataStreamWriter:
        writer = rows.writeStream.format(sink).option("topic", self.topic(1))
        return writer.option("kafka.bootstrap.servers", self._cluster.bootstrap).options(**more)

    def rate(self, query: DataStreamWriter) -> float:
        """Records a second of the one micro-batch in which all of them go."""
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            writer = query.option("checkpointLocation", folder).trigger(availableNow=True)
            running = writer.start()
            running.awaitTermination()
            progress = json.loads(running.recentProgress[0].json)
        assert progress["numInputRows"] == self._records
        rate: float = progress["processedRowsPerSecond"]
        return rate

    def delays(self) -> list[float]:
        """Of records that come one by one, each when the last one is in the table."""
        topic = self.topic(1)
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": self._cluster.bootstrap, "linger.ms": 0, **QUIET}
        )
        keys = self.stream(topic).groupBy("key").count()
        found = []
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            writer = keys.writeStream.format("memory").queryName("delays").outputMode("complete")
            query = writer.option("checkpointLocation", folder).start()
            for n in range(WARM + CHANGES):
                began = time.perf_counter()
                producer.produce(topic, VALUE, b"%d" % (n % 7))
                producer.flush(PATIENCE)
                await_offset(query, topic, n + 1)
                found.append(time.perf_counter() - began)
            counted = sum(row["count"] for row in self._spark.table("delays").collect())
            query.stop()
        assert counted == WARM + CHANGES
        return found


def await_offset(query: StreamingQuery, topic: str, offset: int) -> None:
    """Until a micro-batch that read so far is done: the table has it then."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        progress = query.lastProgress
        if progress is not None:
            end = json.loads(progress.sources[0].endOffset or "{}")
            if end.get(topic, {}).get("0", 0) >= offset:
                return
        if (failure := query.exception()) is not None:
            raise failure
        time.sleep(PAUSE)
    raise TimeoutError(f"offset {offset} of {topic} is not in the table after {PATIENCE:g} s")


if __name__ == "__main__":
    main()
