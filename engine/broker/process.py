"""One broker, from start to stop.

    start   lock the log directories -> ZooKeeper -> the cluster's id -> are these directories ours?
            -> load the logs, repairing what an unclean stop tore -> bind the port
            -> /brokers/ids/N -> controller, leaders -> serve
    stop    hang up -> flush, checkpoints, clean-shutdown marker -> end the session

Whatever refuses on the way says why and leaves nothing behind: a directory in use or of another
broker or cluster, an id that is taken, a port that is taken, no ZooKeeper.

DIR/broker.pid holds the process id. DIR/zookeeper.session holds the session id: a registration
left by that session is our own from before a crash, and is replaced; any other is somebody else's.
"""

import asyncio
import logging
import os
import resource
import signal
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError

from engine.broker.admin import Admin
from engine.broker.broker import Broker, clock
from engine.broker.cleaning import Cleaning
from engine.broker.controlling import Controlling
from engine.broker.dispatch import HANDLERS, Dispatcher
from engine.broker.metadata import Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.broker.replicas import Replicas
from engine.broker.server import Server
from engine.broker.sessions import Sessions
from engine.broker.zookeeper import Session, State, ZookeeperClient
from engine.config import BrokerConfig
from engine.controller import znodes
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, id_text
from engine.storage.directory import LogDirectory, parse_name

FORGET_MS = 600_000  # how often producers that have long been silent are forgotten
FILES = 10_240  # the most that macOS gives
EVENTS = 10_000  # kept in memory, the oldest forgotten first
PID_FILE = "broker.pid"
SESSION_FILE = "zookeeper.session"

log = logging.getLogger(__name__)


