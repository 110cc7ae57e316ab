"""What a lab does to a cluster on purpose; and that nothing of it outlives the lab."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import kafka
import pytest
from confluent_kafka import Producer

from engine.cluster import node_process
from engine.cluster.cluster import Cluster
from engine.cluster.state import LinkState, Status
from engine.errors import ApiException
from engine.wire.apis import Api
from tests.interop.raw import Raw, batch, metadata, produce
from tests.interop.watch import told, until
from tests.limits import ANSWER_S, WIDE_SESSION_MS

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"zookeeper.session.timeout.ms": WIDE_SESSION_MS}


# -- answers that get lost -------------------------------------------------------------------


def test_the_next_answer_to_a_client_is_dropped_and_all_is_done(cluster, client, topic):
    with Raw(cluster.bootstrap) as other:
        cluster.drop_next_answer(1, Api.PRODUCE)
        assert other.is_served()  # not this one
        with told(cluster.child(1), "a lab asked to drop this answer"):
            client.post(Api.PRODUCE, produce(topic, batch("lost")))
            assert client.hung_up()
        assert other.end_offset(topic) == 1
        assert other.produce(topic, batch("next")).error_code == 0  # only one was to be dropped


def test_any_answer_is_dropped_if_nothing_else_is_said(cluster, client, topic):
    cluster.drop_next_answer(1)
    client.post(Api.METADATA, metadata())
    assert client.hung_up()
    with Raw(cluster.bootstrap) as other:
        assert other.is_served()


def test_confluent_sends_again_and_the_record_is_there_once(cluster, client, topic):
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    producer = Producer(settings | {"reconnect.backoff.max.ms": 100})
    producer.produce(topic, b"first", partition=0)
    assert producer.flush(ANSWER_S) == 0
    cluster.drop_next_answer(1, Api.PRODUCE)
    errors = []
    producer.produce(topic, b"second", partition=0, on_delivery=lambda e, m: errors.append(e))
    with told(cluster.child(1), "a lab asked to drop this answer"):
        assert producer.flush(ANSWER_S) == 0
    assert errors == [None]
    assert [record.value for record in client.read(topic)] == [b"first", b"second"]


def test_kafka_python_sends_again_and_without_idempotence_it_is_there_twice(cluster, client, topic):
    settings = {"bootstrap_servers": cluster.bootstrap, "enable_idempotence": False}
    with closing(kafka.KafkaProducer(acks="all", retries=5, **settings)) as producer:
        producer.send(topic, b"first", partition=0).get(ANSWER_S)
        cluster.drop_next_answer(1, Api.PRODUCE)
        producer.send(topic, b"second", partition=0).get(ANSWER_S)
    assert [record.value for record in client.read(topic)] == [b"first", b"second", b"second"]


# -- brokers ---------------------------------------------------------------------------------


def test_a_broker_that_dies_by_itself_is_noticed(cluster):
    before = cluster.events()
    os.kill(cluster.child(1).pid, signal.SIGKILL)
    until(lambda: not cluster.child(1).alive)
    assert cluster.deaths() == [(1, "SIGKILL")]
    assert cluster.deaths() == []
    assert cluster.state().brokers[1].status is Status.DOWN
    (died,) = cluster.events(before[-1].number)
    assert (died.kind, died.data) == ("broker.died", {"broker": 1, "reason": "SIGKILL"})
    cluster.faults.restart(1)


def test_nobody_else_gets_the_port_of_a_broker_that_is_down(cluster):
    port = int(cluster.bootstrap.rpartition(":")[2])
    cluster.faults.kill(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    held = cluster._processes[1]._reserved
    assert held is not None
    assert held.getsockname()[1] == port
    cluster.faults.restart(1)
    assert cluster.bootstrap == f"127.0.0.1:{port}"


def test_killed_while_it_starts(cluster):
    cluster.faults.kill(1)
    failures = []

    def restart() -> None:
        try:
            cluster.faults.restart(1)
        except ApiException as error:
            failures.append(error.message)

    starting = threading.Thread(target=restart)
    starting.start()
    until(lambda: cluster.child(1).alive)
    cluster.faults.kill(1)
    starting.join(ANSWER_S)
    assert not starting.is_alive()
    assert [message for message in failures if "broker 1" in message or "no broker" in message]
    cluster.faults.restart(1)
    assert cluster.state().brokers[1].answers


def test_it_can_be_started_without_waiting_for_it(cluster):
    cluster.faults.kill(1)
    cluster.faults.restart(1, wait=False)
    until(lambda: cluster.state().brokers[1].answers)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1), (1, 2), (0, "zookeeper"), ("zookeeper", "zookeeper"), (1, "1")]
)
def test_there_is_no_such_link(cluster, one, other):
    for fault in (
        lambda: cluster.faults.cut(one, other),
        lambda: cluster.faults.slow(one, other, 5),
    ):
        with pytest.raises(ApiException, match="there is no link"):
            fault()
    assert cluster.state().links == ()


def test_there_is_no_such_broker(cluster):
    for fault in (cluster.kill, cluster.pause, cluster.resume, cluster.restart):
        with pytest.raises(ApiException, match=r"there is no broker 2 in this cluster, only \[1\]"):
            fault(2)


def test_a_cut_is_in_force_when_it_was_asked_for_and_over_when_it_is_healed(cluster):
    cluster.faults.cut(1, "zookeeper")
    both = (LinkState("1", "zookeeper", True), LinkState("zookeeper", "1", True))
    assert cluster.state().links == both
    until(lambda: cluster.state().brokers[1].session is None)
    cluster.faults.heal()
    assert cluster.state().links == ()
    until(lambda: cluster.state().brokers[1].session is not None)
    until(lambda: cluster.state().controller == 1)


def test_that_links_are_whole_again_is_told_once_and_only_after_a_fault(cluster):
    def healed():
        return [it.data for it in cluster.events(before) if it.kind == "link.healed"]

    before = cluster.events()[-1].number
    cluster.mend()
    cluster.faults.heal()
    cluster.faults.heal(1, "zookeeper")
    assert healed() == []
    cluster.faults.slow(1, "zookeeper", 5)
    cluster.mend()
    cluster.mend()
    assert healed() == [{}]
    cluster.faults.slow(1, "zookeeper", 5)
    for _ in range(2):
        cluster.faults.heal(1, "zookeeper")
    assert healed() == [{}, {"one": 1, "other": "zookeeper"}]


def test_a_paused_broker_gets_its_faults_when_it_goes_on(cluster):
    cluster.faults.pause(1)
    cluster.faults.cut(1, "zookeeper")
    cluster.faults.resume(1)
    until(lambda: cluster.state().brokers[1].session is None)
    cluster.faults.heal()
    until(lambda: cluster.state().brokers[1].session is not None)


@pytest.mark.long
def test_a_broker_that_is_down_gets_its_faults_when_it_starts(cluster):
    """From its first word on: it never reaches ZooKeeper."""
    cluster.faults.kill(1)
    cluster.faults.cut(1, "zookeeper")
    cluster.faults.restart(1, wait=False)
    child = cluster.child(1)
    assert child.wait(ANSWER_S) == 1
    assert "ZooKeeper" in child.output()
    assert "session: connected" not in child.output()
    cluster.faults.heal()
    cluster.faults.restart(1)


def test_a_broker_that_stops_in_order(cluster):
    assert cluster.faults.stop_broker(1) == 0
    assert cluster.deaths() == []
    cluster.faults.restart(1)


# -- the end of it all -----------------------------------------------------------------------


PARENT = """
import signal, sys
from engine.cluster.cluster import Cluster
with Cluster(2) as cluster:
    if "paused" in sys.argv:
        cluster.faults.pause(2)
    pids = [cluster.child(1).pid, cluster.child(2).pid, cluster.child("zookeeper").pid]
    print(cluster.data, *pids, flush=True)
    signal.pause()
