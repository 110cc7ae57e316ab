"""What a broker is made of: the state that its handlers share. No sockets here.

    server -> dispatch -> handlers/* -> Broker:  metadata      who leads what, for clients
                                                 replicas      the logs here, and their roles
                                                 controlling   being the controller, if we are
                                                 groups        who reads what, how far
                                                 transactions  what counts, all of it or nothing
                                                 admin         wishes, written to ZooKeeper
                                                 sessions      incremental fetches
                                                 producer_ids
                                                 links         faults of the network, for labs

`process.py` builds one, connects it to ZooKeeper and to the network, and runs it.
"""

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.broker.admin import Admin
from engine.broker.controlling import Controlling
from engine.broker.events import Ring
from engine.broker.groups import Groups
from engine.broker.metadata import Metadata
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.broker.sessions import Sessions
from engine.broker.transactions import Transactions
from engine.config import BrokerConfig
from engine.errors import KafkaError
from engine.links import Links
from engine.replication.replicas import Replicas
from engine.wire.apis import APIS, Api
from engine.wire.errors import RequestHeader

log = logging.getLogger(__name__)


class Call(NamedTuple):
    """Who asks, and in which version."""

    header: RequestHeader
    peer: str

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def host(self) -> str:
        """Where it comes from, as Java writes an address."""
        return f"/{self.peer.rpartition(':')[0]}"

    def refused(self, what: object, error: KafkaError) -> KafkaError:
        """Leaves a line in the log: not every client shows its user what it was told."""
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


@dataclass
class Broker:
    config: BrokerConfig
    metadata: Metadata
    replicas: Replicas
    purgatory: Purgatory
    sessions: Sessions
    admin: Admin
    producer_ids: ProducerIds
    apis: Collection[Api]  # those that this broker has handlers for
    controlling: Controlling
    groups: Groups
    transactions: Transactions
    links: Links
    events: Ring = field(default_factory=Ring)

    @property
    def id(self) -> int:
        return self.config.broker_id

    def now(self) -> int:
        return clock()


def clock() -> int:
    """Milliseconds since 1970: the time in records, and of events."""
    return time.time_ns() // 1_000_000
