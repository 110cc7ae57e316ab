"""One group, as its members and an administrator talk to it.

    JoinGroup   who takes part, and with what      answered when everyone has joined
    SyncGroup   the leader's shares for all        answered when they are replicated: yours
    Heartbeat   still there                        or: REBALANCE_IN_PROGRESS, join again
    LeaveGroup  gone

    generation 4   A ─ Join ──┐                      generation 5   A ─ Sync(shares) ──┐
                   B ─ Join ──┴─> A: you lead, these                B ─ Sync ──────────┴─> its share
                              └─> B: A leads

What a group decides is appended, and takes effect when it is replicated. What is only in memory
(who waits, whose session ends when) is lost with this broker; its successor starts from the last
generation that was stable, and gives everyone a new session.

Invariant: a member that waits for an answer is not taken for dead, unless it is new.

Left out: when the new id of a static member can't be written down, Kafka gives the old one its
place back. Here it stays fenced, and the new one tries again.
"""

from collections.abc import Iterable
from typing import Any

from engine.coordinator import answers
from engine.coordinator.answers import NO_MEMBER, Since, knows
from engine.coordinator.effects import Caller, Host
from engine.coordinator.member import Member, Protocols
from engine.coordinator.offsets import Commit, Offsets, tombstones
from engine.coordinator.rebalance import WRITE_ERRORS, Rebalance
from engine.coordinator.records import UNKNOWN, GroupKey, GroupValue, encode_key
from engine.coordinator.roster import CONSUMER
from engine.coordinator.states import State
from engine.coordinator.timers import Alarm, Kind
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

MINUTE_MS = 60_000
NOTHING = GroupValue()


