"""The metadata of a broker in ZooKeeper mode: a session, a registration, and what follows changes.

    connect    a session -> the paths of Kafka -> the cluster's id
    load       access control lists, configurations of topics
    follow     all configurations; then controller, ISR changes, notes of changes
    register   /brokers/ids/N; the controller sends the roles
    leave      ControlledShutdown

A request whose connection breaks during the start is sent again, for as long as the broker would
wait for a first connection. When a session is over, the broker reads everything again, and
registers again: no watch has reported what happened without a connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar

from engine.broker.alter_isr_manager import AlterIsrManager
from engine.broker.broker import Broker
from engine.broker.call import Handler
from engine.broker.config_cache import ConfigCache
from engine.broker.controlled_shutdown import hand_over
from engine.broker.metadata_source import SourceContext
from engine.broker.zookeeper import alter_isr, roles
from engine.broker.zookeeper.acl_store import AclStore
from engine.broker.zookeeper.config_watcher import ConfigWatcher
from engine.broker.zookeeper.config_znodes import ConfigZnodes
from engine.broker.zookeeper.controller_service import ControllerService
from engine.broker.zookeeper.gateway import ZooKeeperGateway
from engine.broker.zookeeper.isr_writer import IsrWriter
from engine.broker.zookeeper.log_dir_failure_handler import LogDirFailureHandler
from engine.broker.zookeeper.registration import Registration, TextFile
from engine.config import BrokerConfig
from engine.config.protocol import Feature
from engine.controller.controller import Controller
from engine.controller.election import Elect, elect
from engine.controller.events import Began, Rebalance, UncleanAllowed
from engine.errors import ApiException, ErrorCode, MetadataError, MetadataUnavailable
from engine.links import Links
from engine.metadata.delta import MetadataDelta
from engine.metadata.lifecycle import LifecycleStep
from engine.model import Callbacks, id_text
from engine.security.authorizer import AclAuthorizer
from engine.wire.apis import Api, ApiKey
from engine.zookeeper import znodes
from engine.zookeeper.client import Session, SessionState, ZookeeperClient
from engine.zookeeper.decoder import Decoder, Unreadable, decoded
from engine.zookeeper.quota_znodes import KINDS
from engine.zookeeper.requests import Create, Get

RETRY_S = 0.05  # between two attempts to ask ZooKeeper, while the broker starts

log = logging.getLogger(__name__)
T = TypeVar("T")


ConnectZookeeper = Callable[[Callable[[Session], None]], ZookeeperClient]  # gets a listener


def connect_zookeeper(
    config: BrokerConfig, links: Links, listener: Callable[[Session], None]
) -> ZookeeperClient:
    timeout = config.zookeeper_session_timeout_ms / 1000
    return ZookeeperClient(
        config.zookeeper_connect, timeout, listener, links.zookeeper, links.to_server
    )


class ZooKeeperMode:
    def __init__(
        self,
        context: SourceContext,
        connect: ConnectZookeeper,
        session_file: TextFile,
        elect: Elect = elect,
    ) -> None:
        self._context, self._config = context, context.config
        self._open_session, self._session_file = connect, session_file
        self._elect = elect
        self._sessions = Callbacks[[Session]]()  # called when the session has changed
        self._publish = Callbacks[[MetadataDelta]]()
        self._registering = asyncio.Lock()
        config = context.config
        timeout = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
        self._connect_wait_s = timeout / 1000  # for a ZooKeeper that does not answer
        self._decoder = Decoder(context.report)

    @property
    def address(self) -> str:
        return f"ZooKeeper at {self._config.zookeeper_connect}"

    # -- start ---------------------------------------------------------------------------

    async def connect(self, stack: AsyncExitStack) -> str:
        zookeeper = self._zookeeper = self._open_session(self._session_changed)
        await zookeeper.connect(self._connect_wait_s)
        stack.push_async_callback(zookeeper.close)
        paths = [  # refused where the node exists
            *(Create(path, parents=True) for path in znodes.PERSISTENT_PATHS),
            Create(znodes.CONTROLLER_EPOCH, znodes.encode_epoch(0)),
            Create(znodes.FEATURES, znodes.Features().encode()),
        ]
        await self._retried(zookeeper.create_chroot)
        await self._retried(lambda: zookeeper.ask(paths))
        self._registration = Registration(self._config, zookeeper, self._session_file)
        return await self._retried(self._cluster_id)

    async def _retried(self, step: Callable[[], Awaitable[T]]) -> T:
        """A step of the start. If the connection breaks, it is done again in the next one."""
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        while True:
            try:
                return await step()
            except MetadataUnavailable as error:
                deadline = deadline or loop.time() + self._connect_wait_s
                if loop.time() >= deadline:
                    raise
                log.warning("ZooKeeper does not answer (%r): asking it again", error)
                await asyncio.sleep(RETRY_S)

    async def _cluster_id(self) -> str:
        """The first broker of a cluster makes the id."""
        own = znodes.encode_cluster_id(id_text(self._context.new_uuid()))
        create = Create(znodes.CLUSTER_ID, own, parents=True)
        _, node = await self._zookeeper.ask([create, Get(znodes.CLUSTER_ID)])
        cluster_id = decoded(znodes.decode_cluster_id, node.data)
        if isinstance(cluster_id, Unreadable):
            raise ApiException(
                ErrorCode.inconsistent_cluster_id,
                f"{znodes.CLUSTER_ID} in ZooKeeper holds no cluster id ({cluster_id.why}). "
                "Without it no broker knows which cluster its log directories belong to. "
                "The file meta.properties in each of them has the id.",
            )
        return cluster_id

    def claim(self, directory: Any, cluster_id: str) -> None:
        directory.claim(self._config.broker_id, cluster_id)

    def gateway(self, configs: ConfigCache, authorizer: AclAuthorizer | None) -> ZooKeeperGateway:
        context, zookeeper, decoder = self._context, self._zookeeper, self._decoder
        controller = Controller(
            *(self._config.broker_id, self._config, context.now, context.emit, context.new_uuid),
            elect=self._elect,
        )
        acls = None
        if authorizer is not None:
            acls = AclStore(authorizer, zookeeper, decoder, context.now, self._publish)
        self._configs = ConfigZnodes(zookeeper, configs, decoder)
        self._gateway = ZooKeeperGateway(
            self._config.broker_id,
            self._configs,
            acls,
            ControllerService(
                controller,
                zookeeper,
                context.connect,
                context.spawn,
                self._config.controller_socket_timeout_ms / 1000,
            ),
            decoder,
            context.new_uuid,
        )
        return self._gateway

    def handlers(self, broker: Broker) -> Mapping[ApiKey, Handler]:
        configs, publisher, service = self._configs, broker.publisher, self._service
        return {
            Api.LEADER_AND_ISR: partial(roles.leader_and_isr, configs, publisher),
            Api.STOP_REPLICA: partial(roles.stop_replica, publisher),
            Api.UPDATE_METADATA: partial(roles.update_metadata, configs, publisher),
            Api.CONTROLLED_SHUTDOWN: partial(roles.controlled_shutdown, service),
            Api.ALTER_ISR: partial(alter_isr.handle, service),
        }

    async def load(self, broker: Broker, topics: Iterable[str]) -> None:
        self._publish.append(broker.publisher.apply)
        self._sessions.append(partial(self._follow_session, broker))
        if self._gateway.acls is not None:
            await self._retried(self._gateway.acls.load)
        names = sorted(topics)
        await self._retried(lambda: self._configs.reload_topics(names))

    async def follow(self, broker: Broker) -> None:
        self._watcher = ConfigWatcher(
            self._configs,
            str(self._config.broker_id),
            self._decoder,
            self._context.now,
            partial(self._configured, broker),
        )
        await self._retried(self._watcher.reread)
        self._context.lifecycle.take(LifecycleStep.LOADED)
        spawn, service, acls = self._context.spawn, self._service, self._gateway.acls
        self._log_dir_failures = LogDirFailureHandler(self._config.broker_id, self._zookeeper)
        spawn(self._log_dir_failures.run())
        service.set_connected(True)
        service.handled.append(broker.metadata.changed)
        spawn(service.run())
        spawn(self._alter_isr(broker))
        for notes in (self._watcher.notes, *(acls.notes if acls else ())):
            spawn(notes.run())
        if self._config.auto_leader_rebalance_enable:
            self._context.every(
                self._config.leader_imbalance_check_interval_seconds * 1000,
                lambda: service.note(Rebalance()),
            )

    def _alter_isr(self, broker: Broker) -> Coroutine[Any, Any, None]:
        """Ask for the changes that leaders propose, until the broker stops."""
        replicas, metadata = broker.replicas, broker.metadata
        if self._config.speaks(Feature.ALTER_ISR):
            return AlterIsrManager(replicas, metadata, self._context.connect).run()
        return IsrWriter(replicas, self._zookeeper, self._decoder).run()

    async def register(self, broker: Broker, ports: Mapping[str, int]) -> None:
        self._ports = ports
        await self._retried(lambda: self._register(broker))

    async def _register(self, broker: Broker) -> None:
        async with self._registering:  # the start and a new session may both want it
            if self._context.lifecycle.may_register:
                epoch = await self._registration.register(self._ports, self._context.now())
                self._context.lifecycle.take(LifecycleStep.REGISTERED)
                broker.replicas.broker_epoch = epoch
                self._service.note(Began())

    # -- run -----------------------------------------------------------------------------

    @property
    def _service(self) -> ControllerService:
        return self._gateway.controller_service

    @property
    def is_settled(self) -> bool:
        return self._service.is_settled

    @property
    def quorum(self) -> None:
        return None

    def metadata(self, topic: str | None) -> Mapping[str, Any]:
        raise ValueError("the metadata is in ZooKeeper")

    @property
    def session_id(self) -> int | None:
        return self._zookeeper.session_id

    def _session_changed(self, session: Session) -> None:
        self._context.report(
            "session.changed", state=session.state.value, session=session.session_id
        )
        self._sessions(session)

    def _follow_session(self, broker: Broker, session: Session) -> None:
        match session.state:
            case SessionState.SUSPENDED:
                self._service.set_connected(False)
            case SessionState.EXPIRED:  # so the registration is gone
                self._context.lifecycle.take(LifecycleStep.LOST)
                self._service.expired()
            case SessionState.CONNECTED:
                self._service.set_connected(True)
                if self._context.lifecycle.is_loaded:
                    self._context.spawn(self._reconnected(broker))

    async def _reconnected(self, broker: Broker) -> None:
        """No watch has reported what happened without a connection."""
        try:
            await self._watcher.reread()
            if self._gateway.acls is not None:
                await self._gateway.acls.load()
            await self._register(broker)
        except MetadataError as error:
            log.warning("ZooKeeper does not answer again (%r): waiting for it", error)

    def _configured(self, broker: Broker, kind: str, name: str) -> None:
        """What is set for an entity was read again: pass it on."""
        here = broker.configs
        broker.publisher.apply(
            MetadataDelta(
                configs={} if kind in KINDS else {(kind, name): here.overrides.get((kind, name))},
                quotas=None if kind == "topics" else self._configs.quotas(),
            )
        )
        self._service.controller.configure(here.broker_config)
        if self._service.controller.active:
            self._service.note(UncleanAllowed(name if kind == "topics" else None))

    def log_dir_failed(self) -> None:
        self._log_dir_failures.directory_failed()

    # -- stop ----------------------------------------------------------------------------

    async def leave(self, broker: Broker) -> None:
        await hand_over(broker, self._context.connect, self._service.disconnected)
