"""Where Kafka's jars are, and what is said where they are not."""

import pytest

from engine.cluster import kafka_process
from engine.cluster.cluster import Cluster
from engine.errors import ApiException


@pytest.fixture
def nothing_made(monkeypatch, tmp_path):
    monkeypatch.setattr(kafka_process, "MADE", tmp_path / "none")
    monkeypatch.delenv("KAFKA_HOME", raising=False)


def test_no_jars(nothing_made):
    cluster = Cluster(1)
    with pytest.raises(ApiException, match="there are none: `make real` gets them"):
        cluster.add_broker(kind="kafka")
    assert cluster.brokers == [1]  # nothing was begun
    cluster.stop()


def test_kafka_home(nothing_made, monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    with pytest.raises(ApiException, match=f"KAFKA_HOME is {tmp_path}, which has none"):
        kafka_process.jars()
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-3.9.0.jar").touch()
    with pytest.raises(ApiException, match=r"release 2\.8, are needed"):
        kafka_process.jars()
    (tmp_path / "libs" / "kafka_2.12-2.8.1.jar").touch()
    assert kafka_process.jars() == tmp_path / "libs"


def test_another_kind():
    cluster = Cluster(1)
    with pytest.raises(ApiException, match='"ours" or "kafka", not \'redpanda\''):
        cluster.add_broker(kind="redpanda")
    cluster.stop()
