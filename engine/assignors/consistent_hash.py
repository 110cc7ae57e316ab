"""Consistent hashing: few partitions move, without memory. Not one of Kafka's.

    hash   0 ----a----b--a-------c---b----c--a---- 2^64     every member is on the ring many times;
              p0 ^  p1 ^      p2 ^                          a partition goes to the next one up

When a member leaves, its partitions go to the next members on the ring; a new member takes some
from others; no other partition moves. Every member could compute that alone. Kafka does not use it
because it is uneven: with 10 partitions and 3 members one may have twice as many as another, and
with few partitions none at all. `sticky` moves as few and is even, but members must remember their
partitions, and one member must decide for all.

Invariant: a partition that changes its member had one that left, or has one that joined (or that
changed its subscription).
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from engine.assignors.member import (
    Counts,
    Shares,
    Subscriber,
    partitions_of,
    shares_of,
    subscribers,
)
from engine.model import TopicPartition

PLACES = 128  # of each member on the ring: more are more even, and slower

Ring = list[tuple[int, str]]  # (hash, member id), ascending


def assign(members: Sequence[Subscriber], counts: Counts) -> Shares:
    places = {member.id: _places(member) for member in members}
    rings: dict[tuple[str, ...], Ring] = {}  # one for each set of subscribers
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


def _places(member: Subscriber) -> list[int]:
    """Of a static member by its instance id, so that it has the same places after a restart."""
    name = f"member {member.id}" if member.instance_id is None else f"instance {member.instance_id}"
    return [_hash(f"{name} {place}") for place in range(PLACES)]


def _hash(text: str) -> int:
    """The same in every process, unlike Python's own hash."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
