"""The best sticky assignment for members with different subscriptions.

Partitions move from member to member. A move is a sequence of steps,

    pool -> giver -> partition -> its home, or its topic -> taker -> pool

each with a price. For a giver that has L partitions the step out of the pool costs 1 - L, for a
taker that has M the step back costs M: so the group pays the sum of L(L - 1)/2, which is least
when all have the same. A partition that leaves its home costs 1, one that comes home saves 1; loads
come first, so theirs count more than all moves together. Steps that end where they began are a
cycle, and one that costs less than zero leaves the group better off:

    pool -> a -> b -> c -> pool    b takes one of a's and gives c one of its own: a had two too many
    a -> b -> a                    each has what was the other's, and gets its own back

Invariant (of minimum-cost flow): when no cycle costs less than zero, no assignment is more even,
and of those that are as even none moves fewer partitions.

A fast pass does most of it: each partition goes to the subscriber with the fewest partitions.
Bellman and Ford's search for cycles then finds improvements of several steps.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from engine.assignors.member import Counts, partitions_of
from engine.model import TopicPartition

Edge = tuple[int, int, int]  # from one node to another, at a cost

_POOL = 0
_NOWHERE = -1


def balanced(
    topics: Mapping[str, Sequence[str]], counts: Counts, homes: Mapping[TopicPartition, str]
) -> Mapping[str, Sequence[TopicPartition]]:
    """The members' partitions; those that a member keeps come first."""
    holder = _roughly(topics, partitions_of(topics, counts), homes)
    flow = _Flow(topics, holder, homes)
    while flow.improve():
        pass
    held: dict[str, list[TopicPartition]] = {}
    for partition, member in sorted(holder.items(), key=lambda it: homes.get(it[0]) != it[1]):
        held.setdefault(member, []).append(partition)
    return held


def _roughly(
    topics: Mapping[str, Sequence[str]],
    partitions: Sequence[TopicPartition],
    homes: Mapping[TopicPartition, str],
) -> dict[TopicPartition, str]:
    """Keep all, give the rest to the member with the fewest, then take from those with the most."""
    holder, load = dict(homes), Counter(homes.values())

    def least(partition: TopicPartition) -> str:
        return min(topics[partition.topic], key=load.__getitem__)

    rest = (partition for partition in partitions if partition not in homes)
    for partition in sorted(rest, key=lambda it: (len(topics[it.topic]), it)):
        holder[partition] = taker = least(partition)
        load[taker] += 1
    height: Counter[str] = Counter()
    heights = {}
    for partition, member in holder.items():
        height[member] += 1
        heights[partition] = height[member]
    for partition in sorted(holder, key=heights.__getitem__, reverse=True):
        giver, taker = holder[partition], least(partition)
        if load[taker] + 1 < load[giver]:
            holder[partition] = taker
            load[giver] -= 1
            load[taker] += 1
    return holder


class _Flow:
    """The graph of all possible steps; taking them changes `holder`."""

    def __init__(
        self,
        topics: Mapping[str, Sequence[str]],
        holder: dict[TopicPartition, str],
        homes: Mapping[TopicPartition, str],
    ) -> None:
        self.holder = holder
        self.homes = homes
        members = sorted({member for wanting in topics.values() for member in wanting})
        numbers = count(_POOL + 1)
        self.members = dict(zip(members, numbers, strict=False))
        self.partitions = dict(zip(holder, numbers, strict=False))
        hubs = dict(zip(topics, numbers, strict=False))
        self.size = next(numbers)
        self.names = {node: member for member, node in self.members.items()}
        self.moved = {node: partition for partition, node in self.partitions.items()}
        self.always: list[Edge] = [
            (node, hubs[partition.topic], int(partition in homes))
            for partition, node in reversed(self.partitions.items())  # of equals, the last goes
        ]
        self.always += [
            (hubs[topic], self.members[member], 0)
            for topic, wanting in topics.items()
            for member in wanting
        ]

    def improve(self) -> bool:
        """Take the steps of some cycles that improve the assignment; whether there were any."""
        cycles = _cheap_cycles(self.size, self._edges())
        for cycle in cycles:
            for place, node in enumerate(cycle):
                if partition := self.moved.get(node):  # what comes after it stands before it
                    after = cycle[place - 1]
                    taker = after if after in self.names else cycle[place - 2]
                    self.holder[partition] = self.names[taker]
        return bool(cycles)

    def _edges(self) -> list[Edge]:
        """In the order of a chain, so that one round of the search can follow all of it."""
        load, weight = Counter(self.holder.values()), len(self.holder) + 1
        first, middle, last = [], [], []
        for member, node in self.members.items():
            if load[member]:
                first.append((_POOL, node, weight * (1 - load[member])))
            last.append((node, _POOL, weight * load[member]))
        for partition, member in self.holder.items():
            node, home = self.partitions[partition], self.homes.get(partition, member)
            middle.append((self.members[member], node, 0 if home == member else -1))
            middle.append((node, self.members[home], 0))
        return [*first, *middle, *self.always, *last]


def _cheap_cycles(size: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Some cycles that cost less than zero, each backwards; none if there is none (Bellman-Ford).

    No two of them share a node, so all their steps can be taken together.
    """
    cost, before = [0] * size, [_NOWHERE] * size
    while True:
        settled = True
        for start, end, price in edges:
            if cost[start] + price < cost[end]:
                cost[end], before[end], settled = cost[start] + price, start, False
        cycles = list(_cycles(before))
        if cycles or settled:
            return cycles


def _cycles(before: Sequence[int]) -> Iterator[list[int]]:
    """The cycles of a graph in which each node has one edge, at most."""
    seen = [_NOWHERE] * len(before)
    for walk in range(len(before)):
        node = walk
        while node != _NOWHERE and seen[node] == _NOWHERE:
            seen[node] = walk
            node = before[node]
        if node != _NOWHERE and seen[node] == walk:
            cycle = [node]
            while before[cycle[-1]] != node:
                cycle.append(before[cycle[-1]])
            yield cycle
