"""StreamView's picture of two real queries: everything said, nothing on top of anything."""

import json
from dataclasses import replace
from itertools import count

import pytest

from tests.unit.widgets.readable import check_texts, extents
from tests.unit.widgets.test_stream_history import batch, folded, kafka, reports
from widgets.stream import batches, lists
from widgets.stream.history import QueryHistory
from widgets.stream.layout import StreamViewState
from widgets.stream.scene import header, picture
from widgets.stream.table import compared

ACTS = frozenset({"seek", "back", "forward"})
PIZZAS = ("margherita", "funghi", "salami", "vegetarian")


def furnished(told):
    """With the records of each batch and the table after it, as a cluster and a table give them."""
    number, counts, before, since = count(), {}, [], None
    for each in told:
        if "addBatch" not in each["durationMs"]:
            continue
        records = []
        for _ in range(sum(it["numInputRows"] for it in each["sources"])):
            place = next(number)
            pizza = PIZZAS[place * 7 % 4]
            counts[pizza] = counts.get(pizza, 0) + 1
            records.append([f"orders-{place % 2}", place // 2, pizza, f'{{"n": {place}}}'])
        rows = [{"pizza": name, "count": it} for name, it in counts.items()]
        table = compared(before, rows, since).plain()
        before, since = rows, each["batchId"]
        yield each | {"records": records[-12:], "table": table}


def view_state(told, head=None, **facts):
    history = told if isinstance(told, QueryHistory) else folded(told)
    sides = {"has_records": facts.pop("sides", False)}
    return StreamViewState(
        history, head, ACTS, "orders", has_table=sides["has_records"], **sides, **facts
    )


def furnished_scenery(head=None, **facts):
    return view_state(furnished(reports("windowed")), head, sides=True, rows=12, **facts)


def words_of(scene):
    return [it.content for it in scene.all() if it.kind == "text"]


def wide_batches(count):
    """With all that a picture has room for."""
    rows = [{f"column {n}": "w" * 60 for n in range(12)} | {"id": row} for row in range(40)]
    table = compared([], rows, 0).plain()
    records = [[f"orders-{n}", 10**9, "k" * 60, "v" * 60] for n in range(12)]
    sources = [kafka(None, {"orders": {"0": 10**9}}, None, 10**9)]
    return [batch(n, table=table, records=records, sources=sources) for n in range(count)]


SPECIAL = {
    "no batch": [],
    "failed at once": [{"ended": "ApiException: there is no topic ordres. " * 4, "failed": True}],
    "no state": [batch(0, sources=[{"description": "RateStreamV2[x]", "numInputRows": 3}])],
    "three operators": [
        batch(
            0,
            stateOperators=[
                {"operatorName": it} for it in ("stateStoreSave", "dedupe", "globalLimit")
            ],
        )
    ],
    "much": [
        batch(
            0,
            stateOperators=[{"operatorName": "x" * 30, "numRowsTotal": 10**9}] * 5,
            sources=[
                kafka(
                    None,
                    {f"topic-{n}-{'o' * 40}": {str(p): 10**12 for p in range(40)}},
                    None,
                    10**9,
                )
                for n in range(5)
            ],
            sink={"description": "s" * 90, "numOutputRows": 10**9},
        )
    ],
}


@pytest.mark.parametrize("width", [320, 842])
@pytest.mark.parametrize("name", SPECIAL)
def test_every_text_can_be_read(name, width):
    check_texts(picture(view_state(SPECIAL[name], width=width)))


def test_a_batch_in_words_and_numbers():
    scene = picture(furnished_scenery(4))
    said = words_of(scene)
    for words in ("orders", "aggregate", "80 rows", "52/s", "13 rows", "80 records still to read"):
        assert words in said
    assert said.count("+40") == 2
    for words in ("17 rows of state", "Batch 4: 80 rows in 1.54 s.", "run 1313 ms", "batch 4"):
        assert words in said
    assert "the last 12 of 80 rows" in said
    assert "10 → 30" in said
    assert "watermark 08:00:20" in said
    assert scene["source 0"].label == "orders: 80 rows read, 80 records still to read"
    assert (
        scene["partition orders-1"].label
        == "orders-1: read from 20 to 60; 40 records behind the end"
    )


def test_rows_run_only_where_there_are_some():
    with_rows, without = (picture(furnished_scenery(head)) for head in (5, 6))
    moving = [it.key.split(" ")[:2] for it in with_rows.all() if it.kind == "travel"]
    assert ["row", "in"] in moving
    assert ["row", "out"] in moving
    assert not [it for it in without.all() if it.kind == "travel"]
    assert (with_rows["link in 0"].look, without["link in 0"].look) == ("link", "quiet")


def test_the_bar_of_a_partition_is_read_before_read_now_and_left():
    share = picture(furnished_scenery(4))["partition orders-0"]
    (bar,) = (it for it in share.content if it.key == "bar")
    inside = {it.key: it for it in bar.content}
    whole, before, now = (inside[key].where for key in ("all", "before", "now"))
    assert [round(it[2] / whole[2], 2) for it in (before, now)] == [0.2, 0.4]
    assert now[0] == before[0] + before[2]


def test_late_rows_and_dropped_state_are_said():
    late, dropped = words_of(picture(furnished_scenery(7))), words_of(picture(furnished_scenery(6)))
    assert "▲ 1 row too late" in late
    assert "1 row came behind the watermark, too late to count." in " ".join(late)
    assert "0 updated, 12 dropped" in dropped
    assert "Batch 6 had no rows" in " ".join(dropped)
    assert "The watermark is now at 08:03:00." in " ".join(dropped)


def test_what_spark_doesnt_tell_is_a_question_mark():
    sink = {"description": "ForeachBatchSink", "numOutputRows": -1}
    scene = picture(
        view_state([batch(0, sink=sink, sources=[kafka(None, {"orders": {"0": 5}}, None, 3)])])
    )
    assert "? rows" in words_of(scene)
    assert "rows are not counted" in words_of(scene)
    assert scene["partition orders-0"].label == "orders-0: read from where the query began to 5"
    assert not [it for it in words_of(scene) if "still to read" in it]


def test_marks_differ_in_shape_and_weight():
    rows = [{"k": name, "n": 1} for name in "abc"]
    table = compared(rows, [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "d", "n": 1}], 0).plain()
    told = [batch(1, table=table, records=[["orders-0", 3, "b", "tea"]])]
    scene = picture(view_state(told, sides=True))
    assert [it.content for it in scene.all() if it.key == "mark"] == ["△", "−", "+"]
    changed = {it.key: it for it in scene["row 1"].content}
    assert (changed["cell 0"].look, changed["cell 1"].look) == ("small still", "small bold still")
    assert changed["cell 1"].content == "1 → 2"
    gone = {it.key: it for it in scene["row 2"].content}
    assert "dim" in gone["cell 0"].look
    assert [it.key for it in scene["row 0"].content if it.key.startswith("glow")] == []
    assert "3 rows, 3 changed" in words_of(scene)


def test_a_record_and_the_row_of_its_key_are_kin():
    scene = picture(furnished_scenery(4))
    kin = {it.kin for it in scene["record 0"].content if it.kin}
    rows = [scene[f"row {number}"].content for number in range(4)]
    assert kin & {it.kin for row in rows for it in row}


def test_records_that_are_gone_are_missed():
    told = batch(0, records=[], sources=[kafka(None, {"orders": {"0": 3}}, None, 3)])
    assert "3 rows, none found any more" in words_of(picture(view_state([told], sides=True)))


def test_a_table_that_was_not_looked_at_says_so():
    first, second = furnished(reports("windowed")[:2])
    second["table"] = None
    said = words_of(picture(view_state([first, second], 1, sides=True)))
    assert "Not looked at: the next batch was done too soon." in said


def test_a_table_seen_after_several_batches_says_since_when():
    table = compared([], [{"a": 1}], since=2).plain()
    said = words_of(picture(view_state([batch(7, table=table)], sides=True)))
    assert "1 row, 1 changed since batch 2" in said


def test_a_query_without_a_batch_says_what_it_does():
    said = words_of(picture(view_state([], status="Initializing sources")))
    assert said == ["No batch is done yet.", "Initializing sources"]
    failed = [{"ended": "ApiException: there is no topic ordres.", "failed": True}]
    scene = picture(view_state(failed))
    assert words_of(scene) == ["No batch was done.", "ApiException: there is no topic ordres."]
    assert scene["status 0"].look == "bad"
    assert header(view_state(failed)) == "orders · failed"


@pytest.mark.parametrize(("failed", "sign"), [(True, "▲ "), (False, "■ ")])
def test_the_end_is_seen_at_the_end_only(failed, sign):
    told = [*reports("join"), {"ended": "It is over.", "failed": failed}]
    end, back = view_state(told), view_state(told, 1)
    assert f"{sign}It is over." in words_of(picture(end))
    assert picture(end).says == "It is over."
    assert f"{sign}It is over." not in words_of(picture(back))
    assert header(end) == f"orders · batch 3 · lag 0 · {'failed' if failed else 'ended'}"
    assert header(back) == "orders · batch 1 · lag 10 · looking back"


def test_a_live_query_speaks_up_for_late_rows_only():
    told = reports("windowed")
    assert picture(view_state(told[:5])).says == ""
    assert "too late to count" in picture(view_state(told[:8])).says
    assert picture(view_state(told, 4)).says == "Batch 4: 80 rows in 1.54 s."


@pytest.mark.parametrize("watermark", ["08:00:00", "08:30:00"])
def test_the_words_of_a_watermark_stay_in_their_strip(watermark):
    day = "2026-11-22T{}.000Z".format
    times = {"min": day("08:00:00"), "max": day("08:30:00"), "watermark": day(watermark)}
    what = view_state([batch(0, eventTime=times)])
    found = extents(picture(what).shapes)
    ((left, right),) = [(it[1], it[3]) for it in found if it[0].content == f"watermark {watermark}"]
    assert left >= what.columns[1].left
    assert right <= what.right


def test_the_timeline_has_a_bar_a_batch_and_a_head():
    scene = picture(furnished_scenery(4))
    bars = [it for it in scene.shapes if it.key.startswith("batch ")]
    assert len(bars) == 13
    high = [it.where[3] if it.kind == "rect" else 0 for it in bars]
    assert high[4] == max(high)
    assert high[6] == 0
    assert [it.key.split()[-1] for it in scene.shapes if it.key.startswith("late ")] == ["7"]
    assert scene["head"].where[0] == bars[4].where[0] + bars[4].where[2] / 2
    assert (scene["timeline"].drag, [it.name for it in scene["timeline"].acts]) == (
        "seek",
        ["back", "forward"],
    )
    assert scene["timeline"].label == "batch 4, 5 of 13; arrows step"


def test_of_a_long_run_the_batches_about_the_head_are_drawn():
    told = view_state([batch(number) for number in range(400)])
    assert batches.window(told) == range(280, 400)
    assert batches.window(replace(told, head=100)) == range(40, 160)
    assert batches.window(replace(told, head=3)) == range(120)


def test_the_lists_take_no_room_where_nobody_asks_for_them():
    assert lists.height(view_state(reports("join"))) == 0
    assert lists.height(furnished_scenery()) > 12 * lists.ROW
    without = picture(view_state(reports("windowed"), 4))
    assert not [it for it in words_of(without) if it.startswith("The table")]


def test_a_picture_stays_small():
    scene = picture(view_state(wide_batches(200), sides=True, rows=12))
    assert len(json.dumps(scene.rows(), separators=(",", ":"))) < 32_000
    assert "12 of 40 rows, 40 changed since batch 0" in words_of(scene)
    assert [scene[f"column {at}"].content for at in (0, 4, 5)] == [
        "column 0",
        "column 4",
        "+8 more",
    ]
    assert [it.key for it in scene["row 0"].content][-1] == "cell 4"
