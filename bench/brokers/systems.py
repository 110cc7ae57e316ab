"""Which peers are measured, and under which settings; a setting has one line of words."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.brokers.artemis import ArtemisBroker
from bench.brokers.engine import EngineCluster
from bench.brokers.kafka import ApacheKafka
from bench.brokers.nats import NatsCluster
from bench.brokers.rabbitmq import RabbitCluster
from bench.brokers.redis import RedisServer
from bench.brokers.rocketmq import RocketCluster
from bench.brokers.system import System

SYSTEMS: tuple[type[System], ...] = (
    EngineCluster,
    ApacheKafka,
    RabbitCluster,
    ArtemisBroker,
    RocketCluster,
    NatsCluster,
    RedisServer,
)


@dataclass(frozen=True)
class Setting:
    """A system, how its servers and its client are set, and what to call that."""

    name: str
    system: type[System]
    words: str
    client: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1


TRANSIENT = {"durable": "no", "confirms": "no"}
QUORUM = {"queue": "quorum"}
NO_CONFIRM = {"confirms": "no"}
STRICT = {"replicas": "3", "least": "2"}

SPEED = (
    Setting("engine", EngineCluster, "acks=all, one replica"),
    Setting("Kafka", ApacheKafka, "acks=all, one replica"),
    Setting("RabbitMQ", RabbitCluster, "durable classic queue, persistent, confirms"),
    Setting("RabbitMQ quorum", RabbitCluster, "quorum queue of one node, confirms", QUORUM),
    Setting("RabbitMQ transient", RabbitCluster, "transient, no confirms", TRANSIENT),
    Setting("Artemis", ArtemisBroker, "persistent, every send confirmed, journal synced"),
    Setting("RocketMQ", RocketCluster, "ASYNC_FLUSH, every send confirmed"),
    Setting("NATS", NatsCluster, "stream in files, every message confirmed"),
    Setting("Redis", RedisServer, "append-only file, appendfsync everysec"),
)
TRIED = (EngineCluster, ApacheKafka, RabbitCluster, ArtemisBroker, RocketCluster)  # their features
MANY = ("engine", "Kafka", "RocketMQ")  # of these: what many topics cost

CRASH = (
    Setting("engine acks=all", EngineCluster, "3 replicas, least 2 in sync", STRICT, {}, 3),
    Setting("engine acks=1", EngineCluster, "3 replicas", {"replicas": "3", "acks": "1"}, {}, 3),
    Setting("engine acks=0", EngineCluster, "1 replica, no confirmation", {"acks": "0"}),
    Setting("Kafka acks=1", ApacheKafka, "1 replica", {"acks": "1"}),
    Setting("RabbitMQ", RabbitCluster, "durable, persistent, confirms"),
    Setting("RabbitMQ no confirms", RabbitCluster, "durable, persistent", NO_CONFIRM),
    Setting("Artemis sync", ArtemisBroker, "every send confirmed, journal synced"),
    Setting("Artemis async", ArtemisBroker, "send returns at once", NO_CONFIRM),
    Setting("RocketMQ sync", RocketCluster, "SYNC_FLUSH", {}, {"flush": "sync"}),
    Setting("RocketMQ async", RocketCluster, "ASYNC_FLUSH"),
    Setting("RocketMQ one-way", RocketCluster, "ASYNC_FLUSH, sendOneway", NO_CONFIRM),
    Setting("NATS", NatsCluster, "every message confirmed"),
    Setting("Redis always", RedisServer, "appendfsync always", {}, {"flush": "always"}),
    Setting("Redis everysec", RedisServer, "appendfsync everysec"),
)

FAILOVER = (
    Setting("engine, 1 replica", EngineCluster, "acks=all", {"replicas": "1"}, {}, 1),
    Setting("engine, 2 replicas", EngineCluster, "acks=all", {"replicas": "2"}, {}, 2),
    Setting("engine, 3 replicas", EngineCluster, "acks=all", {"replicas": "3"}, {}, 3),
    Setting(
        "engine, 3 replicas, least 2", EngineCluster, "acks=all, least 2 in sync", STRICT, {}, 3
    ),
    Setting("RabbitMQ quorum queue", RabbitCluster, "3 nodes", QUORUM, {}, 3),
    Setting("Artemis pair", ArtemisBroker, "primary and backup, replicated", {}, {}, 2),
    Setting("RocketMQ pair", RocketCluster, "SYNC_MASTER and SLAVE", {}, {}, 2),
)


def left_out() -> dict[str, str]:
    """The systems that are not here, and how to get them."""
    return {kind.name: kind.remedy for kind in SYSTEMS if not kind.installed()}


def present(settings: tuple[Setting, ...]) -> list[Setting]:
    return [each for each in settings if each.system.installed()]
