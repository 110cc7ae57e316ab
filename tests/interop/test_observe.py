"""Looking into three real brokers while they work, stand still, die and come back."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.observer import STATE_WAIT_S
from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, PartitionState, Status
from engine.model import TopicPartition
from tests.interop.raw import Raw, batch
from tests.interop.watch import until
from tests.limits import WIDE_SESSION_MS
from tests.modes import made, mode_of

CONFIG = {
    "zookeeper.session.timeout.ms": WIDE_SESSION_MS,
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "100",
}


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with made(3, mode_of(request), config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def healed(cluster: Cluster) -> Iterator[None]:
    """After each test all are up again, and none has met a bug of ours."""
    yield
    for broker in cluster.brokers:
        if not cluster.child(broker).alive:
            cluster.restart(broker)
        elif cluster.child(broker).paused:
            cluster.resume(broker)
    assert not [n for n in cluster.brokers if "Traceback" in cluster.child(n).output()]


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Raw]:
    """Of the controller, who creates topics, when all brokers are there; without ZooKeeper, of a
    broker."""
    wanted = tuple(cluster.brokers)
    state = until(lambda: all_known(seen := cluster.state(), wanted) and seen)
    asked = wanted[0] if cluster.is_kraft else state.controller
    with Raw(f"127.0.0.1:{state.brokers[asked].port}") as client:
        yield client


@pytest.fixture
def orders(cluster: Cluster, client: Raw, request: pytest.FixtureRequest) -> TopicPartition:
    """A partition on all three, and all of them in sync."""
    name = request.node.name.partition("[")[0]
    assert client.create(name, replication=3) == 0
    partition = TopicPartition(name, 0)
    until(lambda: in_sync(cluster.state(), partition))
    return partition


def all_known(state: ClusterState, brokers: tuple[int, ...]) -> bool:
    return state.controller != -1 and all(
        each.brokers == brokers and each.controller == state.controller
        for each in state.brokers.values()
    )


def in_sync(state: ClusterState, partition: TopicPartition) -> bool:
    seen = state.partitions.get(partition)
    return seen is not None and set(seen.isr) == set(seen.replicas) == {1, 2, 3}


def now(cluster: Cluster, partition: TopicPartition) -> PartitionState:
    return cluster.state().partitions[partition]


def leader_of(cluster: Cluster, partition: TopicPartition) -> Raw:
    return Raw(f"127.0.0.1:{cluster.state().brokers[now(cluster, partition).leader].port}")


def alike(state: PartitionState, end: int) -> bool:
    return all(
        (each.log_end, each.high_watermark) == (end, end) for each in state.replicas.values()
    )


def calm(state: ClusterState) -> bool:
    """Whether every partition, other tests' too, is as it will stay."""
    return all(
        each.leader != -1
        and set(each.isr) == set(each.assignment)
        and alike(each, each.replicas[each.leader].log_end)
        for each in state.partitions.values()
    )


def own(cluster: Cluster, after: int) -> list[tuple[str, object]]:
    """What the cluster itself did."""
    events = cluster.events(after)
    return [(each.kind, each.data.get("broker")) for each in events if each.broker is None]


def last(cluster: Cluster) -> int:
    events = cluster.events()
    return events[-1].number if events else 0


# -- states ----------------------------------------------------------------------------------


