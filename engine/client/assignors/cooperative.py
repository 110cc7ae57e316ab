"""Cooperative sticky (KIP-429): what stays is never stopped; what moves, moves in two rounds.

    round 1   first owns 0 1 2 3, second joins   first: 0 1    second: nothing yet
              first gives up 2 and 3 and joins again
    round 2   first owns 0 1                     first: 0 1    second: 2 3

An eager member gives up everything before each JoinGroup, so all may be dealt anew at once, and
nobody consumes meanwhile. A cooperative one keeps what it has and says so (`owned`); it is told
what to keep, gives up the rest, and only then may that go to somebody else.

Invariant: no partition is given to a member while another one owns it.
Invariant: sticky moves nothing that need not move, so the second round ends it.
"""

from collections.abc import Sequence

from engine.client.assignors import protocol, sticky
from engine.client.assignors.member import (
    NO_GENERATION,
    Counts,
    Member,
    Shares,
    in_order,
    shares_of,
    subscribers,
)
from engine.client.assignors.protocol import Claim
from engine.errors import KafkaError
from engine.model import TopicPartition


def assign(members: Sequence[Member], counts: Counts) -> Shares:
    claims = {member.id: Claim(member.owned, _generation(member)) for member in in_order(members)}
    homes = sticky.homes(claims, subscribers(members, counts), counts)
    owned = {partition for member in members for partition in member.owned}
    wished = sticky.settle(members, counts, homes)
    return shares_of(
        members,
        {
            member: [it for it in share if it not in owned or homes.get(it) == member]
            for member, share in wished.items()
        },
    )


def user_data(partitions: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
    """What is owned stands in the subscription; since when, only newer clients say there."""
    return protocol.encode_generation(generation)


def _generation(member: Member) -> int:
    if member.generation != NO_GENERATION or not member.user_data:
        return member.generation
    try:
        return protocol.decode_generation(member.user_data)
    except KafkaError:  # as in Kafka: a generation that can't be read is an unknown one
        return NO_GENERATION
