"""One broker of a cluster, as a process: its number, its settings, and the command that starts it.

It is ready when its log has "ready broker=N port=P"; see node_process.py.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.node_launcher import NodeLauncher, Start
from engine.cluster.node_process import NodeProcess
from engine.cluster.ports import HOST
from engine.errors import ApiException, ErrorCode

if TYPE_CHECKING:  # loaded only for a cluster that is secured
    from engine.cluster.security.cluster_security import ClusterSecurity

READY = "ready broker="


class BrokerProcess(NodeProcess):
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
        super().__init__(port, f"broker {number}", directory)
        self.number = number
        self._settings = settings
        self._security = security
        self._rules = rules or {}
        self._properties: Path | None = None  # the file with its secrets

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
    def log_directories(self) -> list[Path]:
        listed = self._settings.get("log.dirs") or self._settings.get("log.dir") or ""
        listed = f"{listed or self.directory},{self._settings.get('metadata.log.dir', '')}"
        return [Path(name.strip()) for name in listed.split(",") if name.strip()]

    # -- start ---------------------------------------------------------------------------

    def launch(
        self, source: MetadataAddress, environment: Mapping[str, str], launcher: NodeLauncher
    ) -> None:
        self.prepare_port()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_settings(source.address)
        log = self.directory / "broker.log"
        self._child = self._starter(launcher)(self.arguments(source), log, environment)
        self.expected = True  # only now: another thread may check it, and the old one is dead

    def _starter(self, launcher: NodeLauncher) -> Start:
        return launcher.launch

    def _write_settings(self, zookeeper: str) -> None:
        """Those that are no arguments."""
        if self._security is not None:
            self._properties = self._security.properties(self.number, self.port)

    def arguments(self, source: MetadataAddress) -> list[str]:
        """The arguments of `python -m engine` that start this node."""
        settings = [
            part for key, value in self._settings.items() for part in ("--config", f"{key}={value}")
        ]
        secret = [] if self._properties is None else ["--properties", str(self._properties)]
        rules = [part for name, it in self._rules.items() for part in ("--rule", f"{name}={it}")]
        return [
            *("broker", "--id", str(self.number)),
            *("--port", str(self.port)),
            *(*source.arguments, "--data", str(self.directory), *secret, *rules, *settings),
        ]

    def command(self, source: MetadataAddress) -> str:
        """The command that starts this broker by hand."""
        return shlex.join([sys.executable, "-m", "engine", *self.arguments(source)])

    def await_ready(self) -> None:
        """Wait for the line with its port, which it prints when it serves."""
        line = self.await_line(READY)
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

            if not self.wait_for(knows):
                raise ApiException(
                    ErrorCode.broker_not_available,
                    f"broker {self.number} ended: {self.end_reason()}",
                )
