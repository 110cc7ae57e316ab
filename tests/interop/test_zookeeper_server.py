"""The embedded ZooKeeper: kept, restarted, crowded out, orphaned; and the command that runs one."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from engine.cluster import zookeeper
from engine.cluster.zookeeper import PortTaken, StartError, ZookeeperServer

ROOT = Path(__file__).resolve().parents[2]

PARENT = """
import sys
from pathlib import Path
from engine.cluster.zookeeper import ZookeeperServer
with ZookeeperServer(Path(sys.argv[1])) as server:
    print(server.child.pid, server.port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


def with_client(server, work):
    client = KazooClient(server.address)
    client.start()
    try:
        return work(client)
    finally:
        client.stop()
        client.close()


def test_it_serves_on_loopback_only_and_says_so(server):
    assert server.address == f"127.0.0.1:{server.port}"
    assert zookeeper.ask(server.port, "ruok") == "imok"
    told = dict(line.split("=") for line in zookeeper.ask(server.port, "conf").splitlines())
    assert (told["tickTime"], told["minSessionTimeout"], told["maxClientCnxns"]) == (
        "200", "400", "0",
    )  # fmt: skip
    listening = socket.socket()
    with listening:
        assert listening.connect_ex((outside_address(), server.port)) != 0


def outside_address():
    """This machine's own address on a network; 127.0.0.2 where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; only chooses a way out
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.2"


@pytest.mark.parametrize("end", [pytest.param("stopped", marks=pytest.mark.long), "killed"])
def test_znodes_survive_a_restart(tmp_path, end):
    directory = tmp_path / "a directory called žížala"
    with ZookeeperServer(directory) as server:
        with_client(server, lambda client: client.create("/kept/deep", b"value", makepath=True))
        if end == "killed":
            server.child.kill()
    with ZookeeperServer(directory) as server:
        assert with_client(server, lambda client: client.get("/kept/deep"))[0] == b"value"


def test_it_moves_on_when_a_free_port_is_taken_under_its_nose(tmp_path, monkeypatch):
    with socket.socket() as other:
        other.bind((zookeeper.HOST, 0))
        other.listen()
        ports = iter([other.getsockname()[1], zookeeper.free_port()])
        monkeypatch.setattr(zookeeper, "free_port", lambda: next(ports))
        with ZookeeperServer(tmp_path) as server:
            assert server.port != other.getsockname()[1]
            assert next(ports, None) is None


def test_a_fixed_port_taken_under_its_nose_is_told(tmp_path, monkeypatch, server):
    """The other program being a ZooKeeper too: its answers are not taken for ours."""
    monkeypatch.setattr(zookeeper, "port_taken", lambda port: False)
    with pytest.raises(PortTaken, match=f"port {server.port} .* is taken"):
        ZookeeperServer(tmp_path, server.port).start()


def test_two_servers_never_share_a_directory(server, monkeypatch):
    monkeypatch.setattr(zookeeper, "LOCK_TIMEOUT_S", 0)
    with pytest.raises(StartError, match="another ZooKeeper runs in"):
        ZookeeperServer(server.data_dir).start()


@pytest.mark.parametrize("state", [pytest.param("running", marks=pytest.mark.long), "paused"])
def test_the_jvm_goes_when_its_parent_is_killed_and_frees_the_directory(tmp_path, state):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as parent:
        assert parent.stdout is not None
        server, port = map(int, parent.stdout.readline().split())
        if state == "paused":
            os.kill(server, signal.SIGSTOP)
        parent.kill()
    lock = zookeeper._lock(tmp_path / "zookeeper.lock")  # waits until nobody holds it, 5 s at most
    os.close(lock)
    assert not zookeeper.port_taken(port)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_runs_until_it_is_told_to_stop(tmp_path, number):
    script = "import argparse, sys; from engine.cli import zookeeper as command; " + (
        "p = argparse.ArgumentParser(); command.add_arguments(p); "
        "sys.exit(command.run(p.parse_args()))"
    )
    data = tmp_path / "data"
    with subprocess.Popen(
        [sys.executable, "-c", script, "--port", "0", "--data", str(data)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as command:
        assert command.stdout is not None
        ready = dict(part.split("=") for part in command.stdout.readline().split()[1:])
        assert ready["data"] == str(data)
        port = int(ready["zookeeper"].removeprefix("127.0.0.1:"))
        assert zookeeper.ask(port, "ruok") == "imok"
        command.send_signal(number)
        assert command.wait(10) == 0
    assert not zookeeper.port_taken(port)
