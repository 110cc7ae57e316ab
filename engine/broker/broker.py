"""The parts of a running broker. No sockets here.

    server -> dispatch -> layers -> handlers/*       a handler gets the parts that it names

    metadata       brokers and leaders, for clients
    replicas       the logs here, and their roles;  purgatory: requests that wait for them
    groups, transactions     the coordinators
    gateway        changes of the metadata, as the handlers ask for them
    publisher      changes of the metadata, as they come
    configs        of this broker and of topics
    sessions       incremental fetches
    creation       the plans of new topics
    auth           who may do what, if anybody checks
    quotas         how much clients may use
    listeners      TLS and SASL of each listener
    lifecycle      its state in the cluster
    links, request_faults    faults of the network and of answers to clients, for labs
    events, request_counts   what has happened, and how many requests of each kind

`build.py` has the one function that builds them; `broker_server.py` connects the broker to its
cluster and to the network, and runs it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engine.broker.authorization import AuthHelper
from engine.broker.config_cache import ConfigCache
from engine.broker.coordinator_service import GroupService, TransactionService
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.events import Ring
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.metadata import Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.publisher import MetadataPublisher
from engine.broker.purgatory import Purgatory
from engine.broker.request_counts import RequestCounts
from engine.broker.request_faults import RequestFaults
from engine.broker.secure_listeners import SecureListeners
from engine.config import BrokerConfig
from engine.links import Links
from engine.metadata.gateway import ControllerGateway
from engine.metadata.lifecycle import BrokerLifecycle
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.wire.apis import APIS, ApiKey
from engine.wire.codec import Apis


@dataclass(frozen=True)
class Broker:
    config: BrokerConfig
    metadata: Metadata
    replicas: ReplicaManager
    purgatory: Purgatory
    sessions: FetchSessions
    configs: ConfigCache
    gateway: ControllerGateway
    publisher: MetadataPublisher
    producer_ids: ProducerIds
    groups: GroupService
    transactions: TransactionService
    creation: AutoTopicCreationManager
    auth: AuthHelper
    quotas: QuotaManagers
    listeners: SecureListeners
    lifecycle: BrokerLifecycle
    links: Links
    events: Ring
    request_faults: RequestFaults
    request_counts: RequestCounts
    now: Callable[[], int]
    apis: Apis = field(default_factory=lambda: APIS)  # of its mode

    def served(self, handlers: Iterable[int]) -> list[ApiKey]:
        """The APIs for which there are handlers, with the versions of this mode."""
        return [self.apis[api] for api in handlers]

    @property
    def id(self) -> int:
        return self.config.broker_id
