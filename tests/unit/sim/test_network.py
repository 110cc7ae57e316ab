"""The virtual network: what TCP promises, and what it can't."""

from random import Random

import pytest

from engine.sim.clock import Clock
from engine.sim.network import LOST, Network


class Host:
    """Accepts whatever comes, and writes down what it hears and when."""

    def __init__(self, name, world):
        self.name, self.clock, self.network = name, world.clock, world.network
        self.heard = []
        self.ends = []
        self.network.listen(name, self.accept)

    def accept(self, end):
        self.ends.append(end)
        end.received, end.broken = self.received, self.broken

    def connect(self, target):
        end = self.network.connect(self.name, target)
        self.accept(end)
        return end

    def received(self, message):
        self.heard.append((self.clock.now, message))

    def broken(self):
        self.received("broken")

    @property
    def messages(self):
        return [message for _, message in self.heard]


class World:
    def __init__(self, seed=1, delay=(1, 9), patience=1000):
        self.clock = Clock()
        self.network = Network(self.clock, Random(seed), delay, patience)
        self.one, self.two = Host("1", self), Host("2", self)

    def run(self, milliseconds=100_000):
        self.clock.run_until(self.clock.now + milliseconds)


@pytest.fixture
def world():
    return World()


def test_messages_arrive_in_order_each_after_its_delay(world):
    end = world.one.connect("2")
    for number in range(200):
        world.clock.at(number, end.send, number)
    world.run()
    assert world.two.messages == list(range(200))
    late = [time - number for time, number in world.two.heard]
    assert min(late) >= 1
    assert 9 in late
    assert world.one.heard == []


def test_both_ends_talk(world):
    end = world.one.connect("2")
    end.send("hello")
    world.run()
    (other,) = world.two.ends
    assert (end.node, other.node) == ("1", "2")
    other.send("good day")
    world.run()
    assert (world.one.messages, world.two.messages) == (["good day"], ["hello"])


def test_the_same_seed_tells_the_same_story():
    def story(seed):
        world = World(seed)
        end = world.one.connect("2")
        world.network.way("1", "2").ordered = False
        for number in range(50):
            end.send(number)
        world.run()
        return world.two.heard

    assert story(1) == story(1) != story(2)


def test_messages_overtake_only_where_they_may(world):
    way = world.network.way("1", "2")
    way.ordered, way.loss = False, 0.1
    end = world.one.connect("2")
    for number in range(200):
        end.send(number)
    world.run()
    assert world.two.messages != sorted(world.two.messages)
    assert 150 < len(world.two.messages) < 200  # some are lost, each by itself
    assert end.alive


def test_a_lost_message_breaks_the_connection_and_nothing_after_it_arrives(world):
    end = world.one.connect("2")
    world.run(20)
    end.send("before")
    world.network.way("1", "2").loss = 1.0
    end.send("lost")
    world.network.way("1", "2").loss = 0.0
    end.send("after")
    world.two.ends[0].send("the other way")
    began = world.clock.now
    world.run()
    assert world.two.messages == ["before", "broken"]
    assert world.one.messages == ["the other way", "broken"]
    assert world.one.heard[-1][0] == world.two.heard[-1][0] == began + 1000
    assert not end.alive
    end.send("too late")
    world.run()
    assert world.two.messages == ["before", "broken"]


def test_on_a_cut_way_messages_wait_and_come_in_order_when_it_is_healed():
    world = World(delay=(10, 10))
    end = world.one.connect("2")
    world.run(20)
    world.network.cut("1", "2")
    end.send("a")
    world.two.ends[0].send("x")
    world.run(500)
    end.send("b")  # in flight while it heals
    world.run(5)
    assert (world.one.heard, world.two.heard) == ([], [])
    world.network.heal("2", "1")
    world.run(1)
    assert (world.one.messages, world.two.messages) == (["x"], ["a"])
    world.run()
    assert (world.one.messages, world.two.messages) == (["x"], ["a", "b"])
    assert end.alive


