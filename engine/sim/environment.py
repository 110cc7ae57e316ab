"""A simulated broker's environment, instead of the operating system: see broker/environment.py."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any, cast
from uuid import UUID

from engine.broker.broker import Broker
from engine.broker.call import Handler
from engine.broker.environment import Environment, ServerSetup
from engine.broker.kraft.mode import KRaftMode
from engine.broker.kraft.observer import observe
from engine.broker.kraft.quorum_node import NodeQuorum
from engine.broker.kraft.raft_manager import RaftEnvironment
from engine.broker.metadata_source import MetadataSource, SourceContext
from engine.broker.peer import Peer
from engine.broker.rules import Rules
from engine.broker.secure_listeners import PeerSecurity
from engine.broker.zookeeper.mode import ZooKeeperMode
from engine.config import BrokerConfig
from engine.config.kraft import KRaftBrokerConfig
from engine.links import Links
from engine.quorum_server.combined_node import combined
from engine.raft.metadata_log import MetadataLog
from engine.sim.disk import Disk
from engine.sim.event_forwarder import EventForwarder
from engine.sim.network import Port
from engine.sim.peer import SimulatedPeer
from engine.sim.process import SimulatedProcess
from engine.sim.quorum.controller_node import CLUSTER_ID, NodeBuilt, SimulatedController
from engine.sim.quorum.controller_peer import SimulatedControllerPeer
from engine.sim.quorum.quorum_disk import QuorumDisk
from engine.sim.serving import SimulatedServer
from engine.sim.zookeeper.client import SimulatedZookeeperClient
from engine.storage.log import Emit
from engine.wire.apis import ApiKey
from engine.zookeeper.client import Session


class SimulatedEnvironment(Environment):
    def __init__(
        self,
        config: BrokerConfig,
        process: SimulatedProcess,
        disk: Disk,
        metadata_disk: QuorumDisk,
        random: Random,
        now: Callable[[], int],
        emit: Emit,
        rules: Rules,
        controller: SimulatedController | None,
        built: NodeBuilt,
    ) -> None:
        """`controller`: of a combined node."""
        self.config = config
        self.links = Links()  # without faults: the simulated network makes them
        self.peers = PeerSecurity.between_brokers(config)  # not used: there are no sockets
        self.random = random
        self.events = EventForwarder(emit)
        self.rules = rules
        self.zookeeper_client: SimulatedZookeeperClient | None = None
        self.node: NodeQuorum | None = None  # without ZooKeeper
        self.stop: Callable[[], None] | None = None  # what SIGTERM does
        self._process, self._disk, self._now = process, disk, now
        self._metadata_disk = metadata_disk  # without ZooKeeper
        self._controller, self._built = controller, built

    def now(self) -> int:
        return self._now()

    def new_uuid(self) -> UUID:
        return UUID(int=self.random.getrandbits(128), version=4)

    def prepare(self, stop: Callable[[], None]) -> None:
        self.stop = stop

    def directories(self, emit: Emit, stack: AsyncExitStack) -> Iterator[Any]:
        self._disk.emit = emit
        yield self._disk

    async def in_thread(self, work: Callable[[], None]) -> None:
        """Done at once, as the disk is in memory."""
        work()

    def source(self, context: SourceContext) -> MetadataSource:
        if isinstance(self.config, KRaftBrokerConfig):
            observe_quorum = partial(self._observe, self.config, context)
            return KRaftMode(context, self.config, observe_quorum, lambda *_: None)
        return ZooKeeperMode(context, self._zookeeper, self._disk.session, self.rules.elect)

    async def _observe(
        self, config: KRaftBrokerConfig, context: SourceContext, stack: AsyncExitStack
    ) -> NodeQuorum:
        connect: Any = partial(SimulatedControllerPeer, self._process)
        if self._controller is not None:
            controller = self._controller.open(self._process, connect, self.now)
            self.node = combined(config, controller, CLUSTER_ID, connect, stack)
            return self.node
        environment = RaftEnvironment(self.now, self.random.randrange, connect, context.report)
        log = self._metadata_disk.open(MetadataLog, self.now())
        self.node = observe(config, CLUSTER_ID, log, self._metadata_disk, environment, stack)
        self._built(self.node)
        return self.node

    def _zookeeper(self, listener: Callable[[Session], None]) -> Any:
        timeout = self.config.zookeeper_session_timeout_ms
        self.zookeeper_client = SimulatedZookeeperClient(self._process, timeout, listener)
        return self.zookeeper_client

    def connect(self, host: str, port: int, peer_id: int, client_id: str, timeout_s: float) -> Peer:
        called = Port(self.config.inter_broker_listener, port)
        return SimulatedPeer(self._process, self.links, peer_id, called, timeout_s)

    def server(self, broker: Broker, handlers: Mapping[ApiKey, Handler]) -> Any:
        """Messages have no transport that could be secured: the listener's name stands for it."""
        server = SimulatedServer(self._process, broker, handlers)
        return ServerSetup(cast(Any, server), lambda listener: cast(Any, listener.name), None)

    async def announce(
        self, stack: AsyncExitStack, metrics: object, control: Callable[[], Any]
    ) -> None:
        """No debug server: labs can read the state of a simulated broker directly."""
