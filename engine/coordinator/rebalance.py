"""One rebalance, from beginning to end: how a group comes by its next generation.

    begin        everyone is to join again; heartbeats tell them so          EMPTY, COMPLETING,
                                                                             STABLE -> PREPARING
    end_joining  all are here, or the time is up: who is not here is out     -> COMPLETING
                 a new generation, a protocol, and to each its answer        or EMPTY
    store        the leader's shares go to the log
    stored       the replicas have them: each member gets its own            -> STABLE

A group's first rebalance takes its time, `group.initial.rebalance.delay.ms`, as members rarely
come alone: each that comes prolongs it, up to its rebalance time-out. Later ones end as soon as
all are back, or after the longest of their rebalance time-outs.

Invariant: all members of a generation get the shares that its leader gave, or nobody does.
Invariant: no share is told to anybody before the in-sync replicas have it.
"""

from collections.abc import Mapping
from typing import Any

from engine.client.assignors.protocol import decode_assignment
from engine.coordinator import answers
from engine.coordinator.answers import NO_GENERATION, NO_MEMBER
from engine.coordinator.effects import UNAVAILABLE, Caller, Host, Then
from engine.coordinator.member import Member
from engine.coordinator.records import UNKNOWN, GroupKey, encode_key, encode_value
from engine.coordinator.roster import CONSUMER, Roster
from engine.coordinator.states import BEFORE, State, check
from engine.coordinator.timers import Alarm, Kind
from engine.errors import ErrorCode, KafkaError

# What members are told if their shares could not be written.
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.request_timed_out: ErrorCode.rebalance_in_progress,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}
NEW_MEMBER_MS = 5 * 60_000  # a new member can't send heartbeats: it is believed for so long
AT_LEAST_MS = 1000  # if nobody has joined again, how soon that is looked at once more


