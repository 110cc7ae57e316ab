"""Where everybody stands: nobody on top of another, everybody inside."""

from itertools import combinations

import pytest

from widgets.cluster_layout import MOST, WIDTH, ClusterLayout


def overlap(one, other):
    return (
        one.x < other.right
        and other.x < one.right
        and one.y < other.bottom
        and other.y < one.bottom
    )


@pytest.mark.parametrize("width", [320, 415, 462, 600, WIDTH])
@pytest.mark.parametrize("count", range(1, 13))
def test_cards_stand_side_by_side_and_within_the_width(count, width):
    plan = ClusterLayout(tuple(range(1, count + 1)), 78, width)
    boxes = [plan.keeper, plan.producers, plan.consumers, *map(plan.box, plan.brokers)]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    for box in boxes:
        assert box.x >= 0
        assert box.right <= width + 0.01
        assert box.bottom <= plan.height


@pytest.mark.parametrize("width", [320, 356, 462, WIDTH])
@pytest.mark.parametrize("count", range(2, 10))
def test_servers_stand_inside_zookeeper_and_brokers_below(count, width):
    servers = tuple(range(1, count + 1))
    plan = ClusterLayout((1, 2, 3), 78, width, servers=servers, sessions=((1, 1), (2, count)))
    boxes = [*map(plan.server, servers)]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    keeper = plan.keeper
    for box in boxes:
        assert keeper.x < box.x and box.right < keeper.right
        assert keeper.y < box.y and box.bottom < keeper.bottom
    assert keeper.x >= 0 and keeper.right <= width and keeper.bottom < plan.box(1).y
    starts = [plan.start(broker) for broker in plan.brokers]
    assert starts == [plan.server(1).middle, plan.server(count).middle, keeper.middle]


@pytest.mark.parametrize("count", range(1, MOST + 1))
def test_in_one_row_every_two_are_linked(count):
    plan = ClusterLayout(tuple(range(1, count + 1)), 78)
    assert len(plan.pairs()) == count * (count - 1) // 2


@pytest.mark.parametrize("count", range(3, MOST + 1))
def test_arcs_end_above_the_clients(count):
    plan = ClusterLayout(tuple(range(1, count + 1)), 78)
    for one, other in plan.pairs():
        assert plan.words(one, other)[1] < plan.clients


@pytest.mark.parametrize("width", [374, 600, 748, 1000])
def test_words_about_a_link_stand_below_the_cards(width):
    """Between two cards there is no room for them."""
    plan = ClusterLayout((1, 2, 3), 78, width)
    for one, other in plan.pairs():
        assert plan.words(one, other)[1] > plan.box(one).bottom + 9
