"""Changing topics and configurations: a broker writes what is wanted to ZooKeeper.

    create    /config/topics/T, then /brokers/topics/T      the controller sees the new topic
    delete    /admin/delete_topics/T                        and carries it out
    grow      /brokers/topics/T                             with more partitions
    configure /config/topics/T, then /config/changes/...    every broker reads the entity again

Nothing here touches a log: what follows from a change is the controller's to decide.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import uuid4

from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError

from engine.broker.metadata import Metadata
from engine.config import BrokerConfig, Layer, Source, TopicConfig
from engine.config.key import printed
from engine.controller import znodes
from engine.controller.asks import Create, Get, Set
from engine.controller.topics import check_new_name
from engine.errors import ErrorCode, KafkaError
from engine.zookeeper.client import ZookeeperClient

DYNAMIC_DEFAULT = znodes.DEFAULT_ENTITY
PAUSE = 0.1  # seconds until ZooKeeper is asked again after it did not answer
MAX_NODE = 1_000_000  # bytes; ZooKeeper's jute.maxbuffer is a little more

log = logging.getLogger(__name__)


class Admin:
    def __init__(
        self, config: BrokerConfig, zookeeper: ZookeeperClient, metadata: Metadata
    ) -> None:
        self.static = config
        self._zookeeper = zookeeper
        self._metadata = metadata
        self.overrides: dict[tuple[str, str], dict[str, str]] = {}  # (kind, entity) -> what was set
        self._configs: dict[str, TopicConfig] = {}

    # -- configuration -------------------------------------------------------------------

    @property
    def broker_config(self) -> BrokerConfig:
        """What the command line said, and over it what was changed while running."""
        changed = self.overrides.get(("brokers", DYNAMIC_DEFAULT), {}) | self.overrides.get(
            ("brokers", str(self.static.broker_id)), {}
        )
        return BrokerConfig.parse(changed, base=self.static) if changed else self.static

    def topic_config(self, topic: str) -> TopicConfig:
        if topic not in self._configs:
            overrides = self.overrides.get(("topics", topic), {})
            defaults = self.broker_config.topic_defaults()
            self._configs[topic] = TopicConfig.parse(overrides, base=defaults)
        return self._configs[topic]

    def layers(self) -> list[Layer]:
        """Where this broker's values are from; what was given equal to a default counts as it."""
        keys, texts = BrokerConfig.keys(), self.static.texts()
        static = {
            name: text
            for name, text in texts.items()
            if text is not None and text != printed(keys[name].default)
        }
        here, everywhere = str(self.static.broker_id), DYNAMIC_DEFAULT
        return [
            (Source.DYNAMIC_BROKER, self.overrides.get(("brokers", here), {})),
            (Source.DYNAMIC_DEFAULT_BROKER, self.overrides.get(("brokers", everywhere), {})),
            (Source.STATIC_BROKER, static),
        ]

    async def reload(self, kind: str, entity: str) -> None:
        """Read an entity's overrides again."""
        try:
            data, _ = await self._zookeeper.get(znodes.config_path(kind, entity))
            self.overrides[kind, entity] = znodes.decode_config(data)
        except NoNodeError:
            self.overrides.pop((kind, entity), None)
        self._configs.clear()

    def topics(self) -> list[str]:
        """The topics whose configuration is known here."""
        return [entity for kind, entity in self.overrides if kind == "topics"]

    async def reload_topics(self, topics: Sequence[str]) -> None:
        """The same for many topics, all asked for at once."""
        asks = [Get(znodes.config_path("topics", topic)) for topic in topics]
        for topic, node in zip(topics, await self._zookeeper.answer(asks), strict=True):
            self.overrides["topics", topic] = znodes.decode_config(node.data) if node else {}
        self._configs.clear()

    async def know(self, topics: Collection[str]) -> None:
        """Have the configuration of each of these topics, if we must wait for ZooKeeper."""
        while unknown := [topic for topic in topics if ("topics", topic) not in self.overrides]:
            try:
                await self.reload_topics(unknown)
            except KazooException as error:
                log.info("waiting for ZooKeeper to tell of %d topics: %r", len(unknown), error)
                await asyncio.sleep(PAUSE)

    def forget(self, topics: Iterable[str]) -> None:
        """These are deleted; one of the same name would be another."""
        for topic in topics:
            self.overrides.pop(("topics", topic), None)
            self._configs.pop(topic, None)

    async def change_config(self, kind: str, entity: str, overrides: Mapping[str, str]) -> None:
        """Replace what is set for an entity, and tell every broker. It was validated before."""
        path, data = znodes.config_path(kind, entity), znodes.encode_config(overrides)
        _check_size(data)
        try:
            await self._zookeeper.set(path, data)
        except NoNodeError:
            await self._zookeeper.create(path, data)
        change = znodes.encode_config_change(kind, entity)
        await self._zookeeper.create(znodes.CONFIG_CHANGE, change, sequence=True)
        await self.reload(kind, entity)

    # -- topics --------------------------------------------------------------------------

    def check_new(self, name: str, overrides: Mapping[str, str | None]) -> TopicConfig:
        """Refuse a topic that cannot be: its name, or its configuration."""
        check_new_name(name, self._metadata.topics)
        return TopicConfig.parse(overrides, base=self.broker_config.topic_defaults())

    async def create_topic(
        self, name: str, assignment: Mapping[int, list[int]], overrides: Mapping[str, str]
    ) -> None:
        """Both nodes or neither; the topic exists from then on, its leaders come in a moment."""
        partitions = {n: znodes.Replicas(tuple(ids)) for n, ids in assignment.items()}
        topic = znodes.Topic(uuid4(), partitions).encode()
        config_path = znodes.config_path("topics", name)
        config = znodes.encode_config(overrides)
        _check_size(config, topic)
        left_over = await self._zookeeper.exists(config_path)
        write = Set(config_path, config) if left_over else Create(config_path, config)
        try:
            await self._zookeeper.multi(write, Create(znodes.topic_path(name), topic))
        except NodeExistsError as error:
            raise KafkaError(
                ErrorCode.topic_already_exists, f"Topic '{name}' already exists."
            ) from error
        await self.reload("topics", name)

    async def add_partitions(self, name: str, added: Mapping[int, list[int]]) -> None:
        """Refused if somebody else has added some of them, or deleted the topic, meanwhile."""
        new = {number: znodes.Replicas(tuple(ids)) for number, ids in added.items()}
        try:
            data, stat = await self._zookeeper.get(znodes.topic_path(name))
            topic = znodes.Topic.decode(data)
            if new.keys() & topic.partitions.keys():
                raise BadVersionError
            if any(each.adding or each.removing for each in topic.partitions.values()):
                raise KafkaError(
                    ErrorCode.reassignment_in_progress,
                    f"A partition reassignment is in progress for the topic '{name}'.",
                )
            grown = topic._replace(partitions={**topic.partitions, **new}).encode()
            _check_size(grown)
            await self._zookeeper.set(znodes.topic_path(name), grown, stat.version)
        except (BadVersionError, NoNodeError) as error:
            raise KafkaError(
                ErrorCode.reassignment_in_progress, f"{name} was changed at the same time"
            ) from error

    async def delete_topic(self, name: str) -> None:
        try:
            await self._zookeeper.create(znodes.deleted_topic_path(name))
        except NodeExistsError:
            return  # asked for already


def _check_size(*nodes: bytes) -> None:
    """ZooKeeper hangs up on who sends it more, and every answer still to come is lost with that."""
    size = sum(map(len, nodes))
    if size > MAX_NODE:
        raise KafkaError(
            ErrorCode.policy_violation, f"{size} bytes are more than ZooKeeper keeps in a node"
        )
