"""A broker's directory is handed to the other kind and back, after a clean stop and a kill -9.

    ours ──stop──> Kafka ──kill──> ours ──kill──> Kafka ──stop──> ours

Each kind appends to the logs of the other, and finds every record that was acknowledged before.
"""

import pytest

from engine.cluster.kafka_process import KAFKA, OURS
from tests.cluster.truth import ZookeeperTruth
from tests.real.conftest import CONFIG, new_topic
from tests.real.kafka import MixedCluster

OTHER = {OURS: KAFKA, KAFKA: OURS}
TURNS = ("stop", "kill", "kill", "stop")
COUNT = 3000  # records of each turn: more than a segment
ONE = {"min.insync.replicas": "1"}


@pytest.mark.parametrize("version", ["2.6", "2.8"])
def test_each_kind_goes_on_where_the_other_ended(version):
    config = CONFIG | ONE | {"inter.broker.protocol.version": version}
    with (
        MixedCluster({1: OURS}, config=config) as cluster,
        ZookeeperTruth(cluster.zookeeper) as truth,
    ):
        topic = new_topic(cluster, truth, [[1]])
        expected: list[str] = []
        for turn, how in enumerate(TURNS):
            expected += write(cluster, topic, turn)
            if how == "stop":
                cluster.stop_broker(1)
            else:
                cluster.kill(1)
                truth.await_brokers(set())  # either kind refuses to start before the session's end
            cluster.swap(1, OTHER[cluster.kind(1)])
            cluster.restart(1)
            truth.await_whole(topic)
            assert cluster.read(topic) == expected
        write(cluster, topic, len(TURNS))
        assert len(list((cluster.directory(1) / f"{topic}-0").glob("*.log"))) > len(TURNS)


def write(cluster: MixedCluster, topic: str, turn: int) -> list[str]:
    """All of them are acknowledged, at the offsets that follow."""
    values = [f"{turn}-{number}-{'x' * 100}" for number in range(COUNT)]
    offsets = cluster.write(topic, values, acks="all", **{"enable.idempotence": True})
    assert offsets == list(range(turn * COUNT, (turn + 1) * COUNT))
    return values