"""


@contextmanager
def parent(*how: str) -> Iterator[tuple["subprocess.Popen[str]", Path, list[int]]]:
    """A process with a cluster, as a notebook's kernel: in a process group of its own."""
    command = [sys.executable, "-c", PARENT, *how]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().split()
        try:
            yield process, Path(line[0]), [int(pid) for pid in line[1:]]
        finally:
            process.kill()  # or a test that fails would wait for it


def gone(pid: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] in ("", "Z")


@pytest.mark.parametrize("how", [pytest.param("running", marks=pytest.mark.long), "paused"])
def test_nothing_outlives_a_kernel_that_is_killed(how):
    with parent(how) as (process, data, pids):
        assert data.is_dir() and not any(map(gone, pids))
        process.kill()
        process.wait()
        until(lambda: not data.exists())
        assert all(map(gone, pids))  # nobody works in it when it is removed


def test_nothing_outlives_a_kernel_that_is_interrupted():
    """All of its process group is: the children must not be in it, or they could not stop."""
    with parent() as (process, data, pids):
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert "KeyboardInterrupt" in process.stderr.read()
        process.wait()
        assert all(map(gone, pids))
        assert not data.exists()


def test_nothing_is_left_of_a_start_that_failed(monkeypatch):
    monkeypatch.setattr(node_process, "port_taken", lambda port: False)  # it was not when we looked
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        cluster = Cluster(port=taken.getsockname()[1])
        data = cluster.data
        with pytest.raises(ApiException, match=r"broker 1 did not start: .*failed to bind"):
            cluster.start()
    assert gone(cluster.child(1).pid)
    assert not data.exists()


def test_the_command_ends_in_order_and_tells_of_brokers_that_die(tmp_path):
    command = [sys.executable, "-m", "engine", "cluster", "--brokers", "2", "--port", "0"]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        address = r"127\.0\.0\.1:\d+"
        assert re.fullmatch(
            rf"ready bootstrap={address},{address} zookeeper={address} data=.+\n", line
        )
        victim = int((tmp_path / "data/broker-2/broker.pid").read_text())
        os.kill(victim, signal.SIGKILL)
        said = iter(process.stderr.readline, "")
        assert next(each for each in said if each.startswith("broker 2 has ended: SIGKILL"))
        assert "engine broker --id 2 --port" in next(said)
        process.terminate()
        assert process.wait(ANSWER_S) == 0
        assert process.stderr.read() == ""
    assert (tmp_path / "data/broker-1/.kafka_cleanshutdown").exists()
    assert not (tmp_path / "data/broker-2/.kafka_cleanshutdown").exists()
