"""How far a micro-batch goes, from numbers alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.model import TopicPartition
from sparkstreams import offsets
from sparkstreams.offsets import EARLIEST, Bound

A, B, C = (TopicPartition("orders", number) for number in range(3))

logs = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["orders", "users"]), st.integers(0, 20)),
    st.tuples(st.integers(0, 1000), st.integers(0, 1000)),  # where to begin, and how much waits
    min_size=1,
)


def test_offsets_are_written_as_spark_keeps_them_whatever_their_order() -> None:
    shuffled = {B: 3, TopicPartition("audit", 0): 1, A: 17, TopicPartition("orders", 10): 4}

    nested = offsets.to_json(shuffled)

    assert list(nested.items()) == [("audit", {"0": 1}), ("orders", {"0": 17, "1": 3, "10": 4})]
    assert list(nested["orders"]) == ["0", "1", "10"]
    assert offsets.of_json(nested, "checkpoint") == shuffled


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([1], r'where: \[1\] is not of the form {"orders": {"0": 17}}'),
        ({"orders": 17}, "is not of the form"),
        ({"orders": {"zero": 17}}, "'zero' is no partition of orders"),
        ({"orders": {"-1": 17}}, "'-1' is no partition of orders"),
        ({"orders": {"0": "17"}}, "'17' is no offset of orders-0"),
        ({"orders": {"0": True}}, "True is no offset of orders-0"),
    ],
)
def test_what_are_no_offsets_is_reported(value: object, told: str) -> None:
    with pytest.raises(ApiException, match=told):
        offsets.of_json(value, "where")


def test_one_word_is_for_all_partitions() -> None:
    assert Bound("startingOffsets", EARLIEST).of({B, A}) == {A: EARLIEST, B: EARLIEST}


def test_offsets_one_by_one_leave_no_partition_out_and_name_no_other() -> None:
    bound = Bound("startingOffsets", {A: 5, B: -1})

    assert bound.of({A, B}) == {A: 5, B: -1}
    with pytest.raises(ApiException, match="startingOffsets: says nothing of orders-2; name every"):
        bound.of({A, B, C})
    with pytest.raises(ApiException, match="names orders-1, which this query does not read"):
        bound.of({A})


def test_a_limit_is_shared_out_in_proportion_to_what_waits() -> None:
    begin, latest = {A: 100, B: 0, C: 7}, {A: 400, B: 100, C: 7}

    assert offsets.admit(begin, latest, 40) == {A: 130, B: 10, C: 7}


def test_a_short_partition_is_not_starved_by_a_long_one() -> None:
    assert offsets.admit({A: 0, B: 0}, {A: 1_000_000, B: 1}, 10) == {A: 9, B: 1}


def test_without_a_limit_or_below_it_all_is_read() -> None:
    begin, latest = {A: 0, B: 5}, {A: 10, B: 9}

    assert offsets.admit(begin, latest, None) == latest
    assert offsets.admit(begin, latest, 14) == latest
    assert offsets.admit(begin, latest, 13) != latest


@given(logs, st.integers(1, 2000))
def test_a_limit_holds_and_yet_all_is_read_in_the_end(
    logs: dict[TopicPartition, tuple[int, int]], most: int
) -> None:
    begin = {each: start for each, (start, _) in logs.items()}
    latest = {each: start + size for each, (start, size) in logs.items()}
    while begin != latest:
        end = offsets.admit(begin, latest, most)
        read = offsets.waiting(begin, end)
        # What rounds to nothing is rounded up: one record more for a partition at most.
        assert 0 < read <= most + len(logs)
        assert all(begin[each] <= end[each] <= latest[each] for each in latest)
        assert all(end[each] > begin[each] for each in latest if latest[each] > begin[each])
        begin = end


def test_a_batch_waits_for_enough_records_but_not_for_ever() -> None:
    def is_due(waits: int, now: float) -> bool:
        return offsets.is_due(waits, 100, 50.0, now, 10.0)

    assert not is_due(99, 55.0)
    assert is_due(100, 55.0)
    assert is_due(1, 60.0)
    assert offsets.is_due(0, None, 50.0, 50.0, 10.0), "nobody asked to wait"


def test_an_offset_beyond_the_end_is_reported() -> None:
    bound = Bound("endingOffsets", {A: 18})

    offsets.check_inside(bound, {A: 17}, {A: 17})
    with pytest.raises(
        ApiException, match=r"endingOffsets: 18 of orders-0 is beyond its end, .* 17"
    ):
        offsets.check_inside(bound, {A: 18}, {A: 17})


def test_a_range_does_not_end_before_it_begins() -> None:
    bounds = Bound("startingTimestamp", 9, True), Bound("endingOffsets", {A: 4})

    offsets.check_order({A: 4}, {A: 4}, *bounds)
    with pytest.raises(
        ApiException, match="startingTimestamp: orders-0 would begin at 5, after its"
    ):
        offsets.check_order({A: 5}, {A: 4}, *bounds)
