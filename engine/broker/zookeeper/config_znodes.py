"""Configurations in ZooKeeper: read into deltas, and written.

    /config/topics/orders, /config/brokers/1        MetadataDelta.configs
    /config/users/alice, .../clients/app, /config/clients/app, /config/ips/192.0.2.7
                                                    MetadataDelta.quotas and credentials

A write also creates a note below /config/changes, which tells every broker to read the entity
again. A configuration that cannot be read changes nothing.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.broker.config_cache import ConfigCache
from engine.errors import ApiException, ErrorCode, MetadataError
from engine.metadata.delta import MetadataDelta
from engine.quotas.entity import ClientQuotaEntity
from engine.security.principals import user_of_znode
from engine.security.scram import NUMBERS
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.quota_znodes import KINDS, read_quotas
from engine.zookeeper.requests import Children, Create, Get, Refused, Set, ZnodeData

CLIENT_NAMES = [Children(f"{znodes.CONFIG}/{kind}") for kind in KINDS]
RETRY_S = 0.1  # until ZooKeeper is asked again after a lost connection
MAX_NODE = 1_000_000  # bytes; ZooKeeper's jute.maxbuffer is a little more

Entity = tuple[str, str]  # kind and name below /config

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)  # it has credentials
class ConfigZnodes:
    zookeeper: ZookeeperClient
    _configs: ConfigCache
    _decoder: Decoder
    # Users, client ids and addresses: what was set for each.
    clients: dict[Entity, dict[str, str]] = field(default_factory=dict)

    # -- read ----------------------------------------------------------------------------

    async def reload(self, kind: str, name: str, *more: Children) -> list[Any]:
        """Read what is set for an entity again. Returns the answers to further requests."""
        node, *others = await self.zookeeper.ask([Get(znodes.config_path(kind, name)), *more])
        values = self._values(kind, name, node)
        now = None if node is None else values
        if kind in KINDS:
            self._keep((kind, name), now)
            self._configs.apply(MetadataDelta(credentials=self.credentials()))
        else:
            self._configs.apply(MetadataDelta(configs={(kind, name): now}))
        return others

    async def reload_topics(self, topics: Sequence[str]) -> None:
        """Read what is set for many topics, in one list of requests."""
        asks = [Get(znodes.config_path("topics", topic)) for topic in topics]
        nodes = zip(topics, await self.zookeeper.ask(asks), strict=True)
        configs = {("topics", topic): self._values("topics", topic, node) for topic, node in nodes}
        self._configs.apply(MetadataDelta(configs=configs))

    def topics(self) -> list[str]:
        return self._configs.topics()

    async def know(self, topics: Collection[str]) -> None:
        """Read the configurations of these topics that are missing, and wait for ZooKeeper."""
        known = self._configs.overrides
        while unknown := [topic for topic in topics if ("topics", topic) not in known]:
            try:
                await self.reload_topics(unknown)
            except MetadataError as error:
                log.info("waiting for the configurations of %d topics: %r", len(unknown), error)
                await asyncio.sleep(RETRY_S)

    async def reload_clients(self, kinds: Sequence[list[str] | None]) -> None:
        """Read what was set for the users, client ids and addresses with these names, and for the
        client ids of each user."""
        known = list(self.clients)
        found = [
            (kind, name) for kind, names in zip(KINDS, kinds, strict=True) for name in names or ()
        ]
        users = [name for kind, name in found if kind == "users"]
        below = await self.zookeeper.ask(
            [Children(f"{znodes.config_path('users', user)}/clients") for user in users]
        )
        for user, clients in zip(users, below, strict=True):
            found += [("users", f"{user}/clients/{client}") for client in clients or ()]
        nodes = await self.zookeeper.ask([Get(znodes.config_path(*entity)) for entity in found])
        for entity in known:
            if entity not in found:
                self._keep(entity, None)
        for entity, node in zip(found, nodes, strict=True):
            self._keep(entity, self._values(*entity, node))
        self._configs.apply(MetadataDelta(credentials=self.credentials()))

    async def reload_all_clients(self) -> None:
        """Read all there are, also those that other programs have created."""
        await self.reload_clients(await self.zookeeper.ask(CLIENT_NAMES))

    def of(self, kind: str, name: str) -> Mapping[str, str]:
        """What was set for an entity when it was last read."""
        known: Mapping[Entity, Mapping[str, str]]
        known = self.clients if kind in KINDS else self._configs.overrides
        return known.get((kind, name), {})

    def quotas(self) -> dict[ClientQuotaEntity, dict[str, float]]:
        return read_quotas(self.clients)

    def credentials(self) -> dict[str, dict[str, str]]:
        """By user and mechanism."""
        return {
            user_of_znode(name): {key: config[key] for key in NUMBERS.values() if key in config}
            for (kind, name), config in self.clients.items()
            if kind == "users" and "/" not in name and name != znodes.DEFAULT_ENTITY
        }

    def _values(self, kind: str, name: str, node: ZnodeData | None) -> Mapping[str, str]:
        path, data = znodes.config_path(kind, name), node.data if node else b""
        harm = "the values that were read before are used, or the defaults"
        found = self._decoder.read(znodes.decode_config, path, data, harm)
        return self.of(kind, name) if found is None else found

    def _keep(self, entity: Entity, values: Mapping[str, str] | None) -> None:
        if values is None:
            self.clients.pop(entity, None)
        else:
            self.clients[entity] = dict(values)

    # -- write ---------------------------------------------------------------------------

    async def change(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        """Replace what is set for an entity, and notify every broker."""
        path, data = znodes.config_path(kind, name), znodes.encode_config(values)
        check_size(data)
        await self.write(path, data, parents="/" in name)
        change = znodes.encode_config_change(kind, name)
        await self.zookeeper.ask([Create(znodes.CONFIG_CHANGE, change, sequence=True)])
        await self.reload(kind, name)

    async def write(self, path: str, data: bytes, *, parents: bool = False) -> None:
        """Set a node, or create it."""
        for write in (Set(path, data), Create(path, data, parents=parents)):
            (written,) = await self.zookeeper.ask([write])
            if not isinstance(written, Refused):
                return
        raise ApiException(ErrorCode.request_timed_out, f"{path} was created at the same time")


def check_size(*nodes: bytes) -> None:
    """ZooKeeper closes the connection if a request is larger, and all pending answers are lost."""
    size = sum(map(len, nodes))
    if size > MAX_NODE:
        raise ApiException(
            ErrorCode.policy_violation, f"{size} bytes are more than a ZooKeeper node can hold"
        )
