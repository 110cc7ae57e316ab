"""One partition as this broker sees it: its role, who is in sync, and how far is committed.

    offset      0                 HW              end of follower 3     log end of the leader
                |  committed: on  |  on some of them, and not to      |
                |  every replica  |  be shown to a consumer           |
                |  in sync        |                                   |

The leader learns how far a follower is from the offset that it fetches next. A follower that has
not had all that the leader has for `replica.lag.time.max.ms` leaves the in-sync replicas (ISR);
one that has reached the high watermark, and the start of the leader's epoch, joins them. Both are
proposals until ZooKeeper has taken them:

    SETTLED ── PROPOSE ──> PROPOSED ── WRITTEN ──> SETTLED
                              └─────── REFUSE ───> REFUSED ── the controller's word ──> SETTLED

Invariant: the high watermark is never above the log end of a replica that is in sync or that a
proposal lets in, and a proposal to leave counts only once it is written. So whoever is elected
from the ISR in ZooKeeper, whichever of the two it is just then, has all that is committed.
Invariant: the high watermark never goes back while this broker leads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrPartitionState

NO_LEADER = -1
UNKNOWN = -1  # an offset that nobody has told yet


class Role(Enum):
    NONE = "none"  # a log, if there is one, and nothing to do with it
    LEADER = "leader"  # takes what producers send, and knows who is in sync
    FOLLOWER = "follower"  # fetches from the leader


class Order(Enum):
    """What the controller can say."""

    LEAD = "lead"
    FOLLOW = "follow"
    STOP = "stop"


ROLES: Mapping[tuple[Role, Order], Role] = {  # an order is an order, whatever one was before
    (role, order): becomes
    for role in Role
    for order, becomes in (
        (Order.LEAD, Role.LEADER),
        (Order.FOLLOW, Role.FOLLOWER),
        (Order.STOP, Role.NONE),
    )
}


class Isr(Enum):
    """How the leader stands with ZooKeeper about the in-sync replicas."""

    SETTLED = "settled"  # both say the same
    PROPOSED = "proposed"  # a change is on its way there: until then both sets count
    REFUSED = "refused"  # somebody has written there: wait to be told who leads


class Step(Enum):
    PROPOSE = "propose"
    WRITTEN = "written"
    REFUSE = "refuse"


ISR_STEPS: Mapping[tuple[Isr, Step], Isr] = {
    (Isr.SETTLED, Step.PROPOSE): Isr.PROPOSED,
    (Isr.PROPOSED, Step.WRITTEN): Isr.SETTLED,
    (Isr.PROPOSED, Step.REFUSE): Isr.REFUSED,
}


class Proposal(NamedTuple):
    """Another ISR, to be written if the state in ZooKeeper still has this version."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int


class Reader(Protocol):
    """Who has told once what it wants to read, and hears from us when there is more."""

    used: int  # when it last asked
    replica_id: int  # -1: a consumer

    def changed(self, partition: TopicPartition) -> None: ...


@dataclass(slots=True)
class Follower:
    """What the leader knows of one follower."""

    id: int
    end: int = UNKNOWN  # its log end: the offset that it asked for
    log_start: int = UNKNOWN
    caught_up: int = 0  # the last time at which it had all that the leader had
    asked: int = 0  # when it last asked
    leader_end: int = UNKNOWN  # and where the leader's log ended then
    reader: Reader | None = None  # its fetch session: while nothing changes, it asks through that

    def fetched(self, offset: int, log_start: int, leader_end: int, now: int) -> None:
        """It asks for an offset. To have reached what was the end when it last asked will do:
        or one that is always a moment behind a busy leader would count as lagging."""
        if offset >= leader_end:
            self.caught_up = max(self.caught_up, now)
        elif offset >= self.leader_end:
            self.caught_up = max(self.caught_up, self.asked)
        self.end, self.log_start, self.leader_end, self.asked = offset, log_start, leader_end, now

    def seen(self, leader_end: int) -> int:
        """When it last had all; an idle session asks for every partition without naming it."""
        if self.reader is not None and self.end >= leader_end:
            self.asked = max(self.asked, self.reader.used)
            self.caught_up = max(self.caught_up, self.reader.used)
        return self.caught_up

    def reset(self, leader_end: int, now: int, caught_up: int) -> None:
        self.leader_end, self.asked, self.caught_up = leader_end, now, caught_up
        self.reader = None


