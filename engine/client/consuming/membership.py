"""A consumer as a member of its group: requests to the coordinator, and callbacks.

              subscribed            all have joined       here is your assignment   called back
    ┌─ UNJOINED ──────> JOINING ─────────────────> SYNCING ─────────> ASSIGNING ──────> STABLE
    │     ^              ^  │                         │                   │               │
    │     │ leaves       │  │ unsubscribed,           │ failed            │               │
    │     │      rejoins │  v no member any more      v                   v               │
    │     └───────────── REVOKING <───────────────────────────────────────┴───────────────┘
    │                                     members, topics, partitions have changed; the end
    └─ every consumer starts here

    UNJOINED    no member, or one that has failed
    JOINING     JoinGroup is sent, and answered when the last member has joined; no heartbeats
    SYNCING     SyncGroup is sent; the leader brings the assignment, the others wait for it
    ASSIGNING   the application is called back for partitions that it gets, or loses
    STABLE      the member reads the partitions that it owns
    REVOKING    the application is called back for partitions that it loses before JoinGroup

    JoinGroup    subscription            -> generation, member id; to the leader: all members
    SyncGroup    the leader's assignment -> the partitions of this member
    Heartbeat    every heartbeat.interval.ms -> all is well, or REBALANCE_IN_PROGRESS
    LeaveGroup

There are three triggers of a rebalance: a heartbeat or a commit reports that one has begun; this
member wants other topics than it joined with; the leader sees that a topic has more partitions.

Before it joins again the application gives partitions up:

    eager         all of them; then all can be assigned again at once, and nobody reads meanwhile
    cooperative   only those of topics that are not wanted any more. Partitions that go to another
                  member are revoked at the end, and assigned in a second rebalance (KIP-429)
    lost          all of them, if the member was removed: others may own them already

Callbacks (rebalance_callbacks.py) run when the application polls. Heartbeats come from another
thread, so they show that the process lives, not that the application makes progress. A member whose
application has not polled for max.poll.interval.ms leaves the group (KIP-62).

A member without an id is given one by MEMBER_ID_REQUIRED, and joins with it (KIP-394): if that
response is lost, the coordinator waits for no unknown member. A member with group.instance.id is
static (KIP-345): it finds its partitions again after a restart, and is fenced if another one joins
under the same id.

Invariant: a member joins or leaves only after the application has given up what it must.
Invariant: `owned` is what the application was called back for. A partition in it is assigned to
another member only if this one was removed, and does not know it yet.
Invariant: a response to a request of an earlier rebalance changes nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v7.request import JoinGroupRequest
from kio.schema.leave_group.v4.request import LeaveGroupRequest, MemberIdentity
from kio.schema.sync_group.v5.request import SyncGroupRequest

from engine.assignors import RebalanceProtocol
from engine.assignors.protocol import decode_assignment
from engine.client.consuming.rebalance_callbacks import (
    CallbackQueue,
    OnAssign,
    OnLost,
    OnRevoke,
    RebalanceCallback,
)
from engine.client.consuming.subscription import LeaderAssignment, Strategies, SubscribedTopics
from engine.client.coordinator_lookup import ELSEWHERE, CoordinatorLookup
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from engine.client.values import ConsumerGroupMetadata
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.wire.apis import Api

PROTOCOL_TYPE = "consumer"
LANE = "coordinator"  # a connection of its own: a JoinGroup delays all requests behind it
JOIN_MARGIN = 5.0  # seconds for the response, beyond the time that members have to join
NO_GENERATION = -1

EXPLANATIONS = {
    ErrorCode.fenced_instance_id: "another consumer has joined under our group.instance.id",
    ErrorCode.inconsistent_group_protocol: "no common strategy: see partition.assignment.strategy",
    ErrorCode.group_max_size_reached: "the group is full; see the brokers' group.max.size",
    ErrorCode.invalid_session_timeout: "session.timeout.ms is not between the brokers' "
    "group.min.session.timeout.ms and group.max.session.timeout.ms",
}


class MembershipState(Enum):
    """The states of a group member, on the client's side."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    ASSIGNING = "assigning"
    STABLE = "stable"
    REVOKING = "revoking"


# For each state, those from which it may be reached.
BEFORE: Mapping[MembershipState, frozenset[MembershipState]] = {
    MembershipState.UNJOINED: frozenset({MembershipState.REVOKING}),
    MembershipState.JOINING: frozenset({MembershipState.UNJOINED, MembershipState.REVOKING}),
    MembershipState.SYNCING: frozenset({MembershipState.JOINING}),
    MembershipState.ASSIGNING: frozenset({MembershipState.SYNCING}),
    MembershipState.STABLE: frozenset({MembershipState.ASSIGNING}),
    MembershipState.REVOKING: frozenset(MembershipState)
    - {MembershipState.UNJOINED, MembershipState.REVOKING},
}


