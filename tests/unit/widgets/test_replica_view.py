"""Every button of ReplicaView is pressed, on a live cluster, in its past, and on a recording."""

from itertools import pairwise

import pytest

from proof.storms.trace import Trace
from tests.unit.widgets.cluster import START, Cluster, partition
from tests.unit.widgets.test_cluster_view import buttons, go, press
from tests.unit.widgets.test_replica_past import failover
from widgets import ReplicaView


@pytest.fixture
def cluster():
    return Cluster(partitions={})


@pytest.fixture
def live(cluster):
    view = ReplicaView(cluster, "orders", 0)
    yield view
    view.close()


@pytest.fixture
def film():
    view = ReplicaView(failover(), "orders", 0)
    yield view
    view.close()


def said(view, key):
    return next(it.content for it in view.picture[key].content if it.key == "words")


def clock(view):
    return view.picture["clock"].content


def test_the_picture_follows_the_cluster(live, cluster):
    assert live.about == "orders-0 · not there yet"
    cluster.set_partitions(orders_0=partition(1, ends=(5, 5, 3), committed=3))
    go(live, 100)
    assert live.about == "orders-0 · epoch 0 · broker 1 leads · ISR 1 2 3"
    assert said(live, "label HW") == "HW 3 · committed"

    cluster.set_partitions(orders_0=partition(1, ends=(5, 5, 5)))
    go(live, 100)
    assert said(live, "label HW") == "HW 5 · committed"
    assert [(rise.was, rise.now) for rise in live.past.rises] == [(3, 5)]


def test_it_hears_what_happens(live, cluster):
    cluster.kill(2)
    go(live, 100)
    assert live.said == "broker 2 killed (SIGKILL)"
    assert [line.words for line in live.past.story.lines][-1] == live.said
    count = len(live.past.story.lines)
    go(live, 100)
    assert len(live.past.story.lines) == count  # once


def test_one_can_go_back_while_life_goes_on(live, cluster):
    for end in range(1, 41):
        cluster.set_partitions(orders_0=partition(1, ends=(end, end, end)))
        go(live, 100)
    press(live, "seek", 0.2)  # of ten seconds
    assert clock(live) == "2.0 s"
    assert said(live, "label 1") == "broker 1 · leader · LEO 20"

    cluster.set_partitions(orders_0=partition(1, ends=(99, 99, 99)))
    go(live, 100)
    assert said(live, "label 1") == "broker 1 · leader · LEO 20"
    assert buttons(live)["live"]["pressed"] is False

    press(live, "live")
    assert said(live, "label 1") == "broker 1 · leader · LEO 99"
    assert buttons(live)["live"]["pressed"] is True


def test_steps_lead_through_what_happened(film):
    seen = []
    press(film, "begin")
    while film.head is not None:
        seen.append(clock(film))
        press(film, "forward")
    assert seen == ["0.0 s", "3.0 s", "4.0 s", "6.0 s", "8.0 s"]
    press(film, "back")
    assert clock(film) == "8.0 s"


def test_a_moment_that_is_clicked_is_gone_to(film):
    press(film, "goto", START + 4000)
    assert said(film, "label 1") == "broker 1 · killed · LEO 22"
    assert film.about == "orders-0 · epoch 0 · nobody leads · ISR 1 2"


def test_it_plays_in_slow_motion(film):
    press(film, "begin")
    press(film, "slow_motion")
    press(film, "play")
    film.advance(1000.0)
    film.advance(1008.0)
    assert clock(film) == "1.0 s"
    press(film, "play")
    assert not film.advance(1020.0)
    assert clock(film) == "1.0 s"


def test_how_much_of_the_past_is_seen(film):
    assert buttons(film)["span"]["value"] == "0"
    press(film, "span", "5")
    assert film.view_state().scale.span == 5000
    assert buttons(film)["span"]["value"] == "5"
    press(film, "span", "0")
    assert film.view_state().scale.span == 10_000


def test_of_a_live_run_the_last_minute_is_seen(live, cluster):
    for _ in range(9):
        go(live, 10_000)
    assert live.view_state().scale.span == 60_000
    assert live.picture["window"]


def test_a_recording_plays_without_a_cluster_and_needs_no_refresh(film):
    assert not film.poll()
    assert film.svg().startswith("<svg")
    assert film.trouble == ""


def test_a_run_of_the_simulator_plays_too():
    view = ReplicaView(Trace.of(seed=7, seconds=8), "orders", 0)
    words = [line.words for line in view.past.story.lines]
    assert any("new leader: orders-0" in each for each in words)
    assert not any("orders-1" in each for each in words)
    for before, after in pairwise(view.past.samples):
        if before.state.leader == after.state.leader:
            assert (after.committed or 0) >= (before.committed or 0)
    assert len(view.past.rises) > 3

    end = said(view, "label HW")
    press(view, "begin")
    assert view.picture["nothing"]
    press(view, "goto", view.past.rises[0].at)
    assert said(view, "label HW") == f"HW {view.past.rises[0].now} · committed"
    press(view, "live")
    assert said(view, "label HW") == end
    view.close()


def test_while_nothing_happens_nothing_is_sent(live):
    sent = []
    live.observe(lambda change: sent.append(change["name"]))
    for _ in range(9):
        go(live, 100)
    assert sent == []


def test_a_figure_of_all_of_it(film):
    press(film, "begin")  # where the head is makes no difference
    figure = film.figure()
    lines = {it.name: it for it in figure.data if it.mode == "lines"}
    assert set(lines) == {
        "high watermark",
        *("broker 1, leader", "broker 1, no answer", "broker 1, out of sync", "broker 1, in sync"),
        *("broker 2, in sync", "broker 2, leader"),
        *("broker 3, in sync", "broker 3, out of sync"),
    }
    high = lines["high watermark"]
    assert list(high.y) == [0, 10, 12, 20, 20, 12, 25, 25, 30, 30]
    assert list(high.x)[-1] == 10
    first = lines["broker 1, leader"]  # up to its death, where another line goes on
    assert [y for y in first.y if y is not None] == [0, 10, 20, 22, 22]
    led = lines["broker 2, leader"]
    assert [y for y in led.y if y is not None] == [20, 25, 25, 30, 30]
    assert [it.text for it in figure.layout.annotations] == ["epoch 0", "epoch 1"]
    assert "▲" in next(it for it in figure.data if it.mode == "text").text


def test_every_act_of_the_widget_is_pressed_here():
    with open(__file__) as file:
        told = file.read()
    assert [act for act in ReplicaView.ACTS if f'"{act}"' not in told] == []
