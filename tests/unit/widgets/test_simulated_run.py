"""A simulator's run in ClusterView: message by message, and with another future."""

import json
import threading
from math import hypot

import pytest

from engine.cluster.state import Status
from proof.storms.trace import Trace
from tests.interop.watch import until
from widgets import ClusterView
from widgets.cluster_scene import plan_of
from widgets.replay.simulated_run import SimulatedRun, film_of
from widgets.run_source import RunSource

SECONDS = 8.0
STORMY, LOSSES = 8, 13  # seeds


@pytest.fixture(scope="module")
def trace():
    return Trace.of(STORMY)


@pytest.fixture(scope="module")
def short():
    return Trace.of(2, SECONDS)


@pytest.fixture
def view(short):
    view = ClusterView(short)
    yield view
    view.close()


def press(view, act, *on):
    view._heard(view, {"act": act} | ({"on": on[0]} if on else {}), [])


def fork(view):
    """Another future, however long it takes."""
    press(view, "fork")
    until(lambda: view._forking is None)
    assert view.trouble == ""


def dots(view):
    return {it.key: it.where for it in view.picture.all() if it.key.startswith("message ")}


def words(view):
    return [it.content for it in view.picture.all() if it.kind == "text"]


def clock(view):
    return view.picture["exactly"].content


def at(view, milliseconds):
    steps = view.run_source.moments()
    view.stop_at(next(step for step in steps if step >= view.run_source.start + milliseconds))


def when(trace, wanted):
    """The first such message after one second, and when: ms since the start."""
    return next(
        (moment.at, each)
        for moment in trace
        for each in moment.messages
        if moment.at > 1000 and not each.routine and wanted(moment, each)
    )


# -- the film -------------------------------------------------------------------------------------


def test_a_trace_is_a_film_in_the_time_of_all_runs(trace):
    film = SimulatedRun(trace)
    for time in range(0, trace.end, 997):
        assert film.at(film.start + time).partitions is trace.at(time).partitions
    assert film.end - film.start == trace.end


def test_each_moment_with_something_new_is_a_step(trace):
    steps = RunSource(film_of(trace)).moments()
    start = SimulatedRun(trace).start
    assert steps == sorted(set(steps))
    for moment in trace:
        if moment.events or any(not each.routine for each in moment.messages):
            assert start + moment.at in steps


def test_a_simulated_fault_is_reported_as_a_real_one(trace):
    run_source = RunSource(film_of(trace))
    told = {event.kind for moment in trace for event in moment.events}
    assert "broker.killed" in told
    assert any("killed (SIGKILL)" in line.words for line in run_source.story.lines)
    assert [line.at for line in run_source.story.lines] == sorted(
        line.at for line in run_source.story.lines
    )
    healed = [line for line in run_source.story.lines if line.kind == "link.healed"]
    wrong = [line for line in run_source.story.lines if line.kind.startswith("link.")]
    assert len(healed) <= len(wrong) - len(healed), "what was whole is not healed"


def test_who_was_asked_to_stop_has_stopped_when_it_is_down(short):
    film = SimulatedRun(short)
    asked = [e for m in short for e in m.events if e.kind == "broker.stopping"]
    stopped = [e for e in film.events() if e.kind == "broker.stopped"]
    assert asked and len(asked) == len(stopped)
    for one in stopped:
        assert film.at(one.at).brokers[one.data["broker"]].status is Status.DOWN
        assert film.at(one.at - 1).brokers[one.data["broker"]].status is not Status.DOWN


def test_without_power_a_broker_is_dead_and_somebody_else_leads():
    trace = Trace.of(7)
    lost = next(e for m in trace for e in m.events if e.kind == "broker.lost-power")
    run_source = RunSource(film_of(trace))
    line = next(it for it in run_source.story.lines if it.kind == "broker.died")
    number = lost.data["records"]
    were = "1 record was" if number == 1 else f"{number:,} records were"
    assert f"{were} not on its disk" in line.words
    assert run_source.story.outages[0].broker == lost.data["broker"]
    assert run_source.story.outages[0].ended is not None


# -- the view -------------------------------------------------------------------------------------


