"""Storms over a cluster without ZooKeeper: brokers, controllers, groups, transactions.

The invariants are those of test_storm.py, and those in proof/storms/quorum_invariants.py. `make
test` runs some seeds, `make long` the others, and `make storm` goes on from there.
"""

import pytest

from engine.config.broker import RACK_AWARE
from engine.model import TopicPartition
from engine.sim.message_text import message_text
from engine.sim.quorum.controller_peer import controller_machine
from engine.sim.world import World
from proof.storms.quorum_defects import OF_KRAFT_TOO
from proof.storms.trace import Recipe, Trace
from proof.storms.workload import Reader
from tests.simulation.test_defects import Expected, check_found
from tests.simulation.test_storm import check_seeds, weathered

SEEDS, AT_ONCE = 300, 10
SHORT = 10  # seeds of `make test`: 2 and 6 have combined nodes
TURNS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= SHORT else [])
    for first in range(0, SEEDS, AT_ONCE)
]
ORDERS = TopicPartition("orders", 0)
CONTROLLERS = (101, 102, 103)


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
    "commit-unreplicated": Expected(1, "what_is_committed_is_on_every_replica_in_sync"),
    "join-unchecked": Expected(10, "what_is_committed_is_on_every_replica_in_sync", known=1),
    "proposal-uncounted": Expected(30, "the_leader_waits_for_all_who_may_follow_it", known=27),
    "sequence-unchecked": Expected(1, "sequences_are_stored_once"),
    "elect-anybody": Expected(10, "no_acknowledged_record_is_lost", first=30, known=35),
    "generation-unchecked": Expected(10, "commits_of_the_past_are_refused", first=40, known=40),
    "commit-at-once": Expected(10, "committed_offsets_survive", first=420, known=427),
    "last-replica-standing": Expected(20, "no_acknowledged_record_is_lost", known=13),
    "unstable-read": Expected(1, "the_last_stable_offset_waits"),
    "offsets-at-once": Expected(1, "offsets_wait_for_the_marker"),
    "markers-forgotten": Expected(20, "every_transaction_has_ended", known=15),
    "epoch-kept": Expected(1, "an_epoch_belongs_to_one_producer"),
    "late-request": Expected(30, "transactions_end_in_one_way", known=21),
    "record-skipped": Expected(1, "the_image_is_the_replay_of_the_log"),
    "snapshot-in-part": Expected(10, "the_image_is_the_replay_of_the_log", known=1),
    "elect-fenced": Expected(10, "a_fenced_broker_leads_nothing", known=3),
    "stays-in-sync": Expected(1, "a_fenced_broker_is_in_sync_only_as_the_last"),
    "answer-uncommitted": Expected(10, "everybody_is_back", known=6),
    "ids-repeated": Expected(10, "an_epoch_belongs_to_one_producer", known=5),
}
# A release without leader epochs; epochs of a controller that sends; and a broker that is back in
# the ISR before anybody has noticed: a new registration takes it out (80 seeds found nothing).
OF_ZOOKEEPER = {"cut-to-high-watermark", "unfenced", "back-too-soon"}
NOT_FOUND = {"abort-forgotten"}  # within 28 seeds
SLOW = {"markers-forgotten", "late-request", "answer-uncommitted"}  # also many seeds


def test_every_defect_that_makes_sense_here_has_its_test():
    assert FOUND.keys() | OF_ZOOKEEPER | NOT_FOUND == OF_KRAFT_TOO.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(it, marks=pytest.mark.long) if it in SLOW else it for it in FOUND]
)
def test_a_defect_is_found_without_zookeeper_too(name):
    check_found(OF_KRAFT_TOO[name], FOUND[name], kraft=True)


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


def test_a_registration_of_a_dead_process_that_comes_late_is_replaced(world):
    """Broker 1 registers over a slow network, and is killed. Its next process has registered when
    the old registration comes: the epoch of the process that lives is stale now."""

    def epoch():
        return world.quorum.image.brokers[1].epoch

    def epoch_changes():
        before = epoch()
        return world.until(lambda: epoch() != before)

    sent = []
    world.network.carried.append(lambda _from, _to, it, _at: sent.append(message_text(it)))
    world.kill(1)
    assert world.until(lambda: world.quorum.image.brokers[1].fenced)
    for controller in CONTROLLERS:
        world.slow(1, controller_machine(controller), 1000, both=False)
    world.start(1)
    assert world.until(lambda: ("BrokerRegistration", False) in sent)
    world.kill(1)
    world.heal()
    world.start(1)
    assert epoch_changes()
    world.pause(1)  # or it would be unfenced, and the late one a duplicate
    late = epoch_changes()
    world.resume(1)
    assert late
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})
    running = world[1].running.broker
    assert running.replicas.broker_epoch == epoch()


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
