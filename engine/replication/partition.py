"""One partition on this broker: its role, its in-sync replicas, its high watermark.

    offset      0                 HW              end of follower 3     log end of the leader
                |  committed: on  |  on some of them: no consumer     |
                |  every replica  |  sees it                          |
                |  in sync        |                                   |

The offset that a follower fetches next is its log end. A follower that has not caught up with the
leader for `replica.lag.time.max.ms` leaves the in-sync replicas (ISR). A follower that has reached
the high watermark, and the start of the leader's epoch, joins them. Both changes are proposals
until they are written. With ZooKeeper the leader itself writes them, or from protocol 2.7 on the
controller; without ZooKeeper the controller writes them to the metadata log.

    SETTLED ── PROPOSE ──> PROPOSED ── WRITTEN ──> SETTLED
                              ├─────── REFUSE ───> REFUSED
                              └────── WITHDRAW ──> SETTLED        (without ZooKeeper only)

A new state of the partition from the controller (LeaderAndIsr, or a record of the metadata log)
leads from each of these states to SETTLED. It is the only way out of REFUSED.

Invariant: the high watermark is never above the log end of a replica that is in the ISR or that a
proposal adds; a removed replica counts until the removal is written. What is written is the old ISR
or the new one, and any replica of either has all committed records, so each of them may be elected.
Invariant: the high watermark never decreases while this broker leads.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import PartitionRegistration
from engine.model import NO_BROKER, TopicPartition

UNKNOWN = -1  # an offset that is not known yet


class Role(Enum):
    """What this broker does for a partition."""

    NONE = "none"  # perhaps a log, but no role
    LEADER = "leader"  # appends the records of producers, and decides which replicas are in sync
    FOLLOWER = "follower"  # fetches from the leader


class RoleChange(Enum):
    """An order of the controller."""

    LEAD = "lead"
    FOLLOW = "follow"
    STOP = "stop"


ROLES: Mapping[tuple[Role, RoleChange], Role] = {  # any role may follow any other
    (role, order): becomes
    for role in Role
    for order, becomes in (
        (RoleChange.LEAD, Role.LEADER),
        (RoleChange.FOLLOW, Role.FOLLOWER),
        (RoleChange.STOP, Role.NONE),
    )
}


class IsrState(Enum):
    """Whether the leader has the ISR that is written."""

    SETTLED = "settled"  # the leader has the ISR that is written
    PROPOSED = "proposed"  # a change is being written: until then both ISRs count
    REFUSED = "refused"  # the controller has decided otherwise: wait for its decision


class IsrStep(Enum):
    """What happens to a change of the ISR."""

    PROPOSE = "propose"
    WRITTEN = "written"
    REFUSE = "refuse"
    WITHDRAW = "withdraw"


ISR_STEPS: Mapping[tuple[IsrState, IsrStep], IsrState] = {
    (IsrState.SETTLED, IsrStep.PROPOSE): IsrState.PROPOSED,
    (IsrState.PROPOSED, IsrStep.WRITTEN): IsrState.SETTLED,
    (IsrState.PROPOSED, IsrStep.REFUSE): IsrState.REFUSED,
    (IsrState.PROPOSED, IsrStep.WITHDRAW): IsrState.SETTLED,
}


class Proposal(NamedTuple):
    """A new ISR, to be written if the state of the partition still has this version."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int


class FetchReader(Protocol):
    """A fetch session: it is notified when one of its partitions changes."""

    used: int  # when it last asked
    replica_id: int  # -1: a consumer

    def changed(self, partition: TopicPartition) -> None: ...


@dataclass(slots=True)
class Follower:
    """The state of one follower, on the leader."""

    id: int
    end: int = UNKNOWN  # its log end: the offset of its last fetch
    log_start: int = UNKNOWN
    caught_up: int = 0  # when it last had all records of the leader
    asked: int = 0  # when it last fetched
    leader_end: int = UNKNOWN  # the leader's log end at that time
    reader: FetchReader | None = None  # its fetch session, if it has one

    def fetched(self, offset: int, log_start: int, leader_end: int, now: int) -> None:
        """A fetch from an offset. The follower has caught up if it has reached the leader's log end
        at its previous fetch: otherwise it would always lag behind a busy leader."""
        if offset >= leader_end:
            self.caught_up = max(self.caught_up, now)
        elif offset >= self.leader_end:
            self.caught_up = max(self.caught_up, self.asked)
        self.end, self.log_start, self.leader_end, self.asked = offset, log_start, leader_end, now

    def seen(self, leader_end: int) -> int:
        """When the follower had last caught up. In an idle fetch session it fetches without naming
        the partition."""
        if self.reader is not None and self.end >= leader_end:
            self.asked = max(self.asked, self.reader.used)
            self.caught_up = max(self.caught_up, self.reader.used)
        return self.caught_up

    def reset(self, leader_end: int, now: int, caught_up: int) -> None:
        self.leader_end, self.asked, self.caught_up = leader_end, now, caught_up
        self.reader = None


