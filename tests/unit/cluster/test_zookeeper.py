"""What can go wrong before a ZooKeeper is up, without starting one.

A small script stands in for Java; tests/interop has the real server.
"""

import fcntl
import importlib.util
import os
import socket
from pathlib import Path

import pytest

from engine import Cluster
from engine.cluster import java, zookeeper
from engine.cluster.zookeeper import PortTaken, StartError, ZookeeperServer


@pytest.fixture
def java_says(tmp_path, monkeypatch):
    """Replaces Java by a script that prints something and ends."""

    def replace(text: str, code: int) -> None:
        script = tmp_path / "java"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
        script.chmod(0o755)
        monkeypatch.setattr(java, "find", lambda: script)

    return replace


@pytest.fixture
def busy_port():
    with socket.socket() as other:
        other.bind((zookeeper.HOST, 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_failed_start_is_reported_with_the_end_of_the_log(tmp_path, java_says):
    lines = "\n".join(f"line {n}" for n in range(20))
    java_says(f"{lines}\njava.lang.Error: boom\n\tat some.where(X.java:1)", 1)
    with pytest.raises(StartError) as failure:
        ZookeeperServer(tmp_path / "data").start()
    told = str(failure.value).splitlines()
    assert told[0] == "ZooKeeper ended while starting:"
    assert told[-2:] == ["line 19", "java.lang.Error: boom"]
    assert len(told) < 12


def test_the_log_of_an_earlier_run_is_not_blamed(tmp_path, java_says):
    (tmp_path / "zookeeper.log").write_text("java.net.BindException: an old story\n")
    java_says("a new story", 1)
    with pytest.raises(StartError, match="a new story") as failure:
        ZookeeperServer(tmp_path).start()
    assert "old" not in str(failure.value)


def test_after_a_failed_start_the_directory_is_free_again(tmp_path, java_says):
    java_says("no", 1)
    for _ in range(2):
        with pytest.raises(StartError, match="ended while starting"):
            ZookeeperServer(tmp_path).start()


def test_a_port_in_use_is_reported_at_once(tmp_path, busy_port):
    with pytest.raises(PortTaken, match=f"port {busy_port} .* is taken"):
        ZookeeperServer(tmp_path, busy_port).start()
    assert not (tmp_path / "zookeeper.log").exists()  # no JVM was needed to find out


def test_a_port_that_closed_connections_left_behind_is_free():
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((zookeeper.HOST, 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection((zookeeper.HOST, port)):
            server.accept()[0].close()  # the side that closes first keeps the port in TIME_WAIT
    assert not zookeeper.port_taken(port)


def test_a_directory_in_use_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(zookeeper, "LOCK_TIMEOUT_S", 0)
    lock = os.open(tmp_path / "zookeeper.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with pytest.raises(StartError, match=f"another ZooKeeper runs in {tmp_path}"):
            ZookeeperServer(tmp_path).start()
    finally:
        os.close(lock)


def test_without_pyspark_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StartError, match="pip install pyspark"):
        zookeeper.class_path()


def test_the_class_path_is_a_handful_of_jars_that_are_there():
    jars = [Path(jar) for jar in zookeeper.class_path().split(":")]
    assert len(jars) == len(zookeeper.JARS)
    assert all(jar.is_file() for jar in jars)


def test_writes_are_flushed_only_where_the_data_is_to_stay(tmp_path):
    """A cluster in a temporary directory does not wait for the disk; one with a place of its own
    does."""
    clusters = Cluster(brokers=1), Cluster(brokers=1, data=tmp_path)
    commands = [cluster.command("zookeeper") for cluster in clusters]
    for cluster in clusters:
        cluster.stop()
    assert [zookeeper.NOT_FORCED in command for command in commands] == [True, False]
