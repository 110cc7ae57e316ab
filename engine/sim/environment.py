"""A simulated broker's environment, instead of the operating system: see broker/environment.py."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from random import Random
from typing import Any, cast
from uuid import UUID

from engine.broker.broker import Broker
from engine.broker.call import Handler
from engine.broker.environment import Environment, ServerSetup
from engine.broker.events import Ring
from engine.broker.metadata_source import MetadataSource, SourceContext
from engine.broker.peer import Peer
from engine.broker.rules import Rules
from engine.broker.secure_listeners import PeerSecurity
from engine.broker.zookeeper.mode import ZooKeeperMode
from engine.config import BrokerConfig
from engine.links import Links
from engine.model import Event
from engine.sim.disk import Disk
from engine.sim.network import Port
from engine.sim.peer import SimulatedPeer
from engine.sim.process import SimulatedProcess
from engine.sim.serving import SimulatedServer
from engine.sim.zookeeper.client import SimulatedZookeeperClient
from engine.storage.log import Emit
from engine.wire.apis import ApiKey
from engine.zookeeper.client import Session


class EventForwarder(Ring):
    """Passes each event to the world, which keeps all of them."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(0)
        self._emit = emit

    def append(self, event: Event) -> None:
        self._emit(event)


class SimulatedEnvironment(Environment):
    def __init__(
        self,
        config: BrokerConfig,
        process: SimulatedProcess,
        disk: Disk,
        random: Random,
        now: Callable[[], int],
        emit: Emit,
        rules: Rules,
    ) -> None:
        self.config = config
        self.links = Links()  # without faults: the simulated network makes them
        self.peers = PeerSecurity(config)  # not used: there are no sockets
        self.random = random
        self.events = EventForwarder(emit)
        self.rules = rules
        self.zookeeper_client: SimulatedZookeeperClient | None = None
        self.stop: Callable[[], None] | None = None  # what SIGTERM does
        self._process, self._disk, self._now = process, disk, now

    def now(self) -> int:
        return self._now()

    def new_uuid(self) -> UUID:
        return UUID(int=self.random.getrandbits(128), version=4)

    def prepare(self, stop: Callable[[], None]) -> None:
        self.stop = stop

    def directories(self, emit: Emit, stack: AsyncExitStack) -> Iterator[Any]:
        self._disk.emit = emit
        yield self._disk

    def source(self, context: SourceContext) -> MetadataSource:
        return ZooKeeperMode(context, self._zookeeper, self._disk.session, self.rules.elect)

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
