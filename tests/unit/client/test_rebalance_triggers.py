"""What makes a group share out anew, and by which strategy it does."""

import pytest

from engine.errors import ErrorCode
from tests.unit.client.world import OnLost, OnRevoke, World, partitions

STICKY = {"partition_assignment_strategy": ("sticky",)}
COOPERATIVE = {"partition_assignment_strategy": ("cooperative-sticky",)}
HEARTBEAT, SOON = 3.0, 0.1  # seconds


def took(world, what):
    began = world.now
    world.until(what)
    return world.now - began


# -- the three triggers --------------------------------------------------------------------------


def test_partitions_are_added_and_the_leader_sees_it():
    world = World(
        {"t": 2},
    )
    one, two = world.apps_of(2, metadata_max_age_ms=5000)
    world.settle()
    world.topics["t"] = 4
    assert took(world, lambda: len(one.owned) + len(two.owned) == 4) < 5 + HEARTBEAT + SOON
    assert len(one.owned) == len(two.owned) == 2


def test_a_topic_appears_that_matches_the_pattern():
    """One sees it after five seconds. The other, told of a new round, looks afresh before it joins;
    else it would see the topic later, and begin one more."""
    world = World({"orders-eu": 2, "bills": 2})
    one = world.app("one", pattern="^orders-")
    two = world.app("two", pattern="^orders-", metadata_max_age_ms=5000)
    world.settle()
    world.run(1)
    generation = world.group.generation
    world.topics["orders-us"] = 2
    new = set(partitions("orders-us", 0, 1))
    world.until(lambda: new <= {*one.owned, *two.owned}, limit=5 + HEARTBEAT + SOON)
    world.run(20)
    assert [len(new.intersection(each.owned)) for each in (one, two)] == [1, 1]
    assert world.group.generation == generation + 1


def test_and_one_that_is_deleted_goes():
    world = World({"orders-eu": 2, "orders-us": 2})
    one = world.app("one", pattern="^orders-", metadata_max_age_ms=5000)
    world.settle()
    assert len(one.owned) == 4
    del world.topics["orders-us"]
    world.until(lambda: one.owned == list(partitions("orders-eu", 0, 1)), limit=6)


def test_a_topic_that_is_not_there_yet():
    world = World({})
    one, two = world.apps_of(2)
    world.settle()
    assert one.owned == two.owned == []
    world.topics["t"] = 2
    world.until(lambda: len(one.owned) == len(two.owned) == 1, limit=1 + HEARTBEAT)


def test_the_leader_asks_about_topics_that_only_others_want():
    world = World({"t": 2, "u": 2})
    one = world.app("one", "t")
    world.settle()
    two = world.app("two", "u")
    world.settle()
    assert (one.owned, two.owned) == (list(partitions("t", 0, 1)), list(partitions("u", 0, 1)))
    assert world.group.generation == 2
    world.topics["u"] = 3  # and it watches them
    one.view.stale()
    world.until(lambda: len(two.owned) == 3, limit=HEARTBEAT + SOON)


def test_and_with_a_pattern_about_one_that_is_not_there():
    """An answer about all topics does not name it; the leader waits for one, and no more."""
    world = World({"t": 2})
    world.app("one", pattern="^t")
    world.settle()
    two = world.app("two", "nowhere", "t", partition_assignment_strategy=("range",))
    world.settle()
    assert len(two.owned) == 1
    assert world.group.generation == 2


def test_a_member_subscribes_to_something_else():
    world = World({"t": 2, "u": 2})
    one, two = world.apps_of(2, **COOPERATIVE)
    world.settle()
    one.subscribe("u")
    world.run(SOON)
    assert one.owned == []  # what it does not want any more is free for the others at once
    world.until(lambda: one.owned == list(partitions("u", 0, 1)), limit=HEARTBEAT + SOON)
    world.settle()
    assert two.owned == list(partitions("t", 0, 1))
    assert one.changes(OnLost) == []


# -- strategies ----------------------------------------------------------------------------------


def test_the_group_takes_a_strategy_that_all_know():
    world = World()
    world.app("one", partition_assignment_strategy=("roundrobin", "range"))
    world.app("two", partition_assignment_strategy=("sticky", "range"))
    world.settle()
    assert world.group.members.protocol == "range"
    three = world.app("three", partition_assignment_strategy=("roundrobin",))
    world.until(lambda: three.errors)
    assert three.errors[0] == ErrorCode.inconsistent_group_protocol
    world.kill(three)
    world.run(30)
    assert world.is_stable


def test_who_knows_an_eager_strategy_too_is_eager():
    """Of cooperative-sticky and range the group may take either; so on the way from the one to the
    other everyone has to be restarted twice."""
    world = World()
    both = {"partition_assignment_strategy": ("cooperative-sticky", "range")}
    one = world.app("one", **both)
    world.settle()
    world.app("two", **both)
    world.settle()
    assert world.group.members.protocol == "cooperative-sticky"
    assert one.changes(OnRevoke) == [partitions("t", 0, 1, 2, 3)]


def test_static_members_are_dealt_to_first_by_their_name():
    """A restart gives members other ids. Range gives them the partitions that they had."""
    world = World()
    one = world.app("a")
    two = world.app("z", group_instance_id="z")
    world.settle()
    assert (two.numbers, one.numbers) == ([0, 1], [2, 3])


@pytest.mark.parametrize("strategy", [STICKY, COOPERATIVE], ids=["sticky", "cooperative"])
def test_sticky_moves_as_few_as_can_be(strategy):
    """The example of ten partitions and three members, of which one goes, and another comes."""
    world = World({"t": 10})
    apps = world.apps_of(3, **strategy)
    world.settle()
    assert sorted(len(each.owned) for each in apps) == [3, 3, 4]
    gone = apps.pop()
    had = {each.name: set(each.owned) for each in apps}
    gone.close()
    world.settle()
    assert all(had[each.name] <= set(each.owned) for each in apps)

    had = {each.name: set(each.owned) for each in apps}
    apps.append(world.app("new", **strategy))
    world.settle()
    moved = sum(len(had.get(each.name, set()) - set(each.owned)) for each in apps)
    assert moved == len(apps[-1].owned) == 3