class Rebalance(Roster):
    def __init__(self, id: str, partition: int, host: Host) -> None:
        super().__init__()
        self.id = id
        self.partition = partition  # of __consumer_offsets
        self.state = State.EMPTY
        self.since = UNKNOWN  # when it came into its state
        self.generation = 0
        self.topics: frozenset[str] | None = None  # that a group of consumers subscribed to
        self.host = host
        self._patience: int | None = None  # in a first rebalance: how much longer it may become
        self._grown = False  # somebody came while it was waited for others
        self._storing = NO_GENERATION  # whose shares are on their way to the log

    def move(self, to: State, reason: str, now: int) -> None:
        check(self.state, to)
        was, self.state, self.since = self.state, to, now
        self.tell(
            "state", now, was=was.value, now=to.value, generation=self.generation, reason=reason
        )

    def tell(self, what: str, now: int, /, **data: Any) -> None:
        self.host.tell(f"group.{what}", now, group=self.id, **data)

    def alarm(self, kind: Kind, deadline: int, member: str = "") -> None:
        self.host.timers.set(Alarm(kind, self.id, member), deadline)

    def calm(self, kind: Kind, member: str = "") -> None:
        self.host.timers.cancel(Alarm(kind, self.id, member))

    # -- everyone is to join ---------------------------------------------------------------

    def begin(self, reason: str, now: int) -> None:
        """Unless one is under way already, which can perhaps end now."""
        if self.state in BEFORE[State.PREPARING]:
            self._begin(reason, now)
        self.end_joining_if_all_are_here(now)

    def _begin(self, reason: str, now: int) -> None:
        if self.state is State.COMPLETING:
            for member in self.members.values():
                member.assignment = b""
                self.answer_sync(member, answers.not_synced(ErrorCode.rebalance_in_progress), now)
        self.calm(Kind.SYNC)
        delay, most = self.host.config.group_initial_rebalance_delay_ms, self.rebalance_timeout
        is_first = self.state is State.EMPTY
        self._patience = max(most - delay, 0) if is_first else None
        self.alarm(Kind.JOIN, now + (delay if is_first else most))
        self.move(State.PREPARING, reason, now)

    def came(self, member: Member, protocol_type: str, now: int) -> None:
        """Somebody new."""
        self._grown |= self.state is State.PREPARING and self.generation == 0
        self.add(member, protocol_type)
        self.tell_of(member, "joined", now)
        self.begin(f"{member.id} joins", now)

    def is_late(self, now: int) -> None:
        """The time to join is over."""
        if self._patience and self._grown:
            self._grown = False
            more = min(self.host.config.group_initial_rebalance_delay_ms, self._patience)
            self._patience -= more
            self.alarm(Kind.JOIN, now + more)
        else:
            self._end_joining(now)

    def end_joining_if_all_are_here(self, now: int) -> None:
        waits = self._patience is not None  # for more than we know
        if self.state is State.PREPARING and not waits and self.all_have_joined:
            self._end_joining(now)

    def _end_joining(self, now: int) -> None:
        for member in [each for each in self.members.values() if not each.joining]:
            if not member.is_static:
                self.drop(member, "did not join again", now)
        self._patience = None
        if self.members and not self.lead_by_one_that_joined():
            self.alarm(Kind.JOIN, now + max(self.rebalance_timeout, AT_LEAST_MS))
            return
        self.calm(Kind.JOIN)
        self.generation += 1
        self.protocol = self.vote() if self.members else None
        self.topics = self.subscribed()
        if self.members:
            self._open(now)
        else:
            self.move(State.EMPTY, "nobody joined", now)
            self.write({}, now)

    def _open(self, now: int) -> None:
        """The generation begins: the leader's turn."""
        self.move(State.COMPLETING, "all have joined", now)
        self.alarm(Kind.SYNC, now + self.rebalance_timeout)
        for member in self.members.values():
            member.is_new = member.has_synced = False
            self.heard_of(member, now)
            self.answer_join(member, answers.joined(self, member.id, self.generation), now)

    # -- everyone gets a share -------------------------------------------------------------

    def store(self, shares: Mapping[str, bytes], now: int) -> None:
        """The leader's word. It has one: what it says a second time comes too late."""
        if self._storing == self.generation:
            return
        generation = self._storing = self.generation
        mine = {each: shares.get(each, b"") for each in self.members}

        def stored(error: ErrorCode, now: int) -> None:
            if self.state is State.COMPLETING and self.generation == generation:
                self._stored(mine, WRITE_ERRORS.get(error, error), now)

        self.write(mine, now, stored)

    def _stored(self, shares: Mapping[str, bytes], error: ErrorCode, now: int) -> None:
        if error != ErrorCode.none:
            for member in self.members.values():
                self.answer_sync(member, answers.not_synced(error), now)
            self.begin(f"the assignment was not stored: {error.name}", now)
            return
        for member in self.members.values():
            member.assignment = shares[member.id]
            self.answer_sync(member, answers.synced(self, member.assignment), now)
        self.move(State.STABLE, "the assignment is stored", now)
        self.tell(
            "assignment",
            now,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            shares={each.id: self.share(each) for each in self.members.values()},
        )

    def share(self, member: Member) -> list[str] | None:
        """The partitions of a consumer; None if it has not been given any we can read."""
        if self.protocol_type != CONSUMER or not member.assignment:
            return None
        try:
            return [str(each) for each in decode_assignment(member.assignment).partitions]
        except KafkaError:  # it is the members' business alone
            return None

    def write(self, shares: Mapping[str, bytes], now: int, then: Then | None = None) -> None:
        value = encode_value(self.image(self.generation, self.since, shares))
        self.host.append(self.partition, [(encode_key(GroupKey(self.id)), value)], now, then)

    def have_not_synced(self, now: int) -> None:
        """The time to ask for a share is over."""
        late = [each for each in self.members.values() if not each.has_synced]
        for member in late:
            self.drop(member, "did not sync", now)
        if late:
            self.begin("some did not sync", now)

    # -- one member ------------------------------------------------------------------------

    def wait_to_join(self, member: Member, caller: Caller, now: int) -> None:
        if member.joining is not None:  # it asks once more, and forgets that it has
            again = ErrorCode.rebalance_in_progress
            self.answer_join(member, answers.not_joined(member.joining, member.id, again), now)
        member.joining = caller

    def wait_to_sync(self, member: Member, caller: Caller, now: int) -> None:
        self.answer_sync(member, answers.not_synced(ErrorCode.rebalance_in_progress), now)
        member.syncing = caller

    def answer_join(self, member: Member, response: Any, now: int) -> None:
        caller, member.joining = member.joining, None
        self._answer(caller, member, response, now)

    def answer_sync(self, member: Member, response: Any, now: int) -> None:
        caller, member.syncing = member.syncing, None
        self._answer(caller, member, response, now)

    def _answer(self, caller: Caller | None, member: Member, response: Any, now: int) -> None:
        if caller is not None:
            self.host.reply(caller, response)
            self.heard_of(member, now)

    def heard_of(self, member: Member, now: int) -> None:
        timeout = NEW_MEMBER_MS if member.is_new else member.session_timeout
        self.alarm(Kind.SESSION, now + timeout, member.id)

    def refuse(self, member: Member, error: ErrorCode, now: int) -> None:
        """Whatever it waits for."""
        if member.joining is not None:
            id = NO_MEMBER if error == ErrorCode.unknown_member_id else member.id
            self.answer_join(member, answers.not_joined(member.joining, id, error), now)
        self.answer_sync(member, answers.not_synced(error), now)

    def drop(self, member: Member, why: str, now: int) -> None:
        self.refuse(member, ErrorCode.unknown_member_id, now)
        self.remove(member)
        self.calm(Kind.SESSION, member.id)
        self.tell_of(member, why, now)

    def lose(self, member: Member, why: str, now: int) -> None:
        """Somebody has gone, and what it had is to be shared out."""
        self.drop(member, why, now)
        self.begin(f"{member.id} {why}", now)

    def tell_of(self, member: Member, what: str, now: int) -> None:
        self.tell("member", now, member=member.id, instance=member.instance_id, what=what)
