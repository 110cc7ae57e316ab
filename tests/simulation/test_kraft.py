"""Storms over a cluster without ZooKeeper: brokers, controllers, groups, transactions.

The invariants are those of test_storm.py, and those in proof/storms/quorum_invariants.py. `make
test` runs some seeds, `make long` the others, and `make storm` goes on from there.
"""

import pytest

from engine.broker.kraft import observer
from engine.broker.rules import Rules
from engine.controller.election import elect
from engine.model import TopicPartition
from engine.raft.metadata_loader import MetadataLoader
from engine.sim.world import World
from proof.storms.defects import DEFECTS, SOUND, Defect
from proof.storms.invariants import Violation
from proof.storms.run import Run
from proof.storms.trace import Recipe, Trace
from tests.simulation.test_storm import check_seeds, weathered

SEEDS, AT_ONCE = 300, 10
SHORT = 10  # seeds of `make test`
TURNS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= SHORT else [])
    for first in range(0, SEEDS, AT_ONCE)
]
ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize("first", TURNS)
def test_nothing_that_happens_breaks_the_cluster(first):
    check_seeds(first, AT_ONCE, kraft=True)


def test_every_kind_of_harm_comes_over_them():
    """Or these runs would say little."""
    kinds, acknowledged = set(), 0
    for seed in range(AT_ONCE):
        seen, count = weathered(seed, True)
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


# -- they can fail -----------------------------------------------------------------------------

FOUND = {
    "commit-unreplicated": "what_is_committed_is_on_every_replica_in_sync",
    "join-unchecked": "what_is_committed_is_on_every_replica_in_sync",
    "elect-anybody": "no_acknowledged_record_is_lost",
    "sequence-unchecked": "sequences_are_stored_once",
    "generation-unchecked": "commits_of_the_past_are_refused",
    "unstable-read": "the_last_stable_offset_waits",
    "epoch-kept": "an_epoch_belongs_to_one_producer",
}
WITHIN = 6  # seeds
FIRST = {"join-unchecked": 145, "generation-unchecked": 40}  # the seeds before it find nothing


def broken(defect, first=0):
    """The invariant that breaks first, within some seeds from this one on."""
    for seed in range(first, first + WITHIN):
        try:
            Run(seed, defect=defect, kraft=True).go()
        except Violation as violation:
            return violation.invariant
    return None


@pytest.mark.parametrize("name", FOUND)
def test_a_defect_of_brokers_is_found_without_zookeeper_too(name):
    assert broken(DEFECTS[name], FIRST.get(name, 0)) == FOUND[name]


def test_a_controller_that_elects_fenced_brokers_is_found():
    def of_all(replicas, isr, live, **how):
        return elect(replicas, isr, replicas, **how)

    assert broken(Defect(Rules(elect=of_all))) == "a_fenced_broker_leads_nothing"


def test_a_broker_that_leaves_a_record_out_is_found(monkeypatch):
    class Forgetful(MetadataLoader):
        def _replay(self, batch):
            before = dict(self.image.brokers)
            super()._replay(batch)
            if any(it.fenced for it in self.image.brokers.values()):
                self.image.brokers |= before

    monkeypatch.setattr(observer, "MetadataLoader", Forgetful)
    assert broken(SOUND) == "the_image_is_the_replay_of_the_log"


# -- one at a time -----------------------------------------------------------------------------


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
