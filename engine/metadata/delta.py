"""What has changed in the metadata of the cluster: a `MetadataDelta`.

    with ZooKeeper      LeaderAndIsr, UpdateMetadata, StopReplica, znodes and watches ──┐
    without ZooKeeper   what the records of the metadata log change in its image ───────┤
                                                                                        │
                                                                    MetadataDelta <─────┘
                                                                        │
      ReplicaManager   Metadata   ConfigCache   QuotaManagers   authorizer   <── MetadataPublisher

Each part of a delta is empty if nothing of its kind has changed. A part says how things are now,
and not what was done: applying a delta twice is the same as applying it once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from engine.model import TopicPartition
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AccessControlEntry, ResourcePattern

EVERY_BROKER = "<default>"  # in configs: for each broker that has no setting of its own


class BrokerEndpoint(NamedTuple):
    """Where a broker listens."""

    listener: str
    host: str
    port: int


class BrokerRegistration(NamedTuple):
    """A live broker."""

    id: int
    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None = None


class PartitionRegistration(NamedTuple):
    """A partition: what was decided about it last."""

    leader: int  # -1: none
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]  # the assignment: the preferred leader first
    version: int = -1  # of this state: a change of the ISR names the version that it replaces
    controller_epoch: int = -1  # of the controller that decided it
    adding: tuple[int, ...] = ()  # replicas that a reassignment adds
    removing: tuple[int, ...] = ()  # replicas that a reassignment removes
    offline: tuple[int, ...] = ()  # replicas on brokers or disks that are down
    is_new: bool = False  # no replica has existed before: there is no log
    leader_recovery_state: int = 0  # 1: the leader was elected uncleanly, and has not said more


class PartitionChange(NamedTuple):
    partition: TopicPartition
    topic_id: UUID | None  # None in clusters from before Kafka 2.8
    now: PartitionRegistration | None  # None: the partition is deleted


class ReplicaStop(NamedTuple):
    """The replica on this broker is to do nothing more."""

    partition: TopicPartition
    leader_epoch: int | None  # of the decision; None: whatever epoch the replica is in
    delete: bool  # its log, too


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataDelta:
    controller_epoch: int | None = None  # of the sender; None: it cannot be an old one
    broker_epoch: int = -1  # the registration of this broker for which it is meant; -1: any
    controller: int | None = None  # the broker that is the controller now; None: as it was
    brokers: Sequence[BrokerRegistration] | None = None  # all that are live; None: as they were
    # Brokers that may join no ISR: fenced, or stopping in order. None: as they were.
    ineligible: frozenset[int] | None = None
    partitions: Sequence[PartitionChange] = ()  # as clients see them
    roles: Sequence[PartitionChange] = ()  # partitions that this broker leads or follows
    updates: Sequence[PartitionChange] = ()  # of such a partition, in the same leader epoch
    stops: Sequence[ReplicaStop] = ()  # partitions that it leads and follows no more
    # ("topics", NAME) or ("brokers", ID) -> all that is set for it; None: it is gone
    configs: Mapping[tuple[str, str], Mapping[str, str] | None] = field(default_factory=dict)
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None  # all; None: as before
    credentials: Mapping[str, Mapping[str, str]] | None = None  # of SCRAM: all, by user, mechanism
    acls: Mapping[ResourcePattern, frozenset[AccessControlEntry]] = field(default_factory=dict)


class NamedListener(Protocol):
    @property
    def listener(self) -> str: ...


E = TypeVar("E", bound=NamedListener)


def endpoint_of(endpoints: Sequence[E], listener: str) -> E:
    """The endpoint of the listener between brokers. The first one, if none has that name."""
    return next((each for each in endpoints if each.listener == listener), endpoints[0])