class Group(Rebalance):
    def __init__(self, id: str, partition: int, host: Host) -> None:
        super().__init__(id, partition, host)
        self.offsets = Offsets()

    # -- joining ---------------------------------------------------------------------------

    def join(self, request: Any, caller: Caller, now: int) -> Any:
        """Returns the answer, or None if it comes later; so does `sync`."""
        id, instance_id = request.member_id, request.group_instance_id
        self._make_room(id, now)
        protocols = tuple((each.name, each.metadata) for each in request.protocols)
        self.check_protocols(request.protocol_type, [name for name, _ in protocols])
        was = self.static(instance_id) if id == NO_MEMBER else None
        if was is not None:
            self._replace(was, protocols, caller, now)
            return None
        if id == NO_MEMBER or (id in self.pending and instance_id is None):
            return self._join_new(request, protocols, caller, now)
        return self._join_again(self.find(id, instance_id), protocols, caller, now)

    def _make_room(self, id: str, now: int) -> None:
        """A group that has become too large, as `group.max.size` is smaller now, loses those that
        join again last."""
        everyone, is_joining = self.members.values(), self.state is State.PREPARING
        inside = [each.id for each in everyone if each.joining or not is_joining]
        if id in inside or len(inside) < self.host.config.group_max_size:
            return
        if id in self.members:
            self.lose(self.members[id], "found no room", now)
        raise KafkaError(ErrorCode.group_max_size_reached, f"{self.id} is full")

    def _join_new(self, request: Any, protocols: Protocols, caller: Caller, now: int) -> Any:
        id, instance_id = request.member_id, request.group_instance_id
        session = milliseconds(request.session_timeout)
        if id == NO_MEMBER:
            id = self._new_id(instance_id or caller.client_id)
            if instance_id is None and knows(caller, Since.MEMBER_ID_REQUIRED):
                self.pending.add(id)
                self.alarm(Kind.PENDING, now + session, id)
                return answers.not_joined(caller, id, ErrorCode.member_id_required)
        self.calm(Kind.PENDING, id)
        member = Member(
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
        self.heard_of(member, now)
        self.came(member, request.protocol_type, now)
        return None

    def _new_id(self, name: str) -> str:
        return f"{name}-{self.host.new_id()}"

    def _join_again(self, member: Member, protocols: Protocols, caller: Caller, now: int) -> Any:
        has_changed = member.protocols != protocols
        if self.state is State.STABLE:  # a leader that comes back wants to share out anew
            has_changed |= member.id == self.leader
        if self.state is not State.PREPARING and not has_changed:
            self.heard_of(member, now)
            return answers.joined(self, member.id, self.generation)
        self.wait_to_join(member, caller, now)
        member.protocols = protocols
        self.begin(f"{member.id} joins again", now)
        return None

    def _replace(self, member: Member, protocols: Protocols, caller: Caller, now: int) -> None:
        """A static member is back, after a restart as a rule: it knows nothing of its id.

        In a stable group nobody else is to notice, as long as the group would agree on the same
        protocol; in 2.8 it does not count that it wants other topics now. The leader that it is
        told of is the one before: even if that was itself, it must not share out again, as nobody
        would ask for what comes out.
        """
        leader = self.leader
        self.refuse(member, ErrorCode.fenced_instance_id, now)
        self.tell_of(member, "fenced", now)
        self.calm(Kind.SESSION, member.id)
        self.rename(member, self._new_id(str(member.instance_id)))
        member.protocols, member.joining = protocols, caller
        self.heard_of(member, now)
        self.tell_of(member, "joined", now)

        def stored(error: ErrorCode, now: int) -> None:
            if member.joining is not caller:
                return  # a rebalance was faster
            if error == ErrorCode.none:
                answer = answers.joined(self, member.id, self.generation, leader)
            else:
                error = WRITE_ERRORS.get(error, error)
                answer = answers.not_joined(caller, NO_MEMBER, error)
            self.answer_join(member, answer, now)

        if self.state is State.STABLE and self.vote() == self.protocol:
            shares = {each.id: each.assignment for each in self.members.values()}
            self.write(shares, now, stored)
        else:
            self.begin(f"{member.instance_id} is back", now)

    # -- being a member --------------------------------------------------------------------

    def sync(self, request: Any, caller: Caller, now: int) -> Any:
        said = request.protocol_type, request.protocol_name
        if None in said and knows(caller, Since.NAMED_PROTOCOL):
            raise KafkaError(ErrorCode.inconsistent_group_protocol, "a protocol must be named")
        member = self._member(request, request.generation_id)
        for each, agreed in zip(said, (self.protocol_type, self.protocol), strict=True):
            if each is not None and each != agreed:
                raise KafkaError(
                    ErrorCode.inconsistent_group_protocol, f"it is {agreed}, not {each}"
                )
        if self.state is State.PREPARING:
            raise KafkaError(ErrorCode.rebalance_in_progress, f"{self.id} is not there yet")
        member.has_synced = True
        if self.state is State.STABLE:
            self.heard_of(member, now)
            return answers.synced(self, member.assignment)
        self.wait_to_sync(member, caller, now)
        if member.id == self.leader:
            self.store({each.member_id: each.assignment for each in request.assignments}, now)
        return None

    def heartbeat(self, request: Any, now: int) -> None:
        self.heard_of(self._member(request, request.generation_id), now)
        if self.state is State.PREPARING:
            raise KafkaError(ErrorCode.rebalance_in_progress, f"join {self.id} again")

    def leave(self, member_id: str, instance_id: str | None, now: int) -> None:
        """Without a member id, an administrator sends a static member away."""
        if member_id in self.pending:
            self._no_longer_pending(member_id, now)
            return
        was = self.static(instance_id) if member_id == NO_MEMBER else None
        self.lose(was or self.find(member_id, instance_id), "left", now)

    def check_commit(self, request: Any, now: int) -> None:
        """Whether it may commit: a member of this generation, or anybody if there is no group."""
        generation = request.generation_id_or_member_epoch
        if generation < 0 and self.state is State.EMPTY:
            return
        member = self._member(request, generation)
        if self.state is State.COMPLETING:
            raise KafkaError(ErrorCode.rebalance_in_progress, "what it owns is being decided")
        self.heard_of(member, now)

    def check_transactional_commit(self, request: Any) -> None:
        """A producer says for which member it commits since KIP-447. What it does not say is not
        checked: former ones relied on one transactional id for each partition."""
        member, generation = request.member_id, request.generation_id
        if self.is_fenced(member, request.group_instance_id):
            raise KafkaError(ErrorCode.fenced_instance_id, f"{member} is another's name now")
        if member != NO_MEMBER and member not in self.members:
            raise KafkaError(ErrorCode.unknown_member_id, f"{member} is not in the group")
        if generation >= 0 and generation != self.generation:
            raise KafkaError(ErrorCode.illegal_generation, f"this is generation {self.generation}")

    def tell_of_commit(self, offsets: Commit, now: int) -> None:
        if offsets:
            numbers = {str(each): it.offset for each, it in offsets.items()}
            self.host.tell("offset.committed", now, group=self.id, offsets=numbers)

    def _member(self, request: Any, generation: int) -> Member:
        member = self.find(request.member_id, request.group_instance_id)
        if generation != self.generation:
            raise KafkaError(ErrorCode.illegal_generation, f"this is generation {self.generation}")
        return member

    def ring(self, alarm: Alarm, now: int) -> None:
        """A time is over."""
        match alarm.kind:
            case Kind.JOIN:
                self.is_late(now)
            case Kind.SYNC:
                self.have_not_synced(now)
            case Kind.PENDING:
                self._no_longer_pending(alarm.member, now)
            case Kind.SESSION:
                member = self.members[alarm.member]
                if not member.is_expected_to_be_silent:
                    self.lose(member, "expired", now)

    def _no_longer_pending(self, id: str, now: int) -> None:
        self.pending.discard(id)
        self.calm(Kind.PENDING, id)
        self.end_joining_if_all_are_here(now)

    # -- coming and going as a whole -------------------------------------------------------

    def replay(self, value: GroupValue | None) -> None:
        """What a record says of it; None is a tombstone."""
        value = value or NOTHING
        self.restore(value)
        self.generation, self.since = value.generation, value.since
        self.state = State.STABLE if self.members else State.EMPTY

    def start(self, now: int) -> None:
        """We are its coordinator: members have a session's time to find that out."""
        self.topics = self.subscribed()
        for member in self.members.values():
            self.heard_of(member, now)
        if len(self.members) > self.host.config.group_max_size:
            self.begin("it is too large", now)

    def stop(self, now: int) -> None:
        """Another broker is its coordinator."""
        for member in self.members.values():
            self.refuse(member, ErrorCode.not_coordinator, now)
        self._die("the coordinator is another", now)

    def _die(self, reason: str, now: int) -> None:
        self.host.timers.cancel_all(self.id)
        self.move(State.DEAD, reason, now)

    def remove_offsets(self, partitions: Iterable[TopicPartition], now: int) -> None:
        """An empty group dies with its last offset.

        Nobody waits for tombstones to be replicated: if they are lost, what they forgot is back,
        and expires again.
        """
        records = tombstones(self.id, self.offsets.remove(partitions))
        if self.state is State.EMPTY and not self.offsets and not self.pending:
            if self.generation > 0:  # otherwise there never was a record of it
                records.append((encode_key(GroupKey(self.id)), None))
            self._die("nothing is left", now)
        if records:
            self.host.append(self.partition, records, now)

    def delete(self, now: int) -> None:
        self.pending.clear()
        self.remove_offsets(self.offsets.known(), now)

    def expired(self, now: int) -> list[TopicPartition]:
        """Offsets that nobody has needed for `offsets.retention.minutes`."""
        since, needed = UNKNOWN, frozenset[str]()  # of a commit; of a topic
        if self.protocol_type is not None and self.state is State.EMPTY:
            since = self.since
        elif self.protocol_type == CONSUMER and self.state is State.STABLE:
            if self.topics is None:
                return []
            needed = self.topics
        elif self.protocol_type is not None:
            return []
        retention = self.host.config.offsets_retention_minutes * MINUTE_MS
        return self.offsets.expired(now, retention, since, needed)


def milliseconds(duration: Any) -> int:
    """Of a duration as a request has it."""
    seconds: float = duration.total_seconds()
    return round(seconds * 1000)
