"""Sticky (KIP-54): as even as can be, and then as few partitions as possible change hands.

              at first    third leaves    or, fourth joins
    first     0 3 6 9     0 3 6 9 + 2     0 3 6
    second    1 4 7       1 4 7 + 5 8     1 4 7
    third     2 5 8                       2 5
    fourth                                8 9

An assignor has no memory, and the group's leader may be another each time. So each member sends
along what it had, and since which generation; the leader puts that together. Where two claim the
same partition, the newer generation is right, and of one and the same generation neither is.

Invariant: with equal subscriptions, no two members differ by more than one partition, and no
assignment that is as even moves fewer. The same for unequal ones is the work of `balance`.

Kafka's heuristics give up at times where subscriptions differ; this one does not. When it must
give up partitions, a member gives up those that it got last.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from engine.client.assignors import protocol
from engine.client.assignors.balance import balanced
from engine.client.assignors.member import (
    Counts,
    Member,
    Shares,
    in_order,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.client.assignors.protocol import Claim
from engine.errors import KafkaError
from engine.model import TopicPartition

Homes = dict[TopicPartition, str]  # partition -> the member that had it last, and still wants it


def assign(members: Sequence[Member], counts: Counts) -> Shares:
    topics = subscribers(members, counts)
    claims = {member.id: _claim(member) for member in in_order(members)}
    return settle(members, counts, homes(claims, topics, counts))


def user_data(partitions: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
    """What to tell the next leader; one that never had an assignment has nothing to tell."""
    if partitions is None:
        return None
    return protocol.encode_claim(Claim(tuple(partitions), generation))


def _claim(member: Member) -> Claim:
    if not member.user_data:
        return Claim(member.owned, member.generation)
    try:
        return protocol.decode_claim(member.user_data)
    except KafkaError:  # as in Kafka: a past that can't be read is none, and the group lives on
        return Claim(())


def homes(
    claims: Mapping[str, Claim], topics: Mapping[str, Sequence[str]], counts: Counts
) -> Homes:
    """Where each partition was last; those of one member in the order in which it names them."""
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


def settle(members: Sequence[Member], counts: Counts, homes: Homes) -> Shares:
    """The best assignment, given where the partitions are."""
    topics = subscribers(members, counts)
    if all(len(wanting) == len(members) for wanting in topics.values()):
        ids = [member.id for member in in_order(members)]
        return shares_of(members, _dealt(ids, partitions_of(topics, counts), homes))
    return shares_of(members, balanced(topics, counts, homes))


def _dealt(
    members: Sequence[str], partitions: Sequence[TopicPartition], homes: Homes
) -> Mapping[str, Sequence[TopicPartition]]:
    """Everybody wants everything: keep up to a quota, and deal what is left like cards."""
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
