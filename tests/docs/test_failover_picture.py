"""A failover as one picture: what it tells, and how that moves."""

import re
from dataclasses import replace

import pytest

from docs.site.failover_picture import picture
from docs.site.failover_picture.failover import LEAD_IN, failover_of
from docs.site.failover_picture.keyframes import Animation, moving
from engine.cluster.recording import Recording
from engine.cluster.state import Status
from engine.model import TopicPartition
from tests.unit.widgets.cluster import START, broker, event, partition, state
from widgets import palette

ORDERS = TopicPartition("orders", 0)


def at(time, captions_of, **facts):
    return state({ORDERS: captions_of}, at=START + time, **facts)


def cut(end):
    """Broker 1 is back, and cuts off what it had alone."""
    return event("log.truncated", 12_100, topic="orders", partition=0, end_offset=end, was=21)


def film(clean=True, cut=()):
    """Broker 1 leads and dies with 20 records; broker 2 goes on to 30."""
    dead = broker(1, status=Status.DOWN, answers=False)
    after = at(9000, partition(2, ends=(20, 25, 25), committed=25, isr=(2, 3), epoch=1))
    states = [
        at(1000, partition(1, ends=(0, 0, 0))),
        at(2000, partition(1, ends=(10, 10, 10))),
        at(4000, partition(1, ends=(20, 20, 20))),
        replace(after, brokers={**after.brokers, 1: dead}),
        at(15_000, partition(2, ends=(30, 30, 30), epoch=1)),
    ]
    named = {"topic": "orders", "partition": 0}
    events = [
        event("broker.killed", 5000, broker=1),
        event("broker.down", 8000, teller=3, broker=1),
        event("leader.elected", 8100, teller=3, **named, leader=2, was=1, clean=clean),
        event("broker.started", 11_000, broker=1, pid=7),
        event("broker.up", 12_000, teller=3, broker=1),
        *cut,
        event("isr.changed", 12_500, teller=2, **named, isr=[2, 3, 1]),
    ]
    return Recording(states, [it._replace(number=n) for n, it in enumerate(events, 1)])


def test_a_tale_begins_before_the_first_record():
    failover = failover_of(film(), ORDERS)
    assert (failover.first, failover.second, failover.kept) == (1, 2, 20)
    assert failover.killed == 5000 - 2000 + LEAD_IN
    assert [failover.leader(it) for it in (0, failover.killed, failover.elected)] == [1, -1, 2]
    assert failover.ends[1] == [(0, 0), (700, 10), (2700, 20), (13_700, 30)]
    assert [count for _, count in failover.committed] == [0, 10, 20, 25, 30]


def test_what_is_committed_stays_so_though_the_next_leader_knows_less():
    run = film()
    captions_of = at(8500, partition(2, ends=(20, 20, 20), committed=18, isr=(2, 3), epoch=1))
    states = sorted([*run, captions_of], key=lambda it: it.at)
    counts = [count for _, count in failover_of(Recording(states, run.events()), ORDERS).committed]
    assert counts == [0, 10, 20, 25, 30]


def test_a_run_that_loses_something_is_no_such_tale():
    with pytest.raises(AssertionError, match="another failover"):
        failover_of(film(clean=False), ORDERS)
    with pytest.raises(AssertionError, match="no committed record may be lost"):
        failover_of(film(cut=[cut(15)]), ORDERS)


def test_what_only_the_leader_had_may_be_cut_off():
    """Nobody was captions_of that it was stored."""
    assert failover_of(film(cut=[cut(20)]), ORDERS).kept == 20


def test_a_run_without_a_kill_is_no_tale():
    run = film()
    quiet = Recording(list(run), [it for it in run.events() if it.kind != "broker.killed"])
    with pytest.raises(AssertionError, match=r"this run has no broker\.killed"):
        failover_of(quiet, ORDERS)


def test_the_words_have_the_numbers_of_the_run():
    svg = picture(failover_of(film(), ORDERS), palette.LIGHT)
    assert "Broker 2 leads, 3.1 s after the kill." in svg
    assert "It has all 20 records that were stored" in svg
    assert ">25 stored<" in svg


def test_light_and_dark_differ_in_colours_only():
    failover = failover_of(film(), ORDERS)
    light, dark = picture(failover, palette.LIGHT), picture(failover, palette.DARK)
    assert light != dark
    assert re.sub("#[0-9a-f]{6}", "", light) == re.sub("#[0-9a-f]{6}", "", dark)


def test_standing_still_the_next_one_leads():
    """The moment that is shown to whoever prefers no motion."""
    svg = picture(failover_of(film(), ORDERS), palette.LIGHT)
    seen = re.findall(r'<text class="role m\d+" style="opacity:(\d)"', svg)
    assert seen == ["0", "1"], "not the first leader, but the second"
    (says,) = re.findall(r'style="opacity:1"><text class="says"[^>]*>([^<]*)<', svg)
    assert says == "Broker 2 leads, 3.1 s after the kill."


def keyframes(css, name):
    found = re.search(rf"@keyframes {name}\{{(.*?\}})\}}", css)
    return dict(re.findall(r"([\d.]+)%\{([^}]*)\}", found[1]))


def test_steps_hold_and_glides_move():
    loop = Animation(length=1000, still=600)
    steps = loop.steps([(0, "opacity:0"), (500, "opacity:1")])
    glides = loop.glides([(0, "left:0"), (500, "left:0"), (700, "left:9")])
    assert (steps.still, glides.still) == ("opacity:1", "left:0")
    css = loop.css()
    assert keyframes(css, steps.name) == {"0.00": "opacity:0", "50.00": "opacity:1"}
    assert keyframes(css, glides.name)["100.00"] == "left:9"
    assert f".{steps.name}{{animation:{steps.name} 1s step-end infinite}}" in css
    assert f".{glides.name}{{animation:{glides.name} 1s linear infinite}}" in css


def test_motions_that_are_the_same_share_their_keyframes():
    loop = Animation(1000, 0)
    assert loop.shown(200, 400) == loop.shown(200, 400)
    assert loop.css().count("@keyframes") == 1
    assert loop.shown(0, 1000).still == "opacity:1"


def test_a_motion_has_a_beginning_and_an_order():
    loop = Animation(1000, 0)
    with pytest.raises(AssertionError, match="begins with the loop"):
        loop.steps([(10, "opacity:0")])
    with pytest.raises(AssertionError, match="fall"):
        loop.steps([(0, "opacity:0"), (500, "opacity:1"), (400, "opacity:0")])


def test_a_large_step_takes_longer_and_none_begins_before_the_last_is_over():
    values = moving([(0, 0), (100, 1), (150, 41), (160, 42)], str)
    times = [it for it, _ in values]
    assert times == sorted(times)
    assert [captions_of for _, captions_of in values] == ["0", "0", "1", "1", "41", "41", "42"]
    (_, first), (_, second) = (times[1], times[2]), (times[3], times[4])
    assert second - times[3] > first - times[1]
