"""A run of a query that was kept as plain JSON, and what is left of one that is long."""

import json
import time

from tests.interop.watch import until
from tests.unit.widgets.test_stream_history import batch, reports
from tests.unit.widgets.test_stream_view import FAILURE, Query, Table, press, seen, words_of
from widgets import StreamView
from widgets.stream import history


def test_a_kept_run_is_played_without_spark():
    query, table = Query(reports("windowed")[:5]), Table()
    first = StreamView(query, table=table)
    query.told += reports("windowed")[5:8]
    table.counts["salami"] = 5
    first.poll()
    query.end(ValueError(FAILURE))
    kept = json.loads(json.dumps(first.moments()))
    first.close()

    again = StreamView.replay(kept)

    assert again.picture.rows()["shapes"] == first.picture.rows()["shapes"]
    assert not again.poll()
    assert again.moments() == kept
    press(again, "begin")
    assert seen(again) == 0
    press(again, "live")
    assert "5" in words_of(again)
    press(again, "play")
    assert again.advance(time.monotonic() + 10)
    assert seen(again) == 1
    assert "<svg" in again.svg()


def test_what_spark_reported_is_a_kept_run():
    again = StreamView.replay(reports("join"), into="paid")
    assert seen(again) == 3
    assert again.about == "paid · batch 3 · lag 0"
    assert "paid" in words_of(again)


def test_a_kept_run_plays_by_itself_while_it_is_watched(monkeypatch):
    monkeypatch.setattr("widgets.stream.view.StreamView.PACE", 0.01)
    view = StreamView.replay(reports("join"))
    view._heard(view, {"watch": "one", "on": True}, [])
    press(view, "begin")
    press(view, "play")
    until(lambda: seen(view) == 3 and not view._looks)
    view.close()


def test_a_head_stays_where_it_is_when_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(history, "MOST", 3)
    query = Query([batch(number) for number in range(3)])
    view = StreamView(query)
    press(view, "back")
    query.told.append(batch(3))
    view.poll()
    assert seen(view) == 1
    query.told += [batch(4), batch(5)]
    view.poll()
    assert seen(view) == 3  # its batch is forgotten: the oldest there is
    press(view, "forward")
    assert seen(view) == 4
    view.close()


def test_the_figure_has_all_batches():
    view = StreamView(Query(reports("windowed")))
    figure = view.figure()
    view.close()
    lines = {it.name: it for it in figure.data}
    assert list(lines["lag"].x) == list(range(13))
    assert lines["lag"].y[4] == 80
    assert [round(it) for it in (lines["in"].y[4], lines["out"].y[4])] == [52, 8]
    assert lines["state"].y[4] == 17
    assert lines["run"].y[4] == 1.313
    assert lines["watermark"].y[0] is None
    assert lines["watermark"].y[4].strftime("%H:%M:%S") == "08:00:20"
    assert figure.layout.barmode == "stack"
    assert "batch 0: 36.8 s" in [it.text for it in figure.layout.annotations]  # its bar is cut
    assert {it.text for it in figure.layout.annotations} >= {"rows a second", "event time"}


def test_a_figure_of_a_query_without_state_or_batches():
    assert len(StreamView.replay([]).figure().data) > 0
    rates = [batch(0, sources=[{"description": "RateStreamV2[x]", "numInputRows": 3}])]
    lines = {it.name: it for it in StreamView.replay(rates).figure().data}
    assert (list(lines["lag"].y), list(lines["state"].y), list(lines["out"].y)) == ([None],) * 3


def test_a_saved_notebook_stays_small():
    told = [it | {"runId": str(turn)} for turn in range(10) for it in reports("windowed")]
    told[-2]["table"] = {
        "columns": ["a"],
        "lines": [["", ["b" * 40], []]] * 12,
        "count": 12,
        "marked": 0,
        "since": None,
    }
    told[-2]["records"] = [["orders-0", number, "k" * 40, "v" * 60] for number in range(12)]
    view = StreamView.replay(told)
    assert len(json.dumps(view.get_state(), default=str, ensure_ascii=False)) < 73_000
    assert seen(view) == 12
