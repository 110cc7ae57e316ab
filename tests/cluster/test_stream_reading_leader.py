"""What a task of the Spark source reads while leaders come and go, without Spark."""

from typing import Any

import pytest
from confluent_kafka import Producer

from proof.chaos.cluster_reader import QUICK
from sparkstreams import columns, range_reader
from sparkstreams.range_reader import read
from sparkstreams.source_options import ReadOptions
from sparkstreams.splits import Split
from tests.cluster.conftest import PARTITIONS

RECORDS = 3000  # in each partition


@pytest.fixture
def orders(cluster: Any, topic: str) -> str:
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 50}
    producer = Producer(QUICK | settings)
    for n in range(RECORDS):
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d of %d" % (n, partition), partition=partition)
    assert producer.flush(30) == 0
    return topic


def options(cluster: Any, topic: str) -> ReadOptions:
    return ReadOptions.of({"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": topic})


def offsets(tables: Any) -> list[int]:
    return [offset for each in tables for offset in each.column("offset").to_pylist()]


def test_each_partition_from_its_leader(cluster, truth, orders) -> None:
    assert len({truth.state(orders, n).leader for n in range(PARTITIONS)}) == len(cluster.brokers)
    for partition in range(PARTITIONS):
        split = Split(orders, partition, 7, RECORDS)
        tables = list(read(split, options(cluster, orders)))
        assert offsets(tables) == list(range(7, RECORDS))
        assert tables[0].column("value")[0].as_py() == b"7 of %d" % partition


def test_the_leader_dies_in_the_middle(cluster, truth, orders, monkeypatch) -> None:
    """Nothing is lost and nothing comes twice, though a fetch was on its way to the dead one."""
    for name in ("FIRST_BYTES", "LEAST_BYTES", "MOST_BYTES"):
        monkeypatch.setattr(range_reader, name, 5000)
    monkeypatch.setattr(columns, "ENOUGH", 1000)
    victim = truth.state(orders, 1).leader
    tables = read(Split(orders, 1, 0, RECORDS), options(cluster, orders))
    found = offsets([next(tables)])
    assert 0 < len(found) < RECORDS // 2
    cluster.kill(victim)
    found += offsets(tables)
    assert found == list(range(RECORDS))
    assert truth.state(orders, 1).leader != victim


def test_one_bootstrap_address_that_answers_is_enough(cluster, truth, orders) -> None:
    cluster.kill(cluster.brokers[0])
    assert offsets(read(Split(orders, 2, 0, RECORDS), options(cluster, orders))) == list(
        range(RECORDS)
    )
