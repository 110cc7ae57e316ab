"""How a batch is cut into Spark's tasks."""

import pickle
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.model import TopicPartition
from sparkstreams.offsets import OffsetRange
from sparkstreams.splits import Split, plan

A, B, C = (TopicPartition("orders", number) for number in range(3))

spans = st.lists(
    st.builds(
        lambda number, start, size: OffsetRange(
            TopicPartition("orders", number), start, start + size
        ),
        st.integers(0, 9),
        st.integers(0, 10**12),
        st.integers(0, 5000),
    ),
    max_size=8,
    unique_by=lambda span: span.partition,
)
maybe = st.none() | st.integers(1, 50)


def tasks(*spans: OffsetRange, **limits: int) -> list[tuple[int, int, int]]:
    return [(it.partition, it.start, it.end) for it in plan(spans, **limits)]


def test_as_a_rule_a_partition_is_a_task_unless_nothing_waits_in_it() -> None:
    assert tasks(OffsetRange(B, 3, 9), OffsetRange(A, 0, 5), OffsetRange(C, 4, 4)) == [
        (0, 0, 5),
        (1, 3, 9),
    ]


def test_long_partitions_are_cut_until_there_are_enough_tasks() -> None:
    told = tasks(OffsetRange(A, 100, 400), OffsetRange(B, 0, 60), min_partitions=4)

    assert told == [(0, 100, 200), (0, 200, 300), (0, 300, 400), (1, 0, 60)]
    assert len(tasks(OffsetRange(A, 0, 10), OffsetRange(B, 0, 10), min_partitions=2)) == 2


def test_a_task_can_be_kept_from_being_too_long() -> None:
    told = tasks(OffsetRange(A, 0, 250), OffsetRange(B, 0, 100), max_records=100)

    assert told == [(0, 0, 83), (0, 83, 166), (0, 166, 250), (1, 0, 100)]


def test_more_tasks_than_records_there_are_not() -> None:
    assert tasks(OffsetRange(A, 7, 9), min_partitions=10) == [(0, 7, 8), (0, 8, 9)]


def test_a_split_travels_to_an_executor() -> None:
    split = Split("orders", 1, 5, 9)

    assert pickle.loads(pickle.dumps(split)) == split
    assert split.at == TopicPartition("orders", 1)


@given(spans, maybe, maybe)
def test_each_offset_is_in_exactly_one_task(
    spans: list[OffsetRange], min_partitions: int | None, max_records: int | None
) -> None:
    found = plan(spans, min_partitions, max_records)

    for partition, cut in groupby(found, key=lambda split: split.at):
        splits = list(cut)
        span = next(span for span in spans if span.partition == partition)
        assert [splits[0].start, splits[-1].end] == [span.start, span.end]
        assert all(one.end == other.start for one, other in pairwise(splits))
        assert all(split.start < split.end for split in splits)
        assert max_records is None or all(it.end - it.start <= max_records for it in splits)
    assert {split.at for split in found} == {span.partition for span in spans if span.size}