def test_a_message_is_sent_comes_nearer_and_arrives(view, short):
    sent, wanted = when(
        short,
        lambda moment, it: (
            it.source.startswith("broker-")
            and it.target.startswith("broker-")
            and it.source != it.target
            and it.arrives - moment.at > 2
        ),
    )
    film = view.run_source.film
    under_way = film.messages(film.start + sent)
    same = wanted.source, wanted.target, wanted.text
    message = next(it for it in under_way if (it.source, it.target, it.text) == same)
    target = plan_of(view.moment()).box(int(message.target.removeprefix("broker-")))
    places = []
    for passed in range(wanted.arrives - sent + 1):
        view.stop_at(film.start + sent + passed)
        x, y, _ = dots(view)[message.key]
        places.append(hypot(x - target.middle, y - target.y - target.height / 2))
    assert places == sorted(set(places), reverse=True), "nearer and nearer"
    assert f"arrives after {wanted.arrives - sent} ms" in words(view)
    view.stop_at(film.start + wanted.arrives + 1)
    assert message.key not in dots(view)


def test_forward_and_back_go_message_by_message_and_meet_the_same_pictures(view):
    at(view, 2000)
    there = []
    for _ in range(30):
        there.append((clock(view), view.scene))
        press(view, "forward")
    assert len({time for time, _ in there}) == 30
    for time, scene in reversed(there):
        press(view, "back")
        assert (clock(view), view.scene) == (time, scene)


def test_while_it_plays_dots_travel_and_the_words_wait(view):
    at(view, 2000)
    press(view, "slow_motion")
    press(view, "play")
    for second in range(12):
        view.advance(second / 10)
    kinds = {it.kind for it in view.picture.all()}
    assert "travel" in kinds
    assert any("Pause" in word for word in words(view))
    slow = view.head
    assert view.run_source.start + 2000 < slow < view.run_source.start + 2400  # an eighth of 1.2 s
    press(view, "play")
    assert not any("Pause" in word for word in words(view))
    assert "travel" not in {it.kind for it in view.picture.all()}


def test_between_two_moments_a_message_goes_on(view):
    film = view.run_source.film
    still = next(
        (message, at)
        for message in film.sent(film.start + 1000, film.end)
        for at in range(message.sent, message.arrives)
        if message.source != message.target and film.at(at) is film.at(at + 1)
    )
    places = []
    for at in (still[1], still[1] + 1):
        view.stop_at(at)
        places.append(dots(view)[still[0].key])
    assert places[0] != places[1]


def test_a_lost_message_is_a_cross_halfway():
    view = ClusterView(Trace.of(LOSSES, SECONDS))
    film = view.run_source.film
    lost = next(it for it in film.sent(0, film.end) if it.lost)
    view.stop_at(lost.sent)
    assert view.picture[lost.key].content == "✗"
    assert view.picture[lost.key].label.endswith(", is lost")
    view.stop_at(lost.sent + 1)
    assert lost.key not in dots(view)
    view.close()


def test_a_cut_link_holds_a_message_up(trace):
    view = ClusterView(trace)
    film = view.run_source.film
    message = next(it for it in film.sent(0, film.end) if is_cut(film, it))
    view.stop_at(message.arrives)
    assert view.picture[message.key].label.endswith("held up: the link is cut")
    held = dots(view)[message.key]
    view.stop_at(message.sent)
    assert dots(view)[message.key] != held, "it has set out"
    target = plan_of(view.moment()).box(int(message.target.removeprefix("broker-")))
    assert not target.x <= held[0] <= target.right or not target.y <= held[1] <= target.bottom
    assert hypot(held[0] - target.middle, held[1] - target.y) > target.height / 2
    view.close()


def is_cut(film, message):
    """All the time that the message takes, to a broker, and it takes some."""
    ends = tuple(each.removeprefix("broker-") for each in (message.source, message.target))
    return (
        message.target.startswith("broker-")
        and message.arrives > message.sent
        and all(
            any((link.source, link.target, link.cut) == (*ends, True) for link in state.links)
            for state in (film.at(message.sent), film.at(message.arrives))
        )
    )


def test_a_step_is_small_enough_for_a_notebook(view):
    most = 0
    for moment in view.run_source.moments()[::10]:
        view.stop_at(moment)
        most = max(most, len(json.dumps(view.picture.rows())))
        keys = [it.key for it in view.picture.shapes]
        assert len(keys) == len(set(keys))
        assert all(
            0 <= x <= 1000 and 0 <= y <= view.picture.height for x, y, *_ in dots(view).values()
        )
    assert most < 30_000


