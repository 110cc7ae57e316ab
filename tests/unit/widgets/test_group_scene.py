"""The picture of a group: lanes, threads, bands; nothing covers anything, all of it has words."""

import re
from itertools import pairwise

import pytest

from engine.cluster.state import GroupState, MemberState
from tests.unit.widgets.cluster import START, state, topic
from tests.unit.widgets.test_group_history import IDS, joins, member, preparing, stable, told
from widgets.group.lag import lags
from widgets.group.layout import MOST_LANES, MOST_THREADS, TOP, DeedMark, GroupViewState, Rows
from widgets.group.scene import about, picture
from widgets.group.threads import hue


def story():
    return [
        *joins(0, "c1"),
        *stable(10, 1, c1="0123"),
        *joins(2000, "c2"),
        *stable(2500, 2, c1="01", c2="23"),
    ]


def group(offsets, **shares):
    members = {
        IDS[name]: MemberState(
            name, "/127.0.0.1", None, tuple(f"orders-{it}" for it in told), False
        )
        for name, told in shares.items()
    }
    facts = (1, 0, "Stable", START, 2, "range", IDS["c1"], members, offsets)
    return GroupState(*facts)


def view_state(events=None, at=8000, **facts):
    groups = {"g": group({"orders-0": 10, "orders-1": 4}, c1="01", c2="23")}
    whole = state(topic("orders", 4), at=START + at, groups=groups)
    defaults = {"live": True, "acts": frozenset({"add", "kill", "freeze", "thaw", "stop"})}
    return GroupViewState(told(events or story()), whole, START + at, **defaults | facts)


OURS = {"statuses": (("c1", "reading"), ("c2", "reading"))}


def words(scene):
    return " | ".join(str(it.content) for it in scene.all() if it.kind == "text")


def test_a_thread_runs_on_or_crosses_over():
    scene = picture(view_state())
    stays, moves = scene["thread orders-0"].content, scene["thread orders-2"].content
    assert "C" not in stays
    (start, end) = re.search(r"C\S+ (\S+) \S+ \S+ \S+ (\S+)$", str(moves)).groups()
    assert float(end) - float(start) > 40  # from lane to lane
    assert scene["thread orders-2"].label == "orders-2: c2 has it now"


def test_a_band_is_as_wide_as_the_rebalance_lasted_and_tells_what_it_cost():
    here = view_state()
    scene, band = picture(here), "round 1700000002000"
    whole = here.scale.width / here.scale.span
    widths = [it.where[2] for it in scene[band].content if it.key == "band"]
    assert widths == [pytest.approx(500 * whole)]
    assert "2 moved | 0.50 s | c2 joins" in words(scene)
    assert scene[band].label == (
        "Generation 2 (range), because c2 joins: everybody stands still for 0.50 s, "
        "2 of 4 partitions move."
    )
    assert scene[band].label == scene.says


def test_costs_that_have_no_room_beside_each_other_are_left_to_the_tooltip():
    events = [*joins(0, "c1"), *stable(10, 1, c1="0")]
    for turn in range(1, 40):
        events += [preparing(turn * 200, "c1 joins again"), *stable(turn * 200 + 90, turn, c1="0")]
    here = view_state(events)
    scene = picture(here)
    spots = sorted(
        (scene[key].where[0] + it.where[0])
        for key in (f"round {each.began}" for each in here.rounds)
        for it in scene[key].content
        if it.key == "moved"
    )
    assert 2 < len(spots) < 40
    assert all(other - one > 50 for one, other in pairwise(spots))
    assert len([it for it in scene.all() if it.key.startswith("round ")]) == 40


def test_no_two_threads_share_a_row():
    here = view_state()
    rows = Rows(here)
    found = [
        (rows.y(it), it.start, it.end or here.now) for each in rows.spells.values() for it in each
    ]
    for one in found:
        for other in found:
            apart = one is other or one[0] != other[0]
            assert apart or one[2] <= other[1] or other[2] <= one[1]
    ends = [(rows.top[it], rows.top[it] + rows.height[it]) for it in here.lanes]
    assert ends[0][1] < ends[1][0]
    assert all(
        ends[0][0] <= rows.y(it) <= ends[1][1] for each in rows.spells.values() for it in each
    )


def test_what_a_killed_consumer_has_is_pale_until_the_group_finds_out():
    killed = (DeedMark(START + 3000, "c2", "kill"),)
    events = [
        *story(),
        member(9000, "c2", "expired"),
        preparing(9000, f"{IDS['c2']} expired"),
        *stable(9100, 3, c1="0123"),
    ]
    waits = picture(view_state(statuses=(("c1", "reading"), ("c2", "killed")), marks=killed))
    assert waits["unread orders-2"].look == "kept written"
    assert "unread orders-0" not in waits.by_key
    assert waits["consumer c2"].label == "consumer c2: killed, has orders-2, orders-3"
    assert "killed, not missed yet" in words(waits)
    assert waits["consumer c2"].acts == ()

    over = picture(view_state(events, 10_000, statuses=(("c2", "killed"),), marks=killed))
    assert "What c2 had was read by nobody for 6.10 s, of which 6.00 s passed until" in words(over)
    assert over["mark kill c2 1700000003000"].label == "3.0 s: c2 killed (SIGKILL)"


