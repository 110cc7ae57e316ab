"""Which partition a record goes to.

    key -> murmur2 -> partition        the same key, the same partition, from every producer

Clients in all languages use the same hash, so the records of a key stay together and in order, as
long as the number of partitions stays the same. It is 32-bit murmur2 with Kafka's own seed. A
record without a key may go anywhere: Kafka fills a batch for one partition, then for another
("sticky", KIP-480), because a few full batches cost less than many small ones.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

Pick = Callable[[int], int]  # a random number below the given one

_SEED, _MIX, _SHIFT, _MASK = 0x9747B28C, 0x5BD1E995, 24, 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Unsigned; Java shows the same 32 bits as a signed number."""
    size = len(data)
    whole = size & ~3
    mixed = (_SEED ^ size) & _MASK
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MIX & _MASK
        word = (word ^ word >> _SHIFT) * _MIX & _MASK
        mixed = mixed * _MIX & _MASK ^ word
    if whole < size:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MIX & _MASK
    mixed = (mixed ^ mixed >> 13) * _MIX & _MASK
    return mixed ^ mixed >> 15


class Partitioner(Protocol):
    def choose(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        """`available`: the partitions that have a leader now."""
        ...

    def filled(self, topic: str, previous: int, partitions: int, available: Sequence[int]) -> None:
        """A record, with a key or without one, needs a new batch in partition `previous`."""
        return  # by default, the choice does not depend on batches


class StickyPartitioner(Partitioner):
    """The same partition until a batch is full, then another one."""

    def __init__(self, pick: Pick, uses_keys: bool = True) -> None:
        self._pick = pick
        self._uses_keys = uses_keys
        self._current: dict[str, int] = {}

    def choose(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        if key is not None and self._uses_keys:
            return partition_of(key, partitions)
        if self._current.get(topic, partitions) >= partitions:  # it may have fewer than before
            self._move(topic, partitions, available)
        return self._current[topic]

    def filled(self, topic: str, previous: int, partitions: int, available: Sequence[int]) -> None:
        if self._current.get(topic) == previous:
            self._move(topic, partitions, available)

    def _move(self, topic: str, partitions: int, available: Sequence[int]) -> None:
        usable = available or range(partitions)
        others = [each for each in usable if each != self._current.get(topic)] or usable
        self._current[topic] = others[self._pick(len(others))]


class RoundRobinPartitioner(Partitioner):
    """Each partition that has a leader in turn, whatever the key."""

    def __init__(self) -> None:
        self._turns: Counter[str] = Counter()

    def choose(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        usable = available or range(partitions)
        turn = self._turns[topic]
        self._turns[topic] += 1
        return usable[turn % len(usable)]


class CustomPartitioner(Partitioner):
    """The application's own function: (key, number of partitions) -> partition."""

    def __init__(self, function: Callable[[bytes | None, int], Any]) -> None:
        self._function = function

    def choose(
        self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]
    ) -> int:
        chosen = self._function(key, partitions)
        if not isinstance(chosen, int) or not 0 <= chosen < partitions:
            raise ValueError(
                f"the partitioner chose {chosen!r} for topic {topic}, not 0 to {partitions - 1}"
            )
        return chosen


def partitioner(name: str, pick: Pick) -> Partitioner:
    """For a value of `partitioner.class`."""
    if name == "roundrobin":
        return RoundRobinPartitioner()
    return StickyPartitioner(pick, uses_keys=name != "sticky")
