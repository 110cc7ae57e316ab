"""A process that has loaded all that a node needs, and is copied (fork) for each node.

A broker loads some 800 modules before it does anything, a controller some 550: most of a second of
one core for each. Here they are loaded once: first what the argument says, the rest when a node
needs it. So three controllers hold their election while the modules of brokers are loaded.

    python -m engine.node_template controller

Each message on standard input, a socket, asks for a node: its arguments, environment and directory,
and these open files:

    lifeline    for the watcher that ends the node when the cluster's owner has ended (child.py)
    status      the node's exit code is written there when it ends, as text
    log         what the node prints
    others      stay open in the node

The answer is its process id, or the number of an error of the system. The node is then as if it had
been started by `python -m engine ARGUMENTS`: a session of its own, the same watcher, and `ps` shows
that command.

The process ends when the other end of the socket is closed.

Invariant: there is one thread here. A copy of a process with more may find a lock that is held by a
thread which it does not have.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType

from engine.cli.main import main
from engine.cluster.child import WATCHER
from engine.cluster.node_launcher import LONGEST_MESSAGE, MOST_FILES, NodeRequest

MODULES = {"broker": "engine.cli.broker", "controller": "engine.cli.kraft.controller"}


class NodeTemplate:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._status_files: dict[int, int] = {}  # by process id: where its exit code is written

    def serve(self) -> NodeRequest | None:
        """Make a copy for each request. Each copy returns from here, with its request; the template
        itself returns None when the launcher has gone."""
        signal.signal(signal.SIGCHLD, self._reap)
        while True:
            text, files, _, _ = socket.recv_fds(self._requests, LONGEST_MESSAGE, MOST_FILES)
            if not text:
                return None
            request = NodeRequest(**json.loads(text))
            load(request.arguments[0])
            # The exit code of a copy has its place before the copy can end.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            try:
                pid = os.fork()
            except OSError as error:
                pid = -(error.errno or 1)
            if pid == 0:
                self._become_node(request, files)
                return request
            lifeline, status, *others = files
            for file in (lifeline, *others):
                os.close(file)
            if pid > 0:
                self._status_files[pid] = status
            else:
                os.close(status)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            self._requests.send(str(pid).encode())

    def _reap(self, number: int, frame: FrameType | None) -> None:
        """On SIGCHLD: write the exit codes of the copies that have ended."""
        with suppress(ChildProcessError):  # there is none any more
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                file = self._status_files.pop(pid)
                with suppress(BrokenPipeError):  # nobody wants to know
                    os.write(file, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(file)

    def _become_node(self, request: NodeRequest, files: Sequence[int]) -> None:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for file in self._status_files.values():
            os.close(file)
        for file in files:
            os.set_inheritable(file, False)
        os.chdir(request.directory)
        os.environ.clear()
        os.environ.update(request.environment)
        # `status` stays open: once it is closed, this process and its template have ended.
        lifeline, _status, log, *_others = files
        nothing = os.open(os.devnull, os.O_RDONLY)
        for file, standard in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(file, standard)
        os.close(nothing)
        os.close(log)
        watcher = ["/bin/sh", "-c", f"node={os.getpid()}\n{WATCHER}"]
        actions = [(os.POSIX_SPAWN_DUP2, lifeline, 1)]
        os.posix_spawn(watcher[0], watcher, os.environ, file_actions=actions)
        os.close(lifeline)
        show_in_ps([sys.executable, "-m", "engine", *request.arguments])


def load(kind: str) -> None:
    """Load what a node of this kind needs, unless it is loaded."""
    if MODULES[kind] not in sys.modules:
        import_module(MODULES[kind])
        gc.freeze()  # a collection in a copy would touch, and so copy, all the memory they share


def show_in_ps(command: Sequence[str]) -> None:
    """Write another command line over that of this process, as far as there is room for it."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end: see proc(5)
    text = "\0".join(command).encode()[: end - start - 1]
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def run() -> int:
    sys.modules["hypothesis"] = None  # type: ignore[assignment] # see __main__.py
    load(sys.argv[1])
    with socket.socket(fileno=os.dup(0)) as requests:
        request = NodeTemplate(requests).serve()
    return 0 if request is None else main(request.arguments)


if __name__ == "__main__":
    sys.exit(run())
