"""One broker, from start to stop.

    start   lock the log directories -> ZooKeeper -> the cluster's id -> are these directories ours?
            -> load the logs, repairing what an unclean stop tore -> bind the port, serve
            -> /brokers/ids/N -> the controller says what to lead and to follow -> ready
    stop    hand over what we lead -> hang up -> flush, checkpoints, clean-shutdown marker
            -> end the session

Whatever refuses on the way says why and leaves nothing behind: a directory in use or of another
broker or cluster, an id that is taken, a port that is taken, no ZooKeeper.

DIR/broker.pid holds the process id.
"""

import asyncio
import logging
import os
import resource
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from kazoo.exceptions import KazooException, NodeExistsError

from engine.broker.admin import Admin
from engine.broker.broker import Broker, clock
from engine.broker.cleaning import Cleaning
from engine.broker.configuring import Configuring
from engine.broker.control import Control, Standing
from engine.broker.controlling import Controlling
from engine.broker.coordinating import Means
from engine.broker.dispatch import HANDLERS, Dispatcher
from engine.broker.events import Ring
from engine.broker.fetching import Fetching
from engine.broker.groups import Groups
from engine.broker.leaving import hand_over
from engine.broker.metadata import NO_BROKER, Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.broker.registration import Registration
from engine.broker.server import Server
from engine.broker.sessions import Sessions
from engine.broker.syncing import Syncing
from engine.broker.transactions import Transactions
from engine.config import BrokerConfig
from engine.controller import znodes
from engine.controller.controller import Controller
from engine.controller.events import Rebalance, UncleanAllowed
from engine.errors import ErrorCode, KafkaError
from engine.links import Links
from engine.model import Event, id_text
from engine.replication.replicas import Replicas
from engine.storage.directory import LogDirectory, parse_name
from engine.zookeeper.client import Session, State, ZookeeperClient

SWEEP_MS = 1000  # how often what was deleted is looked at: is its delay over?
FORGET_MS = 600_000  # how often producers that have long been silent are forgotten
FILES = 10_240  # the most that macOS gives
WAIT = 0.05  # seconds between two looks for a signal to stop, while waiting for the controller
PID_FILE = "broker.pid"

log = logging.getLogger(__name__)


