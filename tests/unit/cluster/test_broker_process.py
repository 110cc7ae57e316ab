"""A broker's place: the port that it keeps while it is down, and why it is down."""

import os
import socket
import sys

import pytest

from engine.cluster import node_process
from engine.cluster.broker_process import READY, BrokerProcess
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.state import Status
from engine.cluster.zookeeper import HOST, free_port
from engine.errors import ApiException
from tests.unit.cluster.script_launcher import ScriptLauncher


@pytest.fixture
def node(tmp_path):
    """Its process is a script instead of a broker."""
    node = BrokerProcess(7, free_port(), tmp_path / "broker-7", {"a": "b c"})

    def start(script, *keep):
        launcher = ScriptLauncher(tmp_path, script, keep)
        node.launch(MetadataAddress("nowhere:1"), {"GIVEN": "this"}, launcher)
        return node

    yield start
    if node.launched:
        node.child.kill()
    node.release_port()


def can_be_taken(port):
    with socket.socket() as thief:
        try:
            thief.bind((HOST, port))
        except OSError:
            return False
        return True


def test_a_held_port_is_nobody_s_and_refuses_connections(tmp_path):
    node = BrokerProcess(1, free_port(), tmp_path, {})
    node.reserve_port()
    node.reserve_port()  # whoever kills a dead broker once more changes nothing
    assert not can_be_taken(node.port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, node.port))
    node.release_port()
    assert can_be_taken(node.port)
    node.release_port()


def test_a_port_is_held_until_the_process_serves(tmp_path):
    """A Java process needs seconds until it binds, and clients connect from ports in between."""
    node, go = BrokerProcess(1, free_port(), tmp_path, {}), tmp_path / "go"
    lines = [
        "import os, socket, time",
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)",
        f"server = socket.create_server(({HOST!r}, {node.port}))",
        f"print('{READY}1 port={node.port}', flush=True)",
        "server.accept()",
    ]
    node.launch(MetadataAddress("nowhere:1"), {}, ScriptLauncher(tmp_path, "\n".join(lines)))
    try:
        assert not can_be_taken(node.port)
        go.touch()
        node.await_ready()
        assert node._reserved is None
        socket.create_connection((HOST, node.port)).close()
    finally:
        node.child.kill()


def test_the_next_start_has_other_settings(tmp_path):
    """Beside those that it had; secrets are in a file, of which the command has the name only."""
    node = BrokerProcess(1, 9092, tmp_path, {"a": "1", "b": "2"})
    secrets = tmp_path / "secrets.properties"
    node.configure({"b": "3"}, properties=secrets)
    arguments = node.arguments(MetadataAddress("nowhere:1"))
    assert [it for it in arguments if "=" in it] == ["a=1", "b=3"]
    assert arguments[arguments.index("--properties") + 1] == str(secrets)
    node.configure({"c": "4"}, port=9093)
    assert node.address == f"{HOST}:9093"
    assert str(secrets) in node.arguments(MetadataAddress("nowhere:1"))


def test_a_port_that_is_taken_already_is_not_held(tmp_path):
    with socket.create_server((HOST, 0)) as other:
        node = BrokerProcess(1, other.getsockname()[1], tmp_path, {})
        node.reserve_port()
    assert can_be_taken(node.port)


def test_until_there_is_a_new_process_nobody_wonders_that_the_old_one_is_dead(tmp_path):
    node, seen = BrokerProcess(1, free_port(), tmp_path, {}), []
    node.expected = False

    class Watching(ScriptLauncher):
        def launch(self, *_):
            seen.append(node.expected)

    node.launch(MetadataAddress("nowhere:1"), {}, Watching(tmp_path, ""))
    assert (seen, node.expected) == ([False], True)
    node.release_port()


def test_what_starts_it_by_hand(tmp_path):
    node = BrokerProcess(7, 9092, tmp_path, {"a": "b c"})
    assert node.command(MetadataAddress("127.0.0.1:2181")) == (
        f"{sys.executable} -m engine broker --id 7 --port 9092 --zookeeper 127.0.0.1:2181 "
        f"--data {tmp_path} --config 'a=b c'"
    )
    assert node.status is Status.DOWN


def test_it_is_ready_when_it_says_so_and_then_its_port_is_known(node):
    says = "print('first'); print('ready broker=7 port=4711', flush=True)"
    up = node(f"{says}; import time; time.sleep(600)")
    up.await_ready()
    assert up.port == 4711


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("print('one'); print('two'); raise SystemExit(3)", "two"),
        ("import os; os._exit(3)", "exit code 3"),
        ("import os, signal; print('x'); os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ],
)
def test_why_it_did_not_start(node, script, reason):
    down = node(script)
    with pytest.raises(ApiException, match=f"broker 7 did not start: {reason}"):
        down.await_ready()
    assert down.status is Status.DOWN


def test_its_process_has_the_environment_and_the_files_that_it_is_given(node):
    reader, end = os.pipe()
    with open(reader, "rb") as told:
        up = node(f"import os; os.write({end}, os.environ['GIVEN'].encode())", end)
        os.close(end)
        assert up.child.wait(20) == 0
        assert told.read() == b"this"


def test_what_takes_too_long_is_not_waited_for_for_ever(node, monkeypatch):
    monkeypatch.setattr(node_process, "START_TIMEOUT_S", 0.1)
    slow = node("import time; time.sleep(600)")
    with pytest.raises(ApiException, match="not ready after 0 s, see"):
        slow.await_ready()
    slow.child.pause()
    assert slow.member == (Status.PAUSED, slow.child.pid, slow.port)
