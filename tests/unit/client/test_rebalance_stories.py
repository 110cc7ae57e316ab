"""A group's life, told by its members: who owns what, who is told what, and how long it takes.

The members are real, and so is their coordinator; the network and the clock are the world's.
"""

from itertools import pairwise
from random import Random

import pytest

from engine.coordinator.states import State as Group
from engine.errors import ErrorCode
from tests.unit.client.world import Assign, Lost, Revoke, State, World, partitions

EAGER = {"partition_assignment_strategy": ("range",)}
STICKY = {"partition_assignment_strategy": ("sticky",)}
COOPERATIVE = {"partition_assignment_strategy": ("cooperative-sticky",)}
HEARTBEAT, SESSION = 3.0, 10.0  # seconds, by default
SOON = 0.1


def took(world, what=None):
    """Seconds until the group is stable, or until something else."""
    began = world.now
    world.until(what) if what else world.settle()
    return world.now - began


# -- coming --------------------------------------------------------------------------------------


def test_alone_it_gets_everything():
    world = World()
    one = world.app("one")
    assert took(world) < SOON
    assert one.numbers == [0, 1, 2, 3]
    assert one.log == [Assign(partitions("t", 0, 1, 2, 3))]


def test_an_eager_member_stops_reading_when_another_one_comes():
    """It hears of that with its next heartbeat, gives up everything, and gets half of it back."""
    world = World()
    one = world.app("one")
    world.settle()
    two = world.app("two")
    assert took(world) < HEARTBEAT + SOON
    assert one.log[1:] == [
        Revoke(partitions("t", 0, 1, 2, 3)),
        Assign(partitions("t", 0, 1)),
    ]
    assert two.log == [Assign(partitions("t", 2, 3))]


def test_a_cooperative_member_goes_on_reading_what_it_keeps():
    """In the first round it is told what to give up; only in the second does the other get it."""
    world = World()
    one = world.app("one", **COOPERATIVE)
    world.settle()
    two = world.app("two", **COOPERATIVE)
    assert took(world) < 2 * HEARTBEAT + SOON
    assert one.log[1:] == [Revoke(partitions("t", 2, 3)), Assign(()), Assign(())]
    assert two.log == [Assign(()), Assign(partitions("t", 2, 3))]
    assert (one.numbers, two.numbers) == ([0, 1], [2, 3])


def test_how_soon_depends_on_the_heartbeat():
    world = World({"t": 6})
    quick = {"heartbeat_interval_ms": 100}
    world.apps_of(3, **quick)
    world.settle()
    world.app("new", **quick)
    assert took(world) < 0.2


def test_ten_members_for_five_partitions_five_idle_and_nobody_fails():
    world = World({"t": 5})
    apps = world.apps_of(10)
    world.settle()
    assert sorted(len(each.owned) for each in apps) == [0] * 5 + [1] * 5
    world.run(60)
    assert not any(each.errors for each in apps)
    assert world.is_stable


# -- going ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])
def test_who_says_goodbye_is_missed_for_a_heartbeat_only(strategy):
    world = World()
    one, two = world.apps_of(2, **strategy)
    world.settle()
    had = two.owned
    two.close()
    assert took(world, lambda: two.membership.has_left) < SOON
    assert two.changes(Revoke)[-1] == tuple(had)
    assert took(world) < HEARTBEAT + SOON
    assert one.numbers == [0, 1, 2, 3]


def test_who_is_killed_is_missed_for_a_session():
    world = World()
    one, two = world.apps_of(2)
    world.settle()
    world.kill(two)
    assert SESSION - HEARTBEAT < took(world) < SESSION + HEARTBEAT + SOON
    assert one.numbers == [0, 1, 2, 3]


def test_whoever_leads_next_shares_out():
    world = World()
    apps = world.apps_of(3)
    world.settle()
    while len(world.members) > 1:
        (leader,) = [each for each in world.members if each.membership._leading]
        world.kill(leader)
        world.settle()
    (last,) = world.members
    assert last.numbers == [0, 1, 2, 3]
    assert last in apps


