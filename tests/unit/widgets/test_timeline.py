"""Time as a line: marks that can be told apart, and a head where it belongs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.recording import Recording
from tests.search import examples
from tests.unit.widgets.cluster import START, Cluster, event, state
from widgets import timeline
from widgets.moment import ViewMoment
from widgets.run_source import LiveRun, RunSource
from widgets.time_axis import IDLE, NEAR, axis, lasted

ACTS = frozenset({"seek", "goto", "back", "forward"})


def moment(*events, lasted=10_000, at=None):
    film = Recording(
        [state(at=START), state(at=START + lasted)],
        [each._replace(number=place + 1) for place, each in enumerate(events)],
    )
    return ViewMoment(RunSource(film), START + (lasted if at is None else at), False, ACTS)


def drawn(told):
    return {shape.key: shape for shape in timeline.drawn(told, 24, 0, 952)}


def test_a_film_fills_the_line_and_a_live_run_leaves_room():
    assert axis(0, 16_000, False, 0, 100) == (0, 16_000, 0, 100, ())
    assert axis(0, 16_000, True, 0, 100) == (0, 20_000, 0, 100, ())
    assert axis(0, 9 * 3_600_000 + 1, True, 0, 100).span == 10 * 3_600_000


def test_a_place_and_a_time_are_the_same_thing():
    scale = axis(START, START + 10_000, False, 24, 952)
    for share in (0, 0.25, 1):
        assert scale.place(scale.time(share)) == pytest.approx(24 + 952 * share)
    assert scale.place(START - 1) == 24
    assert scale.time(7) == START + 10_000


@examples(60)
@given(st.lists(st.integers(0, 4_000_000), max_size=8), st.integers(1, 4_000_000), st.booleans())
def test_in_compressed_time_too_a_place_is_one_time(events, lasted, live):
    scale = axis(START, START + lasted, live, 0, 1, sorted(START + at for at in events))
    times = range(START, START + lasted + 1, max(lasted // 50, 1))
    places = [scale.drawn(at) for at in times]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    slowest = max((1 + fold.saved / fold.drawn for fold in scale.folds), default=1)
    for at in times:  # a millisecond of the axis is so many of the run
        assert abs(scale.later(START, scale.drawn(at)) - at) <= 1
        assert abs(scale.time(scale.place(at)) - at) <= 1 + slowest * scale.span * 1e-12
    assert scale.end - START == pytest.approx(scale.span + sum(it.saved for it in scale.folds))


def test_what_is_near_an_event_is_to_scale_and_the_rest_of_idle_time_is_not():
    quiet = 8 * 60_000
    scale = axis(0, quiet + 10_000, False, 0, 1, [0, quiet, quiet + 3000])
    assert scale.folds == ((NEAR, quiet - NEAR),)
    assert scale.span == IDLE + 10_000
    failover = scale.place(quiet + 3000) - scale.place(quiet)
    assert failover == pytest.approx(3 / 30)
    assert scale.drawn(quiet - 1000) == scale.drawn(quiet) - 1000
    assert axis(0, IDLE, False, 0, 1, []).folds == ()


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(12_400, "12 s"), (60_000, "1 min"), (472_000, "7 min 52 s"), (3_900_000, "1 h 5 min")],
)
def test_a_duration_in_words(milliseconds, words):
    assert lasted(milliseconds) == words


def test_the_head_stands_where_the_moment_is():
    shapes = drawn(moment(at=5000))
    assert shapes["head"].where[0] == 24 + 952 / 2
    assert shapes["clock"].content == "5.0 s"
    assert shapes["past"].where[2] == shapes["head"].where[0]


def test_faults_and_elections_are_marks_that_lead_there():
    shapes = drawn(moment(event("broker.killed", 2000, broker=2)))
    mark = shapes[f"mark broker.killed {START + 2000}"]
    assert mark.label == "2.00 s: broker 2 killed (SIGKILL)"
    assert [act.name for act in mark.acts] == ["goto"]


def test_the_head_can_be_gripped_where_something_just_happened():
    told = moment(
        event("broker.paused", 2000, broker=2), event("broker.killed", 5000, broker=2), at=5010
    )
    order = list(drawn(told))  # what is drawn later lies above
    gripped, other = f"mark broker.killed {START + 5000}", f"mark broker.paused {START + 2000}"
    assert order.index(gripped) < order.index("timeline") < order.index(other)


def test_marks_close_to_each_other_are_one_and_the_heaviest_shows():
    told = moment(
        event("broker.started", 2000, broker=1, pid=1), event("broker.killed", 2010, broker=2)
    )
    found = [it for key, it in drawn(told).items() if key.startswith("mark ")]
    (mark,) = found
    assert mark.label.endswith("broker 2 killed (SIGKILL), and 1 more")
    assert "kill 2 +1" in [shape.content for shape in mark.content]


def test_the_span_without_service_is_shaded():
    where = {"topic": "orders", "partition": 0, "role": "leader"}
    told = moment(
        event("replica.role", 0, 2, **where, leader=2, leader_epoch=0),
        event("broker.killed", 2500, broker=2),
        event("replica.role", 5000, 1, **where, leader=1, leader_epoch=1),
    )
    group = drawn(told)["outage group 0"]
    assert group.label == "1 partition without a leader for 2.50 s"
    (box,) = group.content
    assert box.where[0] == 24 + 952 / 4
    assert box.where[2] == 952 / 4


def test_a_span_that_began_after_the_last_state_has_no_width_yet():
    where = {"topic": "orders", "partition": 0, "role": "leader"}
    told = moment(
        event("replica.role", 0, 2, **where, leader=2, leader_epoch=0),
        event("broker.killed", 10_030, broker=2),
    )
    group = drawn(told)["outage group 0"]
    assert group.label == "1 partition without a leader for 0.00 s"
    assert group.content[0].where[2] == 0


def test_what_was_before_the_recording_is_left_out():
    shapes = drawn(moment(event("broker.killed", -2000, broker=2)))
    assert not [key for key in shapes if key.startswith("mark ")]


def test_while_nothing_happens_the_axis_stands():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    lines = []
    for _ in range(3):
        cluster.pass_time(1000)
        run_source.poll()
        lines.append(drawn(ViewMoment(run_source, run_source.end, True, ACTS))["future"].where)
    assert len(set(lines)) == 1
