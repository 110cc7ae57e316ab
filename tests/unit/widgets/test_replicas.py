"""The replicas on a card: who leads, who is in sync, who is behind and by how much."""

import pytest

from engine.model import TopicPartition
from tests.unit.widgets.cluster import partition, topic
from widgets import replicas
from widgets.replicas import CELL, CELLS, Window

WIDTH = 198


def drawn(partitions, number=1):
    return {shape.key: shape for shape in flat(replicas.drawn(number, partitions, WIDTH))}


def flat(shapes):
    for shape in shapes:
        yield shape
        if isinstance(shape.content, tuple):
            yield from flat(shape.content)


def row(name, number, partitions):
    found = {shape.key: shape for shape in replicas.drawn(number, partitions, WIDTH)}
    return {part.key: part for part in found[name].content}


@pytest.mark.parametrize("last", [0, 1, 5, 9, 100, 999, 12_345, 10_000_000])
@pytest.mark.parametrize("behind", [0, 1, 4, 7, 1000])
def test_the_window_shows_the_slowest_and_the_fastest(last, behind):
    least = max(last - behind, 0)
    window = Window.over(partition(ends=(last, least, last), committed=least))
    end = window.first + CELLS * window.unit
    assert window.first <= least <= last <= end
    assert str(window.unit).strip("0") in {"1", "2", "5"}
    assert window.first % window.unit == 0
    assert 0 <= window.x(least) <= window.x(last) <= CELL * CELLS


def test_as_records_come_the_cells_move_on_one_by_one():
    windows = [Window.over(partition(ends=(last,) * 3)) for last in range(30)]
    assert {window.unit for window in windows} == {1}
    assert [window.first for window in windows[:9]] == [0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_shape_and_letter_tell_the_role():
    partitions = {TopicPartition("orders", 0): partition(2, isr=(2, 1))}
    leader, follower, out = (row("orders-0", number, partitions)["role"] for number in (2, 1, 3))
    assert (leader.content, leader.look) == ("L", "leader")
    assert (follower.content, follower.look) == ("F", "follower")
    assert (out.content, out.look) == ("F", "out")


def test_what_is_not_committed_is_paler():
    partitions = {TopicPartition("orders", 0): partition(1, ends=(10, 8, 8), committed=8)}
    leader = row("orders-0", 1, partitions)
    assert "written" in leader["written"].look
    assert "written" not in row("orders-0", 2, partitions)
    assert leader["end"].content == "10"


def test_a_label_says_it_all():
    partitions = {TopicPartition("orders", 0): partition(1, ends=(10, 8, 8), committed=8)}
    (shape,) = replicas.drawn(1, partitions, WIDTH)
    assert shape.label == "orders-0: leader, end 10, committed 8"


def test_a_long_name_keeps_its_number():
    partitions = {TopicPartition("clickstream-of-the-north", 11): partition()}
    name = row("clickstream-of-the-north-11", 1, partitions)["name"].content
    assert name.endswith("…-11")


@pytest.mark.parametrize(
    ("count", "how"), [(1, "rows"), (12, "rows"), (13, "cells"), (60, "cells"), (1000, "counts")]
)
def test_the_more_there_are_the_less_is_reported_of_each(count, how):
    partitions = topic("orders", count)
    assert replicas.density(partitions, WIDTH) == how
    lowest = max(shape.where[1] for shape in drawn(partitions).values() if len(shape.where) > 1)
    assert lowest <= replicas.height(partitions, WIDTH)


def test_sixty_cells_do_not_cover_each_other():
    cells = [it for it in drawn(topic("orders", 60)).values() if it.kind == "chip"]
    assert len(cells) == 60
    assert len({it.where[:2] for it in cells}) == 60
    assert all(it.where[0] + it.where[2] <= WIDTH and it.label for it in cells)


def test_a_thousand_are_counted_topic_by_topic():
    partitions = {k: it for number in range(20) for k, it in topic(f"t{number:02}", 50).items()}
    shapes = drawn(partitions)
    assert shapes["leader"].label == "broker 1: leads 340 of 1000 partitions"
    assert shapes["t00 led"].content == "17 led · 50 here"
    assert "12 topics more" in shapes["more topics"].content


@pytest.mark.parametrize("width", [90, 109, 120, WIDTH])
def test_no_shape_has_a_negative_size_in_a_narrow_card(width):
    for shape in replicas.drawn(1, topic("orders", 1000), width):
        for part in shape.content or ():
            if getattr(part, "kind", "") == "rect":
                assert min(part.where[2:4]) > 0


def test_whoever_has_no_replica_shows_none():
    assert replicas.drawn(4, topic("orders", 3), WIDTH) == []
