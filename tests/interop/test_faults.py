"""ZooKeeper goes away, or forgets the broker: data flows on, and afterwards all is as before."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.zookeeper import ZookeeperServer, ask
from engine.wire import codec
from engine.wire.apis import Api
from tests.interop.raw import Raw, batch, create
from tests.interop.watch import told, until

SESSION_MS = 2000
CONNECTED, SUSPENDED, EXPIRED = (
    f"session.changed {{'state': '{state}'" for state in ("connected", "suspended", "expired")
)


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    """On a port of its own choice, which it keeps over a restart."""
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as zookeeper:
        yield zookeeper


@pytest.fixture(scope="module")
def cluster(
    zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    settings = {"zookeeper.session.timeout.ms": str(SESSION_MS)}
    data = tmp_path_factory.mktemp("brokers")
    with Cluster(data=data, zookeeper=zookeeper.address, config=settings) as cluster:
        yield cluster


@pytest.fixture
def says(cluster: Cluster) -> Callable[[str], None]:
    """Wait for a line in the broker's log, behind those that were waited for before."""
    broker = cluster.child(1)
    read = len(broker.output())

    def wait(line: str) -> None:
        nonlocal read
        read = until(lambda: broker.output().find(line, read) + 1)

    return wait


@pytest.fixture(autouse=True)
def no_bug_was_met(cluster: Cluster) -> Iterator[None]:
    yield
    assert "Traceback" not in cluster.child(1).output()


def data_flows(client: Raw, topic: str, rounds: int = 20) -> None:
    for number in range(rounds):
        answer = client.produce(topic, batch(str(number)))
        assert answer.error_code == 0
        assert client.fetch(topic, answer.base_offset).error_code == 0


def everything_works(client: Raw, topic: str) -> None:
    data_flows(client, topic)
    until(lambda: client.create(f"after-{topic}") in (0, 36))
    data_flows(client, f"after-{topic}")
    assert client.delete(f"after-{topic}") == 0
    assert [broker.node_id for broker in client.brokers()] == [1]
    assert client.controller() == 1


def test_without_zookeeper_data_flows_and_changes_are_refused(
    cluster, zookeeper, client, topic, says
):
    zookeeper.child.kill()
    says(SUSPENDED)
    data_flows(client, topic)
    with told(cluster.child(1), "refused with request_timed_out: ZooKeeper did not answer"):
        assert client.create("impossible") == 7
    # From now on it is known that there is no use in waiting.
    assert client.delete(topic) == 7
    assert [each.error_code for each in client.topics("neither", create=True)] == [7]
    data_flows(client, topic)
    assert client.topics(topic)[0].partitions[0].leader_id == 1

    zookeeper.stop()
    zookeeper.start()
    says(CONNECTED)
    everything_works(client, topic)


def test_a_zookeeper_that_hangs_for_less_than_a_session(cluster, zookeeper, client, topic, says):
    """What was asked meanwhile is only late."""
    before = broker_node(cluster)
    zookeeper.child.pause()
    data_flows(client, topic)
    with Raw(cluster.bootstrap) as patient:
        asked = patient.post(Api.CREATE_TOPICS, create(f"late-{topic}"))
        data_flows(client, topic)
        assert patient.is_silent()
        zookeeper.child.resume()
        assert codec.decode_response(asked, patient.frame()).topics[0].error_code == 0
    everything_works(client, topic)
    assert broker_node(cluster) == before


def test_a_broker_that_hangs_for_longer_than_a_session(cluster, zookeeper, client, topic, says):
    """ZooKeeper takes it for dead; when it wakes up it registers again, as new."""
    before = broker_node(cluster)
    cluster.pause(1)
    until(lambda: sessions(zookeeper) == 0)
    cluster.resume(1)
    says(EXPIRED)
    says(CONNECTED)
    until(lambda: [broker.node_id for broker in client.brokers()] == [1])
    everything_works(client, topic)
    until(lambda: broker_node(cluster) not in (before, ""))


def test_a_killed_broker_is_back_before_its_session_is_over(cluster, client, topic):
    """What its old session left is its own, and in nobody's way."""
    data_flows(client, topic)
    for _ in range(3):
        cluster.kill(1)
        cluster.restart(1)
        with Raw(cluster.bootstrap) as again:
            everything_works(again, topic)


def test_it_stops_in_order_without_zookeeper(cluster, zookeeper, client, topic, says):
    """Last in this module."""
    data_flows(client, topic)
    zookeeper.child.kill()
    says(SUSPENDED)
    assert cluster.child(1).terminate() == 0
    assert (cluster.directory(1) / ".kafka_cleanshutdown").exists()


def broker_node(cluster: Cluster) -> str:
    """Which session the broker says it is registered with."""
    return Path(cluster.directory(1), "zookeeper.session").read_text()


def sessions(zookeeper: ZookeeperServer) -> int:
    """How many clients are connected, this question left out."""
    line = next(line for line in ask(zookeeper.port, "srvr").splitlines() if "Connections" in line)
    return int(line.split()[1]) - 1
