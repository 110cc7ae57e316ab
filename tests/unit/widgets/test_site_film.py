"""A film shows what the view would show, moment by moment, and offers only what it can do."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cluster.recording import Recording
from tests.unit.widgets.cluster import Cluster
from tests.unit.widgets.test_znodes_view import film as znodes
from widgets import ClusterView, ReplicaView, ZooKeeperTree
from widgets.log.view import HINT
from widgets.playback import TIME
from widgets.scene import Scene, rect, text
from widgets.site import delta, film, style
from widgets.site.walk import MOST, Walk, rarest, walk
from widgets.stage import SceneWidget
from widgets.wire.page import WireRow

# -- the steps from one picture to the next ----------------------------------------------------


def box(key, x=0, *inside):
    return ["group", key, [x, 0], "", [box(*each) for each in inside]]


def test_only_what_is_new_is_reported():
    before = [box("a"), box("b"), box("c", 1), box("d")]
    after = [box("a"), box("c", 2), box("d"), box("e")]
    assert delta.steps(before, after) == [1, -2, box("c", 2), 1, box("e")]


def test_of_a_group_that_stays_only_what_is_in_it_is_reported():
    before = [box("a"), box("b", 0, ("in",), ("also",))]
    after = [box("a"), box("b", 0, ("in", 7), ("also",))]
    assert delta.steps(before, after) == [1, [[-1, box("in", 7), 1]]]


def test_nothing_new_is_a_single_number():
    assert delta.steps([box("a"), box("b")], [box("a"), box("b")]) == [2]
    assert delta.steps([], []) == []


rows = st.recursive(
    st.builds(lambda key, x: ["rect", key, [x, 0]], st.sampled_from("abcdef"), st.integers(0, 2)),
    lambda inner: st.builds(
        lambda key, inside: ["group", key, [0, 0], "", inside],
        st.sampled_from("abcdef"),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=8,
)
pictures = st.lists(rows, max_size=6, unique_by=lambda row: row[1])


@settings(max_examples=50)
@given(pictures, pictures)
def test_whatever_the_pictures_the_steps_lead_from_one_to_the_other(before, after):
    told = json.loads(json.dumps(delta.steps(before, after)))
    assert delta.applied(before, told) == after


# -- a run -------------------------------------------------------------------------------------


@pytest.fixture
def run():
    """Three seconds, in which a broker is killed and started again."""
    cluster = Cluster()
    states = [cluster.state()]
    for act in (cluster.kill, cluster.restart):
        cluster.pass_time(1130)
        act(2)
        states.append(cluster.state())
    cluster.pass_time(740)
    return Recording([*states, cluster.state()], cluster.happened)


@pytest.fixture
def views(run):
    made = [ClusterView(run), ReplicaView(run, "orders", 0), ZooKeeperTree(znodes())]
    yield made
    for view in made:
        view.close()


def acts(told):
    """Every act, slider and button of a picture."""
    found = [control["act"] for control in told["controls"]]
    for row in deep(told["shapes"]):
        found += [name for name, _, _ in row[film.ACTS]] if len(row) > film.ACTS else []
        found += [row[film.DRAG]] if len(row) > film.DRAG and row[film.DRAG] else []
    return found


def deep(shapes):
    for row in shapes:
        yield row
        if row[0] == "group":
            yield from deep(row[delta.CONTENT])


def test_each_picture_is_the_one_that_the_view_draws(run):
    view, other = ClusterView(run), ClusterView(run)
    told = film.shoot(view).film
    way = walk(other)
    for place, shown in enumerate(film.scenes(json.loads(json.dumps(told)))):
        other.do("seek", told["frames"][place]["at"] / (run.end - run.start))
        assert shown == film.taken(other, way)
    assert {view.trouble, other.trouble} == {""}


def test_what_moves_is_reported_alone(run):
    frames = film.shoot(ClusterView(run)).film["frames"]
    first, following = (json.dumps(frame["steps"]) for frame in frames[:2])
    assert len(first) > 10 * len(following)  # the head and the clock, and not the brokers


def test_what_happened_is_seen_at_its_own_time(run):
    told = film.shoot(ClusterView(run)).film
    times = [frame["at"] for frame in told["frames"]]
    assert {0, 1130, 2260, 3000} <= {*times}
    assert times == sorted(times)
    assert [times[place] for place in told["stops"]] == [0, 1130, 2260, 3000]


def test_a_mark_leads_to_the_picture_of_what_it_marks(run):
    told = film.shoot(ClusterView(run)).film
    last = list(film.scenes(told))[-1]
    killed = next(it for it in deep(last["shapes"]) if it[1].startswith("mark broker.killed"))
    [[act, place, _]] = killed[film.ACTS]
    assert (act, told["frames"][place]["at"]) == ("frame", 1130)


def test_nothing_is_offered_that_needs_python(views):
    for view in views:
        told = film.shoot(view).film
        count = len(told["frames"])
        offered = {act for shown in film.scenes(told) for act in acts(shown)}
        assert offered <= {*told["acts"], "frame"}
        assert {"seek", "play", "back", "forward", "frame"} <= offered
        for shown in film.scenes(told):
            for row in deep(shown["shapes"]):
                for name, on, _ in row[film.ACTS] if len(row) > film.ACTS else []:
                    assert name != "frame" or on in range(count)


def test_a_view_offers_more_than_its_film(run):
    """Or the test before proved nothing."""
    view = ReplicaView(run, "orders", 0)
    assert "span" in {control["act"] for control in view.controls}
    assert "span" not in acts(next(film.scenes(film.shoot(view).film)))


def test_the_still_is_a_picture_of_the_moment_asked_for(run):
    assert ">killed</text>" in film.shoot(ClusterView(run), 0.5).still
    assert ">killed</text>" not in film.shoot(ClusterView(run), 0.0).still


# -- how other views are gone through ----------------------------------------------------------


def test_a_tree_goes_from_change_to_change():
    tree = ZooKeeperTree(znodes())
    told = film.shoot(tree).film
    steps = tree.history.steps
    assert len(told["frames"]) == 1 + len(steps) + (tree.history.last > steps[-1].number)
    assert told["pace"] > 0
    assert told["acts"] == sorted({"back", "begin", "forward", "live", "play", "seek"})


def test_of_too_many_pages_of_messages_those_with_something_rare_stay():
    rows = [WireRow(0, None, folded="fetch")] * 4000
    rows[2637] = WireRow(0, None, folded="an election")
    ends = [*range(16, 4000, 8), 4000]
    kept = rarest(ends, rows)
    assert {16, 4000} <= {*kept}
    assert len(kept) <= MOST + 2
    assert 2640 in kept, "the page that ends there begins with what comes after 2632"


class Slides(SceneWidget):
    """A view without a time of its own."""

    def __init__(self):
        super().__init__(name="Slides")
        bar = rect("bar", 0, 0, 100, 20, drag="zoom", label="how large it is")
        self.show(Scene(100, 20, [text("a", 0, 0, "as it is"), text("b", 0, 0, HINT), bar]))


def test_any_other_view_is_one_picture_in_which_nothing_can_be_dragged():
    told = film.shoot(Slides()).film
    assert (len(told["frames"]), told["acts"], told["stops"]) == (1, [], [0])
    [shown] = film.scenes(told)
    assert acts(shown) == []


def test_words_about_what_a_film_cannot_do_are_left_out():
    way = Walk([0], 1, lambda _: None, [0], silent=HINT)
    assert [row[1] for row in film.taken(Slides(), way)["shapes"]] == ["a", "bar"]


def test_the_players_acts_are_those_of_the_views():
    """player.js has a method for each."""
    known = {"seek", "begin", "live", "back", "forward", "play", "slow_motion"}
    assert known == TIME - {"goto"}


def test_the_style_sheet_has_both_themes_and_asks_nobody_for_anything():
    sheet = style.sheet()
    assert 'body[data-theme="dark"] .lab-stage {--paper:#111418' in sheet
    assert 'body:not([data-theme="light"]) .lab-stage' in sheet
    assert "http" not in sheet.replace("http://www.w3.org", "")
