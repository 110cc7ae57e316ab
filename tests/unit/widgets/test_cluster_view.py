"""Every button of ClusterView is pressed, on a live cluster, in its past, and on a recording."""

from dataclasses import replace

import pytest

from engine.cluster.recording import Recording
from tests.interop.watch import until
from tests.unit.widgets.cluster import START, Cluster, ensemble, event, partition, state, topic
from widgets import ClusterView


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def view(cluster):
    view = ClusterView(cluster)
    yield view
    view.close()


@pytest.fixture
def film():
    """A run of ten seconds, in which a broker is killed at 2 s and another at 6 s."""
    cluster = Cluster()
    states = [cluster.state()]
    for step in range(1, 101):
        cluster.pass_time(100)
        if step in (20, 60):
            cluster.kill(2 if step == 20 else 3)
            states.append(cluster.state())
    states.append(cluster.state())
    return Recording(states, cluster.happened)


@pytest.mark.parametrize("act", ["kill", "pause", "resume", "restart"])
def test_a_server_of_an_ensemble_is_pressed_by_its_name(act):
    called = []

    class Deaf(Cluster):
        def kill(self, end):
            called.append(end)

        pause = resume = restart = kill

    view = ClusterView(Deaf(zookeepers=ensemble()))
    try:
        offered = {it.name: it.on for it in view.picture["server 1"].acts}
        offered |= {it.name: it.on for it in view.picture["server 3"].acts}
        assert offered == {
            "kill": "zookeeper-1", "pause": "zookeeper-1", "restart": "zookeeper-3",
        }  # fmt: skip
        press(view, act, "zookeeper-1")
        until(lambda: called == ["zookeeper-1"])
    finally:
        view.close()


def press(view, act, *on):
    """As the page does."""
    view._heard(view, {"act": act} | ({"on": on[0]} if on else {}), [])


def go(view, milliseconds):
    """Time goes on, and the view looks."""
    cluster = view.source
    cluster.pass_time(milliseconds)
    view.poll()


def label(view, key):
    return view.picture[key].label


def buttons(view):
    return {control["act"]: control for control in view.controls}


@pytest.mark.parametrize(
    ("act", "on", "called"),
    [
        ("kill", "2", ("kill", 2)),
        ("pause", "3", ("pause", 3)),
        ("resume", "3", ("resume", 3)),
        ("cut", "1-3", ("cut", 1, 3)),
        ("cut", "2-zookeeper", ("cut", 2, "zookeeper")),
        ("slow", "1-2", ("slow", 1, 2, 300)),
        ("heal", "1-2", ("heal", 1, 2)),
        ("heal", "2-zookeeper", ("heal", 2, "zookeeper")),
        ("fail_requests", "2", ("fail_requests", 2, "Produce", "NOT_ENOUGH_REPLICAS")),
        ("drop_next_answer", "2", ("drop_next_answer", 2, "Produce")),
        ("slow_coordinator", "2", ("slow_coordinator", 2, 500)),
        ("heal_requests", "2", ("heal_requests", 2)),
    ],
)
def test_a_fault_is_done_to_the_cluster(view, cluster, act, on, called):
    press(view, act, on)
    assert cluster.called == [called]
    assert view.trouble == ""


def test_a_broker_says_what_its_clients_get_and_offers_to_end_it(view, cluster):
    def offered(number):
        return {each.name for each in view.picture[f"broker {number}"].acts}

    processes = {"kill", "pause", "restart"}
    answers = {"fail_requests", "drop_next_answer", "slow_coordinator"}
    assert offered(2) == processes | answers
    press(view, "fail_requests", "2")
    go(view, 100)
    assert label(view, "broker 2").endswith("; next Produce: NOT_ENOUGH_REPLICAS")
    assert offered(2) == processes | {"heal_requests"}
    assert offered(1) == processes | answers
    press(view, "heal_requests", "2")
    go(view, 100)
    assert "NOT_ENOUGH" not in label(view, "broker 2")
    cluster.change(
        2,
        request_faults=(
            {"fault": "drop", "api": None, "times": 2},
            {"fault": "slow coordinator", "ms": 50},
            {"fault": "repeat", "api": "END_TXN", "ms": None, "times": 1, "kept": 0},
            {"fault": "repeat", "api": "PRODUCE", "ms": None, "times": 0, "kept": 1},
        ),
    )
    go(view, 100)
    told = (
        "; next 2 × request: answer lost, coordinator 50 ms late, next EndTxn: comes twice, "
        "Produce will come again"
    )
    assert label(view, "broker 2").endswith(told)


def test_what_takes_its_time_is_done_aside(view, cluster):
    press(view, "restart", "2")
    press(view, "add_broker")
    until(lambda: len(cluster.called) == 2)
    assert set(cluster.called) == {("restart", 2), ("add_broker",)}
    go(view, 100)
    assert label(view, "broker 4") == "broker 4: up, leads 0"


def test_a_fault_that_fails_is_reported(view):
    press(view, "kill", "7")
    assert view.trouble == "there is no broker 7"


def test_the_picture_follows_the_cluster(view, cluster):
    press(view, "kill", "2")
    go(view, 100)
    assert label(view, "broker 2") == "broker 2: killed, leads 1"
    assert view.said == "broker 2 killed (SIGKILL)"
    assert view.about.endswith("1 without a leader")


def test_the_past_can_be_looked_at_but_not_changed(view, cluster):
    go(view, 4000)
    press(view, "kill", "2")
    go(view, 1000)

    press(view, "seek", 0.25)  # of ten seconds

    assert label(view, "broker 2") == "broker 2: up, leads 1"
    assert view.picture["broker 2"].acts == ()
    assert view.picture["clock"].content == "2.5 s"
    assert buttons(view)["live"]["pressed"] is False
    assert "add_broker" not in buttons(view)


