"""Who is in a group, and what they can agree on.

    the leader      the first member; when it goes, the one that has been there longest
    the protocol    of those that all members know, the one that most of them like best

Invariant: there is a leader exactly if there are members, and a protocol that all of them know.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from engine.client.assignors.protocol import decode_subscription
from engine.coordinator.member import Member
from engine.coordinator.records import GroupValue, MemberValue
from engine.errors import ErrorCode, KafkaError

CONSUMER = "consumer"  # the protocol type whose metadata we can read, too
# What a member and its record have in common.
RECORDED = "id", "instance_id", "client_id", "host", "rebalance_timeout", "session_timeout"


class Roster:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.pending: set[str] = set()  # member ids that were given out, not used yet
        self.leader: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        assert protocol_type == self.protocol_type
        self.members[member.id] = member
        self.pending.discard(member.id)
        self.leader = self.leader or member.id

    def remove(self, member: Member) -> None:
        del self.members[member.id]
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)

    def rename(self, member: Member, new_id: str) -> None:
        """A static member has come back: nothing but its id is different."""
        del self.members[member.id]
        if self.leader == member.id:
            self.leader = new_id
        member.id = new_id
        self.members[new_id] = member

    def static(self, instance_id: str | None) -> Member | None:
        if instance_id is None:
            return None
        members = self.members.values()
        return next((each for each in members if each.instance_id == instance_id), None)

    def is_fenced(self, member_id: str, instance_id: str | None) -> bool:
        """Another process of that name has taken this member's place."""
        holder = self.static(instance_id)
        return holder is not None and holder.id != member_id

    def find(self, member_id: str, instance_id: str | None) -> Member:
        if self.is_fenced(member_id, instance_id):
            raise KafkaError(
                ErrorCode.fenced_instance_id, f"{instance_id} is not {member_id} any more"
            )
        member = self.members.get(member_id)
        if member is None or (instance_id is not None and member.instance_id != instance_id):
            raise KafkaError(ErrorCode.unknown_member_id, f"{member_id} is not in the group")
        return member

    @property
    def rebalance_timeout(self) -> int:
        """The slowest member has to have the time it needs."""
        return max((each.rebalance_timeout for each in self.members.values()), default=0)

    @property
    def all_have_joined(self) -> bool:
        return not self.pending and all(each.joining for each in self.members.values())

    def lead_by_one_that_joined(self) -> bool:
        """Keep the leader if it has joined again, or take another one; False if nobody has."""
        joined = [each.id for each in self.members.values() if each.joining]
        if joined and self.leader not in joined:
            self.leader = joined[0]
        return bool(joined)

    # -- the protocol ----------------------------------------------------------------------

    def check_protocols(self, protocol_type: str, names: Collection[str]) -> None:
        """Whether the group could still agree, if somebody who knows these joined it."""
        if self.members:
            fits = protocol_type == self.protocol_type and not self._common().isdisjoint(names)
        else:
            fits = bool(protocol_type and names)
        if not fits:
            raise KafkaError(
                ErrorCode.inconsistent_group_protocol,
                f"{protocol_type!r} {names} has nothing in common with the group",
            )

    def vote(self) -> str:
        common = self._common()
        votes = Counter(each.vote(common) for each in self.members.values())
        return votes.most_common(1)[0][0]

    def _common(self) -> set[str]:
        return set.intersection(
            *({name for name, _ in each.protocols} for each in self.members.values())
        )

    def subscribed(self) -> frozenset[str] | None:
        """The topics of a group of consumers; None: we can't tell."""
        if self.protocol_type != CONSUMER or (self.members and self.protocol is None):
            return None
        try:
            return frozenset(
                topic
                for each in self.members.values()
                for topic in decode_subscription(each.metadata(self.protocol or "")).topics
            )
        except KafkaError:  # it only looks like a consumer's
            return None

    # -- as a record has it ----------------------------------------------------------------

    def image(self, generation: int, since: int, shares: Mapping[str, bytes]) -> GroupValue:
        members = tuple(
            MemberValue(
                subscription=each.metadata(self.protocol or ""),
                assignment=shares.get(each.id, b""),
                **{name: getattr(each, name) for name in RECORDED},
            )
            for each in self.members.values()
        )
        type = self.protocol_type or ""
        return GroupValue(type, generation, self.protocol, self.leader, since, members)

    def restore(self, value: GroupValue) -> None:
        """Of the protocols that members know, only the chosen one was written down."""
        self.protocol_type, self.protocol = value.protocol_type or None, value.protocol
        self.members = {
            it.id: Member(
                protocols=((value.protocol or "", it.subscription),),
                assignment=it.assignment,
                **{name: getattr(it, name) for name in RECORDED},
            )
            for it in value.members
        }
        first = next(iter(self.members), None)
        self.leader = value.leader if value.leader in self.members else first
