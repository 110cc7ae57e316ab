"""The same pipeline on this machine and on a cluster of workers, by configuration alone.

A worker is killed in the middle of it, with its executor and all that this had in memory.
"""

import os

import pytest

from sparkstreams import queries, record_columns, session, tables
from tests.interop.watch import until
from tests.streams.spark_cluster import SparkCluster
from tests.streams.table_stories import SLOW, finished, folder, put, rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
WHO = ("ann", "bob", "eve", "dan")


def pipeline(spark, bootstrap, source, changes, checkpoint, **how):
    """Orders counted by who ordered, a few at a time, the counts written to a topic."""
    orders = record_columns.stream(spark, bootstrap, source, "price INT", maxOffsetsPerTrigger=10)
    counted = tables.count(orders, "key")
    return queries.to_topic(counted, bootstrap, changes, checkpoint=checkpoint, **how)


@pytest.fixture
def spark_cluster():
    with SparkCluster(workers=2) as spark_cluster:
        yield spark_cluster


def test_a_pipeline_survives_a_worker_and_gives_what_it_gives_here(
    cluster, spark, new_topic, tmp_path, monkeypatch, spark_cluster
):
    source, here, there = new_topic(), new_topic(), new_topic()
    for number in range(40):
        put(cluster, source, (WHO[number % 3], {"price": number}))
    place = folder(tmp_path, "here")
    finished(pipeline(spark, cluster.bootstrap, source, here, place, available_now=True))
    expected = rows(tables.from_changelog(spark, cluster.bootstrap, here, "count INT"))
    assert expected == [("ann", 14), ("bob", 13), ("eve", 13)]
    session.stop(spark)

    monkeypatch.setenv("SPARK_MASTER", spark_cluster.url)
    spark = session.start("spark_cluster")
    try:
        assert spark.sparkContext.master == spark_cluster.url
        place = folder(tmp_path, "there")
        query = pipeline(spark, cluster.bootstrap, source, there, place, exactly_once=True)
        until(lambda: query.lastProgress and query.lastProgress.batchId >= 1, SLOW)
        busy = [worker for worker in spark_cluster.workers if spark_cluster.executors(worker)]
        assert busy == [1, 2]
        lost = spark_cluster.executors(1)
        spark_cluster.kill(1)
        until(lambda: not any(map(alive, lost)), SLOW)  # an executor goes with its worker
        for _ in range(20):
            put(cluster, source, ("dan", {"price": 1}), ("ann", {"price": 1}))
        query.processAllAvailable()
        assert query.exception() is None
        query.stop()
        result = rows(tables.from_changelog(spark, cluster.bootstrap, there, "count INT"))
        assert result == [("ann", 34), ("bob", 13), ("dan", 20), ("eve", 13)]
    finally:
        session.stop(spark)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
