"""A broker without socket, disk or ZooKeeper, as its handlers see it; nothing moves by itself."""

import asyncio
from types import SimpleNamespace

from kazoo.exceptions import NodeExistsError, NoNodeError

from engine.broker.admin import Admin
from engine.broker.broker import Broker, Call
from engine.broker.metadata import Metadata, Node, PartitionInfo, TopicInfo
from engine.broker.purgatory import Purgatory
from engine.config import BrokerConfig
from engine.controller import asks
from engine.links import Links
from engine.replication.replicas import Replicas
from engine.wire.errors import RequestHeader


class Znodes:
    """As much of ZooKeeper as Admin needs: data by path, and no controller that watches it."""

    def __init__(self):
        self.nodes = {}

    async def get(self, path):
        if path not in self.nodes:
            raise NoNodeError
        return self.nodes[path], SimpleNamespace(version=0)

    async def exists(self, path):
        return True if path in self.nodes else None

    async def create(self, path, data=b"", *, sequence=False):
        if path in self.nodes:
            raise NodeExistsError
        self.nodes[path] = data

    async def set(self, path, data, version=-1):
        if path not in self.nodes:
            raise NoNodeError
        self.nodes[path] = data

    async def answer(self, questions):
        found = [self.nodes.get(each.path) for each in questions]
        return [data if data is None else asks.Node(data, asks.Stat(0, 1)) for data in found]

    async def multi(self, *writes):
        for write in writes:
            if isinstance(write, asks.Create):
                await self.create(write.path, write.data)
            else:
                await self.set(write.path, write.data)


def broker(*, brokers=(1,), controller=1, topics=None, directories=(), **settings):
    """Broker 1. Topics: name -> [(leader, replicas)]; settings have `_` for `.`."""
    given = {"broker.id": "1", "zookeeper.connect": "nowhere:1"}
    given |= {key.replace("_", "."): str(value) for key, value in settings.items()}
    config = BrokerConfig.parse(given)
    metadata = Metadata("cluster", controller)
    metadata.brokers = {number: Node(number, "127.0.0.1", 9000 + number) for number in brokers}
    for name, partitions in (topics or {}).items():
        infos = {
            number: PartitionInfo(leader, 5, replicas, replicas)
            for number, (leader, replicas) in enumerate(partitions)
        }
        metadata.topics[name] = TopicInfo(name, None, infos)
    purgatory = Purgatory()
    return Broker(
        config=config,
        metadata=metadata,
        replicas=Replicas(config, list(directories), lambda: 0),
        purgatory=purgatory,
        sessions=None,
        admin=Admin(config, Znodes(), metadata),
        producer_ids=None,
        apis=(),
        controlling=SimpleNamespace(
            controller=SimpleNamespace(is_deleting=lambda topic: False), is_connected=True
        ),
        groups=None,
        transactions=None,
        links=Links(),
    )


def answer(handler, broker, version, **request):
    """What a handler answers to a request of these fields."""
    call = Call(RequestHeader(0, version, 1, "test"), "127.0.0.1:1")
    return asyncio.run(handler(broker, call, SimpleNamespace(**request)))
