"""A consumer as a member of its group: what it asks the coordinator, and what it is answered.

    JOINING    JoinGroup    our subscription     -> generation, name, who leads; to the leader, all
    SYNCING    SyncGroup    the leader's shares  -> our share
    others     Heartbeat    still there          -> and so is the group, or it has begun another
                                                    round: REBALANCE_IN_PROGRESS
    the end    LeaveGroup

Another round begins when a heartbeat or a commit is told so, when we want other topics than we
joined with (we subscribed anew, or others match the pattern), or when the leader sees that a topic
has more partitions: the three triggers of a rebalance.

A member without a name is given one, MEMBER_ID_REQUIRED, and joins with it (KIP-394): if that
answer is lost, no member is left behind that nobody knows of. One with `group.instance.id` is
static (KIP-345): it finds its place kept, and if somebody else comes under that name, it is fenced.

Invariant: an answer to what was asked in an earlier round changes nothing.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.join_group.v7.request import JoinGroupRequest
from kio.schema.sync_group.v5.request import SyncGroupRequest

from engine.client.asking import Ask
from engine.client.assignors.protocol import decode_assignment
from engine.client.consuming.coordinating import LANE
from engine.client.consuming.leading import Leading, Shares
from engine.client.consuming.rounds import NO_GENERATION, NO_MEMBER, WHY, Identity, Rounds
from engine.client.consuming.states import State
from engine.client.finding import ELSEWHERE
from engine.client.view import View
from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

CONSUMER = "consumer"  # the type of protocol that consumers speak to one another
GRACE = 5.0  # seconds that an answer may take beyond the time that members have to join


class Membership(Rounds):
    _topics: frozenset[str] = frozenset()  # that we want, as far as the view knows them
    _joined: frozenset[str] = frozenset()  # that we wanted when we joined
    _protocol: str | None = None  # that the group has agreed on

    # -- for commits -----------------------------------------------------------------------

    @property
    def credentials(self) -> Identity | None:
        """As whom to commit; None: not now, but soon. A KafkaError: we are in no group."""
        if self.identity.generation != NO_GENERATION:
            return None if self.state is State.SYNCING else self.identity
        if self._wish is None and self.state is State.OUT:
            return Identity(self.identity.group)
        if self.owned or self._resting:
            message = "the group has given our partitions to others; poll() to join it again"
            raise KafkaError(ErrorCode.unknown_member_id, message)
        message = "we have not joined the group yet; poll() until there are partitions"
        raise KafkaError(ErrorCode.rebalance_in_progress, message)

    def told(self, code: ErrorCode, identity: Identity, now: float) -> None:
        """What the coordinator has against a heartbeat, or a commit, of this identity."""
        if identity != self.identity:
            return
        if code != ErrorCode.rebalance_in_progress:
            self._refused(code, now)
        elif self.state in (State.TAKING, State.STABLE):  # in others we are on our way to join
            self._again = self._again or "the group has begun another round"

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: View) -> Iterable[Ask]:
        if self.state is not State.OUT:
            self._watch(now, view)
        asks, self._farewells = self._farewells, []
        if self.state is State.OUT:
            return asks
        try:
            coordinator = self._coordinating.find()
        except KafkaError as error:
            self._fail(error, now)
            return asks
        if coordinator is None:
            return asks
        if self.state is State.JOINING and not self._asked and now >= self._not_before:
            asks += self._join(coordinator, view)
        elif self.state is State.SYNCING and not self._asked:
            asks += self._sync(coordinator, view)
        if self._beats and self._heartbeat.is_due(now):
            asks.append(self._beat(coordinator, now))
        return asks

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        code = response.error_code
        match ask.api:
            case Api.LEAVE_GROUP:
                self._leaving -= 1
            case Api.HEARTBEAT if ask.about == self.identity:
                self._heartbeat.answered()
                if code != ErrorCode.none:
                    self._heard(ask, code, now)
            case Api.JOIN_GROUP if ask.about != self._round:
                self._answered_too_late(ask, response.member_id)
            case Api.JOIN_GROUP | Api.SYNC_GROUP if ask.about == self._round:
                self._asked = False
                if code == ErrorCode.member_id_required:
                    self.identity = self.identity._replace(member_id=response.member_id)
                elif code != ErrorCode.none:
                    self._heard(ask, code, now)
                elif ask.api is Api.JOIN_GROUP:
                    self._has_joined(response, now)
                else:
                    self._has_share(response.assignment, now)

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        self._coordinating.forget(ask.to)
        match ask.api:
            case Api.LEAVE_GROUP:
                self._leaving -= 1
            case Api.HEARTBEAT if ask.about == self.identity:
                self._heartbeat.failed(now)
            case Api.JOIN_GROUP if ask.about != self._round:
                self._answered_too_late(ask, NO_MEMBER)
            case Api.JOIN_GROUP | Api.SYNC_GROUP if ask.about == self._round:
                self._asked = False
                if error.code == ErrorCode.unsupported_version:
                    self._fail(error, now)
                else:
                    self._begin(error.message, now, self._coordinating.backoff)

    def due(self) -> float | None:
        if self._farewells:
            return 0.0
        if self.state is State.OUT:
            return None
        times: list[float | None] = [] if self._stays_away else [self._heartbeat.idle_at()]
        if self._coordinating.known is not None:
            if self._beats:
                times.append(self._heartbeat.due())
            if self.state is State.JOINING and not self._asked and self._fresh is None:
                times.append(self._not_before)
        return min((each for each in times if each is not None), default=None)

    # -- what is asked ---------------------------------------------------------------------

    @property
    def _beats(self) -> bool:
        """While we wait for all to join, the coordinator knows that we do."""
        is_member = self.identity.generation != NO_GENERATION
        return is_member and self.state is not State.JOINING

    def _watch(self, now: float, view: View) -> None:
        if self._stays_away or self._wish is None:
            return
        if self._heartbeat.is_idle(now):
            self.exceeded = True
            self._rest("max.poll.interval.ms is over", now)
            return
        if self._seen != view.version:
            self._seen = view.version
            self._topics = self._wish.topics(view)
            watched = self._leading.topics if self._leading else frozenset()
            view.want(self._topics | watched, all=self._wish.pattern is not None)
        if self.state is not State.STABLE:
            return
        if self._topics != self._joined:
            self._again = self._again or "other topics are wanted"
        elif self._leading is not None and self._leading.is_outdated(view):
            self._again = self._again or "there are other partitions"
        if self._again:
            self._begin(self._again, now)

    def _join(self, coordinator: int, view: View) -> Iterable[Ask]:
        """With a pattern only after a fresh look: so that who sees a new topic first does not
        begin a round, and who sees it next another one."""
        assert self._wish is not None
        if self._wish.pattern is not None:
            if self._fresh is None:
                self._fresh = view.version
                view.stale()
            if self._fresh == view.version:
                return
        self._joined, self._asked = self._topics, True
        self._nameless = not (self.identity.member_id or self.identity.instance_id)
        patience = self._config.max_poll_interval_ms / 1000
        request = JoinGroupRequest(
            group_id=self.identity.group,
            session_timeout=timedelta(milliseconds=self._config.session_timeout_ms),
            rebalance_timeout=timedelta(milliseconds=self._config.max_poll_interval_ms),
            member_id=self.identity.member_id,
            group_instance_id=self.identity.instance_id,
            protocol_type=CONSUMER,
            protocols=self._strategies.offers(self._topics, self.owned),
        )
        timeout = max(patience + GRACE, self._config.request_timeout_ms / 1000)
        yield Ask(coordinator, Api.JOIN_GROUP, request, self._round, timeout=timeout, lane=LANE)

    def _sync(self, coordinator: int, view: View) -> Iterable[Ask]:
        """The leader brings all shares, when it knows enough to make them."""
        shares: Shares = ()
        if self._leading is not None:
            assert self._wish is not None
            if not self._leading.is_ready(view, all=self._wish.pattern is not None):
                return
            shares = self._leading.share(view)
        self._asked = True
        group, generation, member_id, instance_id = self.identity
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=CONSUMER,
            protocol_name=self._protocol,
            assignments=shares,
        )
        yield Ask(coordinator, Api.SYNC_GROUP, request, self._round, lane=LANE)

    def _beat(self, coordinator: int, now: float) -> Ask:
        self._heartbeat.sent(now)
        group, generation, member_id, instance_id = self.identity
        request = HeartbeatRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
        )
        session = self._config.session_timeout_ms / 1000
        return Ask(coordinator, Api.HEARTBEAT, request, self.identity, timeout=session, lane=LANE)

    # -- what is answered ------------------------------------------------------------------

    def _has_joined(self, response: Any, now: float) -> None:
        self.identity = self.identity._replace(
            generation=response.generation_id, member_id=response.member_id
        )
        self._protocol = response.protocol_name
        self._heartbeat.start(now)
        self._move(State.SYNCING, "all have joined", now)
        try:
            assignor = self._strategies.chosen(self._protocol)
        except KafkaError as error:
            self._fail(error, now)
            return
        if response.leader == response.member_id:
            self._leading = Leading(assignor, response.members)
            self._seen = None  # there are more topics to know of

    def _has_share(self, data: bytes, now: float) -> None:
        try:
            partitions = decode_assignment(data).partitions
        except KafkaError as error:
            self._fail(error, now)
            return
        assert self._wish is not None
        if all(self._wish.matches(each.topic) for each in partitions):
            self._take(partitions, now)
        else:
            self._begin("a share of what is not wanted", now, self._coordinating.backoff)

    def _heard(self, ask: Ask, code: ErrorCode, now: float) -> None:
        """An error."""
        if code in ELSEWHERE:
            self._coordinating.forget(ask.to)
        if ask.api is Api.HEARTBEAT and code.retriable:
            self._heartbeat.failed(now)
        elif ask.api is Api.HEARTBEAT:
            self.told(code, ask.about, now)
        elif code.retriable:
            self._begin(code.name, now, self._coordinating.backoff)
        else:
            self._refused(code, now)

    def _refused(self, code: ErrorCode, now: float) -> None:
        """As a member of this generation."""
        if code in (ErrorCode.unknown_member_id, ErrorCode.illegal_generation):
            self._void(code)
        elif code != ErrorCode.rebalance_in_progress:
            self._fail(KafkaError(code, WHY.get(code, "")), now)
            return
        self._begin(code.name, now)

    def _answered_too_late(self, ask: Ask, member_id: str) -> None:
        """A JoinGroup that was given up. Nobody is to wait for the name that it was given."""
        if not (ask.request.member_id or self.identity.instance_id):
            self._leaving -= 1
            if self.identity.member_id != member_id:
                self._say_goodbye(member_id)