def test_a_state_has_all_that_there_is_to_know(cluster, client, orders):
    state = cluster.state()
    assert list(state.brokers) == cluster.brokers == [1, 2, 3]
    assert state.controller in (state.controllers if cluster.is_kraft else state.brokers)
    for number, broker in state.brokers.items():
        assert (broker.status, broker.answers) == (Status.UP, True)
        assert broker.pid == cluster.child(number).pid
        assert broker.controller == state.controller
        assert broker.active == (number == state.controller)
        assert broker.brokers == (1, 2, 3)
        assert (broker.session is None) == cluster.is_kraft
        assert broker.epoch > 0
        assert abs(broker.at - state.at) < 5000
    assert len({broker.epoch for broker in state.brokers.values()}) == 3
    assert cluster.bootstrap == ",".join(f"127.0.0.1:{b.port}" for b in state.brokers.values())

    with leader_of(cluster, orders) as leader:
        for number in range(3):
            assert leader.produce(orders.topic, batch(str(number))).error_code == 0
    until(lambda: alike(now(cluster, orders), 3))
    partition = now(cluster, orders)
    roles = {number: replica.role for number, replica in partition.replicas.items()}
    assert roles.pop(partition.leader) == "leader"
    assert set(roles.values()) == {"follower"}
    assert partition.leader == partition.assignment[0]
    assert set(partition.followers) == set(roles)
    for follower in partition.followers.values():
        assert (follower.log_end, follower.behind_since) == (3, -1)
    files = {n: cluster.directory(n) / str(orders) / f"{0:020}.log" for n in (1, 2, 3)}
    for number, replica in partition.replicas.items():
        assert (replica.log_start, replica.segments, replica.answers) == (0, 1, True)
        assert replica.size == files[number].stat().st_size > 0


def test_a_paused_broker_is_shown_as_it_was_until_it_answers_again(cluster, client, orders):
    leader = now(cluster, orders).leader
    victim = next(broker for broker in cluster.brokers if broker != leader)
    cluster.pause(victim)
    state = cluster.state()
    assert (state.brokers[victim].status, state.brokers[victim].answers) == (Status.PAUSED, False)
    with leader_of(cluster, orders) as client:
        assert client.produce(orders.topic, batch("a"), acks=1).error_code == 0
    partition = now(cluster, orders)
    assert not partition.replicas[victim].answers
    assert (partition.replicas[victim].log_end, partition.replicas[leader].log_end) == (0, 1)
    behind = until(lambda: follower(cluster, orders, victim).behind_since > 0)
    assert behind
    assert partition.replicas[leader].high_watermark == 0
    until(lambda: victim not in now(cluster, orders).isr)

    cluster.resume(victim)
    until(lambda: alike(now(cluster, orders), 1) and in_sync(cluster.state(), orders))
    assert cluster.state().brokers[victim].answers


def follower(cluster: Cluster, partition: TopicPartition, broker: int):
    return now(cluster, partition).followers[broker]


def test_a_hanging_broker_holds_nobody_up_for_long(cluster, client, orders):
    """Nobody told us that it hangs: it is waited for once. (A busy machine may have the others
    answer late, now and then, but not each time.)"""
    child = cluster.child(3)
    os.kill(child.pid, signal.SIGSTOP)
    try:
        first = cluster.state()
        assert (first.brokers[3].status, first.brokers[3].answers) == (Status.UP, False)
        states = [first, *(cluster.state() for _ in range(20))]
        assert not any(state.brokers[3].answers for state in states)
        assert any(state.brokers[1].answers and state.brokers[2].answers for state in states)
        took = min(later.at - earlier.at for earlier, later in pairwise(states))
        assert took < 1000 * STATE_WAIT_S
    finally:
        os.kill(child.pid, signal.SIGCONT)
    until(lambda: cluster.state().brokers[3].answers)
    until(lambda: in_sync(cluster.state(), orders))


@pytest.mark.long  # so is a broker in test_znodes.py and in all of tests/cluster
def test_killed_and_back(cluster, client, orders):
    victim, epoch = now(cluster, orders).leader, cluster.state().brokers
    with leader_of(cluster, orders) as leader:
        assert leader.produce(orders.topic, batch("a")).error_code == 0
    until(lambda: alike(now(cluster, orders), 1))
    cluster.kill(victim)
    state = cluster.state()
    assert (state.brokers[victim].status, state.brokers[victim].answers) == (Status.DOWN, False)
    assert state.partitions[orders].replicas[victim].log_end == 1
    elected = until(lambda: (now(cluster, orders).leader != victim) and now(cluster, orders))
    assert elected.leader_epoch > state.partitions[orders].leader_epoch
    assert victim not in elected.isr
    cluster.restart(victim)
    assert cluster.state().brokers[victim].epoch > epoch[victim].epoch
    until(lambda: alike(now(cluster, orders), 1) and in_sync(cluster.state(), orders))


