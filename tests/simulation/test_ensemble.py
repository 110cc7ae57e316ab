"""ZooKeeper's servers in the simulator: whoever is connected to one that goes, goes elsewhere."""

import pytest

from engine.model import TopicPartition
from engine.sim.world import World
from proof.storms.run import WITH_ENSEMBLE, Run

ORDERS = TopicPartition("orders", 0)
SESSION = {"zookeeper.session.timeout.ms": "3000"}


@pytest.fixture
def world() -> World:
    world = World(seed=5, zookeepers=3, config=SESSION)
    world.run(500)
    world.create("orders", [[1, 2, 3]], min_insync_replicas="2")
    assert world.until(lambda: len(world.isr(ORDERS)) == 3 and world.leader(ORDERS) == 1)
    world.run(500)
    return world


def sessions(world: World) -> set[int]:
    return set(world.zookeeper.model.sessions)


def connected(world: World) -> bool:
    clients = [each.running.environment.zookeeper_client for each in world.nodes.values()]
    return all(each is not None and each.is_connected for each in clients)


@pytest.mark.parametrize("server", [1, 2, 3])
def test_brokers_move_to_another_server_and_keep_their_sessions(world: World, server: int) -> None:
    before, controller = sessions(world), world.controller
    world.zookeeper.kill_server(server)
    world.run(10_000)
    assert (sessions(world), world.controller) == (before, controller)
    assert connected(world)
    assert world.zookeeper.ensemble.leader in world.zookeeper.ensemble.up


@pytest.mark.parametrize("server", [1, 2, 3])
def test_who_hears_nothing_goes_to_another_server(world: World, server: int) -> None:
    """Possibly too late for the session, which it notices after two thirds of the time-out."""
    world.zookeeper.silence_server(server)
    world.run(10_000)
    assert connected(world)
    assert len(sessions(world)) == 4  # with the administrator's
    assert world.controller in (1, 2, 3)


def test_without_a_majority_nothing_is_elected_and_what_is_led_goes_on(world: World) -> None:
    before = sessions(world)
    world.zookeeper.kill_server(1)
    world.zookeeper.silence_server(3)
    sent = world.client.send(ORDERS, "a")
    world.run(30_000)
    assert world.zookeeper.ensemble.leader is None
    assert not connected(world)
    assert sent.acknowledged
    world.kill(1)
    world.run(30_000)
    assert world.leader(ORDERS) == 1
    world.zookeeper.restart_server(3)
    assert world.until(lambda: world.leader(ORDERS) in (2, 3))
    assert before - sessions(world) != set()
    assert len(before - sessions(world)) == 1  # of the broker that was killed


def test_a_session_begins_anew_with_a_new_leader(world: World) -> None:
    """The broker cannot reach the servers: only they decide when its session is over."""
    before = sessions(world)
    world.cut(2, "zookeeper")
    world.run(2500)
    world.zookeeper.kill_server(1)
    assert world.until(lambda: world.zookeeper.ensemble.leader is not None)
    world.run(2500)
    assert sessions(world) == before
    world.run(2500)
    assert len(before - sessions(world)) == 1


def test_every_fifth_storm_has_an_ensemble() -> None:
    _, rest = WITH_ENSEMBLE
    assert list(Run(rest).world.zookeeper.ensemble.servers) == [1, 2, 3]
    assert list(Run(rest + 1).world.zookeeper.ensemble.servers) == [1]
    run = Run(rest)
    run.go()
    kinds = {each.event.kind for each in run.world.events}
    assert {"zookeeper.killed", "zookeeper.silenced", "zookeeper.restarted"} <= kinds
