"""A broker that cannot start says why in one line on stderr, and leaves nothing behind."""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import pack
from threading import Thread
from typing import NamedTuple

import pytest

from engine.cluster.cluster import Cluster
from tests.interop.raw import Raw, batch


class Refusal(NamedTuple):
    code: int
    reason: str  # the one line


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Callable[..., Refusal]:
    """Start one more broker by the command line; by default one that could start."""

    def start(*more: str, broker: int = 2, port: int = 0, data: Path | None = None, **other: str):
        zookeeper = other.get("zookeeper", cluster.zookeeper)
        command = [
            *(sys.executable, "-m", "engine", "broker", "--zookeeper", zookeeper),
            *("--id", str(broker), "--port", str(port)),
            *("--data", str(data or tmp_path / "data"), *more),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert "ready" not in ended.stdout
        assert "Traceback" not in ended.stderr
        *_, reason = ended.stderr.splitlines()
        assert reason.startswith("python -m engine: ")
        return Refusal(ended.returncode, reason.removeprefix("python -m engine: "))

    return start


@pytest.fixture(autouse=True)
def the_first_one_lives_on(cluster: Cluster) -> Iterator[None]:
    yield
    with Raw(cluster.bootstrap) as client:
        assert client.create("alive") in (0, 36)
        assert client.produce("alive", batch("x")).error_code == 0
        assert [broker.node_id for broker in client.brokers()] == [1]


def test_a_directory_in_use(cluster, start):
    directory = cluster.directory(1)
    refusal = start(broker=1, data=directory)
    assert refusal.code == 1
    assert f"Failed to acquire lock on file .lock in {directory}" in refusal.reason
    assert "another process" in refusal.reason


def test_another_broker_s_directory(cluster, start, tmp_path):
    (tmp_path / "data").mkdir()
    shutil.copy(cluster.directory(1) / "meta.properties", tmp_path / "data")
    refusal = start(broker=2)
    assert refusal.code == 1
    assert "Configured broker.id 2 doesn't match stored broker.id 1" in refusal.reason


def test_another_cluster_s_directory(cluster, start, tmp_path):
    (tmp_path / "data").mkdir()
    properties = (cluster.directory(1) / "meta.properties").read_text()
    other, count = re.subn(r"(?m)^cluster\.id=.*$", "cluster.id=another", properties)
    assert count == 1
    (tmp_path / "data" / "meta.properties").write_text(other)
    refusal = start(broker=1)
    assert refusal.code == 1
    assert "doesn't match stored clusterId" in refusal.reason
    assert "zookeeper.connect may be wrong" in refusal.reason


def test_one_of_several_directories_is_another_broker_s(cluster, start, tmp_path):
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    theirs.mkdir()
    shutil.copy(cluster.directory(1) / "meta.properties", theirs)
    refusal = start("--config", f"log.dirs={mine},{theirs}", broker=2)
    assert refusal.code == 1
    assert str(theirs) in refusal.reason


def test_an_id_that_is_taken(start):
    refusal = start(broker=1)
    assert refusal.code == 1
    assert "Broker id 1 is already registered" in refusal.reason
    assert "choose another --id" in refusal.reason


def test_a_port_that_is_taken(cluster, start):
    port = int(cluster.bootstrap.rpartition(":")[2])
    refusal = start(port=port)
    assert refusal.code == 1
    assert f"failed to bind to 127.0.0.1:{port}" in refusal.reason
    assert "Choose another --port" in refusal.reason


def test_who_was_refused_has_let_go_of_its_directory(start):
    """It had come as far as the port: by then the directory is locked and signed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert start(port=taken.getsockname()[1]).code == 1
    assert "doesn't match stored broker.id 2" in start(broker=3).reason


def test_no_zookeeper(start):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    patience = ("--config", "zookeeper.connection.timeout.ms=500")
    refusal = start(*patience, zookeeper=f"127.0.0.1:{port}")
    assert refusal.code == 1
    assert f"no answer from ZooKeeper at 127.0.0.1:{port} in 0.5 s" in refusal.reason


def test_something_else_where_zookeeper_should_be(cluster, start):
    patience = ("--config", "zookeeper.connection.timeout.ms=500")
    refusal = start(*patience, zookeeper=cluster.bootstrap)
    assert refusal.code == 1
    assert f"no answer from ZooKeeper at {cluster.bootstrap}" in refusal.reason


def test_a_zookeeper_that_hangs_up(start):
    """It opens a session, and breaks off at the first question, each time."""
    patience = ("--config", "zookeeper.connection.timeout.ms=500")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        Thread(target=open_sessions, args=(listening,), daemon=True).start()
        refusal = start(*patience, zookeeper=f"127.0.0.1:{port}")
        listening.shutdown(socket.SHUT_RDWR)
    assert refusal.code == 1
    assert f"ZooKeeper at 127.0.0.1:{port} does not answer (ConnectionLoss" in refusal.reason


def open_sessions(listening: socket.socket) -> None:
    with suppress(OSError):  # closed: the test is over
        while True:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                # size, protocol version, session timeout, session id, password, read-only
                connection.sendall(pack(">iiiqi16s?", 37, 0, 18_000, 7, 16, bytes(16), False))
                connection.recv(4096)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("log.segment.byte=1", "log.segment.bytes"),
        # What else is refused, and how: tests/unit/test_config.py.
        ("advertised.listeners=SSL://127.0.0.1:9092", "must be a listener name defined in"),
    ],
)
def test_a_setting_that_makes_no_sense(start, setting, reason):
    refusal = start("--config", setting)
    assert refusal.code == 1
    assert reason in refusal.reason


def test_a_directory_that_is_a_file(start, tmp_path):
    (tmp_path / "data").write_text("not a directory")
    refusal = start()
    assert refusal.code == 1
    assert str(tmp_path / "data") in refusal.reason


def test_an_id_beyond_the_range(start):
    refusal = start(broker=1001)
    assert refusal.code == 1
    assert "broker.id" in refusal.reason