def test_an_application_that_hangs_gives_its_partitions_to_the_others():
    """Its heartbeats go on, as they come from another thread; so it has to leave by itself."""
    world = World()
    one = world.app("one", max_poll_interval_ms=60_000)
    two = world.app("two", max_poll_interval_ms=60_000)
    world.settle()
    had = two.owned
    two.is_polling = False
    world.run(59)
    assert world.is_stable
    world.until(lambda: one.numbers == [0, 1, 2, 3], limit=2 + HEARTBEAT)
    assert two.membership.exceeded

    two.is_polling = True
    world.settle()
    assert two.changes(Lost) == [tuple(had)]
    assert len(one.owned) == len(two.owned) == 2


def test_a_callback_that_hangs_does_not_hold_up_the_others_for_ever():
    world = World()
    one = world.app("one", max_poll_interval_ms=60_000)
    world.settle()
    one.is_polling = False  # its on_revoke won't come back
    two = world.app("two", max_poll_interval_ms=60_000)
    assert 55 < took(world, lambda: two.numbers == [0, 1, 2, 3]) < 65
    assert one.state is State.RELEASING  # waits for the application to see what it has lost
    one.is_polling = True
    world.settle()
    assert one.changes(Lost) == [partitions("t", 0, 1, 2, 3)]


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])
def test_who_was_thought_dead_has_lost_everything_and_joins_again(strategy):
    world = World()
    one, two = world.apps_of(2, **strategy)
    world.settle()
    had = two.owned
    two.is_connected = False
    world.until(lambda: one.numbers == [0, 1, 2, 3])
    assert two.owned == had  # it can't know
    two.is_connected = True
    world.settle()
    assert two.changes(Lost) == [tuple(had)]
    assert sorted(one.numbers + two.numbers) == [0, 1, 2, 3]


# -- static members ------------------------------------------------------------------------------


def static(world, *names):
    return [world.app(each, group_instance_id=each) for each in names]


def test_a_static_member_restarts_and_nobody_notices():
    world = World()
    one, two = static(world, "one", "two")
    world.settle()
    had, generation, orders = two.owned, two.generation, len(one.log)
    two.close()
    world.until(lambda: two.membership.has_left)
    assert "LEAVE_GROUP" not in two.asked
    world.run(SESSION / 2)
    (again,) = static(world, "two")
    assert took(world) < SOON
    assert (again.owned, again.generation) == (had, generation)
    assert len(one.log) == orders


def test_but_it_must_be_back_within_its_session():
    world = World()
    one, two = static(world, "one", "two")
    world.settle()
    two.close()
    world.until(lambda: one.numbers == [0, 1, 2, 3], limit=SESSION + HEARTBEAT + SOON)


def test_two_of_one_name_the_older_one_is_fenced():
    world = World()
    (one,) = static(world, "same")
    world.settle()
    (two,) = static(world, "same")
    world.until(lambda: one.errors)
    assert one.errors[0] == ErrorCode.fenced_instance_id
    assert one.changes(Lost) == [partitions("t", 0, 1, 2, 3)]
    asked = len(one.asked)
    world.run(60)
    assert one.state is State.OUT
    assert set(one.asked[asked:]) <= {"METADATA"}  # it does not fence the other one back
    assert set(one.errors) == {ErrorCode.fenced_instance_id}  # each poll is told
    assert two.numbers == [0, 1, 2, 3]
    assert not two.errors


# -- the coordinator -----------------------------------------------------------------------------


def test_the_coordinator_dies_and_the_generation_lives():
    world = World()
    one, two = world.apps_of(2)
    world.settle()
    generation, orders = world.group.generation, [len(one.log), len(two.log)]
    world.fail_over(2)
    world.run(3 * SESSION)
    assert world.is_stable
    assert world.group.generation == generation
    assert [len(one.log), len(two.log)] == orders


def test_it_is_loading_and_they_wait():
    world = World()
    one, two = world.apps_of(2)
    world.settle()
    world.move(2, is_loaded=False)
    world.run(2 * SESSION)
    three = world.app("three")
    world.run(SESSION)
    assert (one.state, two.state, three.state) == (State.STABLE, State.STABLE, State.JOINING)
    world.load()
    world.settle()
    assert three.owned


