"""Consistent hashing: without memory, and still only what must move moves. Not one of Kafka's.

    hash   0 ----a----b--a-------c---b----c--a---- 2^64     every member stands on the ring often;
              p0 ^  p1 ^      p2 ^                          a partition goes to the next one up

A member that leaves hands its partitions to those behind it, one that joins takes some from those
before it, and no other partition moves. Everyone could work that out alone. So why does Kafka not
do it? Chance does not deal evenly: with 10 partitions and 3 members somebody may well have twice
what another has, and with few partitions nothing at all. `sticky` moves as few and stays even; the
price is that members must remember, and one must decide for all.

Invariant: a partition that changes its member had one that left, or has one that joined (or that
changed its subscription).
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from engine.client.assignors.member import (
    Counts,
    Member,
    Shares,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.model import TopicPartition

PLACES = 128  # of each member on the ring: the more, the more even, and the slower

Ring = list[tuple[int, str]]  # (hash, member id), ascending


def assign(members: Sequence[Member], counts: Counts) -> Shares:
    places = {member.id: _places(member) for member in members}
    rings: dict[tuple[str, ...], Ring] = {}  # one for those who want the same topic
    held: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for topic, wanting in subscribers(members, counts).items():
        ring = rings.get(tuple(wanting))
        if ring is None:
            ring = sorted((place, member) for member in wanting for place in places[member])
            rings[tuple(wanting)] = ring
        for partition in partitions_of([topic], counts):
            _, member = ring[bisect(ring, (_hash(str(partition)), "")) % len(ring)]
            held[member].append(partition)
    return shares_of(members, held)


def _places(member: Member) -> list[int]:
    """A static member is known by its instance id, so that it comes back to its old places."""
    name = f"member {member.id}" if member.instance_id is None else f"instance {member.instance_id}"
    return [_hash(f"{name} {place}") for place in range(PLACES)]


def _hash(text: str) -> int:
    """The same in every process, unlike Python's own hash."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
