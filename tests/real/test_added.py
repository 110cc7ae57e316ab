"""`cluster.add_broker(kind="kafka")`: a real broker in a cluster of ours, its state and faults."""

from collections.abc import Iterator

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.kafka_process import KAFKA, OURS
from engine.cluster.state import ClusterState, ReplicaState, Status
from engine.errors import ApiException
from engine.model import TopicPartition
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.conftest import CONFIG
from tests.real.kafka import MixedCluster

VALUES = [str(number) for number in range(20)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with MixedCluster({1: OURS, 2: OURS}, config=CONFIG) as cluster:
        assert cluster.add_broker(kind=KAFKA) == 3
        yield cluster


@pytest.fixture(autouse=True)
def mended(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.mend()


def replica(state: ClusterState, topic: str, broker: int = 3) -> ReplicaState | None:
    found = state.partitions.get(TopicPartition(topic, 0))
    return found.replicas.get(broker) if found else None


def test_it_leads_follows_and_is_shown(cluster):
    led = cluster.topic("led-by-kafka", replicas=[3, 1, 2])
    followed = cluster.topic("followed-by-kafka", replicas=[1, 2, 3])
    for topic in (led, followed):
        cluster.write(topic, VALUES, partition=0, acks="all")
        assert cluster.read(topic) == VALUES

    states = [cluster.state()]

    def shown() -> bool:
        """A follower hears of the high watermark with its next fetch."""
        states.append(found := cluster.state())
        pair = replica(found, led), replica(found, followed)
        known = all(each and each.high_watermark == len(VALUES) for each in pair)
        return known and found.brokers[3].answers

    until(shown, JVM_S)
    state = states[-1]
    leads, follows = replica(state, led), replica(state, followed)
    assert (leads.role, follows.role) == ("leader", "follower")
    assert leads.log_end == follows.log_end == len(VALUES)
    assert leads.segments == follows.segments == 1
    path = cluster.directory(3) / f"{led}-0" / f"{0:020}.log"
    assert replica(state, led).size == path.stat().st_size
    assert state.partitions[TopicPartition(led, 0)].isr == (3, 1, 2)
    kafka = state.brokers[3]
    assert (kafka.status, kafka.answers, kafka.brokers) == (Status.UP, True, (1, 2, 3))
    assert kafka.controller == state.controller
    assert kafka.epoch > state.brokers[1].epoch


def test_what_is_unchanged_is_the_same_object(cluster):
    topic = TopicPartition(cluster.topic("unchanged", replicas=[3, 1]), 0)
    assert cluster.state().partitions[topic] is cluster.state().partitions[topic]


def test_it_dies_and_comes_back_as_any_broker(cluster):
    topic = cluster.topic("killed", replicas=[3, 1, 2])
    cluster.write(topic, VALUES, partition=0, acks="all")
    cluster.kill(3)
    state = cluster.state()
    assert (state.brokers[3].status, state.brokers[3].answers) == (Status.DOWN, False)
    assert replica(state, topic).answers is False
    until(lambda: cluster.leader(topic) in (1, 2), JVM_S)
    cluster.write(topic, VALUES, partition=0, acks="all")
    cluster.restart(3)
    until(lambda: cluster.state().brokers[3].answers, JVM_S)
    until(lambda: set(cluster.isr(topic)) == {1, 2, 3}, JVM_S)
    until(lambda: replica(cluster.state(), topic).log_end == 2 * len(VALUES), JVM_S)
    assert cluster.stop_broker(3) == 143
    cluster.restart(3)
    cluster.pause(3)
    assert cluster.state().brokers[3].status is Status.PAUSED
    cluster.resume(3)
    until(lambda: cluster.state().brokers[3].answers, JVM_S)
    kinds = [each.kind for each in cluster.events() if each.data.get("broker") == 3]
    assert {"broker.started", "broker.killed", "broker.stopped", "broker.paused"} <= set(kinds)


def test_its_partitions_vanish_with_their_topic(cluster):
    topic = cluster.topic("vanishing", replicas=[3])
    assert replica(cluster.state(), topic) is not None
    cluster.admin.delete_topics([topic])[topic].result(JVM_S)
    until(lambda: replica(cluster.state(), topic) is None, JVM_S)


def test_as_controller_it_is_shown_too(cluster):
    for broker in (1, 2):
        cluster.pause(broker)
    try:
        until(lambda: cluster.znode("/controller") is not None, JVM_S)
        until(lambda: b'"brokerid":3' in (cluster.znode("/controller") or b""), JVM_S)
    finally:
        for broker in (1, 2):
            cluster.resume(broker)
    until(lambda: cluster.state().controller == 3, JVM_S)


def test_what_it_cannot_do_is_told(cluster):
    cluster.trace(True)
    cluster.trace(False)
    for broken in (lambda: cluster.cut(1, 3), lambda: cluster.slow(3, 1, 50)):
        with pytest.raises(ApiException, match="broker 3 is one of Apache Kafka"):
            broken()
    assert cluster.state().links == ()
    cluster.cut(1, 3, both=False)
    assert len(cluster.state().links) == 1
    cluster.heal(1, 3)
    with pytest.raises(ApiException, match="one of Apache Kafka"):
        cluster.drop_next_answer(3)