@dataclass(slots=True)
class Partition:
    """What this broker knows of one partition, as its leader or as a follower."""

    id: TopicPartition
    broker_id: int  # of this broker
    max_lag_ms: int = 30_000  # replica.lag.time.max.ms
    ineligible: Set[int] = frozenset()  # brokers that may join no ISR, as the controller says
    role: Role = Role.NONE
    leader: int = NO_BROKER
    leader_epoch: int = -1
    leader_since: int = -1  # the first epoch of this broker's leadership
    epoch_start: int = UNKNOWN  # the leader's log end when its epoch began
    controller_epoch: int = -1  # of the controller that elected the leader
    version: int = -1  # of the written state: in ZooKeeper, that of the znode
    replicas: tuple[int, ...] = ()  # the assignment: the preferred leader first
    adding: tuple[int, ...] = ()  # of them: those that a reassignment adds
    removing: tuple[int, ...] = ()  # and those that it removes
    isr: tuple[int, ...] = ()  # in sync: all of them have the committed records
    isr_state: IsrState = IsrState.SETTLED
    counted: frozenset[int] = frozenset()  # the ISR, and the replicas that a proposal adds
    proposal: Proposal | None = None
    high_watermark: int = 0
    end: int = 0  # the leader's own log end
    followers: dict[int, Follower] = field(default_factory=dict)

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    # -- decisions of the controller -----------------------------------------------------

    def lead(self, state: PartitionRegistration, log_end: int, now: int) -> None:
        """Become leader, or lead in a new epoch."""
        began = not self.is_leader
        self._take(RoleChange.LEAD, state)
        if began:
            self.leader_since = state.leader_epoch
        self.epoch_start = self.end = log_end
        others = [each for each in state.replicas if each != self.broker_id]
        self.followers = {each: self.followers.get(each) or Follower(each) for each in others}
        for follower in self.followers.values():
            follower.reset(log_end, now, now if follower.id in self.isr else 0)
        self.advance(now)

    def follow(self, state: PartitionRegistration) -> None:
        self._take(RoleChange.FOLLOW, state)
        self.followers = {}

    def update(self, state: PartitionRegistration, now: int) -> bool:
        """Take over another ISR or assignment, with the same leader in the same epoch. Returns
        whether it is newer than what is known: the answer to a proposal may have come before."""
        if state.leader_epoch != self.leader_epoch or state.version <= self.version:
            return False
        self.version = state.version
        self.replicas, self.isr = state.replicas, state.isr
        self.adding, self.removing = state.adding, state.removing
        self._settle(IsrState.SETTLED, None)
        if self.is_leader:
            others = [each for each in state.replicas if each != self.broker_id]
            self.followers = {each: self.followers.get(each) or Follower(each) for each in others}
            self.advance(now)
        return True

    def stop(self) -> None:
        self.role = ROLES[self.role, RoleChange.STOP]
        self.followers = {}

    def _take(self, order: RoleChange, state: PartitionRegistration) -> None:
        self.role = ROLES[self.role, order]
        self.leader, self.leader_epoch = state.leader, state.leader_epoch
        self.controller_epoch, self.version = state.controller_epoch, state.version
        self.replicas, self.isr = state.replicas, state.isr
        self.adding, self.removing = state.adding, state.removing
        self._settle(IsrState.SETTLED, None)

    # -- the log ends of the followers, and the high watermark ----------------------------

    def appended(self, log_end: int, now: int) -> bool:
        """The leader's own log has grown. Returns whether the high watermark has moved."""
        for follower in self.followers.values():
            follower.seen(self.end)
        self.end = log_end
        return self.advance(now)

    def fetched(
        self, replica: int, offset: int, log_start: int, now: int, reader: FetchReader | None = None
    ) -> Proposal | None:
        """A follower fetches from an offset. Returns a proposal if it may join the ISR.

        A replica that joins counts from now on, so call this before the high watermark moves.
        """
        follower = self.followers[replica]
        follower.fetched(offset, log_start, self.end, now)
        follower.reader = reader
        return self.expand(replica)

    def advance(self, now: int) -> bool:
        """Move the high watermark to the smallest log end that counts.

        A follower that has caught up counts even before it is in the ISR. Otherwise the high
        watermark could stay ahead of it for ever, and it would never join. One that may not join,
        because its broker is fenced or is being stopped, is not waited for.
        """
        committed = self.end
        for follower in self.followers.values():
            if follower.end < committed and (
                follower.id in self.counted or self._may_join(follower, now)
            ):
                committed = follower.end
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        return True

    def _may_join(self, follower: Follower, now: int) -> bool:
        is_near = now - follower.caught_up <= self.max_lag_ms
        return is_near and follower.id not in self.ineligible

    def require(self, min_insync_replicas: int, *, appended: bool = False) -> None:
        """Raise an error if too few replicas are in sync, before or after an append."""
        isr = self.counted if appended else self.isr
        if len(isr) < min_insync_replicas:
            raise ApiException(
                ErrorCode.not_enough_replicas_after_append
                if appended
                else ErrorCode.not_enough_replicas,
                f"The size of the current ISR {sorted(isr)} is insufficient to satisfy the "
                f"min.isr requirement of {min_insync_replicas} for partition {self.id}",
            )

    # -- the in-sync replicas ------------------------------------------------------------

    def lagging(self, now: int) -> tuple[int, ...]:
        """The members of the ISR that have been behind for too long.

        A member that is no replica any more is one of them: a reassignment has removed it.
        """
        others = [each for each in self.isr if each != self.broker_id]
        return tuple(each for each in others if self._is_lagging(self.followers.get(each), now))

    def _is_lagging(self, follower: Follower | None, now: int) -> bool:
        if follower is None:
            return True
        return follower.end != self.end and now - follower.caught_up > self.max_lag_ms

    def shrink(self, now: int) -> Proposal | None:
        gone = self.lagging(now) if self.isr_state is IsrState.SETTLED else ()
        return self._propose(tuple(each for each in self.isr if each not in gone)) if gone else None

    def expand(self, replica: int) -> Proposal | None:
        is_settled = self.isr_state is IsrState.SETTLED
        if not is_settled or replica in self.isr or replica in self.ineligible:
            return None
        if self.followers[replica].end < max(self.high_watermark, self.epoch_start):
            return None
        return self._propose((*self.isr, replica))

    def expand_next(self, now: int) -> Proposal | None:
        """Propose a follower that caught up while the last proposal was written."""
        for follower in self.followers.values():
            if now - follower.seen(self.end) <= self.max_lag_ms:
                proposal = self.expand(follower.id)
                if proposal is not None:
                    return proposal
        return None

    def _propose(self, isr: tuple[int, ...]) -> Proposal:
        proposal = Proposal(
            self.id, self.broker_id, self.leader_epoch, isr, self.controller_epoch, self.version
        )
        self._settle(ISR_STEPS[self.isr_state, IsrStep.PROPOSE], proposal)
        return proposal

    def waits_for(self, proposal: Proposal) -> bool:
        return self.isr_state is IsrState.PROPOSED and self.proposal == proposal

    def written(self, version: int) -> tuple[int, ...]:
        """The proposal is written; the state of the partition has this version now. Returns the
        ISR before it."""
        assert self.proposal is not None
        was, self.isr, self.version = self.isr, self.proposal.isr, version
        self._settle(ISR_STEPS[self.isr_state, IsrStep.WRITTEN], None)
        return was

    def withdraw(self) -> None:
        """The controller does not accept the added replica for now: the old ISR stays."""
        self._settle(ISR_STEPS[self.isr_state, IsrStep.WITHDRAW], None)

    def refused(self) -> None:
        """The proposal may be written or not, so the replicas that it adds still count."""
        self._settle(ISR_STEPS[self.isr_state, IsrStep.REFUSE], self.proposal)

    def _settle(self, state: IsrState, proposal: Proposal | None) -> None:
        self.isr_state, self.proposal = state, proposal
        self.counted = frozenset(self.isr + (proposal.isr if proposal else ()))
