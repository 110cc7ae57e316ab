"""Which brokers get the replicas of a topic's partitions: a ring, and racks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.topics import spread, spread_further

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
BROKERS = [*RACKS]


def racks_of(replicas):
    return [RACKS[broker] for broker in replicas]


def test_a_partition_has_one_replica_in_each_rack():
    """Three racks, three replicas: none shares its rack. The ring takes each rack in turn."""
    placed = spread(5, 3, BROKERS, racks=RACKS)
    assert placed[0] == [1, 3, 5]
    assert all(sorted(racks_of(replicas)) == ["a", "b", "c"] for replicas in placed.values())
    assert sorted(replicas[0] for replicas in placed.values()) == BROKERS


def test_with_more_replicas_than_racks_a_rack_gets_a_second_one_last():
    placed = spread(10, 4, BROKERS, racks=RACKS, start=3, shift=1)
    assert all(len({*racks_of(replicas[:3])}) == 3 for replicas in placed.values())
    assert all(len({*replicas}) == 4 for replicas in placed.values())


def test_a_broker_without_a_rack_makes_the_racks_be_ignored():
    racks = {**RACKS, 5: None}
    assert spread(5, 3, BROKERS, racks=racks) == spread(5, 3, BROKERS)


def test_partitions_that_are_added_are_in_racks_too():
    placed = spread_further(8, [3, 1, 5], BROKERS, racks=RACKS, first_partition=5)
    assert [*placed] == [5, 6, 7]
    assert all(sorted(racks_of(replicas)) == ["a", "b", "c"] for replicas in placed.values())


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=8),
    st.data(),
    st.integers(0, 999),
    st.integers(0, 999),
)
def test_replicas_are_in_as_many_racks_as_possible(names, data, start, shift):
    """Whatever the racks: no broker twice, as many racks as there can be, leaders in turn."""
    racks = dict(enumerate(names))
    replication = data.draw(st.integers(1, len(racks)))
    partitions = 2 * len(racks)
    placed = spread(partitions, replication, [*racks], racks=racks, start=start, shift=shift)
    for replicas in placed.values():
        assert len({*replicas}) == replication
        assert len({racks[it] for it in replicas}) == min(replication, len({*names}))
    assert {*Counter(replicas[0] for replicas in placed.values()).values()} == {2}


@pytest.mark.parametrize("replication", [1, 2, 3])
def test_without_racks_the_ring_is_that_of_the_brokers(replication):
    placed = spread(3, replication, [1, 2, 3])
    assert placed == {
        0: [1, 2, 3][:replication],
        1: [2, 3, 1][:replication],
        2: [3, 1, 2][:replication],
    }


def test_fenced_brokers_get_the_replicas_for_which_there_are_not_enough_others():
    """They never come first: that is the leader's place."""
    placed = spread(4, 3, [1, 2], fenced=[7, 9])
    assert [replicas[2] for replicas in placed.values()] == [7, 9, 7, 9]
    assert all({*replicas[:2]} == {1, 2} for replicas in placed.values())
    assert spread(4, 2, [1, 2], fenced=[7]) == spread(4, 2, [1, 2])
    with pytest.raises(ApiException, match="larger than available brokers: 3"):
        spread(1, 4, [1, 2], fenced=[7])
    with pytest.raises(ApiException, match="All brokers are currently fenced"):
        spread(1, 1, [], fenced=[7])