def test_a_thawed_consumer_reads_again():
    marks = (DeedMark(START + 3000, "c2", "freeze"), DeedMark(START + 4000, "c2", "thaw"))
    frozen = view_state(marks=marks[:1], statuses=(("c2", "frozen"),))
    assert [act.name for act in picture(frozen)["consumer c2"].acts] == ["thaw", "kill"]
    assert frozen.away("c2") == [(START + 3000, START + 8000)]
    assert view_state(marks=marks).away("c2") == [(START + 3000, START + 4000)]


def test_only_those_that_were_started_here_can_be_killed():
    scene = picture(view_state(statuses=(("c1", "reading"),)))
    assert [act.name for act in scene["consumer c1"].acts] == ["kill", "freeze", "stop"]
    assert scene["consumer c2"].acts == ()
    assert picture(view_state(acts=frozenset(), **OURS))["consumer c1"].acts == ()


def test_lag_stands_beside_each_thread():
    here = view_state()
    assert dict(lags(here.state, here.group)) == {
        "orders-0": 0,
        "orders-1": 6,
        "orders-2": 10,
        "orders-3": 10,
    }
    scene = picture(here)
    assert scene["lag orders-1"].label == "orders-1: c1 has 6 records still to read"
    rows = Rows(here)
    assert scene["lag orders-1"].where == (here.right + 6, rows.y(rows.spells["orders-1"][-1]))
    assert about(here) == "g · Stable · generation 2 · range · 2 consumers · lag 26"


def test_colours_repeat_dashed_and_each_thread_has_its_number():
    assert len({hue(number) for number in range(8)}) == 8
    scene = picture(view_state())
    numbers = [it for it in scene.shapes if it.key.startswith("number ")]
    assert sorted(it.content[1].content for it in numbers) == ["0", "1", "2", "2", "3", "3"]


def test_a_topic_that_comes_later_changes_no_colour():
    later = stable(3100, 3, c1="01", c2="23")
    later[1].data["shares"][IDS["c1"]].append("apples-0")
    joined = [*story(), preparing(3000, f"{IDS['c1']} joins again"), *later]
    before, after = picture(view_state()), picture(view_state(joined))
    threads = [f"thread orders-{number}" for number in range(4)]
    assert [after[it].look for it in threads] == [before[it].look for it in threads]
    assert after["lag orders-0"].content[0].content == "o0"  # and the topic is told


def test_an_empty_group_says_what_to_do():
    here = GroupViewState(told([]), state(), START, True, acts=frozenset({"add"}))
    assert "Nobody reads yet. Add a consumer." in words(picture(here))
    assert about(here) == "g · not there yet"


def test_a_group_that_all_have_left_is_not_one_that_nobody_reads_yet():
    left = [*joins(0, "c1"), *stable(10, 1, c1="0123"), member(4000, "c1", "left")]
    empty = [preparing(4000, f"{IDS['c1']} left"), *stable(4000, 2)]
    empty[1].data["now"] = "Empty"
    scene = picture(GroupViewState(told([*left, *empty]), state(), START + 300_000, True))
    assert "Nobody reads now." in words(scene)
    assert "The group is empty, because c1 left." in words(scene)


def test_one_record_is_no_records():
    groups = {"g": group({"orders-0": 9, "orders-1": 8}, c1="01", c2="23")}
    whole = state(topic("orders", 4), at=START + 8000, groups=groups)
    scene = picture(GroupViewState(told(story()), whole, START + 8000, True))
    assert scene["lag orders-0"].label == "orders-0: c1 has 1 record still to read"
    assert scene["lag orders-1"].label == "orders-1: c1 has 2 records still to read"


def test_a_large_group_is_summarised():
    ids = {f"c{n}": f"c{n}-00000000-1111-2222-3333-{n:012d}" for n in range(30)}
    shares = {
        id: [f"orders-{n * 40 + it}" for it in range(40)] for n, id in enumerate(ids.values())
    }
    one = stable(10, 1)[1]
    events = [
        preparing(0, "many join"),
        one._replace(data=one.data | {"shares": shares}),
        stable(10, 1)[0],
    ]
    here = view_state(events)
    scene = picture(here)
    assert len(here.lanes) == MOST_LANES
    assert f"{MOST_THREADS} partitions are drawn, 1,140 more are not." in words(scene)
    assert scene.height < 1400
    lanes = [it.content[0] for it in scene.shapes if it.key.startswith("lane ")]
    assert len(lanes) == MOST_LANES and all(it.where[1] >= TOP for it in lanes)


def test_the_clock_jumps_and_then_slides():
    young, old = view_state(at=8000), view_state(at=200_000, events=story())
    assert (young.scale.start, young.scale.span) == (START, 10_000)
    assert old.scale.span == 60_000
    assert old.scale.start + old.scale.span >= old.now
    assert view_state(at=200_001).scale == view_state(at=205_000).scale