def test_a_way_that_heals_as_a_message_arrives_keeps_the_order():
    world = World(delay=(10, 10))
    end = world.one.connect("2")
    world.run(20)
    world.network.cut("1", "2")
    end.send("a")
    world.run(15)
    world.clock.after(10, world.network.heal)
    end.send("b")  # arrives in the millisecond of the healing, and after it
    world.run()
    assert world.two.messages == ["a", "b"]


def test_who_is_cut_off_for_too_long_is_disconnected(world):
    end = world.one.connect("2")
    world.run(20)
    world.network.cut("1", "2")
    world.run(5000)
    assert end.alive  # nobody had anything to say
    end.send("a")
    world.run(500)
    world.network.heal()
    world.run(100)
    world.network.cut("1", "2")
    end.send("a")
    world.run(600)
    assert world.two.messages == ["a"]  # the wait began anew
    world.run(500)
    assert (world.one.messages, world.two.messages) == (["broken"], ["a", "broken"])
    world.network.heal()
    world.run()
    assert world.two.messages == ["a", "broken"]


def test_one_way_may_be_cut(world):
    end = world.one.connect("2")
    world.run(20)
    world.network.cut("1", "2", both=False)
    end.send("lost for now")
    world.two.ends[0].send("heard")
    world.run(500)
    assert (world.one.messages, world.two.messages) == (["heard"], [])


def test_healing_one_node_leaves_other_ways_cut():
    world = World()
    three = Host("3", world)
    for source, target in [("1", "2"), ("2", "3")]:
        world.network.cut(source, target)
    to_two, to_three = world.one.connect("2"), world.two.connect("3")
    to_two.send("2")
    to_three.send("3")
    world.run(10)
    world.network.heal("1")
    world.run(10)
    assert (world.two.messages, three.messages) == (["2"], [])
    world.network.heal("2")
    world.run(10)
    assert three.messages == ["3"]


def test_a_healed_way_is_quick_and_in_order_and_loses_nothing(world):
    way = world.network.way("1", "2")
    way.delay, way.loss, way.ordered = (500, 900), 1.0, False
    world.network.heal("1", "2")
    end, began = world.one.connect("2"), world.clock.now
    for number in range(50):
        end.send(number)
    world.run()
    assert world.two.messages == list(range(50))
    assert max(at for at, _ in world.two.heard) <= began + 18  # opening it, and the way itself


def test_who_wants_to_know_is_told_of_each_message_as_it_is_sent(world):
    told = []
    world.network.carried.append(lambda *facts: told.append(facts))
    end = world.one.connect("2")
    end.send("a")
    world.network.way("1", "2").loss = 1.0
    end.send("b")
    assert [(source, target, what) for source, target, what, _ in told[1:]] == [
        ("1", "2", "a"),
        ("1", "2", "b"),
    ]
    assert told[1][3] >= world.clock.now + 1
    assert told[2][3] == LOST


def test_who_closes_hears_nothing_more_and_the_other_end_all_that_was_sent(world):
    end = world.one.connect("2")
    world.run(20)
    world.two.ends[0].send("in flight")
    end.send("last words")
    end.close()
    end.close()
    world.run()
    assert (world.one.messages, world.two.messages) == ([], ["last words", "broken"])


def test_a_dead_node_is_heard_of_after_one_trip():
    world = World(delay=(3, 3))
    end = world.one.connect("2")
    world.run(20)
    end.send("in flight")
    began = world.clock.now
    world.network.kill("2")
    world.run()
    assert world.one.heard == [(began + 3, "broken")]
    assert world.two.heard == []
    refused = world.clock.now
    world.one.connect("2").send("nobody listens")
    world.run()
    assert world.one.heard[1:] == [(refused + 6, "broken")]
    again = Host("2", world)  # restarted
    world.one.connect("2").send("hello")
    world.run()
    assert (again.messages, world.two.heard) == (["hello"], [])