class Membership:
    """A core."""

    def __init__(
        self,
        config: ConsumerConfig,
        coordinator: CoordinatorLookup,
        emit: Callable[[Event], None],
    ) -> None:
        self.state = MembershipState.UNJOINED
        self.callbacks = CallbackQueue()  # take, call back, then `done`
        self.owned: frozenset[TopicPartition] = frozenset()
        instance_id = config.group_instance_id
        self._outsider = ConsumerGroupMetadata(coordinator.key, group_instance_id=instance_id)
        self.identity = self._outsider  # until it is a member
        self.error: ApiException | None = None  # see take_error
        self.exceeded = False  # max.poll.interval.ms was; reset when it is reported
        self._config = config
        self._coordinator = coordinator
        self._emit = emit
        self._strategies = Strategies(config)
        self._heartbeat_at = 0.0  # when the next one is due
        self._heartbeat_in_flight = False
        self._poll_deadline = 0.0  # max.poll.interval.ms after the last poll
        # The subscription, and what the metadata says about it.
        self._subscribed: SubscribedTopics | None = None
        self._topics: frozenset[str] = frozenset()  # that are subscribed, and known
        self._joined_topics: frozenset[str] = frozenset()  # that were in JoinGroup
        self._seen: int | None = None  # the version of the metadata that `_topics` is from
        self._newer_than: int | None = None  # the metadata must be, before this member joins
        # The current rebalance.
        self._rebalance = 0  # its number, on the client's side
        self._is_asked = False  # JoinGroup or SyncGroup is sent, and not answered
        self._gets_member_id = False  # the response to the JoinGroup in flight brings one
        self._not_before = 0.0  # the earliest time of the next JoinGroup
        self._protocol: str | None = None  # the strategy that the group has chosen
        self._leader: LeaderAssignment | None = None  # if this member is the leader
        self._rejoin_reason = ""  # why there has to be another rebalance
        # Leaving.
        self._waits_for_poll = False  # out of the group until the application polls again
        self._leave_requests: list[Ask] = []
        self._awaited = 0  # responses to wait for before this member has left

    # -- the application's calls -----------------------------------------------------------

    def subscribe(
        self, topics: Collection[str], pattern: re.Pattern[str] | None, now: float
    ) -> None:
        internal = not self._config.exclude_internal_topics
        self._subscribed, self._seen = SubscribedTopics(topics, pattern, internal), None
        self.polled(now)

    def unsubscribe(self, now: float) -> None:
        """Leaves once the application has given up what it owns; see `has_left`."""
        self._subscribed = None
        self._begin_rebalance("unsubscribed", now)

    @property
    def has_left(self) -> bool:
        return self.state is MembershipState.UNJOINED and not self._awaited

    def polled(self, now: float) -> None:
        """Joins the group, unless an error has to be reported first."""
        self._poll_deadline = now + self._config.max_poll_interval_ms / 1000
        if self.error is None and self._subscribed is not None:
            self._waits_for_poll = False
            if self.state is MembershipState.UNJOINED:
                self._move(MembershipState.JOINING, "subscribed", now)

    def take_error(self) -> ApiException | None:
        """What the next poll has to raise. The poll after it tries again, but a member that was
        fenced stays so."""
        error = self.error
        if error is not None and error.code != ErrorCode.fenced_instance_id:
            self.error = None
        return error

    def commit_identity(self) -> ConsumerGroupMetadata | None:
        """The identity for a commit; None while the member waits for its assignment. Raises a
        KafkaError if it is outside the group."""
        if self._is_member:
            return None if self.state is MembershipState.SYNCING else self.identity
        if self._subscribed is None and self.state is MembershipState.UNJOINED:
            return ConsumerGroupMetadata(self.identity.group_id)
        if self.owned or self._waits_for_poll:
            message = "the group has given the partitions to others; poll() to join it again"
            raise ApiException(ErrorCode.unknown_member_id, message)
        message = "the consumer is joining the group; poll() until it has partitions"
        raise ApiException(ErrorCode.rebalance_in_progress, message)

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        if self.state is not MembershipState.UNJOINED and not self._stays_out:
            self._check_poll_and_topics(now, view)
        asks, self._leave_requests = self._leave_requests, []
        if self.state is MembershipState.UNJOINED:
            return asks
        try:
            coordinator = self._coordinator.find()
        except ApiException as error:
            self._fail(error, now)
            return asks
        if coordinator is None:
            return asks
        if self.state is MembershipState.JOINING and not self._is_asked and now >= self._not_before:
            asks += self._join(coordinator, view)
        elif self.state is MembershipState.SYNCING and not self._is_asked:
            asks += self._sync(coordinator, view)
        if self._heartbeats and not self._heartbeat_in_flight and now >= self._heartbeat_at:
            asks.append(self._heartbeat(coordinator, now))
        return asks

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        code = response.error_code
        match ask.api:
            case Api.LEAVE_GROUP:
                self._awaited -= 1
            case Api.HEARTBEAT if ask.about == self.identity:
                self._heartbeat_in_flight = False
                if code != ErrorCode.none:
                    self._refused(ask, code, now)
            case Api.JOIN_GROUP if ask.about != self._rebalance:
                self._joined_too_late(ask, response.member_id)
            case Api.JOIN_GROUP | Api.SYNC_GROUP if ask.about == self._rebalance:
                self._is_asked = False
                if code == ErrorCode.member_id_required:
                    self.identity = self.identity._replace(member_id=response.member_id)
                elif code != ErrorCode.none:
                    self._refused(ask, code, now)
                elif ask.api is Api.JOIN_GROUP:
                    self._joined(response, now)
                else:
                    self._synced(response.assignment, now)

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self._coordinator.forget(ask.to)
        match ask.api:
            case Api.LEAVE_GROUP:
                self._awaited -= 1
            case Api.HEARTBEAT if ask.about == self.identity:
                self._heartbeat_again(now)
            case Api.JOIN_GROUP if ask.about != self._rebalance:
                self._joined_too_late(ask, member_id="")
            case Api.JOIN_GROUP | Api.SYNC_GROUP if ask.about == self._rebalance:
                self._is_asked = False
                if error.code == ErrorCode.unsupported_version:
                    self._fail(error, now)
                else:
                    self._begin_rebalance(error.message, now, self._coordinator.backoff)

    def due(self) -> float | None:
        if self._leave_requests:
            return 0.0
        if self.state is MembershipState.UNJOINED:
            return None
        times = [] if self._stays_out else [self._poll_deadline]
        if self._coordinator.known is not None:
            if self._heartbeats and not self._heartbeat_in_flight:
                times.append(self._heartbeat_at)
            is_joining = self.state is MembershipState.JOINING and not self._is_asked
            if is_joining and self._newer_than is None:
                times.append(self._not_before)
        return min(times, default=None)

    # -- the triggers of a rebalance -------------------------------------------------------

    def _check_poll_and_topics(self, now: float, view: MetadataView) -> None:
        assert self._subscribed is not None
        if now >= self._poll_deadline:
            self.exceeded = True
            self._leave_until_poll("max.poll.interval.ms is over", now)
            return
        if self._seen != view.version:
            self._seen = view.version
            self._topics = self._subscribed.topics(view)
            of_members = self._leader.topics if self._leader else frozenset()
            view.want(self._topics | of_members, all=self._subscribed.pattern is not None)
        if self.state is not MembershipState.STABLE:
            return
        reason = self._rejoin_reason
        if not reason and self._topics != self._joined_topics:
            reason = "other topics are wanted"
        elif not reason and self._leader is not None and self._leader.is_outdated(view):
            reason = "there are other partitions"
        if reason:
            self._begin_rebalance(reason, now)

    def group_error(self, code: ErrorCode, identity: ConsumerGroupMetadata, now: float) -> None:
        """The response to a heartbeat or a commit that was sent as this member."""
        if identity != self.identity:
            return
        if code != ErrorCode.rebalance_in_progress:
            self._removed_or_failed(code, now)
        elif self.state in (MembershipState.ASSIGNING, MembershipState.STABLE):
            # In any other state it joins again without this.
            self._rejoin_reason = self._rejoin_reason or "the group has begun a rebalance"

    def _begin_rebalance(self, reason: str, now: float, pause: float = 0.0) -> None:
        """Or leave the group. Responses to the requests in flight change nothing any more."""
        if self.state is MembershipState.UNJOINED:
            return
        self.callbacks.withdraw()
        if self.state is MembershipState.JOINING and self._is_asked and self._gets_member_id:
            self._awaited += 1  # the coordinator would wait for the member that it names
        self._rebalance += 1
        self._not_before = now + pause
        self._is_asked, self._rejoin_reason = False, ""
        self._newer_than = self._leader = None
        if self.state is not MembershipState.REVOKING:
            self._move(MembershipState.REVOKING, reason, now)
        if self.callbacks.are_done:
            self._revoke(now)

    def _revoke(self, now: float) -> None:
        kept: set[TopicPartition] = set()
        is_cooperative = self._strategies.rebalance is RebalanceProtocol.COOPERATIVE
        if is_cooperative and self._is_member and self._subscribed and not self._waits_for_poll:
            kept = {each for each in self.owned if self._subscribed.matches(each.topic)}
        if partitions := tuple(sorted(self.owned - kept)):
            kind = OnRevoke if self._is_member else OnLost
            self.callbacks.add(kind(partitions))
        elif self._stays_out:
            self._leave()
            self._move(MembershipState.UNJOINED, "nothing is owned", now)
        else:
            self._move(MembershipState.JOINING, "nothing is owned that must not be", now)

    # -- JoinGroup -------------------------------------------------------------------------

    def _join(self, coordinator: int, view: MetadataView) -> Iterable[Ask]:
        """With a pattern, only after a metadata refresh: members that see a new topic one after
        the other would each begin a rebalance."""
        assert self._subscribed is not None
        if self._subscribed.pattern is not None:
            if self._newer_than is None:
                self._newer_than = view.version
                view.stale()
            if self._newer_than == view.version:
                return
        self._joined_topics, self._is_asked = self._topics, True
        self._gets_member_id = not (self.identity.member_id or self.identity.group_instance_id)
        request = JoinGroupRequest(
            group_id=self.identity.group_id,
            session_timeout=timedelta(milliseconds=self._config.session_timeout_ms),
            rebalance_timeout=timedelta(milliseconds=self._config.max_poll_interval_ms),
            member_id=self.identity.member_id,
            group_instance_id=self.identity.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=self._strategies.protocols(self._topics, self.owned),
        )
        until_joined = self._config.max_poll_interval_ms / 1000 + JOIN_MARGIN
        timeout = max(until_joined, self._config.request_timeout_ms / 1000)
        yield Ask(coordinator, Api.JOIN_GROUP, request, self._rebalance, timeout=timeout, lane=LANE)

    def _joined(self, response: Any, now: float) -> None:
        self.identity = self.identity._replace(
            generation_id=response.generation_id, member_id=response.member_id
        )
        self._protocol = response.protocol_name
        self._heartbeat_at = now + self._config.heartbeat_interval_ms / 1000
        self._heartbeat_in_flight = False
        self._move(MembershipState.SYNCING, "all have joined", now)
        try:
            assignor = self._strategies.chosen(self._protocol)
        except ApiException as error:
            self._fail(error, now)
            return
        if response.leader == response.member_id:
            self._leader = LeaderAssignment(assignor, response.members)
            self._seen = None  # metadata of more topics is needed

    def _joined_too_late(self, ask: Ask, member_id: str) -> None:
        """The response to a JoinGroup of an earlier rebalance. The member id that it brings is
        given back, or the coordinator would wait for that member."""
        if not (ask.request.member_id or self.identity.group_instance_id):
            self._awaited -= 1
            if self.identity.member_id != member_id:
                self._send_leave(member_id)

    # -- SyncGroup -------------------------------------------------------------------------

    def _sync(self, coordinator: int, view: MetadataView) -> Iterable[Ask]:
        """The leader brings the assignment, as soon as it knows the partitions of all topics."""
        assert self._subscribed is not None
        rows: tuple[Any, ...] = ()
        if self._leader is not None:
            if not self._leader.is_ready(view, all=self._subscribed.pattern is not None):
                return
            rows = self._leader.assign(view)
        self._is_asked = True
        request = SyncGroupRequest(
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self._protocol,
            assignments=rows,
            **self.identity._asdict(),
        )
        yield Ask(coordinator, Api.SYNC_GROUP, request, self._rebalance, lane=LANE)

    def _synced(self, data: bytes, now: float) -> None:
        assert self._subscribed is not None
        try:
            partitions = decode_assignment(data).partitions
        except ApiException as error:
            self._fail(error, now)
            return
        if all(self._subscribed.matches(each.topic) for each in partitions):
            self._assign(partitions, now)
        else:
            self._begin_rebalance("an unwanted topic is assigned", now, self._coordinator.backoff)

    # -- callbacks -------------------------------------------------------------------------

    def _assign(self, partitions: Sequence[TopicPartition], now: float) -> None:
        self._strategies.remember(partitions, self.identity.generation_id)
        self._move(MembershipState.ASSIGNING, "here is the assignment", now)
        if revoked := sorted(self.owned - set(partitions)):  # of a cooperative member only
            self.callbacks.add(OnRevoke(tuple(revoked)))
            self._rejoin_reason = "others are to get what was revoked"
        new = tuple(each for each in partitions if each not in self.owned)
        self.callbacks.add(OnAssign(new))

    def done(self, callback: RebalanceCallback, now: float) -> None:
        self.callbacks.done()
        self.owned -= set(callback.partitions)
        if isinstance(callback, OnAssign):
            self.owned |= set(callback.partitions)
        self._note(callback.event, now, partitions=[str(each) for each in callback.partitions])
        if self.callbacks.are_done and self.state is MembershipState.ASSIGNING:
            self._move(MembershipState.STABLE, "the application was called back", now)
        elif self.callbacks.are_done and self.state is MembershipState.REVOKING:
            self._revoke(now)

    # -- Heartbeat -------------------------------------------------------------------------

    @property
    def _heartbeats(self) -> bool:
        """A member that waits for the response to JoinGroup needs none."""
        return self._is_member and self.state is not MembershipState.JOINING

    def _heartbeat(self, coordinator: int, now: float) -> Ask:
        self._heartbeat_at = now + self._config.heartbeat_interval_ms / 1000
        self._heartbeat_in_flight = True
        request = HeartbeatRequest(**self.identity._asdict())
        session = self._config.session_timeout_ms / 1000
        return Ask(coordinator, Api.HEARTBEAT, request, self.identity, timeout=session, lane=LANE)

    def _heartbeat_again(self, now: float) -> None:
        """Soon, since the last one has failed."""
        self._heartbeat_at = now + self._coordinator.backoff
        self._heartbeat_in_flight = False

    # -- errors ----------------------------------------------------------------------------

    def _refused(self, ask: Ask, code: ErrorCode, now: float) -> None:
        if code in ELSEWHERE:
            self._coordinator.forget(ask.to)
        if ask.api is Api.HEARTBEAT and code.retriable:
            self._heartbeat_again(now)
        elif ask.api is Api.HEARTBEAT:
            self.group_error(code, ask.about, now)
        elif code.retriable:
            self._begin_rebalance(code.name, now, self._coordinator.backoff)
        else:
            self._removed_or_failed(code, now)

    def _removed_or_failed(self, code: ErrorCode, now: float) -> None:
        if code == ErrorCode.unknown_member_id:
            self.identity = self._outsider
        elif code == ErrorCode.illegal_generation:
            # Joining under another id would leave a member behind that the group waits for.
            self.identity = self.identity._replace(generation_id=NO_GENERATION)
        elif code != ErrorCode.rebalance_in_progress:
            self._fail(ApiException(code, EXPLANATIONS.get(code, "")), now)
            return
        self._begin_rebalance(code.name, now)

    def _fail(self, error: ApiException, now: float) -> None:
        self.error = error
        self._leave_until_poll(error.message, now)

    # -- LeaveGroup ------------------------------------------------------------------------

    @property
    def _is_member(self) -> bool:
        return self.identity.generation_id != NO_GENERATION

    @property
    def _stays_out(self) -> bool:
        return self._subscribed is None or self._waits_for_poll

    def _leave_until_poll(self, reason: str, now: float) -> None:
        """At once. What the application still owns is lost."""
        self._waits_for_poll = True
        self._leave()
        self._begin_rebalance(reason, now)

    def _leave(self) -> None:
        self._send_leave(self.identity.member_id)
        self.identity = self._outsider

    def _send_leave(self, member_id: str) -> None:
        """Without a known coordinator, and for a static member, the session ends by time-out."""
        coordinator = self._coordinator.known
        if member_id and self.identity.group_instance_id is None and coordinator is not None:
            member = MemberIdentity(member_id=member_id, group_instance_id=None)
            request = LeaveGroupRequest(group_id=self.identity.group_id, members=(member,))
            self._leave_requests.append(Ask(coordinator, Api.LEAVE_GROUP, request))
            self._awaited += 1

    # -- events ----------------------------------------------------------------------------

    def _move(self, to: MembershipState, reason: str, now: float) -> None:
        assert self.state in BEFORE[to], f"no member goes from {self.state} to {to}"
        was, self.state = self.state, to
        self._note("state", now, was=was.value, now=to.value, reason=reason)

    def _note(self, what: str, at: float, /, **data: object) -> None:
        who = dict(zip(("group", "generation", "member", "instance"), self.identity, strict=True))
        self._emit(Event(f"consumer.{what}", round(at * 1000), who | data))
