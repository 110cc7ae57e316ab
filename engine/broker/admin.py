"""Changes of topics and configurations: a broker writes them to ZooKeeper.

    create    /config/topics/T, then /brokers/topics/T      the controller sees the new topic
    delete    /admin/delete_topics/T                        the controller deletes it
    grow      /brokers/topics/T                             with more partitions
    configure /config/topics/T, then /config/changes/...    every broker reads the entity again
    commit    /consumers/G/offsets/T/P                      for clients before Kafka 0.9

No log is changed here: the controller decides what follows from a change.

Other programs and other releases write configurations, too. A key that this broker does not
understand is ignored, stays in ZooKeeper, and is reported once (decoder.py). A configuration that
cannot be read changes nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from engine.broker.metadata import Metadata
from engine.config import BrokerConfig, Layer, Source, TopicConfig
from engine.config.key import printed
from engine.errors import ErrorCode, KafkaError, MetadataError
from engine.model import TopicPartition
from engine.topics import check_new_name
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import C, Decoder, Unreadable, decoded
from engine.zookeeper.quota_znodes import KINDS
from engine.zookeeper.requests import (
    Children,
    Create,
    Exists,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    ZnodeData,
)

DYNAMIC_DEFAULT = znodes.DEFAULT_ENTITY
CLIENT_NAMES = [Children(f"{znodes.CONFIG}/{kind}") for kind in KINDS]
PAUSE = 0.1  # seconds until ZooKeeper is asked again after a lost connection
MAX_NODE = 1_000_000  # bytes; ZooKeeper's jute.maxbuffer is a little more

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)  # the overrides have credentials
class Admin:
    static: BrokerConfig
    _zookeeper: ZookeeperClient
    _metadata: Metadata
    _decoder: Decoder
    _new_uuid: Callable[[], UUID] = uuid4
    # (kind, entity) -> what was set
    overrides: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    _configs: dict[str, TopicConfig] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.broker_config = self.static

    # -- configuration -------------------------------------------------------------------

    def config(self, kind: str, entity: str, base: C) -> C:
        """What was set for an entity, over `base`."""
        overrides = self.overrides.get((kind, entity), {})
        return self._decoder.config(znodes.config_path(kind, entity), overrides, base)

    def topic_config(self, topic: str) -> TopicConfig:
        if topic not in self._configs:
            defaults = self.broker_config.topic_defaults()
            self._configs[topic] = self.config("topics", topic, defaults)
        return self._configs[topic]

    def layers(self) -> list[Layer]:
        """The sources of this broker's values. A key that it was started with is static, even if
        its value is the default."""
        keys, texts, given = BrokerConfig.known(), self.static.texts(), self.static.given
        static = {
            name: text
            for name, text in texts.items()
            if text is not None
            and (name in given or name not in keys or text != printed(keys[name].default))
        }
        here, everywhere = str(self.static.broker_id), DYNAMIC_DEFAULT
        return [
            (Source.DYNAMIC_BROKER, self.overrides.get(("brokers", here), {})),
            (Source.DYNAMIC_DEFAULT_BROKER, self.overrides.get(("brokers", everywhere), {})),
            (Source.STATIC_BROKER, static),
        ]

    async def reload(self, kind: str, entity: str, *more: Children) -> list[Any]:
        """Read an entity's overrides again. Returns the answers to further requests."""
        node, *others = await self._zookeeper.ask([Get(znodes.config_path(kind, entity)), *more])
        self._store(kind, entity, node)
        if node is None:
            self.overrides.pop((kind, entity), None)
        self._forget_configs()
        return others

    def _store(self, kind: str, entity: str, node: ZnodeData | None) -> None:
        path, data = znodes.config_path(kind, entity), node.data if node else b""
        harm = "the values that were read before are used, or the defaults"
        found = self._decoder.read(znodes.decode_config, path, data, harm)
        if found is None:
            self.overrides.setdefault((kind, entity), {})
        else:
            self.overrides[kind, entity] = found

    def _forget_configs(self) -> None:
        """Compute the configurations again: the command line, and the changes over it."""
        self._configs.clear()
        everywhere = self.config("brokers", DYNAMIC_DEFAULT, self.static)
        self.broker_config = self.config("brokers", str(self.static.broker_id), everywhere)

    def topics(self) -> list[str]:
        """The topics whose configuration is known here."""
        return [entity for kind, entity in self.overrides if kind == "topics"]

    async def reload_topics(self, topics: Sequence[str]) -> None:
        """The same for many topics, in one list of requests."""
        asks = [Get(znodes.config_path("topics", topic)) for topic in topics]
        for topic, node in zip(topics, await self._zookeeper.ask(asks), strict=True):
            self._store("topics", topic, node)
        self._forget_configs()

    async def reload_clients(self, kinds: Sequence[list[str] | None]) -> None:
        """Read what was set for the users, client ids and addresses with these names, and for the
        client ids of each user."""
        known = [key for key in self.overrides if key[0] in KINDS]
        found = [
            (kind, name) for kind, names in zip(KINDS, kinds, strict=True) for name in names or ()
        ]
        users = [name for kind, name in found if kind == "users"]
        below = await self._zookeeper.ask(
            [Children(f"{znodes.config_path('users', user)}/clients") for user in users]
        )
        for user, clients in zip(users, below, strict=True):
            found += [("users", f"{user}/clients/{client}") for client in clients or ()]
        nodes = await self._zookeeper.ask([Get(znodes.config_path(*key)) for key in found])
        for key in known:
            if key not in found:
                del self.overrides[key]
        for (kind, name), node in zip(found, nodes, strict=True):
            self._store(kind, name, node)

    async def reload_all_clients(self) -> None:
        """The same for all there are, also for those that other programs have created."""
        await self.reload_clients(await self._zookeeper.ask(CLIENT_NAMES))

    async def know(self, topics: Collection[str]) -> None:
        """Read the configurations of these topics that are missing, and wait for ZooKeeper."""
        while unknown := [topic for topic in topics if ("topics", topic) not in self.overrides]:
            try:
                await self.reload_topics(unknown)
            except MetadataError as error:
                log.info("waiting for the configurations of %d topics: %r", len(unknown), error)
                await asyncio.sleep(PAUSE)

    def forget(self, topics: Iterable[str]) -> None:
        """These topics were deleted; a new one of the same name is another topic."""
        for topic in topics:
            self.overrides.pop(("topics", topic), None)
            self._configs.pop(topic, None)

    async def change_config(self, kind: str, entity: str, overrides: Mapping[str, str]) -> None:
        """Replace what is set for an entity, and notify every broker. It was validated before."""
        path, data = znodes.config_path(kind, entity), znodes.encode_config(overrides)
        _check_size(data)
        await self._write(path, data, parents="/" in entity)
        change = znodes.encode_config_change(kind, entity)
        await self._zookeeper.ask([Create(znodes.CONFIG_CHANGE, change, sequence=True)])
        await self.reload(kind, entity)

    async def _write(self, path: str, data: bytes, *, parents: bool = False) -> None:
        """Set a node, or create it."""
        for write in (Set(path, data), Create(path, data, parents=parents)):
            (written,) = await self._zookeeper.ask([write])
            if not isinstance(written, Refused):
                return
        raise KafkaError(ErrorCode.request_timed_out, f"{path} was created at the same time")

    # -- topics --------------------------------------------------------------------------

    def check_new(self, name: str, overrides: Mapping[str, str | None]) -> TopicConfig:
        """Refuse a bad name or a bad configuration."""
        check_new_name(name, self._metadata.topics)
        return TopicConfig.parse(overrides, base=self.broker_config.topic_defaults())

    async def create_topic(
        self, name: str, assignment: Mapping[int, list[int]], overrides: Mapping[str, str]
    ) -> None:
        """Both nodes or neither. Then the topic exists; its leaders are elected afterwards."""
        partitions = {n: znodes.ReplicaAssignment(tuple(ids)) for n, ids in assignment.items()}
        topic = znodes.Topic(self._new_uuid(), partitions).encode()
        config_path = znodes.config_path("topics", name)
        config = znodes.encode_config(overrides)
        _check_size(config, topic)
        (left_over,) = await self._zookeeper.ask([Exists(config_path)])
        write = Set(config_path, config) if left_over else Create(config_path, config)
        create = Multi((write, Create(znodes.topic_path(name), topic)))
        (created,) = await self._zookeeper.ask([create])
        if created == Refused(Reason.NO_NODE, config_path):
            raise KafkaError(ErrorCode.request_timed_out, f"{config_path} has just been deleted")
        if isinstance(created, Refused):
            raise KafkaError(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
        await self.reload("topics", name)

    async def add_partitions(self, name: str, added: Mapping[int, list[int]]) -> None:
        """Refused if the topic was deleted, or some of these partitions were added, meanwhile."""
        new = {number: znodes.ReplicaAssignment(tuple(ids)) for number, ids in added.items()}
        path = znodes.topic_path(name)
        changed = KafkaError(
            ErrorCode.reassignment_in_progress, f"{name} was changed at the same time"
        )
        (node,) = await self._zookeeper.ask([Get(path)])
        if node is None:
            raise changed
        topic = decoded(znodes.Topic.decode, node.data)
        if isinstance(topic, Unreadable):
            raise KafkaError(ErrorCode.invalid_partitions, f"{path}: {topic.why}")
        if new.keys() & topic.partitions.keys():
            raise changed
        if any(each.adding or each.removing for each in topic.partitions.values()):
            raise KafkaError(
                ErrorCode.reassignment_in_progress,
                f"A partition reassignment is in progress for the topic '{name}'.",
            )
        grown = topic._replace(partitions={**topic.partitions, **new}).encode()
        _check_size(grown)
        (written,) = await self._zookeeper.ask([Set(path, grown, node.stat.version)])
        if isinstance(written, Refused):
            raise changed

    async def delete_topic(self, name: str) -> None:
        """ZooKeeper refuses it if the deletion was requested before."""
        await self._zookeeper.ask([Create(znodes.deleted_topic_path(name), b"")])

    # -- offsets, in the versions 0 of OffsetCommit and OffsetFetch ---------------------------

    async def commit_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        await self._write(_offset_path(group, partition), str(offset).encode(), parents=True)

    async def committed_offset(self, group: str, partition: TopicPartition) -> int | None:
        (node,) = await self._zookeeper.ask([Get(_offset_path(group, partition))])
        try:
            return int(node.data) if node is not None and node.data else None
        except ValueError as error:
            raise KafkaError(ErrorCode.unknown_server_error, f"{group}: {error}") from error


def _offset_path(group: str, partition: TopicPartition) -> str:
    if not group or "/" in group or group in (".", ".."):
        raise KafkaError(ErrorCode.invalid_group_id, f"{group!r} cannot be a name in ZooKeeper")
    return f"/consumers/{group}/offsets/{partition.topic}/{partition.partition}"


def _check_size(*nodes: bytes) -> None:
    """ZooKeeper closes the connection if a request is larger, and all pending answers are lost."""
    size = sum(map(len, nodes))
    if size > MAX_NODE:
        raise KafkaError(
            ErrorCode.policy_violation, f"{size} bytes are more than a ZooKeeper node can hold"
        )
