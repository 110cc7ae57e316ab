"""A node of a cluster, a broker or a controller: its port, its directory, and its process.

    launched ── "ready ..." in its log ──> up <──> paused
        ^                                   │
        └─────────────── down <─────────────┘

While the node is down its port stays reserved: we bind it but do not listen, so that connections
are refused as on a machine without a node.
"""

import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.cluster import resources
from engine.cluster.child import ServerProcess
from engine.cluster.ports import bound, port_taken, taken
from engine.cluster.state_merger import ProcessState
from engine.errors import ApiException, ErrorCode, invalid_config

START_TIMEOUT_S = 60.0  # recovery of large logs reports progress in broker.log
CHECK_S = 0.01  # between two checks


class NodeProcess(ServerProcess):
    def __init__(self, port: int, name: str, directory: Path) -> None:
        super().__init__(port)
        self.name = name  # in sentences: "broker 1"
        self.directory = directory
        self.expected = True  # to be up; if it is down, it has ended by itself
        self._reserved: socket.socket | None = None

    @property
    def member(self) -> ProcessState:
        return ProcessState(self.status, self.pid, self.port)

    def prepare_port(self) -> None:
        """Before it is launched: a port that it was given, or had before, must be free."""
        if self.port and port_taken(self.port):
            raise invalid_config(f"{self.name} did not start: {taken(self.port)}")
        if self.port:
            self.reserve_port()

    def await_line(self, ready: str) -> str:
        """Wait until its log has a line that begins so, and return it."""
        child = self.child
        if not self.wait_for(lambda: ready in child.output()):
            raise ApiException(
                ErrorCode.broker_not_available,
                f"{self.name} did not start: {self.end_reason()}"
                f"{resources.hint(child.exit_code, child.output())}",
            )
        return next(line for line in child.output().splitlines() if line.startswith(ready))

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """False if the process ended before the condition came true."""
        child, deadline = self.child, time.monotonic() + START_TIMEOUT_S
        while not condition():
            if not child.alive:
                return condition()
            if time.monotonic() > deadline:
                raise ApiException(
                    ErrorCode.broker_not_available,
                    f"{self.name} is not ready after {START_TIMEOUT_S:.0f} s, see {child.log}",
                )
            time.sleep(CHECK_S)
        return True

    def end_reason(self) -> str:
        """Why it ended: the last line of its log, the signal, or the exit code."""
        child = self.child
        code = child.exit_code
        lines = child.output().strip().splitlines()
        if code is not None and code < 0:
            return signal.Signals(-code).name
        return lines[-1] if lines else f"exit code {code}"

    # -- its port ------------------------------------------------------------------------

    def reserve_port(self) -> None:
        """Bind the port while the broker is down and until it is ready, unless another program has
        it already. We do not listen there, so the broker can bind it, too.
        """
        if self._reserved is None:
            with suppress(OSError):
                self._reserved = bound(self.port)

    def release_port(self) -> None:
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None
