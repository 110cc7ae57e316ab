"""One controller of the simulated cluster: a disk, and the process that runs on its machine.

start, kill, power_cut    of a controller that has a machine of its own, as of a broker (node.py)
open                      the controller in a process: its own, or that of a broker (combined)

A power cut loses nothing of what the node has promised: the Raft flushes before it answers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from engine.broker.kraft.quorum_node import NodeQuorum
from engine.broker.kraft.raft_manager import RaftEnvironment
from engine.broker.peer import Connect
from engine.config.quorum import ControllerConfig, VoterAddress
from engine.controller.election import Elect, elect
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.model import Event
from engine.quorum_server.build import (
    ControllerNode,
    ControllerStore,
    ControllerWorld,
    build_controller,
)
from engine.raft.bootstrap import LEVEL, METADATA_VERSION
from engine.raft.metadata_log import MetadataLog
from engine.raft.model import QuorumIdentity
from engine.security.principals import ANONYMOUS
from engine.sim.clock import Clock
from engine.sim.event_forwarder import EventForwarder
from engine.sim.loop import Loop
from engine.sim.network import Network
from engine.sim.process import Reply, SimulatedProcess
from engine.sim.quorum.controller_peer import (
    CONTROLLER,
    ControllerRequest,
    SimulatedControllerPeer,
    controller_machine,
)
from engine.sim.quorum.quorum_disk import QuorumDisk
from engine.wire.frame import SIZE

CLUSTER_ID = "O2whmP1nSWeNENpX08USQQ"

NodeBuilt = Callable[[ControllerNode | NodeQuorum], None]  # of a controller, or of an observer


def unchanged(node: ControllerNode | NodeQuorum) -> None:
    """A node as it is. A planted defect changes it."""


class SimulatedController:
    def __init__(
        self,
        node: int,
        voters: Mapping[int, VoterAddress],
        config: ControllerConfig,
        clock: Clock,
        network: Network,
        emit: Callable[[int, Event], None],
        elect: Elect = elect,
        built: NodeBuilt = unchanged,
    ) -> None:
        """`built` is called with the node of each process."""
        self.id = node
        self.disk = QuorumDisk()
        self.controller: ControllerNode | None = None  # of the last process
        self._process: SimulatedProcess | None = None  # the last one
        self._voters, self._config, self._elect = voters, config, elect
        self._built = built
        self._clock, self._network = clock, network
        self._emit = partial(emit, node)
        self._random = Random(node)
        self._loops: list[Loop] = []  # of all its processes: kept, so that no task is destroyed

    @property
    def current(self) -> SimulatedProcess | None:
        """The process; None while it is down."""
        process = self._process
        return process if process is not None and process.alive else None

    @property
    def machine(self) -> str:
        return controller_machine(self.id)

    @property
    def is_active(self) -> bool:
        """Whether it runs, and believes to be the active controller."""
        active = self.controller is not None and self.controller.service.is_active
        return active and self.current is not None and not self.current.paused

    def start(self) -> None:
        assert self.current is None, f"{self.machine} is up"
        process = SimulatedProcess(self._clock, self._network, self.machine)
        self._loops.append(process.start_loop())
        process.do(self._run, process)

    def kill(self) -> None:
        assert self.current is not None, f"{self.machine} is down"
        self.current.kill()

    def power_cut(self) -> None:
        self.kill()
        self.disk.power_cut()

    def _run(self, process: SimulatedProcess) -> None:
        connect: Any = partial(SimulatedControllerPeer, process)
        controller = self.open(process, connect, lambda: self._clock.now)
        process.spawn(_failing(controller))
        controller.raft.start()

    def open(
        self, process: SimulatedProcess, connect: Connect, now: Callable[[], int]
    ) -> ControllerNode:
        """Open the log, and serve the controllers' listener. The Raft has to be started."""

        def report(kind: str, **facts: Any) -> None:
            self._emit(Event(kind, now(), facts))

        raft = RaftEnvironment(now, self._random.randrange, connect, report)
        events = EventForwarder(self._emit)
        world = ControllerWorld(raft, self._new_uuid, self._random, events, report)
        level = FeatureLevelRecord(name=METADATA_VERSION, feature_level=LEVEL)
        log = self.disk.open(MetadataLog, now())
        identity = QuorumIdentity(self.id, CLUSTER_ID, frozenset(self._voters))
        controller = build_controller(
            *(identity, self._voters, self._config),
            *(ControllerStore(log, self.disk, lambda: [level]), world),
            self._elect,
        )
        self._built(controller)
        process.serve(partial(self._handle, process, controller), listener=CONTROLLER)
        self.controller, self._process = controller, process
        return controller

    def _handle(
        self,
        process: SimulatedProcess,
        controller: ControllerNode,
        request: ControllerRequest,
        reply: Reply,
    ) -> None:
        process.spawn(_answer(controller, request.frame, reply))

    def _new_uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)


async def _answer(controller: ControllerNode, frame: bytes, reply: Reply) -> None:
    connection = SimpleNamespace(
        client_id=None, peer_id=None, peer="sim", listener="CONTROLLER", principal=ANONYMOUS
    )
    pieces = await controller.handlers.handle(cast(Any, connection), frame)
    assert pieces is not None, "each request of a node has an answer"
    reply(b"".join(cast(Any, pieces))[SIZE.size :])


async def _failing(controller: ControllerNode) -> None:
    """An error of the Raft ends the run."""
    await controller.raft.failure
