"""Who of a group gets which partitions: the strategies of `partition.assignment.strategy`.

The coordinator only carries messages. Each member names the strategies that it knows; the group
agrees on one; the member that leads the group works out the assignment with it:

    member           the words: members, counts of partitions, shares
    protocol         the bytes that members exchange
    ranges           "range"               each topic cut into runs
    roundrobin       "roundrobin"          all partitions dealt like cards
    sticky           "sticky"              even first, then few moves (balance: unequal topics)
    cooperative      "cooperative-sticky"  the same in two rounds, in which what stays never stops
    consistent_hash  "consistent-hash"     not one of Kafka's: few moves, without memory, not even

To write one of your own: a function from members and counts to shares, and a row in `ASSIGNORS`.
An assignor has no state, clock, or chance in it: from the same members, in whatever order, comes
the same assignment.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import IntEnum
from typing import NamedTuple

from engine.client.assignors import consistent_hash, cooperative, ranges, roundrobin, sticky
from engine.client.assignors.member import Counts, Member, Shares
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

__all__ = ["ASSIGNORS", "Assignor", "Member", "Rebalance", "find"]


class Rebalance(IntEnum):
    """What members do with what they own before they join again."""

    EAGER = 0  # give all of it up
    COOPERATIVE = 1  # keep it, and give up what they are told to


def _nothing(partitions: Sequence[TopicPartition] | None, generation: int) -> None:
    return None


class Assignor(NamedTuple):
    """A strategy; the group's consumers carry out what it says."""

    name: str  # on the wire
    alias: str  # its class in Kafka's own client, which configurations may name as well
    assign: Callable[[Sequence[Member], Counts], Shares]
    # The user data of the next subscription, from the last assignment (None: never had one).
    user_data: Callable[[Sequence[TopicPartition] | None, int], bytes | None] = _nothing
    protocols: tuple[Rebalance, ...] = (Rebalance.EAGER,)  # it works with, the best first


_PACKAGE = "org.apache.kafka.clients.consumer"
_BOTH = (Rebalance.COOPERATIVE, Rebalance.EAGER)

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
    """The assignor of a name or of a Java class, or a KafkaError that tells the nearest one."""
    known = {it.alias: it for it in ASSIGNORS.values() if it.alias} | dict(ASSIGNORS)
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(ASSIGNORS)}"
    raise KafkaError(
        ErrorCode.invalid_config, f"Unknown partition.assignment.strategy: {name}{hint}"
    )