def test_it_is_silent_and_found_elsewhere_after_a_session():
    world = World()
    (one,) = world.apps_of(1)
    world.settle()
    world.frozen.add(1)
    world.run(SESSION / 2)
    world.fail_over(2)
    world.frozen.clear()
    world.run(SESSION)
    assert world.is_stable
    assert one.changes(Lost) == []


def test_nobody_is_coordinator_for_a_while():
    world = World()
    coordinator, world.coordinator = world.coordinator, None
    one = world.app("one")
    world.run(5)
    assert one.asked.count("FIND_COORDINATOR") in range(40, 52)  # every retry.backoff.ms
    world.coordinator = coordinator
    assert took(world) < 0.2


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])
@pytest.mark.parametrize("steps", range(1, 12))
def test_it_dies_in_the_midst_of_a_rebalance(strategy, steps):
    world = World()
    one = world.app("one", **strategy)
    world.settle()
    world.app("two", **strategy)
    world.until(lambda: world.group.state is not Group.STABLE)
    world.run(HEARTBEAT)
    for _ in range(steps):
        world.turn()
    world.fail_over(2)
    world.settle()
    assert len(one.owned) == 2


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
    world = World({"orders-eu": 2, "bills": 2})
    apps = [
        world.app(name, pattern="^orders-", metadata_max_age_ms=5000) for name in ("one", "two")
    ]
    world.settle()
    generation = world.group.generation
    world.topics["orders-us"] = 2
    world.until(lambda: sum(len(each.owned) for each in apps) == 4, limit=5 + HEARTBEAT + SOON)
    world.run(20)
    assert {it.topic for each in apps for it in each.owned} == {"orders-eu", "orders-us"}
    assert world.group.generation == generation + 1  # all look afresh before they join


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


def test_a_member_subscribes_to_something_else():
    world = World({"t": 2, "u": 2})
    one, two = world.apps_of(2, **COOPERATIVE)
    world.settle()
    one.subscribe("u")
    world.until(lambda: one.owned == list(partitions("u", 0, 1)), limit=HEARTBEAT + SOON)
    world.settle()
    assert two.owned == list(partitions("t", 0, 1))
    assert one.changes(Lost) == []


# -- strategies ----------------------------------------------------------------------------------


def test_the_group_takes_a_strategy_that_all_know():
    world = World()
    world.app("one", partition_assignment_strategy=("roundrobin", "range"))
    world.app("two", partition_assignment_strategy=("sticky", "range"))
    world.settle()
    assert world.group.protocol == "range"
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
    assert world.group.protocol == "cooperative-sticky"
    assert one.changes(Revoke) == [partitions("t", 0, 1, 2, 3)]


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


# -- storms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [EAGER, STICKY, COOPERATIVE], ids=["range", "sticky", "coop"])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_they_agree_in_the_end(strategy, seed):
    """The world checks its invariants at each step; here it is given something to check."""
    world, random = World({"t": 7, "u": 3}), Random(seed)
    brokers = iter(range(2, 100))

    def come():
        name = f"m{len(world.apps)}"
        static = {"group_instance_id": name} if random.random() < 0.3 else {}
        world.app(name, *random.choice([("t",), ("u",), ("t", "u")]), **strategy, **static)

    def go(how):
        if len(world.members) > 1:
            how(random.choice(world.members))

    def hang(app):
        app.is_polling = False
        world.later(lambda: setattr(app, "is_polling", True), after=random.uniform(1, 400))

    def cut(app):
        app.is_connected = False
        world.later(lambda: setattr(app, "is_connected", True), after=random.uniform(0, 30))

    acts = [come, come, lambda: go(world.kill), lambda: go(lambda app: app.close())]
    acts += [lambda: go(hang), lambda: go(cut), lambda: world.fail_over(next(brokers))]
    come()
    for _ in range(40):
        random.choice(acts)()
        world.run(random.choice([0.001, 0.005, 0.1, 3, 12]))
    world.settle(limit=1000)
    topics = {"t": 7, "u": 3}
    read = {each.topic for app in world.members for each in app.owned}
    assert sum(len(each.owned) for each in world.members) == sum(topics[each] for each in read)
    for before, after in pairwise(sorted(world.generations)):
        assert before < after
