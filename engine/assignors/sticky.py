"""Sticky (KIP-54): as even as possible, and then as few partitions as possible move.

              at first    third leaves    or, fourth joins
    first     0 3 6 9     0 3 6 9 + 2     0 3 6
    second    1 4 7       1 4 7 + 5 8     1 4 7
    third     2 5 8                       2 5
    fourth                                8 9

An assignor has no memory, and the group may have another leader each time. So each member sends its
last partitions, and their generation; the leader combines them. If two members claim the same
partition, the newer generation counts; in the same generation neither claim counts.

Invariant: with equal subscriptions, no two members differ by more than one partition, and no
assignment that is as even moves fewer. `balance` does the same for unequal subscriptions.

With unequal subscriptions Kafka's heuristics may find no even assignment; this one always does. A
member that must give up partitions gives up those that it got last.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from engine.assignors import protocol
from engine.assignors.balance import balanced
from engine.assignors.member import (
    Counts,
    Shares,
    Subscriber,
    in_order,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.assignors.protocol import MemberData
from engine.errors import ApiException
from engine.model import TopicPartition

Homes = dict[TopicPartition, str]  # partition -> its last member, if that still subscribes to it


def assign(members: Sequence[Subscriber], counts: Counts) -> Shares:
    topics = subscribers(members, counts)
    claims = {member.id: _claim(member) for member in in_order(members)}
    return settle(members, counts, homes(claims, topics, counts))


def user_data(partitions: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
    """The data for the next leader; None from a member that never had an assignment."""
    if partitions is None:
        return None
    return protocol.encode_member_data(MemberData(tuple(partitions), generation))


def _claim(member: Subscriber) -> MemberData:
    if not member.user_data:
        return MemberData(member.owned, member.generation)
    try:
        return protocol.decode_member_data(member.user_data)
    except ApiException:  # as in Kafka: unreadable data counts as none
        return MemberData(())


def homes(
    claims: Mapping[str, MemberData], topics: Mapping[str, Sequence[str]], counts: Counts
) -> Homes:
    """The last member of each partition; those of one member in its own order."""
    newest: dict[TopicPartition, tuple[int, str | None]] = {}
    for member, (partitions, generation) in claims.items():
        for partition in dict.fromkeys(partitions):
            known = newest.get(partition)
            if known is None or generation > known[0]:
                newest[partition] = generation, member
            elif generation == known[0]:
                newest[partition] = generation, None
    wanted = {topic: set(ids) for topic, ids in topics.items()}
    return {
        partition: member
        for member, claim in claims.items()
        for partition in claim.partitions
        if newest[partition][1] == member
        and member in wanted.get(partition.topic, ())
        and 0 <= partition.partition < counts[partition.topic]
    }


def settle(members: Sequence[Subscriber], counts: Counts, homes: Homes) -> Shares:
    """The best assignment, given the last members of the partitions."""
    topics = subscribers(members, counts)
    if all(len(wanting) == len(members) for wanting in topics.values()):
        ids = [member.id for member in in_order(members)]
        return shares_of(members, _dealt(ids, partitions_of(topics, counts), homes))
    return shares_of(members, balanced(topics, counts, homes))


def _dealt(
    members: Sequence[str], partitions: Sequence[TopicPartition], homes: Homes
) -> Mapping[str, Sequence[TopicPartition]]:
    """For equal subscriptions: each member keeps up to a quota, and the rest goes round robin."""
    held: dict[str, list[TopicPartition]] = {member: [] for member in members}
    for partition, member in homes.items():
        held[member].append(partition)
    quota, extra = divmod(len(partitions), len(members)) if members else (0, 0)
    for mine in held.values():
        more = extra > 0 and len(mine) > quota  # this one may keep one more
        extra -= more
        del mine[quota + more :]
    kept = {partition for mine in held.values() for partition in mine}
    left = deque(partition for partition in partitions if partition not in kept)
    for most in (quota, quota + 1):
        turn = deque(member for member in members if len(held[member]) < most)
        while left and turn:
            member = turn.popleft()
            held[member].append(left.popleft())
            if len(held[member]) < most:
                turn.append(member)
    return held
