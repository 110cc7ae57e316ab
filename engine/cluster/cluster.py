"""A cluster on this machine: a ZooKeeper, and one operating-system process per broker.

    DIR/zookeeper/     ZooKeeper's znodes and log
    DIR/broker-1/      a broker's log directory, its broker.pid and its broker.log
    DIR/broker-2/ ...

    with Cluster(brokers=1) as cluster:
        print(cluster.bootstrap)

Everything listens on 127.0.0.1. Without a directory of its own a cluster lives in a temporary
one, which goes with it. Nothing outlives the process that made the cluster (child.py).
"""

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from engine.cluster.child import Child
from engine.cluster.zookeeper import HOST, Zookeeper
from engine.errors import ErrorCode, KafkaError

START_TIMEOUT = 60.0  # seconds; recovery of large logs reports progress in broker.log
READY = "ready broker="


class Cluster:
    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        data: Path | str | None = None,
        zookeeper: str | None = None,
        config: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`port` is the first broker's, the others follow; 0 takes free ones.

        `report` is told what is being waited for.
        """
        if brokers != 1:
            raise KafkaError(
                ErrorCode.invalid_config,
                f"a cluster of {brokers} brokers needs replication, which is still being built; "
                "start one with brokers=1",
            )
        self._temporary = data is None
        self.data = Path(tempfile.mkdtemp(prefix="brokerlab-") if data is None else data).resolve()
        self._config = dict(config or {})
        self._server = None if zookeeper else Zookeeper(self.data / "zookeeper")
        self._zookeeper = zookeeper or ""
        self._ports = {number + 1: port + number if port else 0 for number in range(brokers)}
        self._children: dict[int, Child] = {}
        self._report = report

    @property
    def zookeeper(self) -> str:
        """HOST:PORT of the ZooKeeper in use."""
        return self._server.address if self._server else self._zookeeper

    @property
    def bootstrap(self) -> str:
        """What clients want as bootstrap.servers."""
        return ",".join(f"{HOST}:{port}" for port in self._ports.values())

    def directory(self, broker: int) -> Path:
        return self.data / f"broker-{broker}"

    # -- life ----------------------------------------------------------------------------

    def start(self) -> Self:
        """Returns once every broker is registered and serves."""
        try:
            if self._server:
                self._report("starting ZooKeeper")
                self._server.start()
            for broker in self._ports:
                self._launch(broker)
            for broker in self._ports:
                self._report(f"starting broker {broker}")
                self._await_ready(broker)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        for child in self._children.values():
            child.terminate()
        if self._server:
            self._server.stop()
        if self._temporary:
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- faults --------------------------------------------------------------------------

    def kill(self, broker: int) -> None:
        """SIGKILL: as a crash of the machine, but for the page cache."""
        self._children[broker].kill()

    def pause(self, broker: int) -> None:
        """SIGSTOP: as a long garbage collection."""
        self._children[broker].pause()

    def resume(self, broker: int) -> None:
        self._children[broker].resume()

    def restart(self, broker: int) -> None:
        """Start a broker that is down, on the same port and directory."""
        self._children[broker].terminate()
        self._launch(broker)
        self._await_ready(broker)

    # -- processes -----------------------------------------------------------------------

    @property
    def brokers(self) -> list[int]:
        return list(self._ports)

    def child(self, broker: int) -> Child:
        return self._children[broker]

    def command(self, broker: int) -> str:
        """What starts this broker by hand."""
        return shlex.join(["python", "-m", *self._arguments(broker)])

    def _arguments(self, broker: int) -> list[str]:
        settings = [
            part for key, value in self._config.items() for part in ("--config", f"{key}={value}")
        ]
        return [
            *("engine", "broker", "--id", str(broker), "--port", str(self._ports[broker])),
            *("--zookeeper", self.zookeeper, "--data", str(self.directory(broker)), *settings),
        ]

    def _launch(self, broker: int) -> None:
        directory = self.directory(broker)
        directory.mkdir(parents=True, exist_ok=True)
        self._children[broker] = Child(
            [sys.executable, "-m", *self._arguments(broker)], directory / "broker.log"
        )

    def _await_ready(self, broker: int) -> None:
        """A broker prints its port when it serves; it says why if it does not come so far."""
        child, deadline = self._children[broker], time.monotonic() + START_TIMEOUT
        while True:
            output = child.output()
            if READY in output:
                line = next(line for line in output.splitlines() if line.startswith(READY))
                self._ports[broker] = int(line.rpartition("port=")[2])
                return
            lines = output.strip().splitlines()
            if not child.alive:
                reason = lines[-1] if lines else f"exit code {child.exit_code}"
                raise KafkaError(
                    ErrorCode.broker_not_available, f"broker {broker} did not start: {reason}"
                )
            if time.monotonic() > deadline:
                raise KafkaError(
                    ErrorCode.broker_not_available,
                    f"broker {broker} is not ready after {START_TIMEOUT:.0f} s, see {child.log}",
                )
            time.sleep(0.01)
