"""Builds a broker: each part from the parts that it uses, so the order is that of the lines.

    metadata, configs, authorizer -> gateway -> replicas -> coordinators -> publisher -> Broker

What comes back is finished: no part waits for another one to be set.
"""

from collections.abc import Sequence
from typing import Any

from engine.broker.authorization import GUARDS, KRAFT_GUARDS, AuthHelper
from engine.broker.broker import Broker
from engine.broker.config_cache import ConfigCache
from engine.broker.coordinator_service import BrokerServices, GroupService, TransactionService
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.environment import Environment
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.metadata import Metadata
from engine.broker.metadata_source import MetadataSource, SourceContext
from engine.broker.producer_ids import ProducerIds
from engine.broker.publisher import MetadataPublisher
from engine.broker.purgatory import Purgatory
from engine.broker.replica_fetchers import ReplicaFetchers
from engine.broker.request_counts import RequestCounts
from engine.broker.request_faults import RequestFaults
from engine.broker.secure_listeners import SecureListeners
from engine.config import BrokerConfig
from engine.config.broker import principals
from engine.config.kraft import KRaftBrokerConfig
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.security.authorizer import AclAuthorizer


def build_broker(
    context: SourceContext,
    environment: Environment,
    source: MetadataSource,
    directories: Sequence[Any],
    cluster_id: str,
) -> Broker:
    config, rules, random = context.config, environment.rules, environment.random
    metadata = Metadata(cluster_id, listener=config.inter_broker_listener)
    configs, authorizer = ConfigCache(config, context.report), _authorizer(config)
    gateway = source.gateway(configs, authorizer)
    listeners = SecureListeners(config, configs, context.report, environment.peers)
    purgatory, replicas = _replicas(context, environment, directories, metadata)
    services = BrokerServices(
        config, metadata, replicas, context.emit, context.spawn, lambda: str(context.new_uuid())
    )
    groups = GroupService(services, rules.groups)
    producer_ids = ProducerIds(gateway.allocate_producer_ids)
    transactions = TransactionService(
        services, groups, producer_ids, context.connect, rules.transactions
    )
    quotas = QuotaManagers(config, context.emit)
    return Broker(
        config=config,
        metadata=metadata,
        replicas=replicas,
        purgatory=purgatory,
        sessions=FetchSessions(config.max_incremental_fetch_session_cache_slots, random),
        configs=configs,
        gateway=gateway,
        publisher=MetadataPublisher(
            *(context.lifecycle, metadata, replicas, purgatory, groups, transactions),
            *(configs, listeners, quotas, authorizer),
        ),
        producer_ids=producer_ids,
        groups=groups,
        transactions=transactions,
        creation=AutoTopicCreationManager(config, configs, metadata, gateway, random),
        auth=_auth(context, environment, metadata, authorizer),
        quotas=quotas,
        listeners=listeners,
        lifecycle=context.lifecycle,
        links=environment.links,
        events=environment.events,
        request_faults=RequestFaults(context.report, context.spawn),
        request_counts=RequestCounts(),
        now=context.now,
        apis=environment.apis,
    )


def _auth(
    context: SourceContext,
    environment: Environment,
    metadata: Metadata,
    authorizer: AclAuthorizer | None,
) -> AuthHelper:
    creates = context.config.auto_create_topics_enable
    guards = KRAFT_GUARDS if isinstance(context.config, KRaftBrokerConfig) else GUARDS
    return AuthHelper(authorizer, metadata, environment.events, context.now, creates, guards)


def _replicas(
    context: SourceContext,
    environment: Environment,
    directories: Sequence[Any],
    metadata: Metadata,
) -> tuple[Purgatory, ReplicaManager]:
    """The replica manager, with what waits for its changes and what fetches for its followers."""
    config, purgatory = context.config, Purgatory()
    replicas = environment.rules.replicas(
        *(config, directories, context.now, context.emit),
        elsewhere=lambda partition: metadata.partition(partition) is not None,
    )
    replicas.changed.append(purgatory.wake)
    node, timeout_s = metadata.node, config.replica_socket_timeout_ms / 1000
    fetchers = ReplicaFetchers(replicas, node, context.connect, timeout_s, context.spawn)
    replicas.work_changed.append(fetchers.update)
    return purgatory, replicas


def _authorizer(config: BrokerConfig) -> AclAuthorizer | None:
    if not config.authorizer_class_name:
        return None
    everyone = config.allow_everyone_if_no_acl_found
    return AclAuthorizer(principals(config.super_users), open_by_default=everyone)
