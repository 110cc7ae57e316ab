"""A snapshot of a cluster: live brokers, leaders, replicas in sync, high watermarks.

    ClusterState ── brokers ──── BrokerState     its process, its session, its own clock
                 ├─ partitions ─ PartitionState ── replicas ── ReplicaState    as each has it
                 │                              └─ followers ─ FollowerState   as the leader sees it
                 ├─ groups ───── GroupState ── members ── MemberState   as its coordinator has it
                 ├─ transactions TransactionState    likewise, by transactional id
                 ├─ links ────── LinkState       only those with a fault
                 ├─ zookeepers ─ ZookeeperState  the servers of an ensemble; empty if there is one
                 └─ controllers  ControllerState the quorum of a cluster without ZooKeeper

Each broker reports its own state, so the parts may be some milliseconds apart, and two brokers may
disagree about a partition: then the higher leader epoch wins, and within an epoch the leader. For a
broker that does not answer (killed, paused, hanging) the last known state is shown, marked by
`answers`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Self

from engine.model import NO_BROKER, TopicPartition


def now() -> int:
    """ms since 1970"""
    return time.time_ns() // 1_000_000


def facts(state: type[Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a broker's answer has for the fields of a state. JSON's lists are tuples here."""
    names = [each.name for each in fields(state) if each.name in answer]
    return {
        name: tuple(answer[name]) if isinstance(answer[name], list) else answer[name]
        for name in names
    }


class Status(Enum):
    """Of a broker's process."""

    UP = "up"
    PAUSED = "paused"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class BrokerState:
    status: Status
    answers: bool  # the rest is its state now; otherwise it is the last known one
    pid: int
    port: int
    at: int = 0  # its own clock when it answered, ms since 1970
    epoch: int = NO_BROKER  # the broker epoch: another one with each registration
    session: int | None = None  # with ZooKeeper; None: no connection
    controller: int = NO_BROKER  # the controller in its metadata
    controller_epoch: int = 0  # the highest that it knows
    active: bool = False  # it believes to be controller itself
    brokers: tuple[int, ...] = ()  # the live brokers in its metadata
    connections: int = 0
    tls_copied: int = 0  # bytes of log files that TLS kept from being sent by sendfile
    quotas: tuple[Mapping[str, Any], ...] = ()  # who uses a quota: limit, rate, throttle_ms ...
    max_lag_ms: int = 0  # replica.lag.time.max.ms; 0: unknown, in an old recording
    session_ms: int = 0  # zookeeper.session.timeout.ms; likewise
    request_faults: tuple[Mapping[str, Any], ...] = ()  # what a lab does to its answers to clients
    # By API: how many it has answered, and their ms; empty unless they are counted.
    requests: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fenced: bool = False  # without ZooKeeper: it may lead nothing, and clients do not see it


@dataclass(frozen=True, slots=True)
class ReplicaState:
    role: str  # leader, follower, none (no LeaderAndIsr received yet), offline (its disk)
    leader_epoch: int
    log_start: int
    high_watermark: int
    log_end: int
    size: int  # bytes
    segments: int
    answers: bool  # its broker does
    last_stable: int = -1  # read_committed reads up to here; -1: not known, in an old recording


@dataclass(frozen=True, slots=True)
class FollowerState:
    log_end: int  # by its fetches
    behind_since: int  # when it last was caught up, by the leader's clock; 0: never; -1: it is now


@dataclass(frozen=True, slots=True)
class PartitionState:
    leader: int  # -1: none
    leader_epoch: int
    isr: tuple[int, ...]
    assignment: tuple[int, ...]  # the preferred leader first
    replicas: Mapping[int, ReplicaState]
    followers: Mapping[int, FollowerState]


@dataclass(frozen=True, slots=True)
class MemberState:
    client: str  # its client.id
    host: str
    instance: str | None  # its group.instance.id: a static member
    share: tuple[str, ...] | None  # its partitions: "orders-0", ...; None: none yet, or unreadable
    waits: bool  # for a response to JoinGroup or SyncGroup: it fetches nothing meanwhile


