"""One broker of a cluster: its number, port and directory, and its process while it runs.

    launched ── "ready broker=N port=P" in its log ──> up <──> paused
        ^                                               │
        └───────────────── down <───────────────────────┘

While the broker is down its port stays reserved: we bind it but do not listen, so that connections
are refused as on a machine without a broker.
"""

import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.cluster import resources
from engine.cluster.child import Child, ServerProcess
from engine.cluster.ports import HOST, bound, port_taken, taken
from engine.cluster.state_merger import ProcessState
from engine.errors import ApiException, ErrorCode, invalid_config

if TYPE_CHECKING:  # loaded only for a cluster that is secured
    from engine.cluster.security.cluster_security import ClusterSecurity

START_TIMEOUT_S = 60.0  # recovery of large logs reports progress in broker.log
READY = "ready broker="
CHECK_S = 0.01  # between two checks


class BrokerProcess(ServerProcess):
    is_kafka = False  # a broker of Apache Kafka, which has no debug server

    def __init__(
        self,
        number: int,
        port: int,
        directory: Path,
        settings: Mapping[str, str],
        security: "ClusterSecurity | None" = None,
        rules: Mapping[str, Path] | None = None,  # that a learner wrote: the file of each
    ) -> None:
        super().__init__(port)
        self.number = number
        self.directory = directory
        self.expected = True  # to be up; if it is down, it has ended by itself
        self._settings = settings
        self._security = security
        self._rules = rules or {}
        self._properties: Path | None = None  # the file with its secrets
        self._reserved: socket.socket | None = None

    def configure(
        self,
        settings: Mapping[str, str],
        *,
        properties: Path | None = None,
        security: "ClusterSecurity | None" = None,
        port: int = 0,
    ) -> None:
        """The next start is with these settings, too; the process that runs goes on as it is.

        `properties`: a file with secrets. `security` makes one itself, and from now on the broker
        is reached by its protocol at `port`.
        """
        self._settings = {**self._settings, **settings}
        self._properties = properties or self._properties
        self._security = security or self._security
        self.port = port or self.port

    @property
    def security_settings(self) -> dict[str, str]:
        """TLS and SASL of a client that is the brokers' own user."""
        return self._security.settings() if self._security else {}

    @property
    def member(self) -> ProcessState:
        return ProcessState(self.status, self.pid, self.port)

    # -- start ---------------------------------------------------------------------------

    def launch(self, zookeeper: str, environment: Mapping[str, str], keep: Sequence[int]) -> None:
        if self.port and port_taken(self.port):  # a port that it was given, or had before
            raise invalid_config(f"broker {self.number} did not start: {taken(self.port)}")
        if self.port:
            self.reserve_port()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_settings(zookeeper)
        arguments, log = self.arguments(zookeeper), self.directory / "broker.log"
        self._child = Child(arguments, log, env=environment, keep=keep)
        self.expected = True  # only now: another thread may check it, and the old one is dead

    def _write_settings(self, zookeeper: str) -> None:
        """Those that are no arguments."""
        if self._security is not None:
            self._properties = self._security.properties(self.number, self.port)

    def arguments(self, zookeeper: str, python: str = sys.executable) -> list[str]:
        settings = [
            part for key, value in self._settings.items() for part in ("--config", f"{key}={value}")
        ]
        secret = [] if self._properties is None else ["--properties", str(self._properties)]
        rules = [part for name, it in self._rules.items() for part in ("--rule", f"{name}={it}")]
        return [
            *(python, "-m", "engine", "broker", "--id", str(self.number)),
            *("--port", str(self.port)),
            *("--zookeeper", zookeeper, "--data", str(self.directory), *secret, *rules, *settings),
        ]

    def command(self, zookeeper: str) -> str:
        """The command that starts this broker by hand."""
        return shlex.join(self.arguments(zookeeper, "python"))

    def await_ready(self) -> None:
        """Wait for the line with its port, which it prints when it serves."""
        child = self.child
        if not self._wait(lambda: READY in child.output()):
            raise ApiException(
                ErrorCode.broker_not_available,
                f"broker {self.number} did not start: {self.end_reason()}"
                f"{resources.hint(child.exit_code, child.output())}",
            )
        line = next(line for line in child.output().splitlines() if line.startswith(READY))
        self.port = int(line.rpartition("port=")[2])
        self.release_port()

    def await_cluster(self, others: set[int]) -> None:
        """Wait until its metadata contain these brokers and a controller."""
        address = Address(HOST, self.port)
        with ClusterClient([address], security=self.security_settings) as view:

            def knows() -> bool:
                view.refresh()
                known = view.metadata.brokers.keys()
                return view.metadata.controller in known and known >= others

            if not self._wait(knows):
                raise ApiException(
                    ErrorCode.broker_not_available,
                    f"broker {self.number} ended: {self.end_reason()}",
                )

    def _wait(self, condition: Callable[[], bool]) -> bool:
        """False if the process ended before the condition came true."""
        child, deadline = self.child, time.monotonic() + START_TIMEOUT_S
        while not condition():
            if not child.alive:
                return condition()
            if time.monotonic() > deadline:
                raise ApiException(
                    ErrorCode.broker_not_available,
                    f"broker {self.number} is not ready after {START_TIMEOUT_S:.0f} s, "
                    f"see {child.log}",
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
