"""Offsets over time as a picture: who had what, what was committed, who led, who was in sync."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.cluster.recording import Recording
from engine.errors import ErrorCode
from tests.unit.widgets.cluster import START, Cluster, event
from tests.unit.widgets.test_replica_past import ORDERS, Tale, failover, request, transactions
from widgets import ReplicaView
from widgets.playback import TIME
from widgets.replica.layout import BOTTOM, TOP, OffsetScale, ReplicaViewState
from widgets.replica.partition_history import PartitionHistory
from widgets.replica.scene import about, picture
from widgets.replica.strips import kind
from widgets.replica.trails import LABEL, spread
from widgets.run_source import LiveRun, RunSource
from widgets.scene import text
from widgets.stage import SceneWidget


def view_state(film, at=None, span=0, more=()):
    """Of a film, `at` so many milliseconds after its start."""
    run_source, past = RunSource(film), PartitionHistory(ORDERS)
    past.see(film)
    past.add_events([*film.events(), *more])
    head = film.end if at is None else START + at
    return ReplicaViewState(run_source, head, False, TIME, past=past, span=span)


@pytest.fixture
def film():
    return failover()


def trail(scene, name):
    """The paths of a line, in order: how it looks and where it goes."""
    paths = [scene.by_key.get(f"{name} {number}") for number in range(20)]
    return [(it.look.split()[1], moves(it.content)) for it in paths if it]


def moves(drawn):
    x, y, found = 0, 0, []
    for letter, one, other in re.findall(r"([MHV])(-?\d+)(?: (-?\d+))?", drawn):
        x = int(one) if letter in "MH" else x
        y = int(other) if letter == "M" else int(one) if letter == "V" else y
        found.append((x, y))
    return found


# -- lines --------------------------------------------------------------------------------------


def test_a_line_changes_its_style_with_how_its_replica_stands(film):
    scene = picture(view_state(film))
    assert [look for look, _ in trail(scene, "trail 1")] == ["lead", "gone", "lag", "sync"]
    assert [look for look, _ in trail(scene, "trail 2")] == ["sync", "lead"]
    assert [look for look, _ in trail(scene, "trail 3")] == ["sync", "lag", "sync"]


def test_each_stretch_begins_where_the_one_before_ended(film):
    scene = picture(view_state(film))
    for name in ("trail 1", "trail 2", "trail 3"):
        pieces = [drawn for _, drawn in trail(scene, name)]
        for one, other in pairwise(pieces):
            assert one[-1] == other[0]


def test_not_the_shortest_absence_is_left_out():
    tale = Tale()
    for silent in ((), (3,), ()):
        tale.wait(10)
        tale.is_so(5, 5, 5, committed=5, silent=silent)
    tale.wait(60_000)
    scene = picture(view_state(tale.film()))
    assert [look for look, _ in trail(scene, "trail 3")] == ["sync", "gone", "sync"]


def test_a_line_is_where_its_offset_is(film):
    view = view_state(film)
    ((look, drawn),) = trail(picture(view), "high watermark")
    assert look == "high"
    assert drawn[-1] == (view.right, round(view.offsets.y(30)))
    xs = [x for x, _ in drawn]
    assert xs == sorted(xs)


def test_a_log_that_is_cut_back_falls(film):
    view = view_state(film)
    _, cut, _ = [drawn for _, drawn in trail(picture(view), "trail 1")][1:]
    assert cut[0][1] < cut[1][1]  # downwards on the page
    scissors = picture(view)["cut 1 " + str(START + 8000)]
    assert scissors.label == (
        "8.00 s: broker 1 cut its log back from 22 to 20: 2 records that its leader does not have"
    )


def test_logs_of_one_length_lie_above_each_other_and_the_high_watermark_below(film):
    view = view_state(film)
    ys = [view.offset_y(30, broker) for broker in (1, 2, 3)]
    assert len({round(y) for y in ys}) == 3
    assert max(ys) < view.offsets.y(30)


def test_nothing_after_the_head_is_drawn_and_the_scales_stand_still(film):
    early, late = view_state(film, 4500), view_state(film)
    scene = picture(early)
    for name in ("trail 1", "trail 2", "trail 3", "high watermark"):
        ends = [drawn[-1] for _, drawn in trail(scene, name)]
        assert ends[-1][0] == round(early.x)
    assert early.offsets == late.offsets
    assert early.scale == late.scale
    assert "epoch 1 2" not in scene.by_key
    assert "epoch 1 2" in picture(late).by_key
    assert f"cut 1 {START + 8000}" not in scene.by_key


def test_a_stretch_of_a_long_run(film):
    view = view_state(film, 6500, span=3)
    assert (view.scale.start, view.scale.span) == (START + 3500, 3000)
    scene = picture(view)
    assert trail(scene, "high watermark")[0][1][0][0] == view.left  # what was there before goes on
    assert scene["window"].where[2] < (view.right - view.left) / 2
    assert "window" not in picture(view_state(film)).by_key


def test_while_nobody_leads_the_high_watermark_stays_and_is_nobodys():
    tale = Tale()
    tale.is_so(5, 5, 5, committed=5)
    tale.wait(1000)
    tale.is_so(5, 5, 5, committed=5, leader=-1, epoch=1, isr=(1,))
    tale.wait(9000)
    view = view_state(tale.film())
    scene = picture(view)
    ((_, drawn),) = trail(scene, "high watermark")
    assert drawn[-1] == (view.right, round(view.offsets.y(5)))
    assert scene["epoch 1 -1"].label == "epoch 1: nobody leads from 1.00 s on"
    assert "label HW" not in scene.by_key


# -- the scale ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("least", "most", "ticks"),
    [
        (0, 0, [0, 1, 2, 3, 4]),
        (0, 30, [0, 10, 20, 30, 40]),
        (1_000_003, 1_000_005, [1_000_003, 1_000_004, 1_000_005, 1_000_006, 1_000_007]),
        (40, 1000, [0, 200, 400, 600, 800, 1000]),
    ],
)
def test_round_offsets_stand_at_the_left(least, most, ticks):
    scale = OffsetScale.over(least, most)
    assert list(scale.ticks) == ticks
    assert (scale.y(ticks[0]), scale.y(ticks[-1])) == (BOTTOM, TOP)


# -- words --------------------------------------------------------------------------------------


def words(scene, key):
    return next(it.content for it in scene[key].content if it.key == "words")


def test_each_line_says_at_its_end_what_it_is(film):
    scene = picture(view_state(film))
    assert words(scene, "label 2") == "broker 2 · leader · LEO 30"
    assert words(scene, "label 3") == "broker 3 · in sync · LEO 30"
    assert words(scene, "label HW") == "HW 30 · committed"
    scene = picture(view_state(film, 4500))
    assert words(scene, "label 1") == "broker 1 · killed · LEO 22"
    assert words(scene, "label 3") == "broker 3 · out of sync · LEO 12"


def test_on_a_narrow_page_a_line_has_a_short_name_and_is_explained_below(film):
    scene = picture(replace(view_state(film), width=400))
    assert [words(scene, f"label {it}") for it in (1, 2, 3, "HW")] == ["1", "2", "3", "HW"]
    assert words(scene, "line of label 2") == "broker 2 · leader · LEO 30"
    assert words(scene, "line of label HW") == "HW 30 · committed"
    assert "line of label 2" not in picture(view_state(film)).by_key


def test_a_moment_tells_all_its_values(film):
    view = view_state(film)
    moments = [it for it in picture(view).all() if it.look == "column"]
    edges = [(it.where[0], it.where[0] + it.where[2]) for it in moments]
    assert edges[0][0] == view.left
    assert edges[-1][1] == pytest.approx(view.right, abs=1)
    assert all(one[1] == other[0] for one, other in pairwise(edges))
    (told,) = (it for it in moments if it.label.startswith("7.00 s"))
    assert told.label == (
        "7.00 s: epoch 1, HW 25, ISR 2 3; broker 1 no answer, LEO 22; broker 2 leader, LEO 25; "
        "broker 3 in sync, LEO 25. HW rose from 12 to 25: acks=all is answered below it"
    )
    assert told.acts[0][:2] == ("goto", START + 7000)


def test_an_epoch_is_a_band_that_names_its_leader(film):
    scene = picture(view_state(film))
    assert scene["epoch 1 2"].label == "epoch 1: broker 2 leads from 6.00 s on"
    assert [it.key for it in scene["epoch 1 2"].content] == ["paper", "words"]
    assert [it.key for it in scene["epoch 0 1"].content] == ["edge", "words"]
    assert "no leader" not in about(view_state(film))
    assert about(view_state(film, 4500)) == "orders-0 · epoch 0 · nobody leads · ISR 1 2"


def test_a_failover_is_shaded_and_its_cost_told(film):
    view = view_state(film)
    shade = picture(view)[f"outage {START + 4000}"]
    assert shade.where[0] == pytest.approx(view.scale.place(START + 4000))
    assert shade.where[2] == pytest.approx((view.right - view.left) / 5)
    assert picture(view)["words 0"].content.startswith("orders-0 unavailable for 2.00 s")
    assert "killed" in picture(view)[f"event broker.killed {START + 4000}"].label


def test_where_nothing_is_it_says_so():
    film = Tale().film()
    scene = picture(view_state(film))
    assert scene["nothing"].content == "There is no orders-0 yet."


# -- below the lines ----------------------------------------------------------------------------


def test_a_dot_tells_who_is_in_sync(film):
    view = view_state(film)
    rows = {broker: [kind(view, it, broker) for it in view.columns] for broker in (1, 2, 3)}
    runs = {
        broker: [one for one, other in zip(row, [None, *row], strict=False) if one != other]
        for broker, row in rows.items()
    }
    assert runs == {
        1: ["", "lead", "gone", "out", "sync"],
        2: ["", "sync", "lead"],
        3: ["", "sync", "out", "sync"],
    }


def test_who_was_out_for_a_moment_was_out():
    tale = Tale()
    for isr in ((1, 2, 3), (1, 2), (1, 2, 3)):
        tale.wait(10)
        tale.is_so(5, 5, 5, committed=5, isr=isr)
    tale.wait(10_000)
    view = view_state(tale.film())
    assert [kind(view, it, 3) for it in view.columns][:2] == ["out", "sync"]


def test_a_tick_stands_where_the_high_watermark_rose(film):
    view = view_state(film)
    drawn = picture(view)["acks signs"].content
    xs = [float(x) + 4 for x in re.findall(r"M([\d.]+)", drawn)]
    times = [view.scale.place(START + at) for at in (1000, 2000, 3000, 7000, 9000)]
    assert [abs(x - time) <= 7 for x, time in zip(xs, times, strict=True)] == [True] * 5
    assert "answers" not in picture(view).by_key


def test_answers_have_a_row_where_they_are_known(film):
    more = [request(2500, (0, 12, 0)), request(3500, (0, -1, int(ErrorCode.not_enough_replicas)))]
    scene = picture(view_state(film, more=more))
    assert scene["answers signs"].look == "check ok still"
    assert scene["refusals signs"].look == "check bad still"
    labels = [it.label for it in scene.all() if it.look == "column"]
    assert any("Answers to till: offset 12 after 7 ms" in label for label in labels)
    assert any("Answers to till: NOT_ENOUGH_REPLICAS" in label for label in labels)


# -- room ---------------------------------------------------------------------------------------


def test_labels_keep_their_distance_and_their_order():
    ys = spread([100, 100, 101, 200, 299, 300], LABEL)
    assert all(other - one >= LABEL for one, other in pairwise(ys))
    assert ys[3] == 200
    assert ys[-1] <= BOTTOM


@pytest.mark.parametrize("count", [3, 5, 8])
def test_a_busy_partition_stays_small(count):
    tale = Tale()
    for step in range(600):
        tale.wait(100)
        end = 1_000_000 + 7 * step
        ends = [end - (step * number) % 5 for number in range(count)]
        tale.is_so(*ends, committed=min(ends), isr=range(1, count + 1))
    view = ReplicaView(tale.film(), "orders", 0)
    told = json.dumps(view.get_state(), default=str, ensure_ascii=False)
    assert len(told) < 73_000
    drawn = sum(key.startswith("label ") for key in view.picture.by_key)
    left_out = "6 replicas are drawn, 2 more are not." if count == 8 else ""
    assert (drawn - 1, view.picture.by_key.get("words 0", text("", 0, 0, "")).content) == (
        min(count, 6),
        left_out,
    )


def test_a_live_run_needs_no_more_than_it_has_seen():
    cluster, past = Cluster(partitions={}), PartitionHistory(ORDERS)
    run_source = LiveRun(cluster)
    past.see(run_source.between(run_source.start, run_source.end))
    past.add_events([event("broker.killed", 0, broker=1)])
    scene = picture(ReplicaViewState(run_source, run_source.end, True, TIME, past=past))
    assert scene.says == "broker 1 killed (SIGKILL)"


def test_no_dot_stands_behind_the_head(pytestconfig, monkeypatch):
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)
    run = Recording.load(pytestconfig.rootpath / "labs/recorded/unclean.jsonl.gz")
    view = ReplicaView(run, "orders", 0)
    for width in (928, 462, 356):
        view.fit(width)
        for share in range(1, 40):
            view.do("seek", share / 40)
            head = view.picture["head"].where[0]
            for shape in view.picture.all():
                if shape.key.startswith("dots "):
                    x, long = re.fullmatch(r"M(\S+) \S+h(\S+)", shape.content).groups()
                    last = float(x) + float(long) // 14 * 14
                    assert last <= max(head, float(x)), (width, share, shape.key)
    view.close()


def test_scissors_hang_from_where_the_log_ended(pytestconfig):
    run = Recording.load(pytestconfig.rootpath / "labs/recorded/unclean.jsonl.gz")
    view = ReplicaView(run, "orders", 0)
    (cut,) = [it for it in view.picture.all() if it.key.startswith("cut ")]
    (lost,) = [it for it in cut.content if it.key == "lost"]
    assert lost.where[1] < -20 and lost.where[3] == 0
    view.close()


# -- transactions -------------------------------------------------------------------------------


def test_an_open_transaction_holds_the_last_stable_offset_back():
    view = view_state(transactions(), 3500)
    scene = picture(view)
    ((look, drawn),) = trail(scene, "last stable offset")
    assert look == "lso"
    assert [y for _, y in drawn][-1] == round(view.offsets.y(15))
    boxes = re.findall(r"M(\d+) (\d+)H(\d+)V(\d+)H\d+z", scene["held back"].content)
    wanted = [  # of the first transaction, which wrote twice
        (view.scale.place(START + at), y(high), view.scale.place(START + at + 1000), y(10))
        for y in [view.offsets.y]
        for at, high in ((1000, 12), (2000, 14))
    ]
    assert [tuple(map(int, box)) for box in boxes] == [tuple(map(round, it)) for it in wanted]
    ends = [picture(view_state(transactions(), at))["label LSO"] for at in (2500, 3500)]
    assert [it.content[-1].content for it in ends] == ["LSO 10 · stable", "LSO 15 · stable"]
    assert "HW 14, LSO 10, ISR 1 2 3" in " ".join(it.label for it in scene.all() if it.label)


def test_where_no_transaction_was_seen_there_is_no_last_stable_offset():
    tale = Tale()
    tale.is_so(5, 5, 5, committed=5, stable=5)
    tale.wait(1000)
    for film in (failover(), tale.film()):
        scene = picture(view_state(film))
        assert "label LSO" not in scene.by_key and "held back" not in scene.by_key
        assert "last stable offset" not in " ".join(map(str, (it.content for it in scene.all())))
