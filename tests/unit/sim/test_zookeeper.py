"""What the interop comparison can't show of the model: its time, and its copies."""

import pytest

from engine.sim.clock import Clock
from engine.sim.zookeeper import Zookeeper
from engine.zookeeper.requests import (
    Changed,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Set,
)


class Client:
    def __init__(self, zookeeper, timeout=1000):
        self.heard = []
        self.session = zookeeper.connect(timeout, self.hear)

    def ask(self, *asks):
        self.session.ask(asks, self.hear)
        return self.heard[-1]

    def hear(self, what):
        self.heard.append(what)

    def take(self):
        heard, self.heard[:] = self.heard[:], []
        return heard


class World:
    def __init__(self):
        self.clock = Clock()
        self.zookeeper = Zookeeper(self.clock)
        self.one, self.two = Client(self.zookeeper), Client(self.zookeeper, 100_000)


@pytest.fixture
def world():
    return World()


def test_a_silent_session_is_over_after_its_time_out_and_hears_so_when_it_asks(world):
    world.one.ask(Create("/e", ephemeral=True), Get("/e", watch=True))
    world.two.ask(Exists("/e", watch=True))
    world.two.take()
    world.clock.run_until(999)
    assert world.two.take() == []
    world.clock.run_until(1000)
    assert world.two.take() == [Changed("/e")]
    assert world.two.ask(Exists("/e")) == [None]
    assert not world.one.session.alive
    world.one.take()
    assert world.one.ask(Create("/f")) is None
    assert world.two.ask(Exists("/f")) == [None]
    world.one.session.disconnect()  # what a client does when it learns of it
    assert world.one.take() == [None, Changed("/e")]


@pytest.mark.parametrize("sign", ["touch", "ask"])
def test_any_sign_of_life_keeps_a_session(world, sign):
    world.one.ask(Create("/e", ephemeral=True))
    for time in range(600, 6000, 600):
        world.clock.run_until(time)
        world.one.session.touch() if sign == "touch" else world.one.ask(Get("/e"))
    assert world.one.session.alive
    world.clock.run_until(5400 + 999)
    assert world.one.session.alive
    world.clock.run_until(5400 + 1000)
    assert not world.one.session.alive


def test_a_touch_does_not_wake_the_dead(world):
    world.clock.run_until(1000)
    world.one.session.touch()
    world.one.session.close()
    assert world.one.ask(Exists("/")) is None


def test_a_lost_connection_fires_each_watched_path_once_and_keeps_the_session(world):
    world.one.ask(Create("/e", ephemeral=True), Create("/a"))
    world.one.ask(Get("/a", watch=True), Children("/a", watch=True), Exists("/b", watch=True))
    world.one.take()
    world.one.session.disconnect()
    assert world.one.take() == [Changed("/a"), Changed("/b")]
    world.two.ask(Set("/a", b""), Create("/b"))
    assert world.one.take() == []
    assert world.one.ask(Exists("/e")) != [None]


def test_one_counter_for_all_that_is_written(world):
    began = world.zookeeper.zxid
    (a,), (b,) = world.one.ask(Create("/a")), world.two.ask(Create("/b"))
    assert (a, b) == (Created("/a", began + 1), Created("/b", began + 2))
    world.one.ask(Create("/a"), Set("/a", b""), Delete("/none"), Get("/a"))
    assert world.zookeeper.zxid == began + 5  # the refused ones are written down, too
    world.one.ask(Multi((Create("/c"), Create("/d"))))
    c, d = world.one.ask(Exists("/c"), Exists("/d"))
    assert c.czxid == d.czxid == began + 6  # a transaction is one write
    world.one.session.close()
    Client(world.zookeeper)
    assert world.zookeeper.zxid == began + 8


def test_a_child_of_an_ephemeral_node_is_our_own_mistake(world):
    world.one.ask(Create("/e", ephemeral=True))
    with pytest.raises(AssertionError, match="/e is ephemeral"):
        world.one.ask(Create("/e/a"))
