"""The playground's session, as its page talks to it: acts, the clock, and what it is told."""

import json

import pytest

from proof.storms.invariants import Violation
from widgets.playground import simulated_cluster
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
    before = page.state["at"]
    page.say(model={"act": "begin"})
    page.watch(2)
    assert page.state["at"] == before


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

    monkeypatch.setattr(simulated_cluster, "check", broken)
    page.watch(2)
    before = page.state["at"]
    page.watch(2)
    assert "two lead orders-0" in page.state["violation"]
    assert page.state["at"] == before