class Process:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._home = Path(config.log_dirs[0])
        self._port = config.listener.port
        self._registered = False
        self._controlling: Controlling | None = None
        self._directories: list[LogDirectory] = []
        self._events: deque[Event] = deque(maxlen=EVENTS)
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: KafkaError | None = None

    async def run(self, ready: Callable[[int], None]) -> None:
        """Start, call `ready` with the port, serve until SIGTERM or SIGINT, stop in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        _allow_many_files()
        async with AsyncExitStack() as stack:
            try:
                ready(await self._start(stack))
            except KazooException as error:
                where = f"ZooKeeper at {self._config.zookeeper_connect}"
                raise TimeoutError(f"{where} does not answer ({error!r}): is it well?") from error
            await self._stop.wait()
        if self._failure is not None:
            raise self._failure

    # -- start ---------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> int:
        self._lock_directories(stack)
        zookeeper = await self._connect(stack)
        cluster_id = await self._cluster_id(zookeeper)
        for directory in self._directories:
            directory.claim(self._config.broker_id, cluster_id)
        broker = self._build(zookeeper, cluster_id)
        await self._load(broker)
        stack.callback(broker.replicas.close)
        server = Server(
            Dispatcher(broker).handle,
            max_request_bytes=self._config.socket_request_max_bytes,
            max_connections=lambda: broker.admin.broker_config.max_connections,
            idle_ms=self._config.connections_max_idle_ms,
        )
        stack.push_async_callback(self._cancel_tasks)
        stack.push_async_callback(server.close)
        self._port = await self._bind(server)
        await self._register()
        controlling = self._controlling = Controlling(broker, zookeeper)
        await controlling.start()
        self._spawn(controlling.run())
        self._look_after(broker, server)
        await server.serve()
        (self._home / PID_FILE).write_text(f"{os.getpid()}\n")
        stack.callback((self._home / PID_FILE).unlink, missing_ok=True)
        return self._port

    def _lock_directories(self, stack: AsyncExitStack) -> None:
        for path in self._config.log_dirs:
            directory = LogDirectory(Path(path), self._emit)
            stack.callback(directory.abandon)
            self._directories.append(directory)

    async def _connect(self, stack: AsyncExitStack) -> ZookeeperClient:
        config = self._config
        zookeeper = ZookeeperClient(
            config.zookeeper_connect, config.zookeeper_session_timeout_ms / 1000, self._session
        )
        timeout = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
        await zookeeper.connect(timeout / 1000)
        stack.push_async_callback(zookeeper.close)
        for path in znodes.PERSISTENT_PATHS:
            await zookeeper.ensure(path)
        await _create_once(zookeeper, znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
        await _create_once(zookeeper, znodes.FEATURES, znodes.Features().encode())
        self._zookeeper = zookeeper
        return zookeeper

    async def _cluster_id(self, zookeeper: ZookeeperClient) -> str:
        """The first broker of a cluster gives it its id."""
        await zookeeper.ensure(znodes.CLUSTER_ID.rpartition("/")[0])
        await _create_once(zookeeper, znodes.CLUSTER_ID, znodes.encode_cluster_id(id_text(uuid4())))
        data, _ = await zookeeper.get(znodes.CLUSTER_ID)
        return znodes.decode_cluster_id(data)

    def _build(self, zookeeper: ZookeeperClient, cluster_id: str) -> Broker:
        config, purgatory, metadata = self._config, Purgatory(), Metadata(cluster_id)
        slots = config.max_incremental_fetch_session_cache_slots
        return Broker(
            config=config,
            metadata=metadata,
            replicas=Replicas(config.broker_id, self._directories, purgatory, clock),
            purgatory=purgatory,
            sessions=Sessions(slots, Random()),
            admin=Admin(config, zookeeper, metadata),
            producer_ids=ProducerIds(zookeeper, config.broker_id),
            apis=HANDLERS.keys(),
            events=self._events,
        )

    async def _load(self, broker: Broker) -> None:
        """Open the logs, each with its topic's configuration as ZooKeeper has it."""
        names = [path.name for each in self._config.log_dirs for path in Path(each).iterdir()]
        topics = {found.topic for found in map(parse_name, names) if found}
        for topic in sorted(topics):
            await broker.admin.reload("topics", topic)
        broker.replicas.load(broker.admin.topic_config)

    async def _bind(self, server: Server) -> int:
        host, port = self._config.listener
        try:
            return await server.bind(host, port)
        except OSError as error:
            raise KafkaError(
                ErrorCode.invalid_config,
                f"Socket server failed to bind to {host}:{port}: {error.strerror}. "
                "Is another broker running there? Choose another --port.",
            ) from error

    # -- the registration, for as long as the session lasts ------------------------------

    async def _register(self) -> None:
        advertised = self._config.advertised or self._config.listener._replace(port=self._port)
        endpoint = znodes.Endpoint("PLAINTEXT", advertised.host, advertised.port)
        node = znodes.Broker((endpoint,), clock(), self._config.broker_rack)
        path = znodes.broker_path(self._config.broker_id)
        await self._clear_own(path)
        await self._clear_own(znodes.CONTROLLER)
        # Written first: should the connection break, nobody tells us whether the node was made.
        (self._home / SESSION_FILE).write_text(f"{self._zookeeper.session_id}\n")
        try:
            await self._zookeeper.create(path, node.encode(), ephemeral=True)
        except NodeExistsError as error:
            raise KafkaError(
                ErrorCode.duplicate_broker_registration,
                f"Broker id {self._config.broker_id} is already registered at {path} by a broker "
                "that is alive. Stop it, or choose another --id.",
            ) from error
        self._registered = True

    async def _clear_own(self, path: str) -> None:
        """Take away what our own session before the crash left; it would vanish anyway."""
        file = self._home / SESSION_FILE
        stat = await self._zookeeper.exists(path)
        if stat is None or not file.exists():
            return
        if str(stat.ephemeralOwner) == file.read_text().strip():
            try:
                await self._zookeeper.delete(path)
            except NoNodeError:
                log.info("%s went with its session", path)

    def _session(self, session: Session) -> None:
        """ZooKeeper's word about our session. After an expiry nobody knows us: begin again."""
        log.info("ZooKeeper session: %s", session.state.value)
        if session.state is State.EXPIRED:
            self._registered = False
        elif session.state is State.CONNECTED and self._controlling is not None:
            self._controlling.note(self._return)

    async def _return(self) -> None:
        """Back in touch: whatever happened meanwhile, no watch told us."""
        assert self._controlling is not None
        if not self._registered:
            await self._register()
        await self._controlling.start()

    # -- upkeep --------------------------------------------------------------------------

    def _look_after(self, broker: Broker, server: Server) -> None:
        config, replicas = self._config, broker.replicas
        if config.log_cleaner_enable:
            self._spawn(Cleaning(config, replicas, self._emit).run())
        self._every(config.log_retention_check_interval_ms, replicas.enforce_retention)
        self._every(min(config.log_flush_scheduler_interval_ms, 1000), replicas.flush_due)
        self._every(config.replica_high_watermark_checkpoint_interval_ms, replicas.checkpoint)
        if config.connections_max_idle_ms >= 0:
            self._every(max(100, min(config.connections_max_idle_ms, 10_000)), server.close_idle)
        self._every(FORGET_MS, lambda: replicas.forget(config.transactional_id_expiration_ms))

    def _every(self, milliseconds: int, work: Callable[[], None]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(milliseconds / 1000)
                work()

        self._spawn(repeat())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a task of the broker failed", exc_info=task.exception())
            self._fail(str(task.exception()))

    async def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _emit(self, event: Event) -> None:
        log.info("%s %s", event.kind, event.data)
        self._events.append(event)
        if all(directory.offline is not None for directory in self._directories):
            self._fail("Shutdown broker because all log dirs have failed")

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or KafkaError(ErrorCode.kafka_storage_error, reason)
        self._stop.set()


async def _create_once(zookeeper: ZookeeperClient, path: str, data: bytes) -> None:
    try:
        await zookeeper.create(path, data)
    except NodeExistsError:
        return


def _allow_many_files() -> None:
    """A partition has three files a segment: take all that the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
