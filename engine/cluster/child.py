"""A child process that can be killed, paused and resumed, and never outlives its parent.

A notebook kernel can end in many ways: interrupted, restarted, shut down without its atexit
handlers, killed by SIGKILL. In every case the system closes the kernel's files. So the parent
holds one end of a socket pair, the lifeline, and the child ends when that end is closed:

    parent                         process group of the child
    ┌────────────┐    lifeline     ┌──────────────────────────────────────┐
    │ Child ─────┼────────────────>│ sh: read, or SIGTERM, 1 s, SIGKILL   │
    │            │    signals      │   │                                  │
    │        pid ┼────────────────>│ the command itself (exec, same pid)  │
    └────────────┘                 └──────────────────────────────────────┘

A shell starts the watcher in the background, then becomes the command: the process id, the
exit code and the signals are those of the command, Python or a JVM. The watcher is a process of
its own, so it can end the command even when the command is paused or stuck.

Invariant: the parent's end of the lifeline exists in the parent only. It is closed on exec, and in
a forked copy of the parent too; with one more copy open the watcher would never see its end.
Invariant: the child is not in the parent's process group, because interrupting a kernel sends
SIGINT to the whole group.
"""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from engine.cluster.ports import HOST
from engine.cluster.state import Status

# The shell reads and writes the lifeline as its stdout, and the log is its stderr: any other
# descriptor number could be one that the command inherits.
WATCHER = """
    echo watching
    read -r released <&1 && exit
    kill -TERM $node
    sleep 1
    kill -KILL 0
"""
WATCH = f"""
node=$$
{{ {WATCHER} }} &
exec "$@" >&2
"""


class RunningProcess(Protocol):
    """A process that was started; `subprocess.Popen` is one."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None:
        """Does nothing once the process has ended."""


class Launch(NamedTuple):
    """A command that shall run, in a session of its own and with a watcher beside it."""

    command: Sequence[str | Path]
    stdin: int
    lifeline: int  # the watcher's end
    log: int  # where it prints
    keep: Sequence[int]  # files that it inherits
    env: Mapping[str, str]  # added to the parent's environment
    cwd: Path | None


def spawn(launch: Launch) -> RunningProcess:
    return subprocess.Popen(
        ["/bin/sh", "-c", WATCH, "sh", *launch.command],
        stdin=launch.stdin,
        stdout=launch.lifeline,
        stderr=launch.log,
        cwd=launch.cwd,
        env=os.environ | launch.env,
        pass_fds=launch.keep,
        start_new_session=True,
    )


class Child:
    """One running process, its output in a log file (appended to, so that a restart adds)."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,  # added to the parent's environment
        keep: Sequence[int] = (),  # file descriptors that the child inherits, locks for instance
        stdin: int = subprocess.DEVNULL,
        start: Callable[[Launch], RunningProcess] = spawn,
    ) -> None:
        self.log = log
        self.paused = False
        self._releasing = threading.Lock()
        self._lifeline, theirs = socket.socketpair()
        with theirs, log.open("ab") as output:
            self._start = output.tell()  # where this run's part of the log begins
            files = (stdin, theirs.fileno(), output.fileno(), keep)
            try:
                self._process = start(Launch(command, *files, env or {}, cwd))
            except BaseException:
                self._lifeline.close()
                raise
        # Wait until the watcher runs: an earlier signal would stop the shell instead of the
        # command, and if the parent died now, nothing would end the child.
        self._lifeline.recv(64)
        _running.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """A paused child is alive: it has the memory and the files, and comes back as it was."""
        return self.exit_code is None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it, so -9 is SIGKILL."""
        code = self._process.poll()
        if code is not None:
            self._release()
        return code

    def kill(self) -> None:
        """SIGKILL, as in a crash: the process closes no session and writes nothing more."""
        self._send(signal.SIGKILL)
        self.wait()

    def pause(self) -> None:
        """SIGSTOP, as in a long garbage collection: connections stay open, nothing is answered."""
        self._send(signal.SIGSTOP)
        self.paused = self.alive

    def resume(self) -> None:
        self.paused = False
        self._send(signal.SIGCONT)

    def ask_to_end(self) -> None:
        """SIGTERM. A paused process is resumed, since it handles no signal while paused."""
        self._send(signal.SIGTERM)
        if self.paused:
            self.resume()

    def terminate(self, timeout: float = 10.0) -> int:
        """Ask it to shut down; kill it if it has not ended in time."""
        end_all([self], timeout)
        return self.wait()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once there is one; `subprocess.TimeoutExpired` if there is none yet."""
        code = self._process.wait(timeout)
        self._release()
        return code

    def output(self) -> str:
        """What this run, and none before it, wrote to the log."""
        with self.log.open("rb") as log:
            log.seek(self._start)
            return log.read().decode(errors="replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.terminate()

    def _send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)  # does nothing once the exit code is known

    def _release(self) -> None:
        """The command has ended: stop the watcher.

        Two threads may notice this at the same time, one that kills and one that only checks.
        """
        self.paused = False
        with self._releasing:
            if self._lifeline.fileno() != -1:  # not closed yet
                _running.discard(self)
                with self._lifeline, contextlib.suppress(ConnectionError):  # it may have ended too
                    self._lifeline.sendall(b"released\n")


class ServerProcess:
    """A server on this machine: its port, and its process while it runs."""

    def __init__(self, port: int) -> None:
        self.port = port  # 0 until the start has found a free one
        self._child: Child | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def launched(self) -> bool:
        return self._child is not None

    @property
    def child(self) -> Child:
        """The process, to kill, pause and resume."""
        assert self._child is not None, "not started"
        return self._child

    @property
    def pid(self) -> int:
        """Of the process that runs, or ran last; 0: none has run."""
        return self._child.pid if self._child else 0

    @property
    def status(self) -> Status:
        if self._child is None or not self._child.alive:
            return Status.DOWN
        return Status.PAUSED if self._child.paused else Status.UP


def end_all(children: Sequence[Child], patience: float) -> None:
    """Ask all of them to shut down; kill those that still run after `patience` seconds."""
    for child in children:
        child.ask_to_end()
    deadline = time.monotonic() + patience
    for child in children:
        try:
            child.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            child.kill()


_running: weakref.WeakSet[Child] = weakref.WeakSet()


def _close_lifelines() -> None:
    """In a forked copy of the parent (a multiprocessing worker): these are not its children."""
    for child in list(_running):
        child._lifeline.close()


os.register_at_fork(after_in_child=_close_lifelines)
