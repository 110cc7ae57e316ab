"""Starts the nodes of a cluster: brokers, and controllers.

    Cluster ── NodeLauncher ── request ──> node template ── fork ──> broker 1
                                                          ── fork ──> broker 2 ...

On Linux a node is a copy of one process that has loaded the engine (engine/node_template.py):
it is there after some milliseconds, where Python needs most of a second of one core to load it, and
what was loaded is in memory once. Elsewhere each node is started as `python -m engine broker ...`;
a system may not bear copies of a process that has used its own libraries (macOS).

A node is a process as any other: it is killed, paused, and started by hand with the same command.

A cluster has a template of its own, so that one that is made after a change of the engine runs the
new code. Tests, which make hundreds of clusters, share one.

Invariant: a template ends with the launcher that made it, and one that has died is started anew.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from engine.cluster.child import Child, Launch, RunningProcess, spawn
from engine.cluster.scratch import Scratch
from engine.errors import ApiException, ErrorCode

COPIES = sys.platform == "linux"
TEMPLATE = "engine.node_template"
LONGEST_MESSAGE = 192 * 1024  # bytes of a request for a node
MOST_FILES = 8  # that come with it
ROOM_FOR_COMMAND = 16 * 1024  # characters: `ps` shows the command of a copy in place of this
STOP_TIMEOUT_S = 5.0
LOST = 255  # the exit code of a node that has ended after its template was killed


# Of a node: what is started, where it prints, and what is added to the environment.
Start = Callable[[Sequence[str], Path, Mapping[str, str]], Child]


class NodeRequest(NamedTuple):
    """What a copy of the template is asked to be."""

    arguments: list[str]  # of `python -m engine`
    environment: dict[str, str]
    directory: str


class TemplateProcess:
    """The node template, seen from the process that asks it for nodes."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        self.process: Child | None = None
        self._requests: socket.socket | None = None
        self._owed = 0  # answers that are still to be read

    def start(self, kind: str) -> None:
        """Load the engine, what nodes of this kind need first; unless it is loaded."""
        with self._lock:
            if self.process is not None and self.process.alive:
                return
            if self._requests is not None:
                self._requests.close()
            self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._owed = 0
            with theirs:
                self._log.parent.mkdir(parents=True, exist_ok=True)
                command = [sys.executable, "-m", TEMPLATE, kind, " " * ROOM_FOR_COMMAND]
                self.process = Child(command, self._log, stdin=theirs.fileno())

    def stop(self) -> None:
        with self._lock:
            if self._requests is not None and self.process is not None:
                self._requests.close()
                self.process.terminate(STOP_TIMEOUT_S)
            self._requests = self.process = None

    def ask(self, request: NodeRequest, files: Sequence[int]) -> int:
        """Ask for a node. Returns the process id of the copy."""
        text = json.dumps(request._asdict()).encode()
        with self._lock:
            assert self._requests is not None, "start() was called"
            try:
                socket.send_fds(self._requests, [text], files)
                self._owed += 1
                while self._owed:  # those before ours are of requests that were interrupted
                    answer = self._requests.recv(64)
                    self._owed -= 1
            except ConnectionError:
                answer = b""
        if not answer:
            why = f"no node can be started, the process that loads the engine ended: {self._log}"
            raise ApiException(ErrorCode.broker_not_available, why)
        if (pid := int(answer)) < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid


class NodeLauncher:
    shared: ClassVar[TemplateProcess | None] = None  # by all clusters of a process; None: by none

    def __init__(self, data: Path, scratch: Scratch | None = None) -> None:
        """`data`: the directory of the cluster, which may be a temporary one."""
        self.keep = [scratch.end] if scratch else []  # files that stay open in the nodes
        self._is_own = self.shared is None
        self._template = self.shared or TemplateProcess(data / "launcher.log")

    def start(self, kind: str) -> None:
        """Load the engine while something else starts: the first node, a broker or a controller,
        will be there sooner."""
        if COPIES:
            self._template.start(kind)

    def launch(self, arguments: Sequence[str], log: Path, env: Mapping[str, str]) -> Child:
        """Start `python -m engine ARGUMENTS`; `env` is added to this process's environment."""
        self.start(arguments[0])
        start = self._copy if COPIES else spawn
        command = [sys.executable, "-m", "engine", *arguments]
        return Child(command, log, env=env, keep=self.keep, start=start)

    def run(self, command: Sequence[str], log: Path, env: Mapping[str, str]) -> Child:
        """Start another program as a node: Java, for a broker of Apache Kafka."""
        return Child(command, log, env=env, keep=self.keep)

    def stop(self) -> None:
        """End the template, unless it is shared. All nodes have ended before."""
        if self._is_own:
            self._template.stop()

    def _copy(self, launch: Launch) -> RunningProcess:
        """Have the template start a process: a copy of it becomes the node."""
        environment = {**os.environ, **launch.env}
        request = NodeRequest([*map(str, launch.command[3:])], environment, os.getcwd())
        reader, status = os.pipe()
        process = CopiedProcess(reader)
        try:
            files = [launch.lifeline, status, launch.log, *launch.keep]
            process.pid = self._template.ask(request, files)
        finally:
            os.close(status)
        return process


class CopiedProcess:
    """A copy of the template. `status` is where the template writes its exit code."""

    def __init__(self, status: int) -> None:
        self.pid = 0
        self._lock = threading.Lock()
        self._code: int | None = None
        self._status = status
        weakref.finalize(self, os.close, status)

    def poll(self) -> int | None:
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended just now
                os.kill(self.pid, sig)

    def _wait(self, timeout: float | None) -> int | None:
        if self._code is None and _readable(self._status, timeout):
            with self._lock:
                if self._code is None:
                    told = os.read(self._status, 16)
                    self._code = int(told) if told else LOST
        return self._code


def _readable(file: int, timeout: float | None) -> bool:
    """Whether the file can be read, or has been closed at its other end, within `timeout` s."""
    poll = select.poll()  # one that several threads share refuses the second
    poll.register(file, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))
