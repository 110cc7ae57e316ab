"""The plan of an assignor, for members whose past is known. An assignor is a pure function.

plan("range", "abc")                             {"a": [0, 1, 2, 3], "b": [4, 5, 6], ...}
plan("sticky", "ab", had={"a": [0, 1], ...})     with what each of them owned before
"""

from collections.abc import Iterable, Mapping, Sequence

from engine.assignors import ASSIGNORS, Subscriber
from engine.model import TopicPartition

TOPIC = "orders"
Shares = dict[str, list[int]]
NOTHING: Mapping[str, Sequence[int]] = {}


def plan(
    strategy: str,
    members: Iterable[str],
    partitions: int = 10,
    had: Mapping[str, Sequence[int]] = NOTHING,
) -> Shares:
    """For cooperative-sticky it is what the second of its two rounds comes to."""
    names = sorted(members)
    found = _plan(strategy, names, partitions, had)
    if strategy == "cooperative-sticky":
        return _plan(strategy, names, partitions, found)
    return found


def _plan(
    strategy: str, names: list[str], partitions: int, had: Mapping[str, Sequence[int]]
) -> Shares:
    owned = {name: tuple(TopicPartition(TOPIC, it) for it in had.get(name, ())) for name in names}
    members = [Subscriber(name, (TOPIC,), owned[name], None, 1) for name in names]
    found = ASSIGNORS[strategy].assign(members, {TOPIC: partitions})
    return {name: sorted(it.partition for it in found[name]) for name in names}


def moved(before: Mapping[str, Sequence[int]], after: Mapping[str, Sequence[int]]) -> int:
    """How many partitions have another owner."""
    was = {each: name for name, share in before.items() for each in share}
    return sum(was.get(it, name) != name for name, share in after.items() for it in share)


def spread(shares: Mapping[str, Sequence[int]]) -> int:
    """The largest share less the smallest."""
    sizes = [len(share) for share in shares.values()]
    return max(sizes) - min(sizes)
