"""Storms over a cluster without ZooKeeper: brokers, controllers, groups, transactions.

The invariants are those of test_storm.py, and those in proof/storms/quorum_invariants.py. `make
test` runs some seeds, `make long` the others, and `make storm` goes on from there.
"""

from functools import cache

import pytest

from engine.model import TopicPartition
from engine.sim.world import World
from proof.storms.invariants import Violation
from proof.storms.run import Run
from proof.storms.trace import Recipe, Trace
from tests.simulation.test_storm import story

SEEDS, AT_ONCE = 300, 15
SHORT = 30  # seeds of `make test`
TURNS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= SHORT else [])
    for first in range(0, SEEDS, AT_ONCE)
]
ORDERS = TopicPartition("orders", 0)


@cache
def weathered(seed):
    """The kinds of what happened in a run, and how many records were acknowledged."""
    run = Run(seed, kraft=True)
    run.go()
    kinds = {each.event.kind for each in run.world.events}
    return kinds, sum(map(len, run.observed.acknowledged.values()))


@pytest.mark.parametrize("first", TURNS)
def test_nothing_that_happens_breaks_the_cluster(first):
    for seed in range(first, first + AT_ONCE):
        try:
            _, acknowledged = weathered(seed)
        except Violation:
            pytest.fail(story(Recipe(seed, kraft=True)))
        assert acknowledged, f"seed {seed}: nothing was there to be lost"


def test_every_kind_of_harm_comes_over_them():
    """Or these runs would say little."""
    kinds, acknowledged = set(), 0
    for seed in range(15):
        seen, count = weathered(seed)
        kinds |= seen
        acknowledged += count
    assert acknowledged > 500
    assert kinds >= {
        "broker.killed", "broker.lost-power", "broker.paused", "broker.fenced", "broker.unfenced",
        "controller.killed", "controller.paused", "controller.elected", "controller.resigned",
        "link.cut", "leader.elected", "isr.changed", "quorum.leader",
    }  # fmt: skip


def test_the_same_seed_makes_the_same_run():
    one, other = (Trace(Recipe(3, 5, kraft=True)) for _ in range(2))
    assert one.diagram() == other.diagram()


@pytest.fixture
def world():
    world = World(7, config={"broker.session.timeout.ms": "3000"}, controllers=3)
    world.create("orders", [[1, 2, 3]])
    assert world.until(lambda: world.leader(ORDERS) == 1)
    return world


def test_without_a_majority_nothing_is_decided_and_what_is_led_goes_on(world):
    for controller in (101, 102):
        world.quorum.kill_server(controller)
    world.kill(2)
    world.run(10_000)
    assert world.controller is None and world.isr(ORDERS) == (1, 2, 3)
    assert world.consume(ORDERS, 0, 1) is not None
    world.quorum.restart_server(101)
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 3})


def test_a_broker_that_is_silent_is_fenced_and_others_lead(world):
    world.pause(1)
    assert world.until(lambda: world.leader(ORDERS) in (2, 3))
    assert world.quorum.image.brokers[1].fenced
    world.resume(1)
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})
    assert not world.quorum.image.brokers[1].fenced
