"""One consumer group: its members join, get their assignments, send heartbeats, and leave.

    JoinGroup   join with these protocols        answered when all members have joined
    SyncGroup   the leader sends assignments     answered with the member's own, replicated
    Heartbeat   I am alive                       or REBALANCE_IN_PROGRESS: join again
    LeaveGroup  I am leaving

                 the first member          all members have joined
       ┌── EMPTY ───────> PREPARING_REBALANCE ───────> COMPLETING_REBALANCE ──┐
       │     ^              │  ^  ^                             │             │ the leader's
       │     └─ no member ──┘  │  └── a member joins, leaves, ──┘             │ assignments
       v        has joined     │      changes, or is silent                   │ are replicated
     DEAD <── deleted, expired,│                                              v
              or moved away    └───────────────── the same ──────────────── STABLE

When the coordinator moves to another broker, a group becomes DEAD here from each of these states.

A rebalance leads to the next generation of the group. The first one of a group waits for
`group.initial.rebalance.delay.ms`, since several members are usually started together; each that
joins prolongs it, up to the rebalance timeout. Later ones end as soon as all members have joined
again, or after the longest of their rebalance timeouts.

A decision of the group is appended to the log, and takes effect when it is replicated. What is
only in memory (the waiting requests, the ends of sessions) is lost with this broker; the next
coordinator starts with the last stable generation, and gives every member a new session.

Invariant: all members of a generation get the assignments that its leader sent, or none does.
Invariant: no assignment is sent to a member before the in-sync replicas have it.
Invariant: a member that waits for our response is not removed for its silence, unless it is new.

Left out: when the new id of a static member cannot be written, Kafka restores the old id. Here the
old id stays fenced, and the new process tries again.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from engine.assignors.protocol import decode_assignment
from engine.coordinator import responses
from engine.coordinator.effects import UNAVAILABLE, Caller, CoordinatorContext, OnWritten
from engine.coordinator.members import CONSUMER, MemberMetadata, Members, Protocols
from engine.coordinator.offsets import Commit, GroupOffsets, tombstones
from engine.coordinator.records import UNKNOWN, GroupKey, GroupValue, encode_key, encode_value
from engine.coordinator.responses import NO_GENERATION, NO_MEMBER, FirstVersion, knows
from engine.coordinator.timers import Alarm, AlarmKind
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.primitives import milliseconds

# The errors for members if their assignments could not be written.
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.request_timed_out: ErrorCode.rebalance_in_progress,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}
NEW_MEMBER_MS = 5 * 60_000  # the session of a new member, which cannot send heartbeats yet
MIN_JOIN_MS = 1000  # if no member has joined again, the group waits at least this much longer
MINUTE_MS = 60_000


class ClassicGroupState(Enum):
    """The states of a consumer group"""

    EMPTY = "Empty"  # no members; it may have offsets, and clients may commit without joining
    PREPARING_REBALANCE = "PreparingRebalance"  # each member must join again
    COMPLETING_REBALANCE = "CompletingRebalance"  # members wait for the leader's assignments
    STABLE = "Stable"  # each member has its assignment
    DEAD = "Dead"  # removed here; another broker may have it


EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicGroupState

# For each state, the states before it.
BEFORE: Mapping[ClassicGroupState, frozenset[ClassicGroupState]] = {
    EMPTY: frozenset({PREPARING}),
    PREPARING: frozenset({EMPTY, COMPLETING, STABLE}),
    COMPLETING: frozenset({PREPARING}),
    STABLE: frozenset({COMPLETING}),
    DEAD: frozenset({EMPTY, PREPARING, COMPLETING, STABLE}),
}


class Group:
    """One group. `join`, `sync`, `heartbeat` and `leave` take the requests of its members."""

    def __init__(self, id: str, partition: int, context: CoordinatorContext) -> None:
        self.id = id
        self.partition = partition  # of __consumer_offsets
        self.context = context
        self.state = EMPTY
        self.since = UNKNOWN  # when it entered its state
        self.generation = 0
        self.members = Members()
        self.pending: set[str] = set()  # member ids that were given out, and not used yet
        self.topics: frozenset[str] | None = None  # that its consumers subscribed to, if known
        self.offsets = GroupOffsets()
        self._delay_left: int | None = None  # ms by which a first rebalance may be prolonged
        self._has_grown = False  # a member was added during the first rebalance's delay
        self._storing = NO_GENERATION  # the generation whose assignments are being written

    def transition_to(self, to: ClassicGroupState, reason: str, now: int) -> None:
        assert self.state in BEFORE[to], f"a group cannot go from {self.state} to {to}"
        was, self.state, self.since = self.state, to, now
        self._report(
            "state", now, was=was.value, now=to.value, generation=self.generation, reason=reason
        )

    # -- JoinGroup -------------------------------------------------------------------------

    def join(self, request: Any, caller: Caller, now: int) -> Any:
        """JoinGroup. Returns the response, or None if it is sent later."""
        id, instance_id = request.member_id, request.group_instance_id
        self._check_size(id, now)
        protocols = tuple((each.name, each.metadata) for each in request.protocols)
        self.members.check_protocols(request.protocol_type, [name for name, _ in protocols])
        if id == NO_MEMBER and (member := self.members.static(instance_id)) is not None:
            self._replace_static_member(member, protocols, caller, now)
            return None
        if id == NO_MEMBER or (id in self.pending and instance_id is None):
            return self._join_new(request, protocols, caller, now)
        member = self.members.find(id, instance_id)
        has_changed = member.protocols != protocols
        if self.state is STABLE:  # a leader that joins again wants a new assignment
            has_changed |= id == self.members.leader
        if self.state is not PREPARING and not has_changed:
            self._renew_session(member, now)
            return responses.joined(self.members, id, self.generation)
        if member.joining is not None:  # it sends its request again, and has dropped the first
            again = ErrorCode.rebalance_in_progress
            self._answer_join(member, responses.not_joined(member.joining, id, again), now)
        member.joining, member.protocols = caller, protocols
        self._rebalance(f"{id} joins again{responses.said(request)}", now)
        return None

    def _check_size(self, id: str, now: int) -> None:
        """If `group.max.size` has become smaller, the last members to join again are removed."""
        inside = [
            each.id for each in self.members.values() if each.joining or self.state is not PREPARING
        ]
        if id in inside or len(inside) < self.context.config.group_max_size:
            return
        if id in self.members:
            self._remove_and_rebalance(self.members[id], "the group is full", now)
        raise ApiException(ErrorCode.group_max_size_reached, f"{self.id} is full")

    def _join_new(self, request: Any, protocols: Protocols, caller: Caller, now: int) -> Any:
        id, instance_id = request.member_id, request.group_instance_id
        session = milliseconds(request.session_timeout)
        if id == NO_MEMBER:
            id = self._new_id(instance_id or caller.client_id)
            if instance_id is None and knows(caller, FirstVersion.MEMBER_ID_REQUIRED):
                self.pending.add(id)
                self._set_alarm(AlarmKind.PENDING, now + session, id)
                return responses.not_joined(caller, id, ErrorCode.member_id_required)
        self.pending.discard(id)
        self._cancel_alarm(AlarmKind.PENDING, id)
        member = MemberMetadata(
            id=id,
            instance_id=instance_id,
            client_id=caller.client_id,
            host=caller.host,
            rebalance_timeout=milliseconds(request.rebalance_timeout),
            session_timeout=session,
            protocols=protocols,
            is_new=True,
            joining=caller,
        )
        self._renew_session(member, now)
        self._has_grown |= self.state is PREPARING and self.generation == 0
        self.members.add(member, request.protocol_type)
        self._report_member(member, "joined", now)
        self._rebalance(f"{id} joins{responses.said(request)}", now)
        return None

    def _new_id(self, name: str) -> str:
        return f"{name}-{self.context.new_id()}"

    def _replace_static_member(
        self, member: MemberMetadata, protocols: Protocols, caller: Caller, now: int
    ) -> None:
        """A static member has restarted, and does not know its member id.

        A stable group stays stable if it would choose the same protocol again, even if the member
        subscribes to other topics now (as in 2.8).
        """
        leader = self.members.leader
        self._refuse(member, ErrorCode.fenced_instance_id, now)
        self._report_member(member, "fenced", now)
        self._cancel_alarm(AlarmKind.SESSION, member.id)
        self.members.rename(member, self._new_id(str(member.instance_id)))
        member.protocols, member.joining = protocols, caller
        self._renew_session(member, now)
        self._report_member(member, "joined", now)

        def stored(error: ErrorCode, now: int) -> None:
            if member.joining is not caller or self.state is PREPARING:
                return  # a rebalance has answered it since, or is about to
            if error == ErrorCode.none:
                answer = responses.is_back(caller, self.members, member.id, self.generation, leader)
            else:
                answer = responses.not_joined(caller, NO_MEMBER, WRITE_ERRORS.get(error, error))
            self._answer_join(member, answer, now)

        if self.state is STABLE and self.members.vote() == self.members.protocol:
            assignments = {each.id: each.assignment for each in self.members.values()}
            self._write(assignments, now, stored)
        else:
            self._rebalance(f"{member.instance_id} is back", now)

    # -- the rebalance, until all have joined ----------------------------------------------

    def _rebalance(self, reason: str, now: int) -> None:
        """Start a rebalance, unless one has started; end it, if all have joined."""
        if self.state in BEFORE[PREPARING]:
            self._prepare_rebalance(reason, now)
        self._complete_join_if_all_have_joined(now)

    def _prepare_rebalance(self, reason: str, now: int) -> None:
        if self.state is COMPLETING:
            for member in self.members.values():
                member.assignment = b""
            self._answer_all_syncs(ErrorCode.rebalance_in_progress, now)
        self._cancel_alarm(AlarmKind.SYNC)
        delay = self.context.config.group_initial_rebalance_delay_ms
        timeout = self.members.rebalance_timeout
        is_first = self.state is EMPTY
        self._delay_left = max(timeout - delay, 0) if is_first else None
        self._set_alarm(AlarmKind.JOIN, now + (delay if is_first else timeout))
        self.transition_to(PREPARING, reason, now)

    def _complete_join_if_all_have_joined(self, now: int) -> None:
        is_delayed = self._delay_left is not None
        have_joined = not self.pending and all(each.joining for each in self.members.values())
        if self.state is PREPARING and not is_delayed and have_joined:
            self._complete_join(now)

    def _on_join_timeout(self, now: int) -> None:
        if self._delay_left and self._has_grown:
            self._has_grown = False
            more = min(self.context.config.group_initial_rebalance_delay_ms, self._delay_left)
            self._delay_left -= more
            self._set_alarm(AlarmKind.JOIN, now + more)
        else:
            self._complete_join(now)

    def _complete_join(self, now: int) -> None:
        """Remove the members that have not joined again, and begin the next generation."""
        for member in [each for each in self.members.values() if not each.joining]:
            if not member.is_static:
                self._remove(member, "did not join again", now)
        self._delay_left = None
        if self.members and not self.members.choose_leader():
            timeout = max(self.members.rebalance_timeout, MIN_JOIN_MS)
            self._set_alarm(AlarmKind.JOIN, now + timeout)
            return
        self._cancel_alarm(AlarmKind.JOIN)
        self.generation += 1
        self.members.protocol = self.members.vote() if self.members else None
        self.topics = self.members.subscribed_topics()
        if not self.members:
            self.transition_to(EMPTY, "no member joined", now)
            self._write({}, now)
            return
        self.transition_to(COMPLETING, "all have joined", now)
        self._set_alarm(AlarmKind.SYNC, now + self.members.rebalance_timeout)
        for member in self.members.values():
            member.is_new = member.has_synced = False
            self._renew_session(member, now)
            response = responses.joined(self.members, member.id, self.generation)
            self._answer_join(member, response, now)

    # -- SyncGroup, and the rebalance until all have their assignments ------------------------

    def sync(self, request: Any, caller: Caller, now: int) -> Any:
        """SyncGroup. Returns the response, or None if it is sent later."""
        named = request.protocol_type, request.protocol_name
        if None in named and knows(caller, FirstVersion.NAMED_PROTOCOL):
            raise ApiException(ErrorCode.inconsistent_group_protocol, "a protocol must be named")
        member = self._member(request, request.generation_id)
        chosen = self.members.protocol_type, self.members.protocol
        for each, agreed in zip(named, chosen, strict=True):
            if each is not None and each != agreed:
                message = f"the group uses {agreed}, not {each}"
                raise ApiException(ErrorCode.inconsistent_group_protocol, message)
        if self.state is PREPARING:
            raise ApiException(ErrorCode.rebalance_in_progress, f"{self.id} has no leader yet")
        member.has_synced = True
        if self.state is STABLE:
            self._renew_session(member, now)
            return responses.synced(self.members, member.assignment)
        self._answer_sync(member, responses.not_synced(ErrorCode.rebalance_in_progress), now)
        member.syncing = caller
        if member.id == self.members.leader:
            sent = {each.member_id: each.assignment for each in request.assignments}
            self._store_assignments(sent, now)
        return None

    def _store_assignments(self, sent: Mapping[str, bytes], now: int) -> None:
        """The first assignments of a generation are used; later ones are ignored."""
        if self._storing == self.generation:
            return
        generation = self._storing = self.generation
        assignments = {each: sent.get(each, b"") for each in self.members}

        def stored(error: ErrorCode, now: int) -> None:
            if self.state is not COMPLETING or self.generation != generation:
                return
            if error == ErrorCode.none:
                self._become_stable(assignments, now)
            else:
                error = WRITE_ERRORS.get(error, error)
                self._answer_all_syncs(error, now)
                self._rebalance(f"the assignment was not stored: {error.name}", now)

        self._write(assignments, now, stored)

    def _become_stable(self, assignments: Mapping[str, bytes], now: int) -> None:
        for member in self.members.values():
            member.assignment = assignments[member.id]
            self._answer_sync(member, responses.synced(self.members, member.assignment), now)
        self.transition_to(STABLE, "the assignment is stored", now)
        self._report(
            "assignment",
            now,
            generation=self.generation,
            protocol=self.members.protocol,
            leader=self.members.leader,
            shares={each.id: self.assigned_partitions(each) for each in self.members.values()},
        )

    def assigned_partitions(self, member: MemberMetadata) -> list[str] | None:
        """A consumer's partitions; None without an assignment, or if it cannot be read here."""
        if self.members.protocol_type != CONSUMER or not member.assignment:
            return None
        try:
            return [str(each) for each in decode_assignment(member.assignment).partitions]
        except ApiException:  # the members may use any format
            return None

    def _write(
        self, assignments: Mapping[str, bytes], now: int, then: OnWritten | None = None
    ) -> None:
        value = self.members.record(self.generation, self.since, assignments)
        record = encode_key(GroupKey(self.id)), encode_value(value)
        self.context.append(self.partition, [record], now, then)

    def _on_sync_timeout(self, now: int) -> None:
        late = [each for each in self.members.values() if not each.has_synced]
        for member in late:
            self._remove(member, "did not sync", now)
        if late:
            self._rebalance("some did not sync", now)

    # -- Heartbeat, LeaveGroup, and timeouts -------------------------------------------------

    def heartbeat(self, request: Any, now: int) -> None:
        self._renew_session(self._member(request, request.generation_id), now)
        if self.state is PREPARING:
            raise ApiException(ErrorCode.rebalance_in_progress, f"join {self.id} again")

    def leave(self, member_id: str, instance_id: str | None, said: str, now: int) -> None:
        """LeaveGroup. An administrator may remove a static member by its instance id alone."""
        if member_id in self.pending:
            self._forget_pending(member_id, now)
            return
        member = self.members.static(instance_id) if member_id == NO_MEMBER else None
        member = member or self.members.find(member_id, instance_id)
        self._remove(member, "left", now)
        self._rebalance(f"{member.id} left{said}", now)

    def on_alarm(self, alarm: Alarm, now: int) -> None:
        match alarm.kind:
            case AlarmKind.JOIN:
                self._on_join_timeout(now)
            case AlarmKind.SYNC:
                self._on_sync_timeout(now)
            case AlarmKind.PENDING:
                self._forget_pending(alarm.member, now)
            case AlarmKind.SESSION:
                member = self.members[alarm.member]
                if member.is_new or not member.is_waiting:
                    self._remove_and_rebalance(member, "expired", now)

    def _member(self, request: Any, generation: int) -> MemberMetadata:
        member = self.members.find(request.member_id, request.group_instance_id)
        if generation != self.generation:
            raise self._other_generation()
        return member

    def _forget_pending(self, id: str, now: int) -> None:
        self.pending.discard(id)
        self._cancel_alarm(AlarmKind.PENDING, id)
        self._complete_join_if_all_have_joined(now)

    def _remove(self, member: MemberMetadata, why: str, now: int) -> None:
        self._refuse(member, ErrorCode.unknown_member_id, now)
        self.members.remove(member)
        self._cancel_alarm(AlarmKind.SESSION, member.id)
        self._report_member(member, why, now)

    def _remove_and_rebalance(self, member: MemberMetadata, why: str, now: int) -> None:
        self._remove(member, why, now)
        self._rebalance(f"{member.id} {why}", now)

    # -- responses, alarms and events --------------------------------------------------------

    def _answer_join(self, member: MemberMetadata, response: Any, now: int) -> None:
        caller, member.joining = member.joining, None
        self._answer(caller, member, response, now)

    def _answer_sync(self, member: MemberMetadata, response: Any, now: int) -> None:
        caller, member.syncing = member.syncing, None
        self._answer(caller, member, response, now)

    def _answer_all_syncs(self, error: ErrorCode, now: int) -> None:
        for member in self.members.values():
            self._answer_sync(member, responses.not_synced(error), now)

    def _answer(
        self, caller: Caller | None, member: MemberMetadata, response: Any, now: int
    ) -> None:
        if caller is not None:
            self.context.reply(caller, response)
            self._renew_session(member, now)

    def _refuse(self, member: MemberMetadata, error: ErrorCode, now: int) -> None:
        """Answer the waiting requests of a member with an error."""
        if member.joining is not None:
            id = NO_MEMBER if error == ErrorCode.unknown_member_id else member.id
            self._answer_join(member, responses.not_joined(member.joining, id, error), now)
        self._answer_sync(member, responses.not_synced(error), now)

    def _renew_session(self, member: MemberMetadata, now: int) -> None:
        timeout = NEW_MEMBER_MS if member.is_new else member.session_timeout
        self._set_alarm(AlarmKind.SESSION, now + timeout, member.id)

    def _set_alarm(self, kind: AlarmKind, deadline: int, member: str = "") -> None:
        self.context.timers.set(Alarm(kind, self.id, member, self.partition), deadline)

    def _cancel_alarm(self, kind: AlarmKind, member: str = "") -> None:
        self.context.timers.cancel(Alarm(kind, self.id, member, self.partition))

    def _report_member(self, member: MemberMetadata, what: str, now: int) -> None:
        self._report("member", now, member=member.id, instance=member.instance_id, what=what)

    def _report(self, what: str, now: int, /, **data: Any) -> None:
        self.context.report(f"group.{what}", now, group=self.id, **data)

    # -- its coordinator is loaded or unloaded -----------------------------------------------

    def replay(self, value: GroupValue | None) -> None:
        """Restore the group from a record; None is a tombstone."""
        value = value or GroupValue()
        self.members.restore(value)
        self.generation, self.since = value.generation, value.since
        self.state = STABLE if self.members else EMPTY

    def start(self, now: int) -> None:
        """This broker is the group's coordinator now: every member gets a new session."""
        self.topics = self.members.subscribed_topics()
        for member in self.members.values():
            self._renew_session(member, now)
        if len(self.members) > self.context.config.group_max_size:
            self._rebalance("it is too large", now)

    def stop(self, now: int) -> None:
        """Another broker is the group's coordinator now."""
        for member in self.members.values():
            self._refuse(member, ErrorCode.not_coordinator, now)
        self._die("another broker is the coordinator", now)

    def _die(self, reason: str, now: int) -> None:
        self.context.timers.cancel_all(self.partition, self.id)
        self.transition_to(DEAD, reason, now)

    # -- its offsets -------------------------------------------------------------------------

    def check_commit(self, request: Any, now: int) -> None:
        """Only members of this generation may commit; any client may if there are no members."""
        generation = request.generation_id
        if generation < 0 and self.state is EMPTY:
            return
        member = self._member(request, generation)
        if self.state is COMPLETING:
            raise ApiException(ErrorCode.rebalance_in_progress, "assignments are being decided")
        self._renew_session(member, now)

    def check_transactional_commit(self, request: Any) -> None:
        """Since KIP-447 a producer names the member that it commits for. Older producers have one
        transactional id for each partition; a missing field is not checked."""
        member, generation = request.member_id, request.generation_id
        if self.members.is_fenced(member, request.group_instance_id):
            raise ApiException(ErrorCode.fenced_instance_id, f"{member} was replaced")
        if member != NO_MEMBER and member not in self.members:
            raise ApiException(ErrorCode.unknown_member_id, f"{member} is not in the group")
        if generation >= 0 and generation != self.generation:
            raise self._other_generation()

    def _other_generation(self) -> ApiException:
        return ApiException(ErrorCode.illegal_generation, f"this is generation {self.generation}")

    def report_commit(self, offsets: Commit, now: int) -> None:
        if offsets:
            numbers = {str(each): it.offset for each, it in offsets.items()}
            self.context.report("offset.committed", now, group=self.id, offsets=numbers)

    def remove_offsets(self, partitions: Iterable[TopicPartition], now: int) -> None:
        """A group without members is removed with its last offset.

        The tombstones are not awaited. If they are lost, the offsets exist again after a restart,
        and expire again.
        """
        records = tombstones(self.id, self.offsets.remove(partitions))
        if self.state is EMPTY and not self.offsets and not self.pending:
            if self.generation > 0:  # otherwise the log has no record of the group itself
                records.append((encode_key(GroupKey(self.id)), None))
            self._die("nothing is left", now)
        if records:
            self.context.append(self.partition, records, now)

    def delete(self, now: int) -> None:
        self.pending.clear()
        self.remove_offsets(self.offsets.known(), now)

    def expired_offsets(self, now: int) -> list[TopicPartition]:
        """Offsets that were not needed for `offsets.retention.minutes`.

        In an empty group, the time is counted from when it became empty. In a stable one, the
        topics that it subscribes to are needed. Without a group, it is counted from the commit.
        """
        since, needed, type = UNKNOWN, frozenset[str](), self.members.protocol_type
        if type is not None and self.state is EMPTY:
            since = self.since
        elif type == CONSUMER and self.state is STABLE and self.topics is not None:
            needed = self.topics
        elif type is not None:
            return []
        retention = self.context.config.offsets_retention_minutes * MINUTE_MS
        return self.offsets.expired(now, retention, since, needed)