@dataclass(slots=True)
class Partition:
    id: TopicPartition
    broker_id: int  # who is looking
    max_lag_ms: int = 30_000  # replica.lag.time.max.ms
    role: Role = Role.NONE
    leader: int = NO_LEADER
    leader_epoch: int = -1
    reign: int = -1  # the epoch since which we have led without a break
    epoch_start: int = UNKNOWN  # the leader's log end when its epoch began
    controller_epoch: int = -1  # of the controller that decided this
    version: int = -1  # of the state in ZooKeeper
    replicas: tuple[int, ...] = ()  # the assignment: the preferred leader first
    adding: tuple[int, ...] = ()  # of them, those that a reassignment brings
    removing: tuple[int, ...] = ()  # and those that it takes away
    isr: tuple[int, ...] = ()  # in sync: what is committed is on all of them
    isr_state: Isr = Isr.SETTLED
    counted: frozenset[int] = frozenset()  # the ISR, and whom a proposal lets in
    proposal: Proposal | None = None
    high_watermark: int = 0
    end: int = 0  # the leader's own log end
    followers: dict[int, Follower] = field(default_factory=dict)

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    # -- the controller's word -----------------------------------------------------------

    def lead(self, state: LeaderAndIsrPartitionState, log_end: int, now: int) -> bool:
        """Lead, in a new epoch. Has the high watermark moved?"""
        began = not self.is_leader
        self._take(Order.LEAD, state)
        if began:
            self.reign = state.leader_epoch
        self.epoch_start = self.end = log_end
        others = [each for each in state.replicas if each != self.broker_id]
        self.followers = {each: self.followers.get(each) or Follower(each) for each in others}
        for follower in self.followers.values():
            follower.reset(log_end, now, now if follower.id in self.isr else 0)
        return self.advance(now)

    def follow(self, state: LeaderAndIsrPartitionState) -> None:
        self._take(Order.FOLLOW, state)
        self.followers = {}

    def stop(self) -> None:
        self.role = ROLES[self.role, Order.STOP]
        self.followers = {}

    def _take(self, order: Order, state: LeaderAndIsrPartitionState) -> None:
        self.role = ROLES[self.role, order]
        self.leader, self.leader_epoch = state.leader, state.leader_epoch
        self.controller_epoch, self.version = state.controller_epoch, state.zk_version
        self.replicas, self.isr = state.replicas, state.isr
        self.adding, self.removing = state.adding_replicas, state.removing_replicas
        self._settle(Isr.SETTLED, None)

    # -- how far the others are ----------------------------------------------------------

    def appended(self, log_end: int, now: int) -> bool:
        """The leader's own log has grown. Has the high watermark?"""
        for follower in self.followers.values():
            follower.seen(self.end)
        self.end = log_end
        return self.advance(now)

    def fetched(
        self, replica: int, offset: int, log_start: int, now: int, reader: Reader | None = None
    ) -> Proposal | None:
        """A follower asks for what comes at an offset; that may bring it into the ISR.

        Who is let in counts from now on, so this comes before the high watermark moves.
        """
        follower = self.followers[replica]
        follower.fetched(offset, log_start, self.end, now)
        follower.reader = reader
        return self.expand(replica)

    def advance(self, now: int) -> bool:
        """The high watermark follows the slowest that counts.

        One that keeps up with the leader counts even before it is let in. Otherwise the high
        watermark could run ahead of it for ever, and it would never be in sync.
        """
        committed = self.end
        for follower in self.followers.values():
            if follower.end < committed and (
                follower.id in self.counted or now - follower.caught_up <= self.max_lag_ms
            ):
                committed = follower.end
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        return True

    # -- who is in sync ------------------------------------------------------------------

    def lagging(self, now: int) -> tuple[int, ...]:
        """Those of the ISR that have not had everything for too long.

        One that is no replica any more was being let in when a reassignment took it away.
        """
        others = [each for each in self.isr if each != self.broker_id]
        return tuple(each for each in others if self._is_lagging(self.followers.get(each), now))

    def _is_lagging(self, follower: Follower | None, now: int) -> bool:
        if follower is None:
            return True
        return follower.end != self.end and now - follower.caught_up > self.max_lag_ms

    def shrink(self, now: int) -> Proposal | None:
        gone = self.lagging(now) if self.isr_state is Isr.SETTLED else ()
        return self._propose(tuple(each for each in self.isr if each not in gone)) if gone else None

    def expand(self, replica: int) -> Proposal | None:
        if self.isr_state is not Isr.SETTLED or replica in self.isr:
            return None
        if self.followers[replica].end < max(self.high_watermark, self.epoch_start):
            return None
        return self._propose((*self.isr, replica))

    def expand_next(self, now: int) -> Proposal | None:
        """Another one that has become ready while the last change was being written."""
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
        self._settle(ISR_STEPS[self.isr_state, Step.PROPOSE], proposal)
        return proposal

    def written(self, version: int) -> None:
        """The proposal is the ISR now; in ZooKeeper, in this version."""
        assert self.proposal is not None
        self.isr, self.version = self.proposal.isr, version
        self._settle(ISR_STEPS[self.isr_state, Step.WRITTEN], None)

    def refused(self) -> None:
        """It may be in ZooKeeper or not: what it would let in goes on counting."""
        self._settle(ISR_STEPS[self.isr_state, Step.REFUSE], self.proposal)

    def _settle(self, state: Isr, proposal: Proposal | None) -> None:
        self.isr_state, self.proposal = state, proposal
        self.counted = frozenset(self.isr + (proposal.isr if proposal else ()))
