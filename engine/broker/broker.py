"""The state of a broker that its handlers share. No sockets here.

    server -> dispatch -> handlers/* -> Broker:  metadata      brokers and leaders, for clients
                                                 replicas      the logs here, and their roles
                                                 groups        the coordinator of groups
                                                 transactions  the coordinator of transactions
                                                 gateway       changes of the metadata
                                                 configs       of this broker and of topics
                                                 sessions      incremental fetches
                                                 producer_ids
                                                 authorizer    who may do what, if anybody checks
                                                 quotas        how much clients may use
                                                 lifecycle     its state in the cluster
                                                 links         faults of the network, for labs
                                                 request_faults  and of answers to clients
                                                 request_counts  how many requests of each kind
                                                 listeners     TLS and SASL of each listener

`broker_server.py` builds one, connects it to its cluster and to the network, and runs it.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from engine.broker.config_cache import ConfigCache
from engine.broker.coordinator_service import GroupService, TransactionService
from engine.broker.events import Ring
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.metadata import Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.broker.request_counts import RequestCounts
from engine.broker.request_faults import RequestFaults
from engine.broker.secure_listeners import SecureListeners
from engine.config import BrokerConfig
from engine.errors import ApiException
from engine.links import Links
from engine.metadata.gateway import ControllerGateway
from engine.metadata.lifecycle import BrokerLifecycle
from engine.quotas.client_quota_manager import ControllerMutationQuota
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.security.authorizer import AclAuthorizer
from engine.security.principals import ANONYMOUS, Principal
from engine.wire.apis import APIS, Api
from engine.wire.errors import RequestHeader

log = logging.getLogger(__name__)


def clock() -> int:
    """Milliseconds since 1970: the time in records, and of events."""
    return time.time_ns() // 1_000_000


class Call(NamedTuple):
    """The header of a request, the client's address, the listener where it came in, who sent
    it, and what it may change."""

    header: RequestHeader
    peer: str
    listener: str = "PLAINTEXT"
    principal: Principal = ANONYMOUS
    mutations: ControllerMutationQuota | None = None  # of a request for topics, if there are quotas

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def host(self) -> str:
        """The client's host, as Java writes an address."""
        return f"/{self.peer.rpartition(':')[0]}"

    def take(self, partitions: int, now: int) -> None:
        """Partitions are created or deleted. Raises an ApiException if the client has to wait."""
        if self.mutations is not None:
            self.mutations.record(partitions, now)

    def refused(self, what: object, error: ApiException) -> ApiException:
        """Log the error: not every client shows it to its user."""
        log.info(
            "%s of %s by %s (%s) refused with %s: %s",
            APIS[self.header.api_key].name,
            what,
            self.peer,
            self.header.client_id,
            error.code.name,
            error.message,
        )
        return error


Handler = Callable[["Broker", Call, Any], Awaitable[Any]]


@dataclass
class Broker:
    config: BrokerConfig
    metadata: Metadata
    replicas: ReplicaManager
    purgatory: Purgatory
    sessions: FetchSessions
    configs: ConfigCache
    gateway: ControllerGateway
    producer_ids: ProducerIds
    handlers: Mapping[Api, Handler]  # of the requests that this broker serves
    groups: GroupService
    transactions: TransactionService
    links: Links
    listeners: SecureListeners
    quotas: QuotaManagers
    authorizer: AclAuthorizer | None = None  # None: everything is allowed
    lifecycle: BrokerLifecycle = field(default_factory=BrokerLifecycle)
    events: Ring = field(default_factory=Ring)
    request_faults: RequestFaults = field(default_factory=RequestFaults)
    request_counts: RequestCounts = field(default_factory=RequestCounts)
    now: Callable[[], int] = clock
    random: Random = field(default_factory=Random)  # of the environment: simulated runs repeat

    @property
    def id(self) -> int:
        return self.config.broker_id
