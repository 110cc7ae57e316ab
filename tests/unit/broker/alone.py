"""A broker without socket, disk or ZooKeeper, as its handlers see it; nothing moves by itself."""

import asyncio
from random import Random
from types import SimpleNamespace
from uuid import uuid4

from engine.broker.administration import handlers_of_administrators
from engine.broker.authorization import AuthHelper
from engine.broker.broker import Broker
from engine.broker.call import Call
from engine.broker.config_cache import ConfigCache
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.dispatch import handlers_of
from engine.broker.events import Ring
from engine.broker.metadata import AliveBroker, Metadata, PartitionInfo, TopicInfo
from engine.broker.publisher import MetadataPublisher
from engine.broker.purgatory import Purgatory
from engine.broker.request_counts import RequestCounts
from engine.broker.request_faults import RequestFaults
from engine.broker.secure_listeners import PeerSecurity, SecureListeners
from engine.broker.zookeeper.config_znodes import ConfigZnodes
from engine.broker.zookeeper.gateway import ZooKeeperGateway
from engine.broker.zookeeper.mode import ZooKeeperMode
from engine.config import BrokerConfig
from engine.links import Links
from engine.metadata.lifecycle import BrokerLifecycle
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.wire.apis import Api
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


def config_of(settings):
    given = {key.replace("_", "."): str(value) for key, value in settings.items()}
    return BrokerConfig.parse({"broker.id": "1", "zookeeper.connect": "nowhere:1"} | given)


def metadata_of(brokers, controller, topics):
    metadata = Metadata("cluster", controller)
    metadata.brokers = {
        number: AliveBroker(number, "127.0.0.1", 9000 + number) for number in brokers
    }
    for name, partitions in topics.items():
        infos = {
            number: PartitionInfo(leader, 5, replicas, replicas)
            for number, (leader, replicas) in enumerate(partitions)
        }
        metadata.topics[name] = TopicInfo(name, None, infos)
    return metadata


def gateway_of(configs, decoder):
    controller = SimpleNamespace(is_deleting=lambda topic: False)
    return ZooKeeperGateway(
        1,
        ConfigZnodes(Znodes(), configs, decoder),
        None,
        SimpleNamespace(controller=controller),
        decoder,
        uuid4,
    )


def broker(
    *,
    brokers=(1,),
    controller=1,
    topics=None,
    directories=(),
    events=nobody,
    groups=None,
    transactions=None,
    authorizer=None,
    quotas=None,
    random=None,
    **settings,
):
    """Broker 1. Topics: name -> [(leader, replicas)]; settings have `_` for `.`."""
    config = config_of(settings)
    metadata = metadata_of(brokers, controller, topics or {})
    purgatory = Purgatory()
    configs, decoder = ConfigCache(config, events), Decoder(events)
    gateway = gateway_of(configs, decoder)
    replicas = ReplicaManager(config, list(directories), lambda: 0)
    lifecycle, ring = BrokerLifecycle(), Ring()
    quotas = quotas or QuotaManagers(config, nobody)
    listeners = SecureListeners(config, configs, nobody, PeerSecurity.between_brokers(config))
    return Broker(
        config=config,
        metadata=metadata,
        replicas=replicas,
        purgatory=purgatory,
        sessions=None,
        configs=configs,
        gateway=gateway,
        publisher=MetadataPublisher(
            *(lifecycle, metadata, replicas, purgatory, groups, transactions),
            *(configs, listeners, quotas, authorizer),
        ),
        producer_ids=None,
        groups=groups,
        transactions=transactions,
        creation=AutoTopicCreationManager(config, configs, metadata, gateway, random or Random()),
        auth=AuthHelper(authorizer, metadata, ring, lambda: 0),
        quotas=quotas,
        listeners=listeners,
        lifecycle=lifecycle,
        links=Links(),
        events=ring,
        request_faults=RequestFaults(),
        request_counts=RequestCounts(),
        now=lambda: 0,
    )


def answer(api, broker, version, **request):
    """What a broker answers to a request of these fields."""
    call = Call(RequestHeader(int(api), version, 1, "test"), "127.0.0.1:1")
    return asyncio.run(handlers_of(broker, {})[api](call, SimpleNamespace(**request)))


def served():
    """The APIs that a broker in ZooKeeper mode serves."""
    one, mode = broker(), SimpleNamespace(_configs=None, _service=None)
    return handlers_of(one, ZooKeeperMode.handlers(mode, one)).keys()


def topics_of(broker):
    """The handlers of requests about topics."""
    return handlers_of_administrators(broker)[Api.CREATE_TOPICS].__self__


def znodes_of(broker):
    """The nodes of its ZooKeeper, by path."""
    return broker.gateway.configs.zookeeper.nodes
