"""The members of a group, their leader and their protocol.

    the leader      the first member; when it leaves, the one that has been a member for longest
    the protocol    of those that all members support, the one that most members prefer

A member lists the protocols that it supports, the preferred one first. Each comes with metadata
that only members read. For a consumer, a protocol is an assignment strategy, and its metadata is
the subscription.

A static member (KIP-345) has a `group.instance.id` that outlives its member id. A process that
joins under the same instance id, after a restart, takes over the member's place.

Invariant: there is a leader exactly if there are members, and a protocol that all of them support.
"""

from collections import Counter
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass

from engine.assignors.protocol import decode_topics
from engine.coordinator.effects import Caller
from engine.coordinator.records import GroupValue, MemberValue
from engine.errors import ApiException, ErrorCode

CONSUMER = "consumer"  # the protocol type whose metadata the coordinator can read, too
# The fields that a member and its record have in common.
RECORDED = "id", "instance_id", "client_id", "host", "rebalance_timeout", "session_timeout"

Protocols = tuple[tuple[str, bytes], ...]  # names with their metadata, the preferred one first


@dataclass(slots=True, kw_only=True)
class MemberMetadata:
    id: str
    instance_id: str | None
    client_id: str
    host: str
    rebalance_timeout: int  # ms that it may take to join again
    session_timeout: int  # ms without a request after which it is removed
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False  # it waits for its first JoinGroup response, so it sends no heartbeats
    joining: Caller | None = None  # its JoinGroup, to be answered when all members have joined
    syncing: Caller | None = None  # its SyncGroup, to be answered when there is an assignment
    has_synced: bool = True  # it has asked for its assignment in this generation

    def __post_init__(self) -> None:
        if self.rebalance_timeout < 0:  # the client, or the record, is older than 0.10.1
            self.rebalance_timeout = self.session_timeout

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether a request of this member waits for a response."""
        return self.joining is not None or self.syncing is not None

    def metadata(self, protocol: str) -> bytes:
        return dict(self.protocols)[protocol]

    def vote(self, candidates: Container[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)


class Members(dict[str, MemberMetadata]):
    """By member id, in the order in which they joined. Changed by the methods below only."""

    leader: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None

    def add(self, member: MemberMetadata, protocol_type: str) -> None:
        if not self:
            self.protocol_type = protocol_type
        assert protocol_type == self.protocol_type
        self[member.id] = member
        self.leader = self.leader or member.id

    def remove(self, member: MemberMetadata) -> None:
        del self[member.id]
        if self.leader == member.id:
            self.leader = next(iter(self), None)

    def rename(self, member: MemberMetadata, new_id: str) -> None:
        """A static member has restarted: only its member id is new."""
        del self[member.id]
        if self.leader == member.id:
            self.leader = new_id
        member.id = new_id
        self[new_id] = member

    def static(self, instance_id: str | None) -> MemberMetadata | None:
        if instance_id is None:
            return None
        return next((each for each in self.values() if each.instance_id == instance_id), None)

    def is_fenced(self, member_id: str, instance_id: str | None) -> bool:
        """Another process has joined under the same instance id since."""
        holder = self.static(instance_id)
        return holder is not None and holder.id != member_id

    def find(self, member_id: str, instance_id: str | None) -> MemberMetadata:
        if self.is_fenced(member_id, instance_id):
            message = f"{instance_id} is no longer {member_id}"
            raise ApiException(ErrorCode.fenced_instance_id, message)
        member = self.get(member_id)
        if member is None or (instance_id is not None and member.instance_id != instance_id):
            raise ApiException(ErrorCode.unknown_member_id, f"{member_id} is not in the group")
        return member

    @property
    def rebalance_timeout(self) -> int:
        """The longest time-out of all members."""
        return max((each.rebalance_timeout for each in self.values()), default=0)

    def choose_leader(self) -> bool:
        """Keep the leader if it has joined again, or choose another; False if no member has."""
        joined = [each.id for each in self.values() if each.joining]
        if joined and self.leader not in joined:
            self.leader = joined[0]
        return bool(joined)

    # -- the protocol ----------------------------------------------------------------------

    def check_protocols(self, protocol_type: str, names: Collection[str]) -> None:
        """Refuse a member with these protocols if no protocol would be common to all."""
        if self:
            fits = protocol_type == self.protocol_type and not self._common().isdisjoint(names)
        else:
            fits = bool(protocol_type and names)
        if not fits:
            message = f"the group supports none of {names} of type {protocol_type!r}"
            raise ApiException(ErrorCode.inconsistent_group_protocol, message)

    def vote(self) -> str:
        common = self._common()
        votes = Counter(each.vote(common) for each in self.values())
        return votes.most_common(1)[0][0]

    def _common(self) -> set[str]:
        return set.intersection(*({name for name, _ in each.protocols} for each in self.values()))

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics of a group of consumers; None if they are not known."""
        if self.protocol_type != CONSUMER or (self and self.protocol is None):
            return None
        try:
            return frozenset(
                topic
                for each in self.values()
                for topic in decode_topics(each.metadata(self.protocol or ""))
            )
        except ApiException:  # the metadata is not a consumer's subscription
            return None

    # -- in a record -----------------------------------------------------------------------

    def record(self, generation: int, since: int, assignments: Mapping[str, bytes]) -> GroupValue:
        members = tuple(
            MemberValue(
                subscription=each.metadata(self.protocol or ""),
                assignment=assignments.get(each.id, b""),
                **{name: getattr(each, name) for name in RECORDED},
            )
            for each in self.values()
        )
        type = self.protocol_type or ""
        return GroupValue(type, generation, self.protocol, self.leader, since, members)

    def restore(self, value: GroupValue) -> None:
        """From a record, which has only the chosen protocol of each member."""
        self.protocol_type, self.protocol = value.protocol_type or None, value.protocol
        self.clear()
        for it in value.members:
            self[it.id] = MemberMetadata(
                protocols=((value.protocol or "", it.subscription),),
                assignment=it.assignment,
                **{name: getattr(it, name) for name in RECORDED},
            )
        self.leader = value.leader if value.leader in self else next(iter(self), None)
