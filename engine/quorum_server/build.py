"""The parts of a controller, in the order in which they need each other.

loader -> raft -> service -> gateway -> metadata, configs, authorizer -> handlers
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from engine.broker.authorization import KRAFT_GUARDS, AuthHelper
from engine.broker.config_cache import ConfigCache
from engine.broker.events import Ring
from engine.broker.kraft.raft_manager import RaftEnvironment, RaftManager
from engine.broker.metadata import Metadata
from engine.config import BrokerConfig
from engine.config.broker import principals
from engine.config.key import key
from engine.config.quorum import ControllerConfig, VoterAddress
from engine.controller.election import Elect, elect
from engine.metadata.image import ImageChanges, MetadataImage
from engine.quorum_controller.controller_events import events_of
from engine.quorum_server.controller_administration import administrators_handlers
from engine.quorum_server.controller_handlers import ControllerHandlers
from engine.quorum_server.controller_limits import ControllerLimits
from engine.quorum_server.controller_metadata import ControllerMetadata
from engine.quorum_server.controller_service import QuorumControllerService, Report
from engine.quorum_server.describe_quorum import QuorumDescriber
from engine.quorum_server.gateway import QuorumGateway
from engine.raft.log import QuorumStateStore, RaftLog
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import QuorumIdentity
from engine.security.authorizer import AclAuthorizer


@dataclass(frozen=True, kw_only=True)
class TopicPlanConfig(BrokerConfig):
    """A broker's keys, on a node that is none."""

    zookeeper_connect: str = key("")
    """The address of ZooKeeper: empty, as a controller has none."""


@dataclass(frozen=True)
class ControllerWorld:
    """What a controller uses of the world. The simulator has another one."""

    raft: RaftEnvironment
    new_uuid: Callable[[], UUID]
    random: Random
    events: Ring
    report: Report


@dataclass(frozen=True)
class ControllerStore:
    """A controller's disk."""

    log: RaftLog
    quorum_state: QuorumStateStore
    bootstrap: Callable[[], Iterable[Any]]  # the records of bootstrap.checkpoint


@dataclass(frozen=True)
class ControllerNode:
    raft: RaftManager
    loader: MetadataLoader
    service: QuorumControllerService
    gateway: QuorumGateway
    handlers: ControllerHandlers


def build_controller(
    identity: QuorumIdentity,
    voters: Mapping[int, VoterAddress],
    config: ControllerConfig,
    store: ControllerStore,
    world: ControllerWorld,
    elect: Elect = elect,
) -> ControllerNode:
    watcher = _Watcher(world.report)
    loader = MetadataLoader(store.log, watcher.watch)
    raft = RaftManager(
        *(identity, voters, config, store.log, store.quorum_state),
        *(watcher.committed, world.raft),
    )
    service = QuorumControllerService(raft, loader, config, store.bootstrap, world.report, elect)
    watcher.service = service
    gateway = QuorumGateway(service, world.new_uuid)
    static = of_topics(config, identity.node_id)
    authorizer = None
    if config.authorizer_class_name:
        everyone = config.allow_everyone_if_no_acl_found
        authorizer = AclAuthorizer(principals(config.super_users), open_by_default=everyone)
    metadata = Metadata(identity.cluster_id)
    limits = ControllerLimits(static, raft.now)
    known = ControllerMetadata(metadata, ConfigCache(static, world.report), authorizer, limits)
    service.image_changed.append(partial(_publish, known, service, identity.node_id))
    administrators = administrators_handlers(static, known, gateway, world.random, raft.now, limits)
    auth = AuthHelper(authorizer, metadata, world.events, raft.now, guards=KRAFT_GUARDS)
    handlers = ControllerHandlers(service, QuorumDescriber(raft, voters), administrators, auth)
    return ControllerNode(raft, loader, service, gateway, handlers)


class _Watcher:
    """Between a Raft and the service that needs it. Events are those of the active controller."""

    service: QuorumControllerService

    def __init__(self, report: Report) -> None:
        self._report = report

    def committed(self, offset: int) -> None:
        self.service.committed(offset)

    def watch(self, image: MetadataImage, record: Any) -> None:
        if self.service.is_active:
            for kind, facts in events_of(image, record):
                self._report(kind, **facts)


def _publish(
    known: ControllerMetadata,
    service: QuorumControllerService,
    node: int,
    image: MetadataImage,
    changes: ImageChanges,
) -> None:
    known.apply(image, changes, node, active=service.is_active)


def of_topics(config: ControllerConfig, node: int) -> BrokerConfig:
    """The keys by which new topics are planned, as a broker's configuration has them."""
    return TopicPlanConfig(
        broker_id=node,
        num_partitions=config.num_partitions,
        default_replication_factor=config.default_replication_factor,
        delete_topic_enable=config.delete_topic_enable,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
    )