class Process:
    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._home = Path(config.log_dirs[0])
        self._port = config.listener.port
        self._broker: Broker | None = None  # once it is built
        self._directories: list[LogDirectory] = []
        self._events = Ring()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: KafkaError | None = None
        self._links = Links.from_environment()

    async def run(self, ready: Callable[[int], None]) -> None:
        """Start, call `ready` with the port, serve until SIGTERM or SIGINT, stop in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        _allow_many_files()
        async with AsyncExitStack() as stack:
            try:
                broker = await self._start(stack)
            except KazooException as error:
                where = f"ZooKeeper at {self._config.zookeeper_connect}"
                raise TimeoutError(f"{where} does not answer ({error!r}): is it well?") from error
            if await self._known(broker):
                ready(self._port)
            await self._stop.wait()
            if self._failure is None:
                await hand_over(broker)
        if self._failure is not None:
            raise self._failure

    # -- start ---------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> Broker:
        self._lock_directories(stack)
        zookeeper = await self._connect(stack)
        cluster_id = await self._cluster_id(zookeeper)
        for directory in self._directories:
            directory.claim(self._config.broker_id, cluster_id)
        broker = self._broker = self._build(zookeeper, cluster_id)
        await self._load(broker)
        stack.callback(broker.replicas.close)
        stack.callback(broker.transactions.close)
        server = Server(
            Dispatcher(broker).handle,
            max_request_bytes=self._config.socket_request_max_bytes,
            max_connections=lambda: broker.admin.broker_config.max_connections,
            idle_ms=self._config.connections_max_idle_ms,
            links=self._links,
        )
        stack.push_async_callback(self._cancel_tasks)
        stack.push_async_callback(server.close)
        self._port = await self._bind(server)
        await server.serve()
        self._configuring = Configuring(broker.admin, zookeeper, clock, self._configured)
        await self._configuring.reread()
        self._work(broker, zookeeper)
        self._look_after(broker, server)
        await self._enter(broker)
        await self._open_door(stack, broker, server)
        (self._home / PID_FILE).write_text(f"{os.getpid()}\n")
        stack.callback((self._home / PID_FILE).unlink, missing_ok=True)
        return broker

    def _lock_directories(self, stack: AsyncExitStack) -> None:
        for path in self._config.log_dirs:
            directory = LogDirectory(Path(path), self._emit)
            stack.callback(directory.abandon)
            self._directories.append(directory)

    async def _connect(self, stack: AsyncExitStack) -> ZookeeperClient:
        config = self._config
        zookeeper = ZookeeperClient(
            config.zookeeper_connect,
            config.zookeeper_session_timeout_ms / 1000,
            self._session,
            self._links.zookeeper,
        )
        timeout = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
        await zookeeper.connect(timeout / 1000)
        stack.push_async_callback(zookeeper.close)
        for path in znodes.PERSISTENT_PATHS:
            await zookeeper.ensure(path)
        await _create_once(zookeeper, znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0))
        await _create_once(zookeeper, znodes.FEATURES, znodes.Features().encode())
        self._zookeeper = zookeeper
        self._registration = Registration(config, zookeeper)
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
        admin = Admin(config, zookeeper, metadata)
        replicas = Replicas(config, self._directories, clock, self._emit, _duration)
        replicas.changed.append(purgatory.wake)
        replicas.elsewhere = lambda partition: metadata.partition(partition) is not None
        timeout = config.replica_socket_timeout_ms / 1000
        controller = Controller(config.broker_id, config, clock, self._emit)
        fetching = Fetching(replicas, metadata.node, self._links, timeout, self._spawn)
        replicas.stirred.append(fetching.look)
        means = Means(config, metadata, replicas, clock, self._emit, self._spawn)
        groups, producer_ids = Groups(means), ProducerIds(zookeeper, config.broker_id)
        return Broker(
            config=config,
            metadata=metadata,
            replicas=replicas,
            purgatory=purgatory,
            sessions=Sessions(slots, Random()),
            admin=admin,
            producer_ids=producer_ids,
            apis=HANDLERS.keys(),
            controlling=Controlling(controller, zookeeper, self._links, self._spawn),
            groups=groups,
            transactions=Transactions(means, groups, producer_ids, self._links),
            links=self._links,
            events=self._events,
        )

    async def _load(self, broker: Broker) -> None:
        """Open the logs, each with its topic's configuration as ZooKeeper has it."""
        names = [path.name for each in self._config.log_dirs for path in Path(each).iterdir()]
        topics = {found.topic for found in map(parse_name, names) if found}
        await broker.admin.reload_topics(sorted(topics))
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

    async def _open_door(self, stack: AsyncExitStack, broker: Broker, server: Server) -> None:
        """For labs, which look in and set faults."""
        controller = broker.controlling.controller

        def standing() -> Standing:
            return Standing(
                broker.replicas.broker_epoch,
                self._zookeeper.session_id,
                controller.leader_id,
                controller.active,
                broker.replicas.controller_epoch,
            )

        control = Control(
            *(self._home, broker, server, self._links, self._events),
            *(standing, controller.snapshot),
        )
        stack.push_async_callback(control.close)
        await control.open()

    async def _known(self, broker: Broker) -> bool:
        """Wait until the controller has told us who leads what; False if we are to stop instead."""
        loop, controlling = asyncio.get_running_loop(), broker.controlling

        def known() -> bool:
            return broker.metadata.controller != NO_BROKER and controlling.is_settled

        while not known() and not self._stop.is_set():
            await broker.metadata.until(known, loop.time() + WAIT)
        return not self._stop.is_set()

    # -- the session with ZooKeeper, and the registration for as long as it lasts --------

    def _session(self, session: Session) -> None:
        facts = {"state": session.state.value, "session": session.session_id}
        self._emit(Event("session.changed", clock(), facts))
        if self._broker is None:
            return
        controlling = self._broker.controlling
        match session.state:
            case State.SUSPENDED:
                controlling.suspended()
            case State.EXPIRED:  # nobody knows us any more: begin again
                self._registration.valid = False
                controlling.expired()
            case State.CONNECTED:
                controlling.connected()
                self._spawn(self._return(self._broker))

    async def _enter(self, broker: Broker) -> None:
        """Be one of the cluster."""
        broker.replicas.broker_epoch = await self._registration.register(self._port, clock())
        broker.controlling.began()

    def _configured(self, kind: str, entity: str) -> None:
        """Something was set: everybody who goes by it takes it over."""
        broker = self._broker
        assert broker is not None
        config = broker.admin.broker_config
        broker.replicas.reconfigure(broker.admin.topic_config, config)
        broker.groups.configure(config)
        broker.transactions.configure(config)
        controlling = broker.controlling
        controlling.controller.configure(config)
        if controlling.controller.active:
            controlling.note(UncleanAllowed(entity if kind == "topics" else None))

    async def _return(self, broker: Broker) -> None:
        """Back in touch: whatever happened meanwhile, no watch told us."""
        try:
            await self._configuring.reread()
            if not self._registration.valid:
                await self._enter(broker)
        except KazooException as error:
            log.warning("ZooKeeper is away again (%r): waiting for it", error)

    # -- work ----------------------------------------------------------------------------

    def _work(self, broker: Broker, zookeeper: ZookeeperClient) -> None:
        broker.controlling.connected()
        broker.controlling.handled.append(broker.metadata.changed)
        self._spawn(broker.controlling.run())
        self._spawn(Syncing(broker.replicas, zookeeper).run())
        self._spawn(self._configuring.run())
        if self._config.auto_leader_rebalance_enable:
            self._every(
                self._config.leader_imbalance_check_interval_seconds * 1000,
                lambda: broker.controlling.note(Rebalance()),
            )
        self._every(max(1, self._config.replica_lag_time_max_ms // 2), broker.replicas.tick)

    # -- upkeep --------------------------------------------------------------------------

    def _look_after(self, broker: Broker, server: Server) -> None:
        config, replicas = self._config, broker.replicas
        if config.log_cleaner_enable:
            self._spawn(Cleaning(config, replicas, self._emit).run())
        self._every(config.log_retention_check_interval_ms, replicas.enforce_retention)
        self._every(min(config.log_flush_scheduler_interval_ms, 1000), replicas.flush_due)
        self._every(config.replica_high_watermark_checkpoint_interval_ms, replicas.checkpoint)
        self._every(SWEEP_MS, replicas.sweep)
        if config.connections_max_idle_ms >= 0:
            self._every(max(100, min(config.connections_max_idle_ms, 10_000)), server.close_idle)
        self._every(FORGET_MS, lambda: replicas.forget(config.transactional_id_expiration_ms))

    def _every(self, milliseconds: int, work: Callable[[], None]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(milliseconds / 1000)
                work()

        self._spawn(repeat())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

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


def _duration(milliseconds: int) -> timedelta:
    """As requests have it."""
    return timedelta(milliseconds=milliseconds)


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
