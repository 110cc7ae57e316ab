"""The source as Spark calls it, without Spark: so a story takes milliseconds, and looks closely.

query = Query(options)          readStream.format("kafka-lab").options(...)
query.trigger()                 one micro-batch: how far, in which tasks, the rows
Query(options, at=query.at)     a restart from its checkpoint
"""

import json
from typing import cast

from pyspark.sql.types import StructType

from engine.cluster.cluster import Cluster
from engine.errors import ApiException
from sparkstreams.source import KafkaLab
from sparkstreams.splits import Split
from tests.interop.watch import until

Rows = list[tuple[int, int, str]]  # partition, offset, value
NONE: Rows = []
SCHEMA = StructType()  # of no interest: the columns are fixed


class Query:
    """A stream as Spark runs it; `at` is what its checkpoint says."""

    def __init__(self, options: dict[str, str], at: str | None = None, now: bool = False) -> None:
        self.reader = KafkaLab(options).streamReader(SCHEMA)
        self.limit = self.reader.getDefaultReadLimit()
        try:
            if now:
                self.reader.prepareForTriggerAvailableNow()
            self.at = json.dumps(self.reader.initialOffset()) if at is None else at
        except ApiException:
            self.reader.stop()
            raise

    def plan(self) -> tuple[str, list[Split]]:
        end = json.dumps(self.reader.latestOffset(json.loads(self.at), self.limit))
        return end, self.splits(self.at, end)

    def splits(self, start: str, end: str) -> list[Split]:
        if start == end:
            return []  # there is no batch then
        return cast(list[Split], self.reader.partitions(json.loads(start), json.loads(end)))

    def read(self, splits: list[Split]) -> Rows:
        return sorted(
            (row["partition"], row["offset"], row["value"].decode())
            for split in splits
            for columns in self.reader.read(split)
            for row in columns.to_pylist()
        )

    def trigger(self) -> Rows:
        """One micro-batch; nothing if there is none."""
        end, splits = self.plan()
        rows = self.read(splits)
        self.at = end
        return rows

    def lag(self) -> int:
        """How many records are behind the checkpoint."""
        latest, at = self.reader.reportLatestOffset(), json.loads(self.at)
        return sum(
            end - at[topic][number] for topic in latest for number, end in latest[topic].items()
        )

    def await_error(self) -> None:
        """Triggers until it fails: brokers and the source hear of a change within a second."""
        until(lambda: self.trigger() and None)


def batch(options: dict[str, str]) -> list[Split]:
    """The tasks of one."""
    return cast(list[Split], KafkaLab(options).reader(SCHEMA).partitions())


def produce(cluster: Cluster, topic: str, *values: str, partition: int = 0, at: int = 0) -> Rows:
    """The rows that they become, `at` milliseconds since 1970 if not now."""
    told: Rows = []
    with cluster.producer() as producer:
        for value in values:
            producer.produce(
                topic,
                value.encode(),
                partition=partition,
                timestamp=at,
                callback=lambda error, it: told.append(
                    (it.partition(), it.offset(), it.value().decode())
                ),
            )
        producer.flush()
    assert len(told) == len(values)
    return told
