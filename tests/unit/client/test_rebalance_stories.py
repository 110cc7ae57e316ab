"""A group's life, told by its members: who owns what, who is told what, and how long it takes.

The members are real, and so is their coordinator; the network and the clock are the world's.
"""

import pytest

from engine.coordinator.group import ClassicGroupState
from engine.errors import ErrorCode
from tests.unit.client.world import (
    MembershipState,
    OnAssign,
    OnLost,
    OnRevoke,
    World,
    partitions,
)

EAGER = {"partition_assignment_strategy": ("range",)}
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
    assert one.log == [OnAssign(partitions("t", 0, 1, 2, 3))]


def test_an_eager_member_stops_reading_when_another_one_comes():
    """It hears of that with its next heartbeat, gives up everything, and gets half of it back."""
    world = World()
    one = world.app("one")
    world.settle()
    two = world.app("two")
    assert took(world) < HEARTBEAT + SOON
    assert one.log[1:] == [
        OnRevoke(partitions("t", 0, 1, 2, 3)),
        OnAssign(partitions("t", 0, 1)),
    ]
    assert two.log == [OnAssign(partitions("t", 2, 3))]


def test_a_cooperative_member_goes_on_reading_what_it_keeps():
    """In the first round it is told what to give up; only in the second does the other get it."""
    world = World()
    one = world.app("one", **COOPERATIVE)
    world.settle()
    two = world.app("two", **COOPERATIVE)
    assert took(world) < 2 * HEARTBEAT + SOON
    assert one.log[1:] == [
        OnRevoke(partitions("t", 2, 3)),
        OnAssign(()),
        OnAssign(()),
    ]
    assert two.log == [OnAssign(()), OnAssign(partitions("t", 2, 3))]
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
    assert two.changes(OnRevoke)[-1] == tuple(had)
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
        (leader,) = [each for each in world.members if each.membership._leader]
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
    assert two.changes(OnLost) == [tuple(had)]
    assert len(one.owned) == len(two.owned) == 2


def test_a_callback_that_hangs_does_not_hold_up_the_others_for_ever():
    world = World()
    one = world.app("one", max_poll_interval_ms=60_000)
    world.settle()
    one.is_polling = False  # its on_revoke won't come back
    two = world.app("two", max_poll_interval_ms=60_000)
    assert 55 < took(world, lambda: two.numbers == [0, 1, 2, 3]) < 65
    assert (
        one.state is MembershipState.REVOKING
    )  # waits for the application to see what it has lost
    one.is_polling = True
    world.settle()
    assert one.changes(OnLost) == [partitions("t", 0, 1, 2, 3)]


def test_a_slow_callback_costs_no_further_round():
    """Heartbeats go on meanwhile, and say again and again what is known already."""
    world = World()
    one = world.app("one")
    world.settle()
    one.is_polling = False
    world.app("two")
    world.run(5 * HEARTBEAT)
    assert one.state is MembershipState.REVOKING
    one.is_polling = True
    world.settle()
    world.run(5 * HEARTBEAT)
    assert world.group.generation == 2


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
    assert two.changes(OnLost) == [tuple(had)]
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
    assert one.changes(OnLost) == [partitions("t", 0, 1, 2, 3)]
    asked = len(one.asked)
    world.run(60)
    assert one.state is MembershipState.UNJOINED
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
    assert (one.state, two.state, three.state) == (
        MembershipState.STABLE,
        MembershipState.STABLE,
        MembershipState.JOINING,
    )
    assert three.asked.count("JOIN_GROUP") in range(80, 102)  # every retry.backoff.ms
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
    assert one.changes(OnLost) == []


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
    world.until(lambda: world.group.state is not ClassicGroupState.STABLE)
    world.run(HEARTBEAT)
    for _ in range(steps):
        world.turn()
    world.fail_over(2)
    world.settle()
    assert len(one.owned) == 2
