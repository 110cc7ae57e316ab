"""One broker, from start to stop.

    start   lock the log directories -> ZooKeeper -> the cluster's id -> check the owner of the
            directories -> load the logs, and repair them after an unclean stop -> bind the port,
            serve -> /brokers/ids/N -> the controller sends the roles -> ready
    stop    hand over the leaderships -> close connections -> flush, checkpoints, clean-shutdown
            marker -> end the session

A request to ZooKeeper whose connection breaks during the start is sent again, for as long as the
broker would wait for a first connection.

If the start fails, the error says why, and nothing is left open: a directory that is in use or
belongs to another broker or cluster, an id or a port that is taken, no ZooKeeper.

DIR/broker.pid has the process id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from engine.broker.acl_store import AclStore
from engine.broker.admin import Admin
from engine.broker.alter_isr_manager import AlterIsrManager
from engine.broker.broker import Broker
from engine.broker.cleaner_task import CleanerTask
from engine.broker.config_watcher import ConfigWatcher
from engine.broker.controlled_shutdown import hand_over
from engine.broker.controller_service import ControllerService
from engine.broker.coordinator_service import BrokerServices, GroupService, TransactionService
from engine.broker.debug.debug_server import DebugServer
from engine.broker.dispatch import HANDLERS
from engine.broker.environment import Environment
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.isr_writer import IsrWriter
from engine.broker.log_dir_failure_handler import LogDirFailureHandler
from engine.broker.metadata import NO_BROKER, Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.broker.registration import Registration
from engine.broker.replica_fetchers import ReplicaFetchers
from engine.broker.request_faults import RequestFaults
from engine.broker.secure_listeners import SecureListeners
from engine.broker.server import Server
from engine.config import BrokerConfig
from engine.config.broker import principals
from engine.config.protocol import Feature
from engine.controller.controller import Controller
from engine.controller.events import Began, Rebalance, UncleanAllowed
from engine.errors import ErrorCode, KafkaError, MetadataError, MetadataUnavailable
from engine.model import Event, id_text
from engine.quotas.quota_managers import QuotaManagers
from engine.security.authorizer import AclAuthorizer
from engine.storage.directory import OFFLINE
from engine.zookeeper import znodes
from engine.zookeeper.client import Session, SessionState, ZookeeperClient
from engine.zookeeper.decoder import WRITTEN_BY_OTHERS, Decoder, Unreadable, decoded
from engine.zookeeper.quota_znodes import read_quotas
from engine.zookeeper.requests import Create, Get

SWEEP_MS = 1000  # how often files are removed whose delay after deletion is over
FORGET_MS = 600_000  # how often producers are removed that have not written for long
WAIT = 0.05  # seconds between two checks for a stop signal, while the broker starts

log = logging.getLogger(__name__)
T = TypeVar("T")


class BrokerServer:
    def __init__(self, config: BrokerConfig, environment: Environment | None = None) -> None:
        self._config = config
        self._environment = environment or Environment(config)
        self._ports: dict[str, int] = {}  # where it listens, by the name of the listener
        self.broker: Broker | None = None  # once it is built
        self._directories: list[Any] = []
        self._stop = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order of their start
        self._failure: BaseException | None = None  # why it ends by itself
        self._log_dir_failures: LogDirFailureHandler | None = None  # until the logs are loaded
        self._registering = asyncio.Lock()
        self._works = False  # it has read everything, and may register
        timeout = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
        self._patience = timeout / 1000  # seconds, with a ZooKeeper that does not answer
        self._decoder = Decoder(self._report)

    async def run(self, ready: Callable[[int], None]) -> None:
        """Start, call `ready` with the port, serve until SIGTERM or SIGINT, stop in order."""
        self._environment.prepare(self._stop.set)
        async with AsyncExitStack() as stack:
            try:
                broker = await self._start(stack)
                if await self._wait_until_known(broker):
                    ready(next(iter(self._ports.values())))
                await self._stop.wait()
                if self._failure is None:
                    await hand_over(broker, self._environment.connect)
            except MetadataError as error:
                where = f"ZooKeeper at {self._config.zookeeper_connect}"
                raise TimeoutError(
                    f"{where} does not answer ({error.__cause__!r}): is it running?"
                ) from error
            except GeneratorExit:  # killed, in the simulator: nothing is closed
                stack.pop_all()
                raise
        if self._failure is not None:
            raise self._failure

    # -- start ---------------------------------------------------------------------------

    async def _start(self, stack: AsyncExitStack) -> Broker:
        for directory in self._environment.directories(self._emit, stack):
            self._directories.append(directory)
        zookeeper = await self._connect(stack)
        cluster_id = await self._retried(lambda: self._cluster_id(zookeeper))
        now, broker_id = self._environment.now(), self._config.broker_id
        for directory in self._directories:
            directory.attempt(now, partial(directory.claim, broker_id, cluster_id))
        reasons = [each.offline for each in self._directories if each.offline is not None]
        if len(reasons) == len(self._directories):
            raise KafkaError(ErrorCode.kafka_storage_error, "; ".join(reasons))
        broker = self.broker = self._build(zookeeper, cluster_id)
        if broker.acls is not None:
            await self._retried(broker.acls.load)
        await self._load(broker)
        stack.callback(broker.replicas.close)
        stack.callback(broker.transactions.close)
        server = self._environment.server(broker)
        stack.push_async_callback(self._cancel_tasks)
        stack.push_async_callback(server.close)
        await self._bind(server, broker)
        self._config_watcher = ConfigWatcher(
            broker.admin, zookeeper, self._decoder, self._environment.now, self._configured
        )
        await self._retried(self._config_watcher.reread)
        self._start_work(broker, zookeeper)
        self._start_upkeep(broker, server)
        await self._retried(lambda: self._register(broker))
        await server.serve()  # not before: see registration.py
        await self._environment.announce(stack, partial(self._debug_server, broker, server))
        return broker

    async def _connect(self, stack: AsyncExitStack) -> ZookeeperClient:
        config = self._config
        zookeeper = self._environment.zookeeper(self._session)
        await zookeeper.connect(self._patience)
        stack.push_async_callback(zookeeper.close)
        paths = [  # refused where the node exists
            *(Create(path, parents=True) for path in znodes.PERSISTENT_PATHS),
            Create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0)),
            Create(znodes.FEATURES, znodes.Features().encode()),
        ]
        await self._retried(zookeeper.create_chroot)
        await self._retried(lambda: zookeeper.ask(paths))
        self._zookeeper = zookeeper
        self._registration = Registration(config, zookeeper, self._environment.session_file)
        return zookeeper

    async def _retried(self, step: Callable[[], Awaitable[T]]) -> T:
        """A step of the start. If the connection breaks, it is done again in the next one."""
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        while True:
            try:
                return await step()
            except MetadataUnavailable as error:
                deadline = deadline or loop.time() + self._patience
                if loop.time() >= deadline:
                    raise
                log.warning("ZooKeeper does not answer (%r): asking it again", error)
                await asyncio.sleep(WAIT)

    async def _cluster_id(self, zookeeper: ZookeeperClient) -> str:
        """The first broker of a cluster makes the id."""
        own = znodes.encode_cluster_id(id_text(self._environment.new_uuid()))
        create = Create(znodes.CLUSTER_ID, own, parents=True)
        _, node = await zookeeper.ask([create, Get(znodes.CLUSTER_ID)])
        cluster_id = decoded(znodes.decode_cluster_id, node.data)
        if isinstance(cluster_id, Unreadable):
            raise KafkaError(
                ErrorCode.inconsistent_cluster_id,
                f"{znodes.CLUSTER_ID} in ZooKeeper holds no cluster id ({cluster_id.why}). "
                "Without it no broker knows which cluster its log directories belong to. "
                "The file meta.properties in each of them has the id.",
            )
        return cluster_id

    def _build(self, zookeeper: ZookeeperClient, cluster_id: str) -> Broker:
        config, purgatory, metadata = self._config, Purgatory(), Metadata(cluster_id)
        metadata.listener = config.inter_broker_listener
        environment, clock = self._environment, self._environment.now
        connect = environment.connect
        slots = config.max_incremental_fetch_session_cache_slots
        admin = Admin(config, zookeeper, metadata, self._decoder, environment.new_uuid)
        listeners = SecureListeners(config, admin, self._report)
        environment.peer_security = listeners.peers
        replicas = environment.replicas(config, self._directories, clock, self._emit, _duration)
        replicas.changed.append(purgatory.wake)
        replicas.elsewhere = lambda partition: metadata.partition(partition) is not None
        timeout = config.replica_socket_timeout_ms / 1000
        controller_timeout = config.controller_socket_timeout_ms / 1000
        new_uuid = environment.new_uuid
        controller = Controller(config.broker_id, config, clock, self._emit, new_uuid)
        fetching = ReplicaFetchers(replicas, metadata.node, connect, timeout, self._spawn)
        replicas.work_changed.append(fetching.update)
        services = BrokerServices(
            config, metadata, replicas, self._emit, self._spawn, lambda: str(new_uuid())
        )
        groups = GroupService(services, environment.groups)
        producer_ids = ProducerIds(zookeeper, self._decoder, config.broker_id)
        return Broker(
            config=config,
            metadata=metadata,
            replicas=replicas,
            purgatory=purgatory,
            sessions=FetchSessions(slots, environment.random),
            admin=admin,
            producer_ids=producer_ids,
            apis=HANDLERS.keys(),
            controller_service=ControllerService(
                controller, zookeeper, connect, self._spawn, controller_timeout
            ),
            groups=groups,
            transactions=TransactionService(
                services, groups, producer_ids, connect, environment.transactions
            ),
            links=environment.links,
            request_faults=RequestFaults(self._report, self._spawn),
            listeners=listeners,
            quotas=QuotaManagers(config, self._emit),
            acls=self._acls(zookeeper),
            events=environment.events,
            now=clock,
            random=environment.random,
        )

    def _acls(self, zookeeper: ZookeeperClient) -> AclStore | None:
        config = self._config
        if not config.authorizer_class_name:
            return None
        everyone = config.allow_everyone_if_no_acl_found
        authorizer = AclAuthorizer(principals(config.super_users), open_by_default=everyone)
        return AclStore(authorizer, zookeeper, self._decoder, self._environment.now)

    async def _load(self, broker: Broker) -> None:
        """Open the logs, each with the configuration of its topic from ZooKeeper."""
        now = self._environment.now()
        found = [each for directory in self._directories for each in directory.partitions(now)]
        topics = sorted({partition.topic for partition in found})
        await self._retried(lambda: broker.admin.reload_topics(topics))
        broker.replicas.logs.load(broker.admin.topic_config)

    async def _bind(self, server: Server, broker: Broker) -> None:
        for each in broker.listeners.all:
            host, port = each.listener.host, each.listener.port
            try:
                secure = self._environment.secure(each)
                self._ports[each.name] = await server.bind(host, port, secure)
            except OSError as error:
                raise KafkaError(
                    ErrorCode.invalid_config,
                    f"Socket server failed to bind to {host}:{port}: {error.strerror}. "
                    "Is another broker running there? Choose another --port.",
                ) from error

    def _debug_server(self, broker: Broker, server: Server) -> DebugServer:
        home, zookeeper = self._environment.home, self._zookeeper
        return DebugServer(home, broker, server, lambda: zookeeper.session_id)

    async def _wait_until_known(self, broker: Broker) -> bool:
        """Wait until the controller has sent the metadata; False if the broker is to stop."""
        loop, controller_service = asyncio.get_running_loop(), broker.controller_service

        def known() -> bool:
            return broker.metadata.controller != NO_BROKER and controller_service.is_settled

        while not known() and not self._stop.is_set():
            await broker.metadata.until(known, loop.time() + WAIT)
        return not self._stop.is_set()

    # -- the session with ZooKeeper, and the registration in it --------------------------

    def _session(self, session: Session) -> None:
        self._report("session.changed", state=session.state.value, session=session.session_id)
        if self.broker is None:
            return
        controller_service = self.broker.controller_service
        match session.state:
            case SessionState.SUSPENDED:
                controller_service.set_connected(False)
            case SessionState.EXPIRED:  # so the registration is gone
                self._registration.valid = False
                controller_service.expired()
            case SessionState.CONNECTED:
                controller_service.set_connected(True)
                if self._works:
                    self._spawn(self._reconnected(self.broker))

    async def _register(self, broker: Broker) -> None:
        async with self._registering:  # the start and a new session may both want it
            if not self._registration.valid:
                now = self._environment.now()
                epoch = await self._registration.register(self._ports, now)
                broker.replicas.broker_epoch = epoch
                broker.controller_service.note(Began())

    def _configured(self, kind: str, entity: str) -> None:
        """A configuration has changed: pass it to each part that uses it."""
        broker = self.broker
        assert broker is not None
        config = broker.admin.broker_config
        broker.replicas.reconfigure(broker.admin.topic_config, config)
        broker.groups.configure(config)
        broker.transactions.configure(config)
        if kind != "topics":
            broker.quotas.configure(read_quotas(broker.admin.overrides))
        if kind == "brokers":
            broker.listeners.configure(config)
        controller_service = broker.controller_service
        controller_service.controller.configure(config)
        if controller_service.controller.active:
            controller_service.note(UncleanAllowed(entity if kind == "topics" else None))

    async def _reconnected(self, broker: Broker) -> None:
        """No watch has reported what happened without a connection."""
        try:
            await self._config_watcher.reread()
            if broker.acls is not None:
                await broker.acls.load()
            await self._register(broker)
        except MetadataError as error:
            log.warning("ZooKeeper does not answer again (%r): waiting for it", error)

    # -- work ----------------------------------------------------------------------------

    def _start_work(self, broker: Broker, zookeeper: ZookeeperClient) -> None:
        self._works = True
        self._log_dir_failures = LogDirFailureHandler(broker.replicas, zookeeper)
        self._spawn(self._log_dir_failures.run())
        broker.controller_service.set_connected(True)
        broker.controller_service.handled.append(broker.metadata.changed)
        self._spawn(broker.controller_service.run())
        if self._config.speaks(Feature.ALTER_ISR):
            manager = AlterIsrManager(broker.replicas, broker.metadata, self._environment.connect)
            self._spawn(manager.run())
        else:
            self._spawn(IsrWriter(broker.replicas, zookeeper, self._decoder).run())
        for notes in (self._config_watcher.notes, *(broker.acls.notes if broker.acls else ())):
            self._spawn(notes.run())
        if self._config.auto_leader_rebalance_enable:
            self._every(
                self._config.leader_imbalance_check_interval_seconds * 1000,
                lambda: broker.controller_service.note(Rebalance()),
            )
        self._every(max(1, self._config.replica_lag_time_max_ms // 2), broker.replicas.tick)

    # -- upkeep --------------------------------------------------------------------------

    def _start_upkeep(self, broker: Broker, server: Server) -> None:
        config, replicas = self._config, broker.replicas
        if config.log_cleaner_enable:
            self._spawn(CleanerTask(config, replicas, self._emit).run())
        self._every(config.log_retention_check_interval_ms, replicas.enforce_retention)
        self._every(min(config.log_flush_scheduler_interval_ms, 1000), replicas.logs.flush_due)
        self._every(config.replica_high_watermark_checkpoint_interval_ms, replicas.checkpoint)
        self._every(SWEEP_MS, replicas.logs.sweep)
        if config.connections_max_idle_ms >= 0:
            self._every(max(100, min(config.connections_max_idle_ms, 10_000)), server.close_idle)
        self._every(FORGET_MS, lambda: broker.quotas.expire(broker.now()))
        self._every(
            FORGET_MS, lambda: replicas.logs.expire_producers(config.transactional_id_expiration_ms)
        )

    def _every(self, milliseconds: int, work: Callable[[], None]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(milliseconds / 1000)
                work()

        self._spawn(repeat())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            self._failed(task, task.exception())

    def _failed(self, task: "asyncio.Task[None]", error: BaseException | None) -> None:
        """A task has ended by an error. Only a KafkaError is meant for people: the broker is
        refused, for instance. Any other is a bug of ours; disks that fail never come so far."""
        if not isinstance(error, KafkaError):
            log.critical("a bug: %s failed", _name(task), exc_info=error)
            self._report("broker.bug", task=_name(task), error=repr(error))
        self._fail(error)

    async def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _report(self, kind: str, **facts: Any) -> None:
        self._emit(Event(kind, self._environment.now(), facts))

    def _emit(self, event: Event) -> None:
        level = logging.WARNING if event.kind in WRITTEN_BY_OTHERS else logging.INFO
        log.log(level, "%s %s", event.kind, event.data)
        self._environment.events.append(event)
        if event.kind == OFFLINE:  # not at once: the caller is in the middle of its work
            asyncio.get_running_loop().call_soon(self._directory_failed)

    def _directory_failed(self) -> None:
        if all(directory.offline is not None for directory in self._directories):
            reason = "Shutdown broker because all log dirs have failed"
            self._fail(KafkaError(ErrorCode.kafka_storage_error, reason))
        elif self._log_dir_failures is not None:
            self._log_dir_failures.directory_failed()

    def _fail(self, error: BaseException | None) -> None:
        self._failure = self._failure or error
        self._stop.set()


def _name(task: "asyncio.Task[None]") -> str:
    """The name of its function: CleanerTask.run."""
    return getattr(task.get_coro(), "__qualname__", task.get_name())


def _duration(milliseconds: int) -> timedelta:
    """The value in a request."""
    return timedelta(milliseconds=milliseconds)
