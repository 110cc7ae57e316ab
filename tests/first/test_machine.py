"""What a machine may have in store for a first hour: ports, an old Java, a proxy, a full disk."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import Cluster
from engine.cluster import ports
from engine.cluster.ports import taken
from engine.cluster.scratch import Scratch
from engine.cluster.zookeeper import ZookeeperServer
from engine.errors import ApiException
from tests.interop.watch import until
from widgets import ClusterView

OLD = """#!/bin/sh
echo 'java version "1.8.0_402"' >&2
"""
NOWHERE = "http://127.0.0.1:9"  # nobody listens on the port of discard
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_who_has_a_port_is_reported(busy_port: int) -> None:
    """Linux tells; elsewhere it is another program."""
    known = Path("/proc/self/comm")
    name = known.read_text().strip() if known.exists() else ""
    who = f"{name} (process {os.getpid()})" if name else "another program"
    assert taken(busy_port) == (
        f"port {busy_port} of 127.0.0.1 is taken by {who}: choose another, or 0 for any"
    )


def test_a_process_that_closes_files_meanwhile_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a kernel does, with its many threads."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(
        "head\n" + " ".join(["0:", "0100007F:2384", "0", "0A"] + ["0"] * 5 + ["99"])
    )
    (tmp_path / "net/tcp6").write_text("head\n")
    (tmp_path / "4711/fd").mkdir(parents=True)
    (tmp_path / "4711/comm").write_text("python\n")
    for number in (3, 4, 6, 7):
        (tmp_path / f"4711/fd/{number}").touch()  # no link any more
    (tmp_path / "4711/fd/5").symlink_to("socket:[99]")
    monkeypatch.setattr(ports, "PROC", tmp_path)
    assert "python (process 4711)" in taken(0x2384)


def test_a_cluster_on_a_busy_port_is_refused_in_one_line(busy_port: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "engine", "cluster", "--port", str(busy_port)]
    refused = subprocess.run(
        [*command, "--data", str(tmp_path / "data")], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert refused.stdout == ""
    last = refused.stderr.splitlines()[-1]
    assert f"broker 1 did not start: {taken(busy_port)}" in last


def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "jdk8"
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").write_text(OLD)
    (home / "bin/java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        assert server.address  # a newer one runs it: that of the wheel, or the machine's


def test_a_proxy_is_for_the_world_and_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.setenv(name, NOWHERE)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with Cluster() as cluster:
        cluster.admin.create_topic("orders")
        with cluster.producer() as producer:
            producer.produce("orders", value="two teas")
            assert producer.flush() == 0
        assert "/brokers" in {change.path for change in cluster.znodes().changes()}


def test_where_nothing_may_be_written_the_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root may write everywhere, so here it is a file that stands in the way."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(blocked))
    with pytest.raises(ApiException, match=rf"no temporary folder .*{blocked}.* Set TMPDIR"):
        Scratch()


def test_a_cluster_that_has_ended_says_so_and_comes_not_half_back() -> None:
    """Its picture may still stand in a notebook, with buttons to click."""
    with Cluster() as cluster:
        view = ClusterView(cluster)
    with pytest.raises(ApiException, match="this cluster has ended"):
        cluster.restart(1)
    view.do("restart", "1")
    until(lambda: "this cluster has ended" in view.trouble)
    assert not cluster.data.exists()
    cluster.stop()  # a second time, as a finalizer may
