"""Nodes that are copies of a process which has loaded the engine: they are as any process.

A controller that is the only voter is the node here: it needs nobody else.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.cluster import node_launcher
from engine.cluster.child import Child
from engine.cluster.node_launcher import LOST, NodeLauncher, NodeRequest, TemplateProcess
from engine.cluster.ports import free_port
from engine.errors import ApiException
from engine.raft.bootstrap import format_directory, random_id
from tests.interop.watch import until

OWNER = """
import os, sys
from pathlib import Path
from engine.cluster.node_launcher import NodeLauncher
folder, *arguments = sys.argv[1:]
launcher = NodeLauncher(Path(folder))
node = launcher.launch(arguments, Path(folder) / "log", {})
print(node.pid, flush=True)
os.read(0, 1)
"""


class Nodes:
    def __init__(self, folder: Path, launcher: NodeLauncher) -> None:
        self.folder, self.launcher = folder, launcher

    def arguments(self) -> list[str]:
        data, port = self.folder / "controller", str(free_port())
        if not data.exists():
            format_directory(data, 1, random_id(), 0)
        at = f"1@127.0.0.1:{port}"
        return ["controller", "--id", "1", "--port", port, "--voters", at, "--data", str(data)]

    def launch(self, **env: str) -> Child:
        return self.launcher.launch(self.arguments(), self.folder / "log", env)

    def ready(self, **env: str) -> Child:
        node = self.launch(**env)
        until(lambda: "ready controller=1" in node.output())
        return node

    @property
    def template(self) -> Child:
        process = self.launcher._template.process
        assert process is not None
        return process


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    monkeypatch.setattr(NodeLauncher, "shared", None)
    with ExitStack() as stack:
        launcher = NodeLauncher(tmp_path)
        stack.callback(launcher.stop)
        yield Nodes(tmp_path, launcher)


def ps(pid: int, field: str) -> str:
    told = subprocess.run(
        ["ps", "-ww", "-o", f"{field}=", "-p", str(pid)],
        check=False,
        capture_output=True,
        text=True,
    )
    return told.stdout.strip()


def test_a_node_ends_as_it_is_told_and_its_exit_code_is_known(nodes: Nodes) -> None:
    polite = nodes.ready()
    assert polite.terminate() == 0
    killed = nodes.ready()
    killed.pause()
    until(lambda: ps(killed.pid, "stat").startswith("T"))
    killed.resume()
    killed.kill()
    assert killed.exit_code == -signal.SIGKILL
    assert not ps(killed.pid, "stat")
    wrong = nodes.launcher.launch(["broker", "--idd", "1"], nodes.folder / "log", {})
    assert wrong.wait(20) == 2
    assert "--idd" in wrong.output()


def test_ps_has_its_command_and_it_leads_a_session(nodes: Nodes) -> None:
    with nodes.ready() as node:
        command = ps(node.pid, "args").split()
        assert command[:4] == [sys.executable, "-m", "engine", "controller"]
        assert str(nodes.folder / "controller") in command
        assert ps(node.pid, "sid") == ps(node.pid, "pgid") == str(node.pid)


def test_it_has_the_environment_and_the_directory_of_now(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.launcher.start("controller")  # and brokers are started below
    monkeypatch.setenv("COLUMNS", "40")  # argparse breaks its lines there
    monkeypatch.chdir(nodes.folder)
    (nodes.folder / "here.properties").write_text("no.such.key=1")
    lines = []
    for env in {}, {"COLUMNS": "120"}:
        node = nodes.launcher.launch(["broker", "--help"], nodes.folder / "log", env)
        assert node.wait(20) == 0
        lines.append(len(node.output().splitlines()))
    assert lines[0] > lines[1]
    arguments = ["broker", "--id", "1", "--data", "d", "--properties", "here.properties"]
    node = nodes.launcher.launch(arguments, nodes.folder / "log", {})
    node.wait(20)
    assert "no.such.key" in node.output()


def test_it_ends_when_its_owner_is_killed(nodes: Nodes) -> None:
    command = [sys.executable, "-c", OWNER, str(nodes.folder), *nodes.arguments()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        template = int(ps(pid, "ppid"))
        os.kill(pid, signal.SIGSTOP)  # also a paused one
        owner.kill()
    until(lambda: not ps(pid, "stat") and not ps(template, "stat"))


def test_nodes_outlive_the_template_and_a_new_one_is_made(nodes: Nodes) -> None:
    older = nodes.ready()
    nodes.template.kill()
    assert older.alive
    older.kill()
    assert older.exit_code == LOST  # nobody was there to see how it ended
    with nodes.ready() as younger:
        assert younger.alive


def test_a_template_that_cannot_start_is_told_with_its_log(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_launcher, "TEMPLATE", "engine.no_such_module")
    with pytest.raises(ApiException, match=r"no node can be started, .*launcher\.log"):
        nodes.launch()
    assert "no_such_module" in (nodes.folder / "launcher.log").read_text()


def test_nothing_is_left_of_a_launcher_that_has_stopped(nodes: Nodes) -> None:
    with nodes.ready() as node:
        template, files = nodes.template.pid, len(os.listdir("/proc/self/fd"))
    nodes.launcher.stop()
    assert not ps(template, "stat") and not ps(node.pid, "stat")
    del node
    until(lambda: len(os.listdir("/proc/self/fd")) < files)


def test_many_at_once_and_each_has_its_own_exit_code(nodes: Nodes) -> None:
    words = [["broker", "--help"], ["broker", "--idd"]] * 20
    log = nodes.folder / "log"
    made = [nodes.launcher.launch(each, log, {}) for each in words]
    deadline = time.monotonic() + 60
    assert [it.wait(deadline - time.monotonic()) for it in made] == [0, 2] * 20


def test_where_copies_are_not_made_a_node_is_started_by_python(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_launcher, "COPIES", False)
    with nodes.ready() as node:
        assert nodes.launcher._template.process is None
        assert ps(node.pid, "ppid") == str(os.getpid())


def test_launchers_that_share_a_template_leave_it_running(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = TemplateProcess(nodes.folder / "shared.log")
    monkeypatch.setattr(NodeLauncher, "shared", shared)
    parents = []
    for name in "first", "second":
        launcher = NodeLauncher(nodes.folder / name)
        node = launcher.launch(["broker", "--help"], nodes.folder / "log", {})
        parents.append(shared.process)
        assert node.wait(20) == 0
        launcher.stop()
    assert parents[0] is parents[1] is not None
    assert parents[0].alive
    shared.stop()
    assert not parents[0].alive


def test_an_answer_that_an_interrupt_left_unread_is_not_taken_for_the_next(tmp_path: Path) -> None:
    template = TemplateProcess(tmp_path / "log")
    template._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with template._requests, theirs:
        template._owed = 1
        for answer in b"111", b"222", b"333":
            theirs.send(answer)
        requests = [template.ask(NodeRequest([], {}, "/"), [theirs.fileno()]) for _ in range(2)]
    assert requests == [222, 333]
