"""One controller of a cluster without ZooKeeper, as a process.

It is ready when its log has "ready controller=ID port=P"; see node_process.py.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.cluster.node_launcher import NodeLauncher
from engine.cluster.node_process import NodeProcess

if TYPE_CHECKING:  # loaded only for a cluster that is secured
    from engine.cluster.security.cluster_security import ClusterSecurity

READY = "ready controller="


class ControllerProcess(NodeProcess):
    def __init__(
        self,
        number: int,
        directory: Path,
        settings: Mapping[str, str],
        security: "ClusterSecurity | None" = None,
    ) -> None:
        super().__init__(0, controller(number), directory)
        self.number = number  # from 1
        self.id = FIRST_CONTROLLER - 1 + number  # of the node
        self._settings = settings
        self._security = security
        self._properties: Path | None = None  # the file with its secrets

    def launch(self, voters: str, environment: Mapping[str, str], launcher: NodeLauncher) -> None:
        if self._security is not None:
            self._properties = self._security.controller_properties(self.name)
        log = self.directory / "controller.log"
        self._child = launcher.launch(self.arguments(voters), log, environment)
        self.expected = True

    def arguments(self, voters: str) -> list[str]:
        """The arguments of `python -m engine` that start this node."""
        keys = [part for it in self._settings.items() for part in ("--config", "=".join(it))]
        secret = [] if self._properties is None else ["--properties", str(self._properties)]
        return [
            *("controller", "--id", str(self.id)),
            *("--port", str(self.port), "--voters", voters, "--data", str(self.directory)),
            *(*secret, *keys),
        ]

    def command(self, voters: str) -> str:
        """The command that starts this controller by hand."""
        return shlex.join([sys.executable, "-m", "engine", *self.arguments(voters)])

    def await_ready(self) -> None:
        self.await_line(READY)
        self.release_port()
