"""One broker of a cluster: its place, which it keeps, and its process, when it has one.

    place      number, port, DIR/broker-N
    process    launched ── "ready broker=N port=P" in its log ──> up <──> paused
                   ^                                               │
                   └───────────────── down <───────────────────────┘

While the broker is down nobody else gets its port: we are bound to it, but do not listen, so that
who connects is refused as by a machine with no broker on it.
"""

import shlex
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.client.cluster import ClusterView
from engine.client.connection import Address
from engine.cluster import room
from engine.cluster.child import Child
from engine.cluster.ports import HOST, port_taken, taken
from engine.cluster.state import Status
from engine.cluster.view import Member
from engine.errors import ErrorCode, KafkaError

START_TIMEOUT = 60.0  # seconds; recovery of large logs reports progress in broker.log
READY = "ready broker="
PAUSE = 0.01  # seconds between two looks


class Node:
    def __init__(
        self, number: int, port: int, directory: Path, settings: Mapping[str, str]
    ) -> None:
        self.number = number
        self.port = port  # 0 until its first start has found a free one
        self.directory = directory
        self.expected = True  # that it is up; if it is not then, it died by itself
        self._settings = settings
        self._child: Child | None = None
        self._held: socket.socket | None = None

    @property
    def child(self) -> Child:
        assert self._child is not None, "not started"
        return self._child

    @property
    def launched(self) -> bool:
        return self._child is not None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def status(self) -> Status:
        if self._child is None or not self._child.alive:
            return Status.DOWN
        return Status.PAUSED if self._child.paused else Status.UP

    @property
    def member(self) -> Member:
        return Member(self.status, self._child.pid if self._child else 0, self.port)

    # -- life ----------------------------------------------------------------------------

    def launch(self, zookeeper: str, environment: Mapping[str, str], keep: Sequence[int]) -> None:
        self.release()
        if self.port and port_taken(self.port):  # a port that it was given, or had before
            raise KafkaError(
                ErrorCode.invalid_config, f"broker {self.number} did not start: {taken(self.port)}"
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        self._child = Child(
            [sys.executable, "-m", *self.arguments(zookeeper)],
            self.directory / "broker.log",
            env=environment,
            keep=keep,
        )
        self.expected = True  # only now: others may look on, and the last one is dead

    def arguments(self, zookeeper: str) -> list[str]:
        settings = [
            part for key, value in self._settings.items() for part in ("--config", f"{key}={value}")
        ]
        return [
            *("engine", "broker", "--id", str(self.number), "--port", str(self.port)),
            *("--zookeeper", zookeeper, "--data", str(self.directory), *settings),
        ]

    def command(self, zookeeper: str) -> str:
        """What starts this broker by hand."""
        return shlex.join(["python", "-m", *self.arguments(zookeeper)])

    def await_ready(self) -> None:
        """A broker prints its port when it serves; it says why if it does not come so far."""
        child = self.child
        told = self._wait(lambda: READY in child.output())
        if not told:
            raise KafkaError(
                ErrorCode.broker_not_available,
                f"broker {self.number} did not start: {self.last_words()}"
                f"{room.hint(child.exit_code, child.output())}",
            )
        line = next(line for line in child.output().splitlines() if line.startswith(READY))
        self.port = int(line.rpartition("port=")[2])

    def await_cluster(self, others: set[int]) -> None:
        """Wait until it knows these brokers and a controller: it would tell so to any client."""
        with ClusterView([Address(HOST, self.port)]) as view:

            def knows() -> bool:
                view.refresh()
                known = view.metadata.brokers.keys()
                return view.metadata.controller in known and known >= others

            if not self._wait(knows):
                raise KafkaError(
                    ErrorCode.broker_not_available,
                    f"broker {self.number} ended: {self.last_words()}",
                )

    def _wait(self, condition: Callable[[], bool]) -> bool:
        """False if the process ended before the condition came true."""
        child, deadline = self.child, time.monotonic() + START_TIMEOUT
        while not condition():
            if not child.alive:
                return condition()
            if time.monotonic() > deadline:
                raise KafkaError(
                    ErrorCode.broker_not_available,
                    f"broker {self.number} is not ready after {START_TIMEOUT:.0f} s, "
                    f"see {child.log}",
                )
            time.sleep(PAUSE)
        return True

    def last_words(self) -> str:
        """Why it ended: the last line of its log, or how."""
        child = self.child
        code = child.exit_code
        lines = child.output().strip().splitlines()
        if code is not None and code < 0:
            return signal.Signals(-code).name
        return lines[-1] if lines else f"exit code {code}"

    # -- its port ------------------------------------------------------------------------

    def hold(self) -> None:
        """Keep the port while the broker is down. Somebody may have been quicker: then not."""
        if self._held is not None:
            return
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, self.port))
        except OSError:
            held.close()
        else:
            self._held = held

    def release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
