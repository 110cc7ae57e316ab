"""The controllers of a cluster without ZooKeeper (KRaft): a quorum of their own, or in the brokers.

    controllers=3    DIR/controller-1/  controller-2/  controller-3/     nodes 101, 102, 103
    controllers=0    each of the first brokers is a controller, too: combined nodes

The voters elect a leader, the active controller. A record of the metadata log is committed when
more than half of them have it on disk: of three voters one may die, of five two.

Every directory is formatted before the first start, with the id of the cluster. The ports are
chosen anew at each start; voters know each other by their ids.

    kill, pause, resume, restart    a controller by its name, or all: "controllers"
    state and events                by their debug servers, as of brokers (observer.py)

Invariant: the port of a controller stays its own while it is down: see node_process.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cluster.child import Child
from engine.cluster.kraft.controller_process import ControllerProcess
from engine.cluster.kraft.metadata_log_reader import MetadataLogReader
from engine.cluster.link_faults import End, LinkFaults, controller
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.node_launcher import NodeLauncher
from engine.cluster.observer import Observer
from engine.cluster.ports import HOST, free_port, free_ports
from engine.cluster.state import ClusterState, Status, now
from engine.cluster.state_merger import ProcessState
from engine.config.kraft import by_role
from engine.errors import ApiException, invalid_config, invalid_request
from engine.metadata.meta_properties import read_meta_properties
from engine.raft.bootstrap import format_directory, random_id
from engine.raft.quorum_state_file import QuorumStateFile
from engine.storage.partition_name import METADATA

if TYPE_CHECKING:  # loaded only for a cluster that is secured
    from engine.cluster.security.cluster_security import ClusterSecurity

CONTROLLERS = "controllers"  # all of them
COMBINED = {"process.roles": "broker,controller"}
STOP_TIMEOUT_S = 5.0  # for a controller to resign, and to close its log


class ControllerQuorum:
    def __init__(
        self,
        data: Path,
        count: int,
        brokers: int,
        config: Mapping[str, str],
        observer: Observer,
        links: LinkFaults,
        launcher: NodeLauncher,
        security: "ClusterSecurity | None" = None,
    ) -> None:
        """`count`: 0 makes the first `brokers` brokers voters."""
        settings = by_role(config).controller
        self._data = data
        self._observer, self._links, self._launcher = observer, links, launcher
        self.controllers = {
            controller(number): ControllerProcess(
                number, data / controller(number), settings, security
            )
            for number in range(1, count + 1)
        }
        self._combined = dict.fromkeys(range(1, brokers + 1) if count == 0 else (), 0)  # ports
        self.metadata_log = MetadataLogReader(self._log_directories)
        self._cluster_id = ""
        self._expected: set[str] = set()  # those that should run

    @property
    def address(self) -> str:
        """As controller.quorum.voters has it: 101@127.0.0.1:9193,..."""
        voters = {node.id: node.port for node in self.controllers.values()} or self._combined
        return ",".join(f"{id}@{HOST}:{port}" for id, port in voters.items())

    @property
    def all_name(self) -> str | None:
        return CONTROLLERS if self.controllers else None

    @property
    def directory(self) -> Path | None:
        return None

    @property
    def names(self) -> list[str]:
        """The names of the controllers that are processes of their own."""
        return [*self.controllers]

    @property
    def link_names(self) -> list[str]:
        return [CONTROLLERS, *self.controllers] if self.controllers else []

    @property
    def end_reason(self) -> str:
        ended = [
            node
            for node in self.controllers.values()
            if node.launched and node.status is Status.DOWN
        ]
        return ended[0].end_reason() if ended else ""

    def members(self) -> dict[int, ProcessState]:
        """The processes, by node id."""
        return {node.id: node.member for node in self.controllers.values()}

    def ends(self, end: End) -> list[End]:
        return [*self.controllers] if end == CONTROLLERS else [end]

    def within(self, one: End, other: End) -> bool:
        return False  # a controller can be cut off from all controllers

    def _log_directories(self) -> list[Path]:
        """Where each voter has the metadata log."""
        names = [*self.controllers] or [f"broker-{number}" for number in self._combined]
        return [self._data / name / METADATA for name in names]

    # -- for brokers ---------------------------------------------------------------------

    def of_broker(self, number: int) -> MetadataAddress:
        roles = COMBINED if number in self._combined else {}
        return MetadataAddress(self.address, "--controllers", roles)

    def server_settings(self) -> Mapping[str, str]:
        return {
            "process.roles": "broker",
            "node.id": "0",
            "controller.quorum.voters": self.address,
            "controller.listener.names": "CONTROLLER",
        }

    def prepare(self, number: int, directories: list[Path]) -> None:
        for directory in directories:
            broken = directory.exists() and not directory.is_dir()  # the broker will tell
            if not broken and read_meta_properties(directory) is None:
                format_directory(directory, number, self._cluster_id, now())

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> None:
        """Returns at once: brokers may start meanwhile."""
        self._check_directories()
        self._cluster_id = self._known_cluster() or random_id()
        for node in self.controllers.values():
            node.port = node.port or free_port()
            node.reserve_port()
        ports = free_ports(len(self._combined))
        self._combined = dict(zip(self._combined, ports, strict=True))
        for node in self.controllers.values():
            self.prepare(node.id, [node.directory])
            self._launch(node)

    def await_ready(self) -> None:
        for node in self.controllers.values():
            node.await_ready()

    def _launch(self, node: ControllerProcess) -> None:
        node.launch(self.address, self._links.environment(node.name), self._launcher)
        self._note("started", node, pid=node.pid)

    def _known_cluster(self) -> str | None:
        """The id of the cluster whose directories are there."""
        for name in ("controller-*", "broker-*"):
            for directory in sorted(self._data.glob(name)):
                found = read_meta_properties(directory)
                if found is not None:
                    return found.cluster_id
        return None

    def _check_directories(self) -> None:
        """The quorum of a cluster does not change."""
        held = {each.name for each in self._data.glob("controller-*")}
        if held - {*self.controllers}:
            raise self._of_another_quorum(", ".join(sorted(held)))
        voters = [node.id for node in self.controllers.values()] or [*self._combined]
        for directory in sorted(self._data.glob(f"*/{METADATA}")):
            stored = QuorumStateFile(directory, ()).voters()
            if stored and stored != voters:
                raise self._of_another_quorum(f"voters {', '.join(map(str, stored))}")

    def _of_another_quorum(self, held: str) -> ApiException:
        return invalid_config(
            f"{self._data} has the directories of another quorum ({held}): start the cluster "
            f"with as many controllers as before, not {len(self.controllers)}"
            + (f" in {len(self._combined)} brokers" if self._combined else "")
        )

    def stop(self) -> None:
        nodes = [node for node in self.controllers.values() if node.launched]
        for node in nodes:
            node.expected = False
        for node in nodes:
            node.child.ask_to_end()  # all at once; the next loop waits for each
        for node in nodes:
            node.child.terminate(STOP_TIMEOUT_S)
        for node in self.controllers.values():
            node.release_port()

    # -- faults --------------------------------------------------------------------------

    def kill(self, name: str) -> None:
        """SIGKILL: its unflushed records survive, as the page cache does."""
        for node in self._named(name):
            if node.status is Status.DOWN:
                continue
            node.expected = False
            if node.status is Status.UP:
                self._observer.collect([node.id])  # its events are lost when it ends
            node.child.kill()
            node.reserve_port()
            self._note("killed", node)

    def pause(self, name: str) -> None:
        """SIGSTOP: if it is the active controller, the others elect another one."""
        for node in self._named(name):
            if node.status is Status.UP:
                node.child.pause()
                self._note("paused", node)

    def resume(self, name: str) -> None:
        for node in self._named(name):
            if node.status is Status.PAUSED:
                node.child.resume()
                self._note("resumed", node)

    def restart(self, name: str, *, wait: bool = True) -> None:
        """On the same port and directory; one that runs is stopped first."""
        named = self._named(name)
        for node in named:
            node.expected = False
            if node.status is not Status.DOWN:
                code = node.child.terminate(STOP_TIMEOUT_S)
                self._note("stopped", node, code=code)
            node.prepare_port()
        for node in named:
            self._launch(node)
        for node in named if wait else ():
            node.await_ready()

    def mend(self) -> None:
        for name, node in self.controllers.items():
            self.resume(name)
            if node.status is Status.DOWN:
                self.restart(name, wait=False)
        self.await_ready()

    def change_links(
        self, name: str, faults: Mapping[str, Mapping[str, Any]], *, heal: bool = False
    ) -> None:
        node = self.controllers[name]
        request = {"ask": "links", "change": faults, "heal": heal}
        if node.status is not Status.DOWN:
            self._observer.request(node.id, request, wait=node.status is Status.UP)

    def child(self, name: str) -> Child:
        (node,) = self._named(name)
        return node.child

    def command(self, name: str) -> str:
        """The command that starts a controller again by hand."""
        (node,) = self._named(name)
        return node.command(self.address)

    def _named(self, name: str) -> list[ControllerProcess]:
        """One controller by its name; all of them by "controllers"."""
        if name not in self.link_names:
            known = ", ".join(self.link_names) or "its brokers are the controllers"
            raise invalid_request(
                f"there is no {name!r} in this cluster, only brokers (numbers) and {known}"
            )
        return [node for each, node in self.controllers.items() if name in (CONTROLLERS, each)]

    # -- state and events ----------------------------------------------------------------

    def deaths(self) -> list[tuple[str, str]]:
        """Controllers that have ended by themselves since the last call, and why."""
        found = []
        for node in self.controllers.values():
            if node.expected and node.launched and node.status is Status.DOWN:
                node.expected = False
                node.reserve_port()
                found.append((node.name, node.end_reason()))
                self._note("died", node, reason=found[-1][1])
        return found

    def report_events(self) -> None:
        """Controllers report their events to the observer by themselves."""

    def added(self, state: ClusterState) -> ClusterState:
        """The state as it is: the observer has asked the controllers, too."""
        return state

    def _note(self, what: str, node: ControllerProcess, **facts: Any) -> None:
        self._observer.note(f"controller.{what}", controller=node.id, **facts)


def check_controllers(
    metadata: str,
    controllers: int | None,
    zookeepers: int,
    zookeeper: str | None,
) -> None:
    """Refuse what a cluster can't have."""
    if metadata not in ("zookeeper", "kraft"):
        raise invalid_config(f'metadata="{metadata}": "zookeeper" or "kraft"')
    if metadata == "zookeeper" and controllers is not None:
        raise invalid_config('controllers=... is of clusters without ZooKeeper: metadata="kraft"')
    if metadata == "kraft" and (controllers or 0) < 0:
        raise invalid_config(
            f"a cluster has controllers, or 0 of them if its brokers are, not {controllers}"
        )
    if metadata == "kraft" and (zookeepers != 1 or zookeeper):
        raise invalid_config('metadata="kraft" is a cluster without ZooKeeper: leave it out')