@pytest.mark.long  # so is one in tests/cluster/test_stories_comeback.py
def test_a_partition_that_nobody_leads(cluster, client):
    name = "alone"
    assert client.create(name) == 0
    partition = TopicPartition(name, 0)
    until(lambda: partition in cluster.state().partitions)
    victim = now(cluster, partition).leader
    cluster.kill(victim)
    until(lambda: now(cluster, partition).leader == -1)
    assert now(cluster, partition).leader_epoch == 1
    cluster.restart(victim)
    until(lambda: now(cluster, partition).leader == victim)


def port(cluster: Cluster, broker: int) -> int:
    return cluster.state().brokers[broker].port


# -- events ----------------------------------------------------------------------------------


def test_events_are_told_once_and_go_on_after_a_restart(cluster, client, orders):
    before = last(cluster)
    victim = next(b for b in cluster.brokers if b != now(cluster, orders).leader)
    cluster.kill(victim)
    cluster.restart(victim)
    until(lambda: in_sync(cluster.state(), orders))
    assert own(cluster, before) == [("broker.killed", victim), ("broker.started", victim)]
    told = cluster.events(before)
    assert [each.number for each in told] == [*range(before + 1, before + 1 + len(told))]
    roles = [
        each
        for each in told
        if each.kind == "replica.role"
        and each.broker == victim
        and each.data["topic"] == orders.topic
    ]
    assert len(roles) == 1  # in its second life
    assert cluster.events(told[-1].number) == []
    assert cluster.events(before) == told


def test_what_happened_before_a_kill_is_not_lost_with_the_broker(cluster, client, orders):
    before, victim = last(cluster), 2
    cluster._observer.request(victim, {"ask": "trace", "on": True})
    with Raw(f"127.0.0.1:{port(cluster, victim)}") as raw:
        assert raw.is_served()
    cluster.kill(victim)
    kinds = [each.data.get("api") for each in cluster.events(before) if each.broker == victim]
    assert "API_VERSIONS" in kinds
    cluster.restart(victim)
    until(lambda: in_sync(cluster.state(), orders))


def test_requests_are_told_while_they_are_traced(cluster, client, orders):
    cluster.trace()
    before = last(cluster)
    with leader_of(cluster, orders) as leader:
        assert leader.produce(orders.topic, batch("a")).error_code == 0
    until(lambda: alike(now(cluster, orders), 1))
    cluster.trace(False)
    told = [each for each in cluster.events(before) if each.kind == "request"]
    quiet = last(cluster)
    (produced,) = (each for each in told if each.data["api"] == "PRODUCE")
    (row,) = produced.data["partitions"]
    assert (row["topic"], row["offset"], row["error"]) == (orders.topic, 0, 0)
    leader_number = now(cluster, orders).leader
    assert produced.broker == leader_number
    others = set(cluster.brokers) - {leader_number}
    for other in others:
        fetched = list(fetches(told, orders, other))
        given = [each["bytes"] for each in fetched if each.get("bytes")]
        asked = [each["offset"] for each in fetched if "offset" in each]
        assert given == [row["bytes"]]  # it got the batch once
        assert asked[-1] == 1  # and then asked for what comes after it
    with leader_of(cluster, orders) as leader:
        assert leader.is_served()
    assert [each for each in cluster.events(quiet) if each.kind == "request"] == []


def fetches(told: list[ClusterEvent], partition: TopicPartition, replica: int):
    for each in told:
        if each.data["api"] == "FETCH" and each.data.get("replica_id") == replica:
            for row in each.data["partitions"]:
                if row["topic"] == partition.topic:
                    yield row


