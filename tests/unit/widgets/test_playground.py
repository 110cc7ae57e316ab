"""The playground's session, as its page talks to it: acts, the clock, and what it is told."""

import json

import pytest

from engine.model import TopicPartition
from engine.sim.world import START
from proof.storms.invariants import Violation
from widgets.playground import calm_run
from widgets.playground.session import PlaygroundSession


class TestPage:
    """What the page of a session was told last."""

    __test__ = False

    def __init__(self):
        self.traits, self.state, self.now = {}, {}, 0
        self.session = PlaygroundSession(self.take)

    def take(self, message):
        told = json.loads(message)
        self.traits |= told.get("traits", {})
        self.state = told.get("state", self.state)

    def say(self, **message):
        self.session.hear(json.dumps(message))

    def act(self, act, on):
        self.say(model={"act": act, "on": on})

    def watch(self, seconds):
        for _ in range(round(seconds * 10)):
            self.now += 100
            self.session.tick(self.now)


@pytest.fixture
def page():
    return TestPage()


@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
def test_a_killed_leader_is_followed_by_another_one(page, mode):
    page.say(begin=mode)
    leaders = [it.leader for it in page.session.cluster.state().partitions.values()]
    page.act("kill", str(leaders[-1]))
    page.watch(8)
    after = [it.leader for it in page.session.cluster.state().partitions.values()]
    assert leaders[-1] not in after
    assert page.state["violation"] == ""
    assert page.state["kraft"] == (mode == "kraft")
    assert "killed" in page.traits["scene"]


def test_a_clock_that_stands_goes_on_by_steps_only(page):
    page.say(speed=0)
    page.watch(2)
    before = page.state["at"]
    page.say(step=100)
    page.watch(1)
    assert page.state["at"] == before + 100


def test_who_looks_back_lets_no_time_pass(page):
    page.watch(2)
    before = page.session.cluster.now
    page.say(model={"act": "begin"})
    page.watch(2)
    assert page.session.cluster.now == before
    assert (page.state["at"], page.state["past"]) == (0, True)


def test_the_clock_is_the_one_of_the_timeline(page):
    """Both clocks begin with the first picture: what had happened before counts in neither."""
    page.watch(2)
    assert page.state["at"] == 2000
    assert "2.0 s" in page.traits["scene"]
    page.say(step=100)
    page.say(step=100)
    assert page.state["at"] == 2200
    assert "2.2 s" in page.traits["scene"]


def test_a_step_back_shows_the_past_and_a_step_forward_leaves_it(page):
    """In the past nothing happens; at the present, a step makes something happen."""
    page.watch(2)
    page.say(step=-100)
    assert (page.state["at"], page.state["past"]) == (1900, True)
    page.say(step=100)
    assert (page.state["at"], page.state["past"]) == (2000, False)
    page.say(step=100)
    assert page.state["at"] == 2100


def lose(page):
    """A slow link to both followers, and the leader is killed before they have the records."""
    cluster = page.session.cluster
    leader = cluster.world.leader(TopicPartition("orders", 0))
    for other in {1, 2, 3} - {leader}:
        page.act("slow", f"{leader}-{other}")
    page.watch(3)
    page.act("kill", str(leader))
    page.watch(8)


def events(page, until):
    return [it for it in page.session.cluster.world.events if it.at <= until]


def test_a_fork_is_the_same_run_up_to_its_moment_and_loses_nothing_with_acks_all(page):
    """With acks=1 a killed leader takes records with it. The same run again, from before its death
    on with acks=all, is the same to the last event until then, and loses none."""
    page.say(acks="1")
    page.watch(1)
    lose(page)
    lost, acks = page.state["lost"], page.state["acks"]
    page.say(model={"act": "begin"})
    for _ in range(5):
        page.say(step=100)
    moment = page.state["at"]
    until = page.session._shown - START
    before = events(page, until)
    page.say(fork="all")
    assert (lost > 0, acks) == (True, "1")
    assert events(page, until) == before
    assert (page.state["at"], page.state["past"]) == (moment, False)
    assert page.state["forked"].endswith("from there on with acks=all.")
    lose(page)
    assert page.state["acknowledged"] > 0
    assert page.state["lost"] == 0


def test_a_fork_does_again_what_was_done_until_its_moment(page):
    """A broker that was killed before it is down, one that was killed after it is up."""
    page.watch(1)
    page.act("kill", "2")
    page.watch(1)
    page.act("pause", "3")
    page.watch(1)
    page.say(step=-1500)
    page.say(fork="1")
    brokers = page.session.cluster.state().brokers
    assert {number: it.status.value for number, it in brokers.items()} == {
        1: "up",
        2: "down",
        3: "up",
    }
    page.say(step=-600)
    page.say(fork="all")
    assert page.session.cluster.state().brokers[2].status.value == "up"


def test_a_link_to_the_quorum_is_cut_and_healed(page):
    page.say(begin="kraft")
    page.act("cut", "1-controllers")
    page.watch(6)
    assert "fenced" in page.traits["said"] + page.traits["scene"]
    page.act("heal", "1-controllers")
    page.watch(8)
    assert page.traits["trouble"] == ""


def test_what_cannot_be_killed_is_told_in_a_sentence(page):
    page.act("kill", "zookeeper")
    assert "cut its links instead" in page.traits["trouble"]


def test_an_invariant_that_breaks_stops_the_clock(page, monkeypatch):
    def broken(observed, invariants):
        raise Violation("one leader an epoch", 0, "two lead orders-0")

    monkeypatch.setattr(calm_run, "check", broken)
    page.watch(2)
    before = page.state["at"]
    page.watch(2)
    assert "two lead orders-0" in page.state["violation"]
    assert page.state["at"] == before