@dataclass(frozen=True, slots=True)
class GroupState:
    coordinator: int
    partition: int  # of __consumer_offsets
    state: str
    since: int  # ms since 1970
    generation: int
    protocol: str | None  # the strategy that the members agreed on
    leader: str | None  # a member
    members: Mapping[str, MemberState]
    offsets: Mapping[str, int]  # committed, by partition: "orders-0"

    @classmethod
    def parse(cls, coordinator: int, answer: Mapping[str, Any]) -> Self:
        members = {it["member"]: MemberState(**facts(MemberState, it)) for it in answer["members"]}
        return cls(**{**facts(cls, answer), "coordinator": coordinator, "members": members})


@dataclass(frozen=True, slots=True)
class TransactionState:
    """Of one transactional id."""

    coordinator: int
    partition: int  # of __transaction_state
    state: str
    producer_id: int
    epoch: int
    updated: int | None  # when its state changed last, ms since 1970
    started: int | None  # when its transaction began
    timeout: int  # ms that a transaction may take
    partitions: tuple[str, ...]  # that it has written to: "orders-0", ...
    unmarked: tuple[str, ...]  # of these, the ones that have no transaction marker yet

    @classmethod
    def parse(cls, coordinator: int, answer: Mapping[str, Any]) -> Self:
        return cls(**{**facts(cls, answer), "coordinator": coordinator})


@dataclass(frozen=True, slots=True)
class LinkState:
    """A faulty link, in one direction; each end is a broker's number, "zookeeper" for all of its
    servers, or "zookeeper-2"."""

    source: str
    target: str
    cut: bool
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class ZookeeperState:
    """A server of an ensemble, as it answered last, some tenths of a second ago."""

    role: str  # leader, follower, looking (no quorum), silent (no answer), paused, dead
    zxid: int  # of the last transaction that it knows; the upper half is the leader's epoch
    brokers: tuple[int, ...]  # whose session is connected to it
    sessions: int  # these and all others
    pid: int
    port: int

    @property
    def epoch(self) -> int:
        return self.zxid >> 32

    @property
    def serves(self) -> bool:
        return self.role in ("leader", "follower")


@dataclass(frozen=True, slots=True)
class ControllerState:
    """A voter of the quorum, in a cluster without ZooKeeper."""

    status: Status
    answers: bool  # the rest is its state now; otherwise it is the last known one
    pid: int
    port: int
    role: str = "unattached"  # as in engine.raft.states
    epoch: int = 0
    leader: int = NO_BROKER  # the node id of the leader that it knows
    log_start: int = 0
    log_end: int = 0
    high_watermark: int = 0  # everything before it is committed, as far as it knows
    voters: tuple[int, ...] = ()
    registered: tuple[int, ...] = ()  # brokers, by the records that it has applied
    fenced: tuple[int, ...] = ()  # of these
    voted: int = NO_BROKER  # for whom it has voted in this epoch
    epochs: tuple[tuple[int, int], ...] = ()  # of its log, the last: the epoch, and where it begins
    observers: tuple[tuple[int, int], ...] = ()  # as leader: brokers, and their log ends
    due: int = 0  # when it stands for election, or resigns, by itself: ms since 1970; 0: never

    @property
    def is_active(self) -> bool:
        return self.answers and self.role == "leader"


@dataclass(frozen=True, slots=True)
class ClusterState:
    at: int  # when it was taken, ms since 1970
    controller: int  # a broker; without ZooKeeper, the node id of the active controller; -1: none
    brokers: Mapping[int, BrokerState]
    partitions: Mapping[TopicPartition, PartitionState]
    links: tuple[LinkState, ...] = ()
    groups: Mapping[str, GroupState] = field(default_factory=dict)
    transactions: Mapping[str, TransactionState] = field(default_factory=dict)
    zookeepers: Mapping[int, ZookeeperState] = field(default_factory=dict)
    controllers: Mapping[int, ControllerState] = field(default_factory=dict)  # by node id: 101 ...


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """What one broker reports about one of its replicas, in the order of the debug server."""

    role: str
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assignment: tuple[int, ...]
    replica: ReplicaState
    followers: Mapping[int, FollowerState] = field(default_factory=dict)

    @classmethod
    def parse(cls, row: list[Any]) -> Self:
        role, leader, epoch, isr, assignment, *log, others = row
        start, committed, stable, end, size, segments = log
        return cls(
            role,
            leader,
            epoch,
            tuple(isr),
            tuple(assignment),
            ReplicaState(role, epoch, start, committed, end, size, segments, True, stable),
            {each: FollowerState(known, since) for each, known, since in others},
        )