# -- the debug server --------------------------------------------------------------------------


def send_lines(cluster: Cluster, broker: int, *lines: bytes) -> list[bytes]:
    """Send lines to a debug server; its answers, until it closes the connection or is silent."""
    port = (cluster.directory(broker) / "broker.control").read_text().split()[0]
    with socket.create_connection(("127.0.0.1", int(port)), timeout=20) as talk:
        talk.sendall(b"".join(line + b"\n" for line in lines))
        talk.shutdown(socket.SHUT_WR)
        with talk.makefile("rb") as answers:
            return answers.readlines()


def test_the_debug_server_refuses_strangers(cluster):
    file = cluster.directory(1) / "broker.control"
    assert file.stat().st_mode & 0o777 == 0o600
    token = file.read_text().split()[1].encode()
    try:
        assert send_lines(cluster, 1, b"let me in", b'{"ask": "state"}') == []
    except ConnectionResetError:
        assert cluster.state().brokers[1].answers
    for nonsense in (b"\x00" * 100, b"{", b'{"ask": 1}', b"x" * 10_000):
        first, second = send_lines(cluster, 1, token, nonsense, b'{"ask": "events", "after": 0}')
        assert "error" in json.loads(first)
        assert "events" in json.loads(second)
    assert "Traceback" not in cluster.child(1).output()


# -- records ---------------------------------------------------------------------------------


def test_a_run_is_recorded_and_seen_again(cluster, client, orders, tmp_path):
    file = tmp_path / "run.jsonl.gz"
    with cluster.record(file):
        begun = cluster.state()
        with leader_of(cluster, orders) as leader:
            for number in range(20):
                assert leader.produce(orders.topic, batch(str(number))).error_code == 0
        until(lambda: alike(now(cluster, orders), 20))
        cluster.pause(3)
        until(lambda: 3 not in now(cluster, orders).isr)
        cluster.resume(3)
        until(lambda: calm(cluster.state()))
        ended = cluster.state()
    recording = Recording.load(file)
    assert recording.at(begun.at).partitions.keys() <= ended.partitions.keys()
    assert recording.at(recording.end).partitions == cluster.state().partitions
    statuses = [each.brokers[3].status for each in recording]
    assert statuses.index(Status.PAUSED) < len(statuses) - 1
    assert statuses[-1] is Status.UP
    kinds = [each.kind for each in recording.events()]
    assert kinds.index("broker.paused") < kinds.index("broker.resumed")
    minutes = (recording.end - recording.start) / 60_000
    assert file.stat().st_size / minutes < 1e6


@pytest.mark.long  # so does one in tests/cluster/test_faults_stop.py
def test_stopped_in_order_it_hands_over_first(cluster, client, orders):
    leader = now(cluster, orders).leader
    before = now(cluster, orders).leader_epoch
    assert cluster.stop_broker(leader) == 0
    state = cluster.state()
    assert state.brokers[leader].status is Status.DOWN
    assert state.partitions[orders].leader not in (leader, -1)
    assert state.partitions[orders].leader_epoch > before
    assert (cluster.directory(leader) / ".kafka_cleanshutdown").exists()
    assert not (cluster.directory(leader) / "broker.control").exists()
    cluster.restart(leader)
    until(lambda: in_sync(cluster.state(), orders))


# -- last, for it changes the cluster --------------------------------------------------------


def test_a_broker_is_added(cluster, client, orders):
    number = cluster.add_broker()
    assert number == 4
    assert cluster.brokers == [1, 2, 3, 4]
    until(lambda: all(4 in each.brokers for each in cluster.state().brokers.values()))
    assert client.create("on-the-new-one", replication=4) == 0
    partition = TopicPartition("on-the-new-one", 0)
    until(lambda: set(now(cluster, partition).isr) == {1, 2, 3, 4})
