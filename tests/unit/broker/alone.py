"""A broker without socket, disk or ZooKeeper, as its handlers see it; nothing moves by itself."""

import asyncio
from types import SimpleNamespace
from uuid import uuid4

from engine.broker.broker import Broker, Call
from engine.broker.config_cache import ConfigCache
from engine.broker.metadata import AliveBroker, Metadata, PartitionInfo, TopicInfo
from engine.broker.purgatory import Purgatory
from engine.broker.secure_listeners import SecureListeners
from engine.broker.zookeeper.config_znodes import ConfigZnodes
from engine.broker.zookeeper.gateway import ZooKeeperGateway
from engine.config import BrokerConfig
from engine.links import Links
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.wire.errors import RequestHeader
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import (
    Children,
    Create,
    Delete,
    Exists,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    Stat,
    ZnodeData,
)


class Znodes:
    """As much of ZooKeeper as a handler needs: data by path, and no controller that watches it."""

    def __init__(self):
        self.nodes = {}

    async def ask(self, asks, changed=None):
        return [self.answer(each) for each in asks]

    def answer(self, ask):
        data = self.nodes.get(getattr(ask, "path", None))
        match ask:
            case Get() | Exists():
                stat = Stat(0, 1, ctime=0)
                return None if data is None else ZnodeData(data, stat)
            case Children(path):
                paths = [each.rpartition("/") for each in sorted(self.nodes)]
                return tuple(name for parent, _, name in paths if parent == path)
            case Create(path, value, sequence=True):
                self.nodes[f"{path}{len(self.nodes):010}"] = value
            case Create(path, value):
                if data is not None:
                    return Refused(Reason.NODE_EXISTS, path)
                self.nodes[path] = value
            case Set(path, value):
                if data is None:
                    return Refused(Reason.NO_NODE, path)
                self.nodes[path] = value
            case Delete(path):
                del self.nodes[path]
            case Multi(writes):
                answers = tuple(self.answer(each) for each in writes)
                return next((it for it in answers if isinstance(it, Refused)), answers)
        return True


def nobody(kind, **facts):
    """Nobody is told."""


def broker(*, brokers=(1,), controller=1, topics=None, directories=(), events=nobody, **settings):
    """Broker 1. Topics: name -> [(leader, replicas)]; settings have `_` for `.`."""
    given = {"broker.id": "1", "zookeeper.connect": "nowhere:1"}
    given |= {key.replace("_", "."): str(value) for key, value in settings.items()}
    config = BrokerConfig.parse(given)
    metadata = Metadata("cluster", controller)
    metadata.brokers = {
        number: AliveBroker(number, "127.0.0.1", 9000 + number) for number in brokers
    }
    for name, partitions in (topics or {}).items():
        infos = {
            number: PartitionInfo(leader, 5, replicas, replicas)
            for number, (leader, replicas) in enumerate(partitions)
        }
        metadata.topics[name] = TopicInfo(name, None, infos)
    purgatory = Purgatory()
    configs, decoder = ConfigCache(config, events), Decoder(events)
    controller = SimpleNamespace(is_deleting=lambda topic: False)
    gateway = ZooKeeperGateway(
        1,
        ConfigZnodes(Znodes(), configs, decoder),
        None,
        SimpleNamespace(controller=controller),
        decoder,
        uuid4,
        None,
    )
    return Broker(
        config=config,
        metadata=metadata,
        replicas=ReplicaManager(config, list(directories), lambda: 0),
        purgatory=purgatory,
        sessions=None,
        configs=configs,
        gateway=gateway,
        producer_ids=None,
        handlers={},
        groups=None,
        transactions=None,
        links=Links(),
        listeners=SecureListeners(config, configs, lambda kind, **facts: None),
        quotas=QuotaManagers(config, lambda event: None),
    )


def answer(handler, broker, version, **request):
    """What a handler answers to a request of these fields."""
    call = Call(RequestHeader(0, version, 1, "test"), "127.0.0.1:1")
    return asyncio.run(handler(broker, call, SimpleNamespace(**request)))


def znodes_of(broker):
    """The nodes of its ZooKeeper, by path."""
    return broker.gateway.configs.zookeeper.nodes
