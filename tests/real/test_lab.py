"""The labs' optional cells where Kafka's jars are.

Lab 05: a real broker leads, and the picture has it. Lab 04: Kafka Streams counts.
"""

from collections import Counter
from functools import partial
from importlib import import_module

import pytest

from engine import Table
from engine.cluster import kafka_process
from engine.cluster.cluster import Cluster
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from tests.limits import JVM_S
from widgets.stage import SceneWidget


def test_the_cell_adds_a_broker_and_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(LABS)
    reader = Reader(LABS / "05_controller.ipynb")
    try:
        for _ in range(2):
            printed, value = reader.run(reader.cell("real"))
            assert printed == ""
            assert isinstance(value, SceneWidget)
            cluster = reader.names["cluster"]
            assert cluster.brokers == [1, 2, 3, 4]
            assert cluster.leader(reader.names["topic"]) == 4
            assert cluster.read(reader.names["topic"]) == ["tea", "milk"]
            until(partial(_answers, cluster), JVM_S)
            value.poll()
            assert "broker 4" in value.svg()
        assert cluster.child(4).output().count(kafka_process.STARTED) == 1
    finally:
        reader.close()


def _answers(cluster: Cluster) -> bool:
    return cluster.state().brokers[4].answers


def test_kafka_streams_counts_what_was_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(LABS)
    reader = Reader(LABS / "04_streams.ipynb")
    stand, sample = import_module("streams.stand"), import_module("streams.sample")
    cluster, orders = stand.cluster(), sample.orders(30)
    try:
        topic = cluster.topic("orders")
        stand.send(cluster, topic, orders)
        truth = dict(sorted(Counter(tea for _, tea in orders).items()))
        given = {"stand": stand, "cluster": cluster, "topic": topic, "orders": orders}
        reader.names |= given | {"by_spark": truth, "Table": Table}
        printed, value = reader.run(reader.cell("beside"))
        assert printed == ""
        assert value.rows[0] == ("Kafka Streams", *truth.values())
    finally:
        reader.close()
