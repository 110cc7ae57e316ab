"""A group of a recording, at any moment of it."""

import json

import pytest

from engine.cluster.recording import Recording
from tests.unit.widgets.cluster import START, topic
from tests.unit.widgets.test_group_view import Cluster, Crew, buttons, film, press
from widgets import GroupView
from widgets.group.group_run import DEEDS
from widgets.group.layout import DeedMark


def with_deeds(*marks):
    run = film()
    told = [(mark.at, json.loads(json.dumps([mark]))) for mark in marks]
    return Recording(list(run), run.events(), {DEEDS: told})


@pytest.fixture
def view():
    kill = DeedMark(START + 4000, "c2", "kill")
    view = GroupView(with_deeds(kill, DeedMark(START + 6000, "c1", "freeze")), group="g")
    yield view
    view.close()


def seen(view, at):
    view.stop_at(START + at)
    return view.view_state()


def test_the_group_grows_as_it_did(view):
    assert list(seen(view, 1000).history.present) == ["c1"]
    assert view.picture["consumer c1"].label.endswith("has orders-0, orders-1, orders-2, orders-3")
    assert "consumer c2" not in view.picture.by_key
    assert len(seen(view, 2200).history.rounds) == 2
    assert list(seen(view, 3000).history.present) == ["c1", "c2"]
    assert view.picture["consumer c2"].label.endswith("has orders-2, orders-3")


def test_what_was_done_is_shown_from_then_on(view):
    assert seen(view, 3900).marks == ()
    seen(view, 4500)
    assert view.picture["consumer c2"].label.startswith("consumer c2: killed")
    assert "unread orders-2" in view.picture.by_key
    assert view.picture["consumer c1"].label.startswith("consumer c1: reading")
    seen(view, 6500)
    assert view.picture["consumer c1"].label.startswith("consumer c1: frozen")


def test_the_clock_stands_still_while_the_head_moves(view):
    places = set()
    for at in (10, 2200, 9000):
        seen(view, at)
        places.add((view.picture.height, *view.picture["axis"].where))
    assert len(places) == 1
    strip = view.picture["timeline"]
    assert strip.drag == "seek"
    press(view, "seek", 0.5)
    head = view.picture["head"].where[0]
    assert head == pytest.approx(strip.where[0] + strip.where[2] / 2, abs=1)


def test_one_goes_from_turn_to_turn(view):
    press(view, "begin")
    heads = []
    while view.head is not None:
        heads.append(view.head - START)
        press(view, "forward")
    assert heads == [10, 2000, 2500, 4000, 6000]
    press(view, "back")
    assert view.head == START + 6000


def test_it_plays_to_its_end(view):
    press(view, "begin")
    press(view, "play")
    assert buttons(view)["play"]["words"] == "❙❙"
    view.advance(50.0)
    view.advance(53.0)
    assert view.head == START + 10 + 100 + 3000
    view.advance(70.0)
    assert view.head is None
    assert not view.poll()


def test_the_whole_run_is_charted_wherever_the_head_is(view):
    press(view, "begin")
    assert view.run().end == START + 9000
    assert len(view.run().history.rounds) == 2


def test_deeds_are_reported_to_a_recording_once(monkeypatch):
    monkeypatch.setattr("widgets.group.view.ConsumerProcesses", Crew)
    view = GroupView(Cluster(partitions=topic("orders", 2)), group="g", topic="orders")
    assert view.news() is None
    press(view, "add")
    press(view, "kill", "c1")
    (mark,) = view.news()
    assert (mark.lane, mark.deed) == ("c1", "kill")
    assert view.news() is None
    view.close()
