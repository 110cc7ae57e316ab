"""The source under Spark itself: three brokers, one session, and what a user would see.

What the source decides is looked at closely, and quickly, in test_source.py. Here is what only
Spark shows: its own checkpoint, its progress, its tasks, and the words of its exceptions.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.client.admin.values import NewPartitions
from engine.cluster.cluster import Cluster
from tests.interop.raw import Raw
from tests.interop.watch import until
from tests.limits import SPARK_S

BROKERS = 3
# Spark gives a query's Python ten seconds to start, whatever else the machine has to do.
TOO_SLOW, ATTEMPTS = "Python worker failed to connect back", 5
# What Spark's own Kafka source gives, by its documentation.
COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
Load = Callable[..., DataFrame]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def batch(spark: SparkSession, cluster: Cluster, topic: str) -> Load:
    def load(**more: str) -> DataFrame:
        options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": topic} | more
        return spark.read.format("kafka-lab").options(**options).load()

    return load


@pytest.fixture
def stream(spark: SparkSession, cluster: Cluster, topic: str) -> Load:
    def load(**more: str) -> DataFrame:
        base = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": topic}
        options = base | {"startingOffsets": "earliest"} | more
        return spark.readStream.format("kafka-lab").options(**options).load()

    return load


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., StreamingQuery]]:
    """Writes what a stream reads to files, each row once, however often it is restarted."""
    started = []

    def make(df: DataFrame, name: str = "query", now: bool = False) -> StreamingQuery:
        writer = df.writeStream.format("json").option("path", str(tmp_path / name))
        writer = writer.option("checkpointLocation", str(tmp_path / f"{name}-checkpoint"))
        while True:
            started.append((writer.trigger(availableNow=True) if now else writer).start())
            until(lambda: started[-1].lastProgress or not started[-1].isActive, SPARK_S)
            if TOO_SLOW not in str(started[-1].exception()) or len(started) > ATTEMPTS:
                return started[-1]

    yield make
    for query in started:
        query.stop()


def produce(cluster: Cluster, topic: str, count: int, partition: int, begin: int = 0) -> list[str]:
    values = [f"{partition}:{number}" for number in range(begin, begin + count)]
    with cluster.producer() as producer:
        for value in values:
            headers = [("n", value.encode()), ("empty", None)]
            producer.produce(topic, value.encode(), None, partition, headers=headers)
        assert producer.flush() == 0
    return values


def wait_for(query: StreamingQuery, condition: Callable[[], bool]) -> None:
    def so() -> bool:
        assert query.isActive, query.exception()
        return condition()

    until(so, SPARK_S)


def failure(query: StreamingQuery) -> str:
    """What a query ends with."""
    until(lambda: not query.isActive, SPARK_S)
    return str(query.exception())


def test_a_batch_and_a_stream_read_the_same_rows(
    spark: SparkSession,
    cluster: Cluster,
    topic: str,
    batch: Load,
    stream: Load,
    start: Callable[..., StreamingQuery],
    tmp_path: Path,
) -> None:
    produce(cluster, topic, 60, partition=0)
    produce(cluster, topic, 20, partition=1)
    frame = batch(includeHeaders="true", minPartitions="4")
    assert dict(frame.dtypes) == COLUMNS
    rows = frame.orderBy("partition", "offset").collect()

    assert [(row.partition, row.offset) for row in rows] == [
        *((0, number) for number in range(60)),
        *((1, number) for number in range(20)),
    ]
    assert rows[7].value == b"0:7"
    assert rows[7].headers == [("n", b"0:7"), ("empty", None)]
    assert frame.rdd.getNumPartitions() == 4

    query = start(stream(includeHeaders="true", maxOffsetsPerTrigger="40"), now=True)
    assert query.awaitTermination(SPARK_S), "it did not come to what was there at its start"
    progress = [it for it in query.recentProgress if it["numInputRows"]]
    assert [it["numInputRows"] for it in progress] == [40, 40]
    first, second = (it["sources"][0] for it in progress)
    middle, end = {topic: {"0": 30, "1": 10}}, {topic: {"0": 60, "1": 20}}
    assert json.loads(first["endOffset"]) == json.loads(second["startOffset"]) == middle
    assert json.loads(first["latestOffset"]) == json.loads(second["endOffset"]) == end
    files = spark.read.schema(frame.schema).json(str(tmp_path / "query"))
    assert files.orderBy("partition", "offset").collect() == rows


def test_nothing_is_lost_or_doubled_when_the_leader_dies_and_the_query_is_restarted(
    spark: SparkSession,
    cluster: Cluster,
    topic: str,
    stream: Load,
    start: Callable[..., StreamingQuery],
    tmp_path: Path,
) -> None:
    wanted = produce(cluster, topic, 500, 0) + produce(cluster, topic, 500, 1)
    frame = stream(maxOffsetsPerTrigger="200").selectExpr("CAST(value AS STRING) AS value")
    query = start(frame)
    wait_for(query, lambda: rows_of(query) >= 200)
    leader = cluster.admin.list_topics(topic).topics[topic].partitions[0].leader
    cluster.kill(leader)
    wanted += produce(cluster, topic, 100, 0, begin=500)
    wait_for(query, lambda: rows_of(query) == len(wanted))
    query.stop()

    cluster.restart(leader)
    cluster.admin.create_partitions([NewPartitions(topic, 3)])[topic].result()
    for address in cluster.bootstrap.split(","):  # the one that has just started hears of it last
        with Raw(address) as client:
            until(lambda client=client: len(client.topics(topic)[0].partitions) == 3)
    wanted += produce(cluster, topic, 50, 2) + produce(cluster, topic, 50, 1, begin=500)
    query = start(frame)
    wait_for(query, lambda: rows_of(query) == 100)
    query.stop()

    found = spark.read.schema("value STRING").json(str(tmp_path / "query")).collect()
    assert sorted(row.value for row in found) == sorted(wanted)


def test_what_can_not_be_read_is_told_in_the_querys_exception(
    cluster: Cluster,
    topic: str,
    new_topic: Callable[[], str],
    batch: Load,
    stream: Load,
    start: Callable[..., StreamingQuery],
) -> None:
    with pytest.raises(AnalysisException, match="subscibe: there is no such option; did you mean"):
        batch(subscibe=topic)
    with pytest.raises(AnalysisException, match=r"no broker at 127.0.0.1:1: Connection refused"):
        batch(**{"kafka.bootstrap.servers": "127.0.0.1:1"}).count()
    produce(cluster, topic, 3, 0)
    going = start(stream(minOffsetsPerTrigger="3"), "going")
    wait_for(going, lambda: rows_of(going) == 3)
    going.stop()

    other = start(stream(subscribe=new_topic()), "going")  # the checkpoint is that of `topic`
    assert "every query needs a checkpoint of its own" in failure(other)
    unknown = start(stream(subscribe=f"{topic}s"), "unknown")
    assert f"there is no topic {topic}s in this cluster; did you mean" in failure(unknown)
    going = start(stream(), "going")
    wait_for(going, lambda: bool(going.recentProgress))
    cluster.admin.delete_topic(topic)
    told = failure(going)  # of both partitions, or of the one that went first
    assert re.search(rf"{topic}-[01] is gone, and what was not read of it", told), told


def rows_of(query: StreamingQuery) -> int:
    return sum(it["numInputRows"] for it in query.recentProgress)
