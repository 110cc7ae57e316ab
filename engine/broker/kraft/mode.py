"""The metadata of a broker without ZooKeeper: a log that it copies, and a controller that it asks.

    connect    open the copy of the metadata log, and fetch from the quorum
    follow     send changes of the ISR; apply what is committed, batch by batch
    register   BrokerRegistration, heartbeats; when it has caught up, the first delta: all there is
    leave      controlled shutdown, by heartbeats

Until the controller says that it has caught up, the broker applies nothing: in an old state it
might lead what others lead now, or delete the logs of topics that are only not yet known. The first
delta also removes replicas that the cluster has moved or deleted meanwhile.

Without a controller the broker serves what it leads, for as long as it runs. What needs a decision
waits: new topics, another ISR, new producer ids.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from kio.schema.broker_registration.v0.request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)

from engine.broker.broker import Broker
from engine.broker.call import Call, Handler
from engine.broker.config_cache import ConfigCache
from engine.broker.handlers import metadata, transactions, versions
from engine.broker.kraft.alter_partition import AlterPartitionManager
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.forwarding import FORWARDED, ForwardingManager
from engine.broker.kraft.gateway import KRaftGateway
from engine.broker.kraft.image_publisher import ImagePublisher
from engine.broker.kraft.lifecycle_manager import BrokerLifecycleManager
from engine.broker.kraft.quorum_node import NodeQuorum, metadata_facts
from engine.broker.metadata_source import SourceContext, StoppedWhileStarting
from engine.config.kraft import KRaftBrokerConfig
from engine.config.listener_security import PROTOCOLS
from engine.metadata.broker_states import BrokerRunState
from engine.metadata.image import ImageChanges, MetadataImage
from engine.metadata.lifecycle import LifecycleStep
from engine.metadata.meta_properties import claim
from engine.security.authorizer import AclAuthorizer
from engine.wire.apis import Api, ApiKey
from engine.wire.kraft_apis import KRaftApi

Claim = Callable[[Path, int, str], object]  # check whose a log directory is
OF_TRANSACTIONS = KRaftApi.DESCRIBE_TRANSACTIONS, KRaftApi.LIST_TRANSACTIONS
SUPPORTED: Mapping[str, tuple[int, int]] = {"metadata.version": (1, 7)}  # 3.0-IV1 to 3.3-IV3

log = logging.getLogger(__name__)
T = TypeVar("T")


class KRaftMode:
    def __init__(
        self,
        context: SourceContext,
        config: KRaftBrokerConfig,
        open_quorum: Callable[[AsyncExitStack], Awaitable[NodeQuorum]],
        claim: Claim = claim,
    ) -> None:
        self._context, self._config, self._open_quorum = context, config, open_quorum
        self._claim = claim

    @property
    def address(self) -> str:
        return f"the quorum of controllers at {self._config.controller_quorum_voters}"

    def claim(self, directory: Any, cluster_id: str) -> None:
        self._claim(directory.path, self._config.node_id, cluster_id)

    # -- start -----------------------------------------------------------------------------

    async def connect(self, stack: AsyncExitStack) -> str:
        node = self._node = await self._open_quorum(stack)
        self._channel = self._open_channel("heartbeat", stack)
        self._forwarding = ForwardingManager(
            self._open_channel("forwarding", stack), self._config.request_timeout_ms / 1000
        )
        self._alter_partition = self._open_channel("alter-partition", stack)
        self._own_requests = self._open_channel("broker-to-controller", stack)
        self._lifecycle = BrokerLifecycleManager(
            self._config,
            self._channel,
            self._offset,
            lambda: self._config.node_id in node.loader.image.brokers,
            self._context.report,
        )
        self._publisher = ImagePublisher(self._config.node_id, self._lifecycle.metadata_changed)
        node.image_changed.append(self._image_changed)
        return node.cluster_id

    def _open_channel(self, purpose: str, stack: AsyncExitStack) -> ControllerChannel:
        name = f"broker-{self._config.node_id}-{purpose}"
        timeout_s = self._config.controller_socket_timeout_ms / 1000
        channel = ControllerChannel(self._node, name, timeout_s)
        stack.callback(channel.close)
        return channel

    def _image_changed(self, image: MetadataImage, changes: ImageChanges) -> None:
        self._publisher.changed(image, changes)
        self._lifecycle.metadata_changed()

    def _offset(self) -> int:
        """Up to which this broker has the metadata: while it starts, that it has read."""
        is_starting = self._lifecycle.state is BrokerRunState.STARTING
        image = self._node.loader.image
        return image.offset if is_starting else self._publisher.applied_offset

    def gateway(self, configs: ConfigCache, authorizer: AclAuthorizer | None) -> KRaftGateway:
        parts = self._config, self._node, self._own_requests, self._lifecycle, self._forwarding
        self._gateway = KRaftGateway(*parts)
        return self._gateway

    def handlers(self, broker: Broker) -> Mapping[ApiKey, Handler]:
        handlers: dict[ApiKey, Handler] = dict.fromkeys(FORWARDED, self._forwarding.handle)
        for api in (Api.ALTER_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS):
            locally = partial(_alter_configs, broker, api)
            handlers[api] = partial(self._forwarding.alter_configs, locally)
        handlers[Api.API_VERSIONS] = partial(self._api_versions, broker)
        handlers[Api.METADATA] = partial(self._metadata, broker)
        transact = partial(transactions.handle, broker.transactions)
        handlers |= dict.fromkeys(OF_TRANSACTIONS, transact)
        return handlers

    async def _metadata(self, broker: Broker, call: Call, request: Any) -> Any:
        """Metadata. A topic that is missing is created in the name of the client."""
        creation = replace(broker.creation, gateway=self._gateway.asked_by(call))
        return await metadata.handle(broker.metadata, creation, call, request)

    async def _api_versions(self, broker: Broker, call: Call, request: Any) -> Any:
        """ApiVersions with the features of the cluster, and the offset up to which this broker has
        applied the metadata."""
        answer = versions.respond(broker.apis.values(), request, call.version)
        finalized = self._node.loader.image.features
        return versions.with_features(answer, SUPPORTED, finalized, self._publisher.applied_offset)

    async def load(self, broker: Broker, topics: Iterable[str]) -> None:
        """Nothing yet: the configurations of topics come with the first delta."""

    async def follow(self, broker: Broker) -> None:
        spawn = self._context.spawn
        spawn(self._watch_raft())
        manager = AlterPartitionManager(broker.replicas, broker.metadata, self._alter_partition)
        spawn(manager.run())
        self._context.lifecycle.take(LifecycleStep.LOADED)

    async def _watch_raft(self) -> None:
        """An error of the Raft ends the broker."""
        await asyncio.shield(self._node.raft.failure)

    async def register(self, broker: Broker, ports: Mapping[str, int]) -> None:
        request = self._registration(ports, self._context.new_uuid())
        registered = partial(setattr, broker.replicas, "broker_epoch")
        await self._unless_stopped(self._lifecycle.register(request, registered))
        self._context.lifecycle.take(LifecycleStep.REGISTERED)
        self._context.spawn(self._lifecycle.run())
        await self._unless_stopped(self._lifecycle.until(BrokerRunState.RECOVERY))
        await self._publisher.apply_first(broker, self._node.loader.image)
        self._context.spawn(self._publisher.run(broker))
        self._lifecycle.ready()

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns. Without a controller it may take long."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._context.stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise StoppedWhileStarting
        finally:
            working.cancel()
            stopping.cancel()

    def _registration(self, ports: Mapping[str, int], incarnation: UUID) -> Any:
        config = self._config
        return BrokerRegistrationRequest(
            broker_id=config.node_id,
            cluster_id=self._node.cluster_id,
            incarnation_id=incarnation,
            listeners=tuple(
                Listener(
                    name=each.name,
                    host=each.host or "localhost",
                    port=each.port or ports[each.name],
                    security_protocol=PROTOCOLS.index(each.protocol),
                )
                for each in config.advertised
            ),
            features=tuple(
                Feature(
                    name=name,
                    min_supported_version=least,
                    max_supported_version=most,
                )
                for name, (least, most) in SUPPORTED.items()
            ),
            rack=config.broker_rack,
        )

    # -- run -------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        return self._lifecycle.state is BrokerRunState.RUNNING

    @property
    def quorum(self) -> Mapping[str, Any] | None:
        node = self._node
        return node.facts() if node.raft.client.identity.is_voter else None

    def metadata(self, topic: str | None) -> Mapping[str, Any]:
        return metadata_facts(self._node.loader.image, topic)

    @property
    def session_id(self) -> int | None:
        return None

    def log_dir_failed(self) -> None:
        """At level 7 a controller cannot be told: the partitions are offline until a restart."""
        log.error("replicas in a failed log directory have stopped; no other broker takes over")

    # -- stop ------------------------------------------------------------------------------

    async def leave(self, broker: Broker) -> None:
        if self._config.controlled_shutdown_enable:
            await self._lifecycle.leave()


async def _alter_configs(broker: Broker, api: Api, call: Call, request: Any) -> Any:
    """Change the levels of this broker's own loggers, or check its own keys."""
    from engine.broker.administration import handlers_of_administrators  # noqa: PLC0415

    handler = handlers_of_administrators(broker)[api]
    return await handler(call, request)
