"""Storms over a cluster without ZooKeeper: brokers, controllers, groups, transactions.

The invariants are those of test_storm.py, and those in proof/storms/quorum_invariants.py. `make
test` runs some seeds, `make long` the others, and `make storm` goes on from there.
"""

import pytest

from engine.broker.kraft import observer
from engine.broker.rules import Rules
from engine.config.broker import RACK_AWARE
from engine.controller.election import elect
from engine.model import TopicPartition
from engine.raft.metadata_loader import MetadataLoader
from engine.sim.world import World
from proof.storms.defects import DEFECTS, SOUND, Defect
from proof.storms.invariants import Violation
from proof.storms.run import Run
from proof.storms.trace import Recipe, Trace
from proof.storms.workload import Reader
from tests.simulation.test_storm import check_seeds, weathered

SEEDS, AT_ONCE = 300, 10
SHORT = 10  # seeds of `make test`: 2 and 6 have combined nodes
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
        "controller.killed", "controller.paused", "controller.lost-power",
        "controller.elected", "controller.resigned",
        "link.cut", "leader.elected", "isr.changed", "quorum.leader",
    }  # fmt: skip


@pytest.mark.parametrize("controllers", [0, 3])
def test_the_same_seed_makes_the_same_run(controllers):
    recipe = Recipe(3, 5, kraft=True, controllers=controllers)
    one, other = (Trace(recipe) for _ in range(2))
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


def made(controllers, **more):
    world = World(7, config={"broker.session.timeout.ms": "3000"}, controllers=controllers, **more)
    world.create("orders", [[1, 2, 3]])
    assert world.until(lambda: world.leader(ORDERS) == 1)
    return world


@pytest.fixture
def world():
    return made(3)


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


def test_each_combined_node_is_broker_and_controller_and_one_process():
    """The node of the active controller is killed. The others elect another controller, which
    fences the broker and gives its partition to another one."""
    world = made(0)
    assert {*world.quorum.controllers} == {*world.nodes} == {1, 2, 3}
    assert world.quorum.machines == [] == world.quorum.up
    active = world.controller
    world.kill(active)
    assert world.quorum.controllers[active].current is None
    assert world.until(lambda: world.controller not in (active, None))
    assert world.until(lambda: active not in world.isr(ORDERS))
    world.start(active)
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})
    assert world.quorum.controllers[active].current is world[active].process


def test_a_fourth_broker_beside_combined_nodes_observes_the_quorum():
    world = made(0, brokers=3)
    world.add(4)
    assert world.until(lambda: 4 in world.quorum.image.brokers)
    assert not world[4].running.environment.node.raft.client.identity.is_voter


def test_of_combined_nodes_two_are_a_majority_and_one_decides_nothing():
    world = made(0)
    world.kill(2)
    world.kill(3)
    world.run(10_000)
    assert world.controller is None and world.isr(ORDERS) == (1, 2, 3)
    world.start(2)
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2})


def test_a_combined_node_that_is_cut_off_leads_neither_quorum_nor_partition():
    """Its controller and its broker have one network, and lose it together."""
    world = made(0)
    active = world.controller
    others = [id for id in world.nodes if id != active]
    for other in others:
        world.cut(active, other)
    assert world.until(lambda: world.leader(ORDERS) in others)
    assert world.until(lambda: world.controller in others)
    world.heal()
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})


def test_a_reader_in_a_rack_reads_from_the_replica_there():
    """Brokers register their racks. Leader 1 sends the reader to broker 2, and 2 serves it."""
    racks = {1: "a", 2: "b", 3: "c"}
    config = {"replica.selector.class": RACK_AWARE}
    world = World(
        7, config=config, controllers=3, each={id: {"broker.rack": it} for id, it in racks.items()}
    )
    world.create("orders", [[1, 2, 3]])
    assert world.until(lambda: world.leader(ORDERS) == 1)
    assert {id: it.rack for id, it in world.quorum.image.brokers.items()} == racks
    sent = world.client.send(ORDERS, "a")
    assert world.until(lambda: sent.done)
    world.run(2000)
    reader = Reader(world.add_client("reader"), ORDERS, rack="b")
    while not reader.rows:
        reader.poll()
        world.run(100)
    assert reader.nearer == 2
    assert [row.value for row in reader.rows] == ["a"]
