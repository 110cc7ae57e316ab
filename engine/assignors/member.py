"""The arguments and the result of an assignor, and functions that all of them use.

    members    [(id, topics it wants, what it owned ...), ...]     from JoinGroup
    counts     {"orders": 10, "bills": 3}                          from the leader's metadata
       |
    assignor   a pure function
       |
    shares     {member id: partitions}                             into SyncGroup

Invariant: every member has a share, which may be empty; every partition of an existing topic with
subscribers is in exactly one share, and that is the share of a subscriber.

Left out: racks of members (KIP-881, consumers since Kafka 3.5): an assignor does not look at them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from engine.model import TopicPartition

NO_GENERATION = -1

Counts = Mapping[str, int]  # topic -> how many partitions it has
Shares = dict[str, tuple[TopicPartition, ...]]  # member id -> its partitions


class Subscriber(NamedTuple):
    """One member of the group, as its JoinGroup request describes it."""

    id: str
    topics: tuple[str, ...]  # what it subscribes to
    owned: tuple[TopicPartition, ...] = ()  # that it has not given up; eager members own none
    user_data: bytes | None = None  # from its assignor, for the leader's assignor
    generation: int = NO_GENERATION  # in which it got `owned`, if the subscription has it
    instance_id: str | None = None  # of a static member: the same after a restart


def in_order(members: Iterable[Subscriber]) -> list[Subscriber]:
    """Static members by their instance id, then the others by their member id."""
    return sorted(members, key=lambda it: (it.instance_id is None, it.instance_id or it.id))


def subscribers(members: Iterable[Subscriber], counts: Counts) -> dict[str, list[str]]:
    """The existing topics with subscribers, in order, each with its subscribers, in order."""
    wanted: dict[str, list[str]] = {}
    for member in in_order(members):
        for topic in dict.fromkeys(member.topics):
            if topic in counts:
                wanted.setdefault(topic, []).append(member.id)
    return dict(sorted(wanted.items()))


def partitions_of(topics: Iterable[str], counts: Counts) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]


def shares_of(
    members: Iterable[Subscriber], held: Mapping[str, Sequence[TopicPartition]]
) -> Shares:
    """The result; a member that is not in `held` has an empty share."""
    return {member.id: tuple(held.get(member.id, ())) for member in members}
