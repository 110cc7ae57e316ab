"""Cooperative sticky (KIP-429): unmoved partitions never stop; the others move in two rounds.

    round 1   first owns 0 1 2 3, second joins   first: 0 1    second: nothing yet
              first gives up 2 and 3 and joins again
    round 2   first owns 0 1                     first: 0 1    second: 2 3

An eager member gives up all partitions before each JoinGroup, so all can be assigned again at once,
and none is consumed meanwhile. A cooperative member keeps its partitions and sends them (`owned`);
it gets the list of those to keep, gives up the rest, and only then another member may get them.

Invariant: no partition is given to a member while another one owns it.
Invariant: sticky moves nothing that need not move, so the second round is the last.
"""

from collections.abc import Sequence

from engine.assignors import protocol, sticky
from engine.assignors.member import (
    NO_GENERATION,
    Counts,
    Shares,
    Subscriber,
    in_order,
    shares_of,
    subscribers,
)
from engine.assignors.protocol import MemberData
from engine.errors import ApiException
from engine.model import TopicPartition


def assign(members: Sequence[Subscriber], counts: Counts) -> Shares:
    claims = {
        member.id: MemberData(member.owned, _generation(member)) for member in in_order(members)
    }
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
    """The member's generation: only newer versions of the subscription have it beside `owned`."""
    return protocol.encode_generation(generation)


def _generation(member: Subscriber) -> int:
    if member.generation != NO_GENERATION or not member.user_data:
        return member.generation
    try:
        return protocol.decode_generation(member.user_data)
    except ApiException:  # as in Kafka: a generation that can't be read is an unknown one
        return NO_GENERATION
