"""Lab 08's optional cell where Kafka's jars are: a real broker leads, and the picture has it."""

from functools import partial

import pytest

from engine.cluster import kafka_process
from engine.cluster.cluster import Cluster
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from tests.real.conftest import PATIENCE
from widgets.stage import SceneWidget


def test_the_cell_adds_a_broker_and_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(LABS)
    reader = Reader(LABS / "08_controller.ipynb")
    try:
        for _ in range(2):
            printed, value = reader.run(reader.cell("real"))
            assert printed == ""
            assert isinstance(value, SceneWidget)
            cluster = reader.names["cluster"]
            assert cluster.brokers == [1, 2, 3, 4]
            assert cluster.leader(reader.names["topic"]) == 4
            assert cluster.read(reader.names["topic"]) == ["tea", "milk"]
            until(partial(_answers, cluster), PATIENCE)
            value.poll()
            assert "broker 4" in value.svg()
        assert cluster.child(4).output().count(kafka_process.STARTED) == 1
    finally:
        reader.close()


def _answers(cluster: Cluster) -> bool:
    return cluster.state().brokers[4].answers