# -- another future -------------------------------------------------------------------------------


def test_a_fork_takes_over_where_one_stands_and_the_run_before_can_be_had_again(view):
    at(view, 5000)
    here, first = view.scene, view.run_source.film
    fork(view)

    film = view.run_source.film
    assert film is not first
    assert film.trace.recipe.forks[-1].seed == 3
    assert [it.words for it in view.run_source.story.lines if it.kind == "run.forked"] == [
        "another future from here on: seed 3"
    ]
    assert view.picture["exactly"].content == json_text(here, "exactly")
    choice = next(it for it in view.controls if it["kind"] == "choice" and it["act"] == "fork")
    assert [words for _, words in choice["options"]] == [
        "seed 2",
        f"seed 3 from {film.trace.recipe.forks[0].at / 1000:.2f} s on",
    ]
    assert choice["value"] == "1"

    press(view, "fork", "0")
    assert view.run_source.film is first
    assert view.scene == with_run(here, view)
    press(view, "fork", "1")
    assert view.run_source.film is film


def json_text(scene, key):
    found = []

    def search(rows):
        for row in rows:
            if row[1] == key:
                found.append(row[4])
            elif len(row) > 4 and isinstance(row[4], list):
                search(row[4])

    search(json.loads(scene)["shapes"])
    return found[0]


def with_run(scene, view):
    """The picture is the same to the last shape."""
    assert json.loads(scene) == json.loads(view.scene)
    return view.scene


def test_until_the_fork_both_runs_are_the_same_and_then_not(view):
    at(view, 5000)
    first, here = view.run_source.film, view.head
    fork(view)
    second = view.run_source.film
    for step in [it for it in first.steps if it <= here]:
        assert [it[1:] for it in first.messages(step)] == [it[1:] for it in second.messages(step)]
        assert first.at(step).partitions == second.at(step).partitions
    assert [it.text for it in first.sent(here, first.end)] != [
        it.text for it in second.sent(here, second.end)
    ]


def test_each_fork_has_a_seed_of_its_own(view):
    at(view, 6000)
    for _ in range(3):
        fork(view)
    seeds = [run.trace.recipe.forks[-1].seed for run in view.run_source.film.runs[1:]]
    assert seeds == [3, 4, 5]
    assert view.picture["exactly"].content == "at 6.000 s" or view.head is not None


def test_at_its_end_there_is_no_future_to_choose(view):
    press(view, "live")
    press(view, "fork")
    until(lambda: view._forking is None)
    assert "go back a little" in view.trouble
    assert len(view.run_source.film.runs) >= 1


def test_a_fork_that_takes_long_is_reported_of(view, monkeypatch):
    go_on = threading.Event()
    film = view.run_source.film
    made = film.fork

    def slowly(at):
        assert go_on.wait(20)
        return made(at)

    monkeypatch.setattr(film, "fork", slowly)
    at(view, 5000)
    press(view, "fork")
    assert view.about.startswith("another future is being simulated: ")
    assert view.poll(), "one goes on looking while it is made"
    again = next(it for it in view.controls if it["kind"] == "button" and it["act"] == "fork")
    assert again["off"]
    press(view, "fork")
    assert view.trouble == "a fork is being made: wait for it"
    press(view, "back")  # meanwhile one looks about
    go_on.set()
    until(lambda: "being simulated" not in view.about)
    assert view._forking is None
    assert view.run_source.film is not film


# -- a broken promise -----------------------------------------------------------------------------


def test_a_defect_ends_in_a_broken_promise_that_is_seen():
    trace = Trace.of(1, defect="commit-unreplicated")
    view = ClusterView(trace)
    assert trace.violation is not None
    line = view.run_source.story.lines[-1]
    assert line.words == "BROKEN PROMISE: " + trace.violation.invariant.replace("_", " ")
    assert any(word.startswith("✗ A promise is broken: ") for word in words(view))
    assert any("commit-unreplicated" in word for word in words(view))
    assert trace.violation.text in view.said
    press(view, "back")
    assert not any(word.startswith("✗ A promise") for word in words(view))
    view.close()
