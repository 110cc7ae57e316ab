"""The process of one controller, from its start to its stop (ControllerServer).

DIR/meta.properties            written by `storage format`: without it there is no start
DIR/.lock                      held while it runs
DIR/controller.pid             its process id, while it runs
DIR/controller.control         its debug server, for labs
DIR/__cluster_metadata-0/      log, snapshots, quorum state

start   check and lock the directory, read the log, bind the port, serve, take part
stop    if it leads: resign, and tell the others (EndQuorumEpoch), so that one of them
        stands for election at once; then close the log
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from engine.broker.events import Ring
from engine.broker.kraft.controller_peer import connect_to_controller, controller_security
from engine.broker.kraft.raft_manager import RaftEnvironment
from engine.broker.server import Server
from engine.broker.wall_clock import clock
from engine.config.quorum import ControllerConfig, VoterAddress
from engine.links import Links
from engine.metadata.meta_properties import claim
from engine.model import Event
from engine.quorum_server.build import (
    ControllerNode,
    ControllerStore,
    ControllerWorld,
    build_controller,
)
from engine.quorum_server.controller_debug import ControllerDebugServer
from engine.quorum_server.controller_handlers import ControllerHandlers
from engine.quorum_server.controller_listener import bind_controller
from engine.raft.bootstrap import BOOTSTRAP, read_bootstrap
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import QuorumIdentity
from engine.storage.directory import lock_directory

HOST = "127.0.0.1"
PID_FILE = "controller.pid"
MAX_CONNECTIONS = 1000
IDLE_MS = 600_000  # connections.max.idle.ms
CLOSE_IDLE_S = 10.0  # between two looks for idle connections

log = logging.getLogger(__name__)


class ControllerServer:
    def __init__(
        self,
        node_id: int,
        port: int,
        voters: Mapping[int, VoterAddress],
        directory: Path,
        config: ControllerConfig,
    ) -> None:
        self._node_id, self._port, self._voters = node_id, port, voters
        self._directory, self._config = directory, config
        self._links = Links.from_environment()
        self._events = Ring()

    async def run(self, ready: Callable[[int], None]) -> None:
        """Serve until SIGTERM or SIGINT. `ready` is called with the port when it serves."""
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        with ExitStack() as stack:
            cluster_id = claim(self._directory, self._node_id).cluster_id
            stack.callback(os.close, lock_directory(self._directory))
            metadata = MetadataDirectory(self._directory, self._voters, clock(), self._emit)
            stack.callback(lambda: metadata.close(clock()))
            store = ControllerStore(
                *(metadata.log, metadata.quorum_state),
                partial(read_bootstrap, self._directory / BOOTSTRAP),
            )
            identity = QuorumIdentity(self._node_id, cluster_id, frozenset(self._voters))
            shared = identity, self._voters, self._config, store
            controller = build_controller(*shared, self._world())
            raft, server = controller.raft, self._server(controller.handlers)
            debug = self._debug_server(controller)
            upkeep = asyncio.create_task(_close_idle(server))
            try:
                port = await bind_controller(server, HOST, self._port, self._config, self._report)
                await server.serve()
                raft.start()
                self._write_pid(stack)
                await debug.open()
                ready(port)
                await _until(stop, raft.failure)
                await raft.resign(self._config.controller_quorum_election_timeout_ms / 1000)
            finally:
                upkeep.cancel()
                controller.service.close()
                await debug.close()
                await raft.close()
                await server.close()

    def _server(self, handlers: ControllerHandlers) -> Server:
        return Server(
            handlers.handle,
            max_request_bytes=self._config.socket_request_max_bytes,
            max_connections=lambda: MAX_CONNECTIONS,
            idle_ms=IDLE_MS,
            links=self._links,
        )

    def _world(self) -> ControllerWorld:
        random, security = Random(), controller_security(self._config)
        connect = partial(connect_to_controller, self._links, security)
        raft = RaftEnvironment(clock, random.randrange, connect, self._report)
        return ControllerWorld(raft, uuid4, random, self._events, self._report)

    def _debug_server(self, controller: ControllerNode) -> ControllerDebugServer:
        raft = controller.raft
        known = raft.client, raft.progress, self._links, self._events, raft.now
        return ControllerDebugServer(self._directory, *known, lambda: controller.loader.image)

    def _report(self, kind: str, **facts: Any) -> None:
        self._emit(Event(kind, clock(), facts))

    def _emit(self, event: Event) -> None:
        log.info("%s %s", event.kind, event.data)
        self._events.append(event)

    def _write_pid(self, stack: ExitStack) -> None:
        path = self._directory / PID_FILE
        stack.callback(path.unlink, missing_ok=True)
        path.write_text(f"{os.getpid()}\n")


async def _close_idle(server: Server) -> None:
    while True:
        await asyncio.sleep(CLOSE_IDLE_S)
        server.close_idle()


async def _until(stop: asyncio.Event, failure: "asyncio.Future[None]") -> None:
    """Wait for a signal; raise the error that has stopped the Raft, if there is one."""
    signalled = asyncio.create_task(stop.wait())
    waited: set[asyncio.Future[Any]] = {signalled, failure}
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if failure.done():
        failure.result()
