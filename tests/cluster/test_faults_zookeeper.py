"""The whole ZooKeeper is gone, for several sessions: data flows on, and all recovers by itself."""

import time
from collections.abc import Callable, Iterator

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.zookeeper import ZookeeperServer
from proof.chaos.run import settings
from tests.cluster.conftest import new_topic
from tests.cluster.probe import Probe

COMMON = settings(3)
SESSIONS = 2
SESSION = int(COMMON["zookeeper.session.timeout.ms"]) / 1000  # seconds


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    """On a port of its own choice, which it keeps over a restart."""
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as zookeeper:
        yield zookeeper


@pytest.fixture(scope="module")
def cluster(
    zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    data = tmp_path_factory.mktemp("brokers")
    with Cluster(3, data=data, zookeeper=zookeeper.address, config=COMMON) as cluster:
        yield cluster


def killed(zookeeper: ZookeeperServer) -> Callable[[], object]:
    """As a crash; every znode is on its disk."""
    zookeeper.child.kill()

    def again() -> None:
        zookeeper.stop()
        zookeeper.start()

    return again


def paused(zookeeper: ZookeeperServer) -> Callable[[], object]:
    """It answers nobody, and finds when it wakes up that every session is over."""
    zookeeper.child.pause()
    return zookeeper.child.resume


@pytest.mark.parametrize(
    "take_away",
    [killed, pytest.param(paused, marks=pytest.mark.long)],
    ids=lambda each: each.__name__,
)
def test_it_is_gone(cluster, zookeeper, truth, work, take_away):
    leaders = {number: state.leader for number, state in truth.states(work.topic).items()}

    give_back, begun = take_away(zookeeper), time.monotonic()
    while time.monotonic() < begun + SESSIONS * SESSION:
        work.advance(count=200)
        for broker in cluster.brokers:
            with Probe(cluster, broker) as probe:
                assert probe.leaders(work.topic) == leaders
    give_back()

    truth.await_brokers(set(cluster.brokers))
    truth.await_controller()
    truth.await_whole(work.topic)
    new_topic(cluster, truth)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict


@pytest.mark.long
def test_a_leader_dies_meanwhile(cluster, zookeeper, truth, work):
    """Nobody can take its place until ZooKeeper is back; then somebody does."""
    victim = truth.state(work.topic, 0).leader
    give_back = killed(zookeeper)
    cluster.kill(victim)
    give_back()
    truth.await_brokers(set(cluster.brokers) - {victim})
    work.advance()
    cluster.restart(victim)
    verdict = work.verdict()
    assert verdict.good, verdict
