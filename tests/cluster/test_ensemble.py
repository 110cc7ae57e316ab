"""ZooKeeper as an ensemble of three real servers: they die, are paused and cut off, and the brokers
keep their sessions; without a quorum nothing is elected, and what is led goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from engine.cluster.cluster import Cluster
from engine.cluster.state import ZookeeperState
from engine.cluster.zookeeper import ask
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.interop.watch import until
from tests.limits import CALM_SESSION_MS

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
CONFIG = {"zookeeper.session.timeout.ms": CALM_SESSION_MS}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    data = tmp_path_factory.mktemp("ensemble")
    with Cluster(3, zookeepers=3, data=data, config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def mended(request: pytest.FixtureRequest) -> Iterator[None]:
    if "cluster" in request.fixturenames:
        until(lambda: whole(request.getfixturevalue("cluster")))
    yield
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").mend()
        for broker in request.getfixturevalue("cluster").brokers:
            log = request.getfixturevalue("cluster").directory(broker) / "broker.log"
            assert "Traceback" not in log.read_text()


def servers(cluster: Cluster) -> dict[str, ZookeeperState]:
    return {f"zookeeper-{number}": it for number, it in cluster.state().zookeepers.items()}


def roles(cluster: Cluster) -> list[str]:
    return sorted(server.role for server in servers(cluster).values())


def leader(cluster: Cluster) -> str:
    return next((name for name, it in servers(cluster).items() if it.role == "leader"), "")


def whole(cluster: Cluster) -> bool:
    """A leader and two followers, and each broker is connected to one of them."""
    connected = sorted(broker for it in servers(cluster).values() for broker in it.brokers)
    return roles(cluster) == ["follower", "follower", "leader"] and connected == cluster.brokers


def server_of(cluster: Cluster, broker: int) -> str:
    return next((name for name, it in servers(cluster).items() if broker in it.brokers), "")


def busiest(cluster: Cluster) -> str:
    """The server with the most brokers."""
    known = servers(cluster)
    return max(known, key=lambda name: len(known[name].brokers))


def identity(cluster: Cluster) -> object:
    """What changes if a session ends: the sessions, the registrations, the controller."""
    state = cluster.state()
    sessions = {broker: (it.session, it.epoch) for broker, it in state.brokers.items()}
    return sessions, state.controller, max(it.controller_epoch for it in state.brokers.values())


def connected(cluster: Cluster) -> bool:
    """Every broker has a connection again, to a server that serves."""
    sessions = [it.session for it in cluster.state().brokers.values()]
    return None not in sessions and all(server_of(cluster, it) for it in cluster.brokers)


def kinds(cluster: Cluster, after: int) -> list[tuple[str, object]]:
    happened = [it for it in cluster.events(after) if it.kind.startswith("zookeeper.")]
    return [(it.kind, it.data.get("server")) for it in happened]


def last_event(cluster: Cluster) -> int:
    return max((it.number for it in cluster.events()), default=0)


def number(name: str) -> int:
    return int(name.removeprefix("zookeeper-"))


def test_its_state_has_roles_and_who_is_connected_to_whom(cluster):
    assert cluster.zookeepers == SERVERS
    addresses = cluster.zookeeper.split(",")
    assert len(set(addresses)) == 3 and all(it.startswith("127.0.0.1:") for it in addresses)
    assert ("zookeeper.leader", number(leader(cluster))) in kinds(cluster, 0)
    for name, server in servers(cluster).items():
        assert f"127.0.0.1:{server.port}" in addresses
        assert server.epoch >= 1 and server.serves
        assert f"Mode: {server.role}" in ask(server.port, "srvr")
        assert cluster.child(name).pid == server.pid


@pytest.mark.parametrize("how", ["kill", "pause"])
@pytest.mark.parametrize("who", ["the leader", "the busiest"])
def test_brokers_move_to_another_server_and_keep_their_sessions(cluster, how, who):
    before, after = identity(cluster), last_event(cluster)
    victim = leader(cluster) if who == "the leader" else busiest(cluster)
    led = victim == leader(cluster)
    getattr(cluster, how)(victim)
    gone = {"kill": "dead", "pause": "paused"}[how]
    until(lambda: roles(cluster) == sorted([gone, "follower", "leader"]) and connected(cluster))
    assert leader(cluster) != victim
    assert identity(cluster) == before
    assert sorted(cluster.children("/brokers/ids")) == ["1", "2", "3"]
    told = kinds(cluster, after)
    assert told[0] == ({"kill": "zookeeper.killed", "pause": "zookeeper.paused"}[how],
                       number(victim))  # fmt: skip
    assert (("zookeeper.leader", number(leader(cluster))) in told) == led

    cluster.restart(victim) if how == "kill" else cluster.resume(victim)
    until(lambda: whole(cluster))
    assert identity(cluster) == before
    assert "broker.down" not in {it.kind for it in cluster.events(after)}


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_without_a_quorum_nothing_is_elected_and_what_is_led_goes_on(cluster, how):
    topic = cluster.topic("orders", replicas=[1, 2, 3])
    cluster.write(topic, ["before"], acks="all")
    partition, after = TopicPartition(topic, 0), last_event(cluster)
    was = cluster.state().partitions[partition].leader_epoch
    lost = [leader(cluster), next(it for it in SERVERS if it != leader(cluster))]
    for server in lost:
        getattr(cluster, how)(server)
    until(lambda: not any(it.serves for it in servers(cluster).values()))
    assert len(cluster.write(topic, ["all"], acks="all")) == 1
    assert len(cluster.write(topic, ["one"], acks=1)) == 1
    assert cluster.read(topic) == ["before", "all", "one"]
    assert cluster.state().partitions[partition].leader_epoch == was
    for server in lost:
        cluster.restart(server, wait=False) if how == "kill" else cluster.resume(server)
    until(lambda: whole(cluster))
    cluster.wait("all are registered", lambda: len(cluster.children("/brokers/ids")) == 3)
    cluster.mend()
    cluster.write(topic, ["after"], acks="all")
    assert cluster.read(topic) == ["before", "all", "one", "after"]
    assert ("zookeeper.leaderless", None) in kinds(cluster, after)
    cluster.topic("created-after", replicas=[1, 2, 3])


def test_a_leader_that_dies_without_a_quorum_is_replaced_when_it_is_back(cluster):
    topic = cluster.topic("payments", replicas=[1, 2, 3])
    victim = cluster.leader(topic)
    lost = [leader(cluster), next(it for it in SERVERS if it != leader(cluster))]
    for server in lost:
        cluster.kill(server)
    cluster.kill(victim)
    until(lambda: not any(it.serves for it in servers(cluster).values()))
    assert cluster.state().partitions[TopicPartition(topic, 0)].leader == victim
    for server in lost:
        cluster.restart(server, wait=False)
    cluster.wait("a new leader", lambda: cluster.leader(topic) not in (victim, -1))


def cut_off(cluster: Cluster, victim: str) -> None:
    """From the other servers; it has noticed."""
    for other in SERVERS:
        if other != victim:
            cluster.cut(victim, other)
    assert len(cluster.state().links) == 4
    until(lambda: servers(cluster)[victim].role == "looking")


def test_a_server_cut_off_from_the_others_serves_nobody_until_it_is_healed(cluster):
    before, victim = identity(cluster), busiest(cluster)
    cut_off(cluster, victim)
    until(lambda: connected(cluster) and leader(cluster) not in ("", victim))
    assert cluster.child(victim).alive
    assert identity(cluster) == before
    cluster.heal()
    assert cluster.state().links == ()
    until(lambda: servers(cluster)[victim].serves)


def test_a_server_cut_off_from_the_others_is_mended(cluster):
    victim = busiest(cluster)
    cut_off(cluster, victim)
    cluster.mend()
    assert cluster.state().links == ()
    until(lambda: servers(cluster)[victim].serves)


def test_one_cut_link_between_a_follower_and_the_leader(cluster):
    """The follower loses the leader, and the third server tells it that the leader still leads."""
    led = leader(cluster)
    follower = next(name for name in SERVERS if name != led)
    cluster.cut(follower, led)
    until(lambda: servers(cluster)[follower].role == "looking")
    assert leader(cluster) == led
    cluster.heal(follower, led)
    until(lambda: whole(cluster))


def test_a_broker_cut_off_from_its_server_goes_to_another_one(cluster):
    before, server = identity(cluster), server_of(cluster, 1)
    cluster.cut(1, server)
    until(lambda: server_of(cluster, 1) not in ("", server))
    assert identity(cluster) == before
    links = {(it.source, it.target) for it in cluster.state().links}
    assert links == {("1", server), (server, "1")}


def test_the_tree_is_read_from_another_server_when_one_dies(cluster):
    znodes = cluster.znodes()
    until(lambda: znodes.changes() and not znodes.reading)
    server = znodes.server.split()[0]
    assert server in SERVERS
    cluster.kill(server)
    until(lambda: znodes.changes() and znodes.server.split()[:1] not in ([], [server]))
    topic = cluster.topic("seen", replicas=[1, 2, 3])
    until(lambda: any(it.path == f"/brokers/topics/{topic}" for it in znodes.changes()))
    assert znodes.trouble == ""
    watched = znodes._four_letter_word("wchc")  # of those that are alive
    assert watched and "/controller" in watched and znodes.no_watches == ""


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda it: it.kill("zookeeper-9"), "there is no 'zookeeper-9' in this cluster, only"),
        (lambda it: it.pause("zoo"), "there is no 'zoo' in this cluster, only"),
        (lambda it: it.restart("zookeeper-0"), "there is no 'zookeeper-0'"),
        (lambda it: it.cut(1, "zookeeper-9"), "there is no link between 1 and zookeeper-9"),
        (lambda it: it.cut("zookeeper-1", "zookeeper-1"), "there is no link between zookeeper-1"),
        (lambda it: it.cut("zookeeper-1", "zookeeper"), "there is no link between zookeeper-1"),
    ],
)
def test_a_server_that_does_not_exist_is_told(cluster, act, words):
    with pytest.raises(ApiException, match=f"^{words}") as refused:
        act(cluster)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"zookeepers": 0}, "a cluster has one ZooKeeper server or more, not 0"),
        (
            {"zookeepers": 3, "zookeeper": "localhost:2181"},
            'either zookeepers=3 starts servers, or zookeeper="localhost:2181" names one',
        ),
    ],
)
def test_what_makes_no_sense_is_refused(how, words):
    with pytest.raises(ApiException, match=f"^{words}") as refused:
        Cluster(**how)
    assert refused.value.code is ErrorCode.invalid_config


def test_a_second_start_finds_everything_and_another_number_of_servers_is_refused(tmp_path):
    with Cluster(1, zookeepers=2, data=tmp_path) as cluster:
        topic = cluster.topic("kept", replicas=1)
        cluster.write(topic, ["a", "b"], acks="all")
        until(lambda: roles(cluster) == ["follower", "leader"])
        epoch = max(it.epoch for it in servers(cluster).values())
        cluster.kill("zookeeper-2")  # two servers tolerate no death
        until(lambda: roles(cluster) == ["dead", "looking"])
    assert sorted(it.name for it in tmp_path.glob("zookeeper*")) == SERVERS[:2]
    assert (tmp_path / "zookeeper-2" / "myid").read_text() == "2\n"
    for others in (1, 3):
        with pytest.raises(ApiException, match="has the directories of another ensemble"):
            Cluster(1, zookeepers=others, data=tmp_path).start()
    with Cluster(1, zookeepers=2, data=tmp_path) as cluster:
        assert cluster.read("kept") == ["a", "b"]
        until(lambda: roles(cluster) == ["follower", "leader"])
        assert max(it.epoch for it in servers(cluster).values()) > epoch


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_command_starts_three_and_leaves_nothing(tmp_path, end):
    words = ["cluster", "--brokers", "1", "--port", "0", "--zookeepers", "3", "--data", tmp_path]
    with subprocess.Popen(
        [sys.executable, "-m", "engine", *map(str, words)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    ) as command:  # fmt: skip
        assert command.stdout is not None
        ready = dict(part.split("=", 1) for part in command.stdout.readline().split()[1:])
        hosts = ready["zookeeper"].split(",")
        assert len(hosts) == 3
        client = KazooClient(ready["zookeeper"])
        client.start()
        assert client.get_children("/brokers/ids") == ["1"]
        client.stop()
        client.close()
        children = [int(it) for it in _children(command.pid)]
        assert len(children) == 4  # three servers and a broker
        command.send_signal(end)
        command.wait(20)
    until(lambda: not any(_runs(pid) for pid in children))


def _children(parent: int) -> list[str]:
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return told.stdout.split()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
