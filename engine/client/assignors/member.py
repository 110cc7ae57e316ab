"""What an assignor is told, what it answers, and what all of them count alike.

    members    [(id, topics it wants, what it owned ...), ...]     from JoinGroup
    counts     {"orders": 10, "bills": 3}                          from the leader's metadata
       |
    assignor   a pure function
       |
    shares     {member id: partitions}                             into SyncGroup

Invariant: every member has a share, if only an empty one; every partition of a topic that exists
and that somebody wants is in exactly one share, and in the share of one who wants it.

Left out: racks (KIP-881); no client sends its rack to a 2.8.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.model import TopicPartition

NO_GENERATION = -1

Counts = Mapping[str, int]  # topic -> how many partitions it has
Shares = dict[str, tuple[TopicPartition, ...]]  # member id -> its partitions


class Member(NamedTuple):
    """One member of the group, as its JoinGroup request describes it."""

    id: str
    topics: tuple[str, ...]  # what it subscribes to
    owned: tuple[TopicPartition, ...] = ()  # what it has not given up; eager members own nothing
    user_data: bytes | None = None  # whatever its assignor wanted the leader's to know
    generation: int = NO_GENERATION  # in which it got what it owns, where the subscription says so
    instance_id: str | None = None  # of a static member: the same after a restart


def in_order(members: Iterable[Member]) -> list[Member]:
    """Static members by their instance id, then the others by the id of this very start."""
    return sorted(members, key=lambda it: (it.instance_id is None, it.instance_id or it.id))


def subscribers(members: Iterable[Member], counts: Counts) -> dict[str, list[str]]:
    """The topics that exist and are wanted, in order, each with those who want it, in order."""
    wanted: dict[str, list[str]] = {}
    for member in in_order(members):
        for topic in dict.fromkeys(member.topics):
            if topic in counts:
                wanted.setdefault(topic, []).append(member.id)
    return dict(sorted(wanted.items()))


def partitions_of(topics: Iterable[str], counts: Counts) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]


def shares_of(members: Iterable[Member], held: Mapping[str, Sequence[TopicPartition]]) -> Shares:
    """The answer; a member that nothing is said of has an empty share."""
    return {member.id: tuple(held.get(member.id, ())) for member in members}
