"""Assigns the partitions of topics to the members of a group: `partition.assignment.strategy`.

The coordinator only passes messages on. Each member names the strategies that it knows; the group
agrees on one; the member that leads the group computes the assignment with it:

    member           the types: members, counts of partitions, shares
    protocol         the bytes that members exchange
    ranges           "range"               each topic is cut into runs of partitions
    roundrobin       "roundrobin"          each partition to the next member
    sticky           "sticky"              even first, then few moves (balance: unequal topics)
    cooperative      "cooperative-sticky"  the same in two rounds; unmoved partitions never stop
    consistent_hash  "consistent-hash"     not one of Kafka's: few moves, without memory, not even

To add another one: a function from members and counts to shares, and a row in `ASSIGNORS`. An
assignor has no state, clock or random number: the same members, in any order, get the same
assignment.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import IntEnum
from typing import NamedTuple

from engine.assignors import consistent_hash, cooperative, ranges, roundrobin, sticky
from engine.assignors.member import Counts, Shares, Subscriber
from engine.errors import invalid_config
from engine.model import TopicPartition

__all__ = ["ASSIGNORS", "Assignor", "RebalanceProtocol", "Subscriber", "find"]


class RebalanceProtocol(IntEnum):
    """What members do with their partitions before they join again."""

    EAGER = 0  # give up all of them
    COOPERATIVE = 1  # keep them, and give up only those that are revoked


def _nothing(partitions: Sequence[TopicPartition] | None, generation: int) -> None:
    return None


class Assignor(NamedTuple):
    """A strategy."""

    name: str  # on the wire
    alias: str  # its class in Kafka's own client, which configurations may name as well
    assign: Callable[[Sequence[Subscriber], Counts], Shares]
    # The user data of the next subscription, from the last assignment (None: never had one).
    user_data: Callable[[Sequence[TopicPartition] | None, int], bytes | None] = _nothing
    # The rebalance protocols that it works with, the best first.
    protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)


_PACKAGE = "org.apache.kafka.clients.consumer"
_BOTH = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

ASSIGNORS: Mapping[str, Assignor] = {
    it.name: it
    for it in (
        Assignor("range", f"{_PACKAGE}.RangeAssignor", ranges.assign),
        Assignor("roundrobin", f"{_PACKAGE}.RoundRobinAssignor", roundrobin.assign),
        Assignor("sticky", f"{_PACKAGE}.StickyAssignor", sticky.assign, sticky.user_data),
        Assignor(
            "cooperative-sticky",
            f"{_PACKAGE}.CooperativeStickyAssignor",
            cooperative.assign,
            cooperative.user_data,
            _BOTH,
        ),
        Assignor("consistent-hash", "", consistent_hash.assign),
    )
}


def find(name: str) -> Assignor:
    """The assignor of a name or of a Java class, or an ApiException with the most similar name."""
    known = {it.alias: it for it in ASSIGNORS.values() if it.alias} | dict(ASSIGNORS)
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(ASSIGNORS)}"
    raise invalid_config(f"Unknown partition.assignment.strategy: {name}{hint}")
