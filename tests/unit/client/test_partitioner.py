"""Where a record goes. The hash of a key is the same in every Kafka client, of any language."""

import random
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from engine.client.partitioner import (
    CustomPartitioner,
    RoundRobinPartitioner,
    StickyPartitioner,
    murmur2,
    partition_of,
    partitioner,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    from kafka.partitioner.default import murmur2 as theirs

ALL = [0, 1, 2, 3]


def first(below: int) -> int:
    """A random number that is always the same."""
    return 0


@pytest.mark.parametrize(
    ("key", "signed"),  # as Kafka's own tests have them
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF
    assert partition_of(key, 7) == (signed & 0x7FFFFFFF) % 7


def test_the_orders_1_to_5_go_where_javas_producer_sends_them() -> None:
    assert [partition_of(b"%d" % number, 3) for number in range(1, 6)] == [0, 2, 2, 1, 0]


def test_murmur2_is_that_of_kafka_python() -> None:
    chance = random.Random(17)
    for _ in range(10_000):
        key = chance.randbytes(chance.randrange(40))
        assert murmur2(key) == theirs(key), key


def test_every_partition_gets_its_share() -> None:
    counts = [0] * 4
    for number in range(4000):
        counts[partition_of(b"key-%d" % number, 4)] += 1
    assert min(counts) > 800


def test_without_a_key_a_record_goes_where_the_last_one_went() -> None:
    sticky = StickyPartitioner(first)
    assert [sticky.choose("t", None, 4, ALL) for _ in range(3)] == [0, 0, 0]
    assert sticky.choose("t", b"abc", 4, ALL) == partition_of(b"abc", 4)


def test_a_filled_batch_moves_it_to_another_partition_never_the_same() -> None:
    sticky = StickyPartitioner(random.Random(5).randrange)
    where = [sticky.choose("t", None, 4, ALL)]
    for _ in range(100):
        sticky.filled("t", where[-1], 4, ALL)
        where.append(sticky.choose("t", None, 4, ALL))
    assert all(one != other for one, other in pairwise(where))
    assert set(where) == set(ALL)


def test_it_leaves_a_partition_that_is_gone() -> None:
    """The topic was deleted, and made again with fewer."""
    sticky = StickyPartitioner(lambda below: below - 1)
    assert sticky.choose("t", None, 6, range(6)) == 5
    assert sticky.choose("t", None, 3, range(3)) == 2


def test_a_batch_filled_in_another_partition_moves_nothing() -> None:
    sticky = StickyPartitioner(first)
    assert sticky.choose("t", None, 4, ALL) == 0
    sticky.filled("t", 3, 4, ALL)
    assert sticky.choose("t", None, 4, ALL) == 0


def test_partitions_without_leader_are_left_out_if_there_are_others() -> None:
    sticky = StickyPartitioner(first)
    assert sticky.choose("t", None, 4, [2, 3]) == 2
    sticky.filled("t", 2, 4, [2])
    assert sticky.choose("t", None, 4, [2]) == 2, "there is no other"
    assert StickyPartitioner(first).choose("t", None, 4, []) == 0, "there is none: any will do"
    assert StickyPartitioner(first).choose("t", b"abc", 4, []) == partition_of(b"abc", 4), (
        "a key is a key"
    )


def test_topics_have_turns_of_their_own() -> None:
    sticky, turns = StickyPartitioner(first), RoundRobinPartitioner()
    assert sticky.choose("t", None, 4, ALL) == 0
    sticky.filled("t", 0, 4, ALL)
    assert (sticky.choose("t", None, 4, ALL), sticky.choose("u", None, 4, ALL)) == (1, 0)
    assert [turns.choose(topic, None, 4, ALL) for topic in "ttu"] == [0, 1, 0]


def test_round_robin_takes_each_in_turn_whatever_the_key() -> None:
    turns = RoundRobinPartitioner()
    counts = Counter(turns.choose("t", b"same", 4, [0, 1, 3]) for _ in range(30))
    assert counts == {0: 10, 1: 10, 3: 10}
    turns.filled("t", 1, 4, ALL)
    assert turns.choose("t", None, 4, []) == 30 % 4


def test_a_function_of_ones_own() -> None:
    own = CustomPartitioner(lambda key, partitions: len(key or b"") % partitions)
    assert own.choose("t", b"abcde", 4, ALL) == 1
    own.filled("t", 1, 4, ALL)


@pytest.mark.parametrize("wrong", [4, -1, None, "1", 1.0], ids=repr)
def test_a_function_that_chooses_nonsense_is_told(wrong: Any) -> None:
    own = CustomPartitioner(lambda key, partitions: wrong)
    with pytest.raises(ValueError, match=r"the partitioner chose .* for topic t, not 0 to 3"):
        own.choose("t", None, 4, ALL)


@pytest.mark.parametrize(
    ("name", "heeds_keys", "sticks"),
    [("default", True, True), ("sticky", False, True), ("roundrobin", False, False)],
)
def test_they_go_by_name(name: str, heeds_keys: bool, sticks: bool) -> None:
    def chosen(key: Callable[[int], bytes | None]) -> int:
        made = partitioner(name, first)
        return len({made.choose("t", key(number), 4, ALL) for number in range(50)})

    assert chosen(lambda number: None) == (1 if sticks else 4)
    assert (chosen(lambda number: b"%d" % number) == 1) == (sticks and not heeds_keys)