def test_meanwhile_life_goes_on_and_live_is_where_it_is(view, cluster):
    go(view, 4000)
    press(view, "begin")
    press(view, "kill", "2")  # from a cell, say
    go(view, 1000)
    assert label(view, "broker 2") == "broker 2: up, leads 1"

    press(view, "live")

    assert label(view, "broker 2") == "broker 2: killed, leads 1"
    assert buttons(view)["live"]["pressed"] is True


def test_steps_lead_from_one_thing_that_happened_to_the_next(film):
    view = ClusterView(film)
    clocks = []
    press(view, "begin")
    for _ in range(3):
        clocks.append(view.picture["clock"].content)
        press(view, "forward")
    assert clocks == ["0.0 s", "2.0 s", "6.0 s"]
    assert view.head is None  # the end

    clocks.clear()
    for _ in range(4):
        press(view, "back")
        clocks.append(view.picture["clock"].content)
    assert clocks == ["6.0 s", "2.0 s", "0.0 s", "0.0 s"]


def test_a_mark_leads_to_what_it_marks(film):
    view = ClusterView(film)
    press(view, "goto", START + 2000)
    assert label(view, "broker 2") == "broker 2: killed, leads 1"
    assert label(view, "broker 3") == "broker 3: up, leads 1"


def test_it_plays_at_the_speed_it_was_and_stops_at_the_end(film):
    view = ClusterView(film)
    press(view, "begin")
    press(view, "play")
    assert buttons(view)["play"]["label"] == "pause"
    assert view.advance(1000.0)
    assert view.advance(1001.0)
    assert view.picture["clock"].content == "1.1 s"

    view.advance(1002.5)
    assert label(view, "broker 2") == "broker 2: killed, leads 1"
    assert not view.advance(1020.0)
    assert view.head is None
    assert buttons(view)["play"]["label"] == "play"


def test_slow_motion_is_eight_times_slower(film):
    view = ClusterView(film)
    press(view, "begin")
    press(view, "slow_motion")
    press(view, "play")
    view.advance(1000.0)
    view.advance(1008.0)
    assert view.picture["clock"].content == "1.0 s"
    press(view, "slow_motion")
    view.advance(1009.0)
    assert view.picture["clock"].content == "2.0 s"


def test_play_pauses_where_it_is(film):
    view = ClusterView(film)
    press(view, "play")
    view.advance(1000.0)
    view.advance(1003.0)
    press(view, "play")
    here = view.picture["clock"].content
    assert not view.advance(1009.0)
    assert view.picture["clock"].content == here


def test_only_one_topic(cluster):
    cluster = Cluster(partitions=topic("orders", 3) | topic("clicks", 30))
    view = ClusterView(cluster)
    assert buttons(view)["only"]["options"][0] == ["", "all topics"]
    press(view, "only", "orders")
    assert view.about.startswith("orders · 3 partitions")
    press(view, "only", "")
    assert view.about.startswith("2 topics · 33 partitions")


def test_a_recording_offers_no_faults(film):
    view = ClusterView(film)
    acts = {act.name for shape in view.picture.all() for act in shape.acts}
    assert acts == {"goto", "back", "forward"}
    assert "add_broker" not in buttons(view)
    assert not view.poll()  # and needs no refresh


class Trace:
    """A simulator's run: it can be gone through again, and turn out differently."""

    start, end = START, START + 5000

    def __init__(self, forked=None):
        self.forked = forked

    def at(self, time):
        return state(at=min(time, self.end))

    def events(self, after=0):
        return [event("broker.killed", 3000, broker=2)._replace(number=1)] if not after else []

    def fork(self, time):
        return Trace(time)


def test_a_trace_can_be_forked_from_here():
    view = ClusterView(Trace())
    press(view, "back")
    assert view.picture["clock"].content == "3.0 s"

    press(view, "fork")

    assert view.source.forked == START + 3000
    assert view.trouble == ""


def test_a_stopped_cluster_is_looked_at_no_more(view, cluster):
    cluster.stop()
    assert view.poll()
    assert not view.poll()


def test_while_nothing_happens_nothing_is_sent(view):
    sent = []
    view.observe(lambda change: sent.append(change["name"]))
    for _ in range(9):
        go(view, 100)
    assert sent == []
    go(view, 100)
    assert sent == ["scene"]  # the clock: a second has passed


def test_the_clock_runs_by_tenths_while_one_waits(view):
    press(view, "kill", "2")
    go(view, 100)
    calm, eager = 0.1, view.interval
    assert eager < calm
    sent = []
    view.observe(lambda change: sent.append(change["name"]))
    go(view, 100)
    assert sent == ["scene"]


def test_every_act_of_the_widget_is_pressed_here():
    with open(__file__) as file:
        told = file.read()
    missing = [act for act in ClusterView.ACTS if f'"{act}"' not in told]
    assert missing == []


def test_it_draws_itself_without_a_page(view):
    assert view.svg().startswith("<svg")


def test_a_leader_that_was_started_again_and_has_not_told_of_its_replica_yet():
    """Killed and back before its session ended: it still leads, as the others know."""
    cluster = Cluster(partitions={})
    view = ClusterView(cluster)
    known = partition(2, ends=(5, 5, 5))
    cluster.set_partitions(orders_0=known)
    go(view, 200)
    go(view, 1500)  # the rate of records is that of a second
    others = {broker: each for broker, each in known.replicas.items() if broker != 2}
    cluster.set_partitions(orders_0=replace(known, replicas=others))
    go(view, 200)
    assert view.picture.title
    cluster.set_partitions(orders_0=partition(2, ends=(9, 9, 9)))
    go(view, 200)
    assert view.trouble == ""
    view.close()
