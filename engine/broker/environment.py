"""The environment of a broker: time, random numbers, disks, a network.

    BrokerServer ──> Environment: now, new_uuid, random       the time, unique ids, random numbers
                                  directories, in_thread      the log directories, waiting for them
                                  source                      where the metadata comes from
                                  connect, server             connections to brokers and clients
                                  prepare, announce           signals, files, the debug server

Here it is the operating system. The simulator has an environment of its own (sim/environment.py),
so the same broker runs there on a virtual clock.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from engine.broker.address_gate import AddressGate
from engine.broker.broker import Broker
from engine.broker.call import Handler
from engine.broker.debug.debug_server import DebugServer
from engine.broker.dispatch import Dispatcher
from engine.broker.events import Ring
from engine.broker.kraft.mode import KRaftMode
from engine.broker.kraft.newer_versions import put_down
from engine.broker.kraft.observer import open_observer
from engine.broker.kraft.quorum_node import NodeContext, OpenQuorum
from engine.broker.metadata_source import MetadataSource, SourceContext
from engine.broker.metrics.broker_metrics import BrokerMetrics
from engine.broker.metrics.metrics_server import MetricsServer
from engine.broker.peer import Peer
from engine.broker.rules import KAFKAS
from engine.broker.secure_connection import secured
from engine.broker.secure_listeners import PeerSecurity, SecureListener
from engine.broker.server import Connection, Handle, Secure, Server
from engine.broker.wall_clock import clock
from engine.broker.zookeeper.mode import ZooKeeperMode, connect_zookeeper
from engine.broker.zookeeper.registration import SESSION_FILE
from engine.browser import resource
from engine.config import BrokerConfig
from engine.config.kraft import KRaftBrokerConfig
from engine.links import Links
from engine.storage.directory import LogDirectory
from engine.storage.log import Emit
from engine.wire.apis import APIS, ApiKey
from engine.wire.codec import Apis
from engine.wire.kraft_apis import KRAFT_APIS

log = logging.getLogger(__name__)

FILES = 10_240  # the maximum on macOS, which names no other
PID_FILE = "broker.pid"


class ServerSetup(NamedTuple):
    server: Server
    secure: Callable[[SecureListener], Secure]  # what a listener puts before its connections
    metrics: BrokerMetrics | None  # for the page of metrics, if there is one


class Environment:
    """The environment of one broker."""

    rules = KAFKAS

    def __init__(
        self, config: BrokerConfig, home: Path | None = None, open_quorum: OpenQuorum | None = None
    ) -> None:
        """`home`: where the files of the process are kept; by default, in the first directory.
        `open_quorum`: of the controller in the same process, if there is one."""
        self.config = config
        self.links = Links.from_environment()
        self.random = Random()
        self.open_quorum = open_quorum
        self.events = Ring()
        self.home = home or Path(config.log_dirs[0])
        self.peers = PeerSecurity.between_brokers(config)  # of connections to other brokers

    def now(self) -> int:
        return clock()

    def new_uuid(self) -> UUID:
        return uuid4()

    def prepare(self, stop: Callable[[], None]) -> None:
        """`stop` is called when the broker is to stop in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        _allow_many_files()
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log.warning("this broker has no place for its own files: %s", error)

    # -- disks ---------------------------------------------------------------------------

    def directories(self, emit: Emit, stack: AsyncExitStack) -> Iterator[Any]:
        """The log directories, locked until the stack is unwound."""
        for path in self.config.log_dirs:
            directory = LogDirectory(Path(path), emit, self.now())
            stack.callback(directory.abandon)
            yield directory

    async def in_thread(self, work: Callable[[], None]) -> None:
        """Do what waits for a disk, while the broker goes on."""
        await asyncio.to_thread(work)

    # -- connections -----------------------------------------------------------------------

    def source(self, context: SourceContext) -> MetadataSource:
        """The mode of the cluster."""
        if isinstance(self.config, KRaftBrokerConfig):
            open_quorum = self.open_quorum or partial(open_observer, self.config)
            node = NodeContext(context, self.links, self.events, self.random)
            return KRaftMode(context, self.config, partial(open_quorum, node))
        connect = partial(connect_zookeeper, self.config, self.links)
        return ZooKeeperMode(context, connect, self.home / SESSION_FILE, self.rules.elect)

    def connect(self, host: str, port: int, peer_id: int, client_id: str, timeout_s: float) -> Peer:
        shared = self.links, client_id, timeout_s, self.peers
        return Peer(host, port, peer_id, *shared, self.apis)

    @property
    def apis(self) -> Apis:
        """Between brokers, and with clients."""
        return KRAFT_APIS if isinstance(self.config, KRaftBrokerConfig) else APIS

    def server(self, broker: Broker, handlers: Mapping[ApiKey, Handler]) -> ServerSetup:
        newer = [put_down] if isinstance(self.config, KRaftBrokerConfig) else []
        dispatcher, connections = Dispatcher(broker, handlers, *newer), set[Connection]()
        handle: Handle = dispatcher.handle
        metrics = None
        if self.config.prometheus_port is not None:
            metrics = BrokerMetrics(broker, connections)
            handle = metrics.counted(handle)
        server = Server(
            handle,
            max_request_bytes=self.config.socket_request_max_bytes,
            max_connections=lambda: broker.configs.broker_config.max_connections,
            idle_ms=self.config.connections_max_idle_ms,
            links=self.links,
            faults=broker.request_faults,
            connections=connections,
        )
        return ServerSetup(server, partial(self._secure, dispatcher, broker), metrics)

    def _secure(self, dispatcher: Dispatcher, broker: Broker, listener: SecureListener) -> Secure:
        serve = partial(secured, listener, dispatcher.authenticator)

        def gate(connection: Connection) -> AddressGate:
            return AddressGate(
                broker.quotas.connections,
                lambda: broker.configs.broker_config,
                lambda: (each.peer for each in connection.server.connections),
                self.now,
                partial(serve, connection),
            )

        return gate

    async def announce(
        self,
        stack: AsyncExitStack,
        metrics: BrokerMetrics | None,
        debug_server: Callable[[], DebugServer],
    ) -> None:
        """The broker is registered: start the debug server for labs, and write the process id.

        A broker whose own files cannot be written serves its clients all the same.
        """
        if metrics is not None:
            metrics_server = MetricsServer(metrics, self.home, self.config.prometheus_port or 0)
            stack.push_async_callback(metrics_server.close)
            await metrics_server.open()
        server, pid_file = debug_server(), self.home / PID_FILE
        stack.push_async_callback(server.close)
        stack.callback(_remove, pid_file)
        try:
            await server.open()
            pid_file.write_text(f"{os.getpid()}\n")
        except OSError as error:
            log.warning("labs and scripts do not find this broker: %s", error)


def _remove(path: Path) -> None:
    with suppress(OSError):  # its disk may have failed
        path.unlink()


def _allow_many_files() -> None:
    """A segment has three files: raise the limit of open files as far as possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
