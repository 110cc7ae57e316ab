"""Every button of StreamView is pressed, on a query that is only told of."""

import json
import time

import pytest

from tests.interop.watch import threads, until
from tests.unit.widgets.test_stream_history import batch, reports
from widgets import StreamView
from widgets.stream import feed, last_records
from widgets.stream.history import SampleRecord

FAILURE = "[BAD] ApiException: there is no topic ordres. See the list. SQLSTATE: 1\n=== Streaming"


class Query:
    """What StreamView asks of Spark's StreamingQuery."""

    name = "orders_per_window"

    def __init__(self, told=()):
        self.told, self.asked = list(told), 0
        self.isActive, self.failure, self.message = True, None, "Waiting for next trigger"

    @property
    def status(self):
        self.asked += 1
        return {"message": self.message, "isDataAvailable": False, "isTriggerActive": False}

    @property
    def lastProgress(self):
        return Progress(self.told[-1]) if self.told else None

    @property
    def recentProgress(self):
        return list(map(Progress, self.told[-100:]))

    def exception(self):
        return self.failure

    def end(self, failure=None):
        self.isActive, self.failure = False, failure


class Progress:
    """As Spark has it: an object, with its JSON."""

    def __init__(self, told):
        self.json = json.dumps(told)


class Table:
    """A table that changes with the query."""

    def __init__(self):
        self.counts, self.asked, self.trouble = {"funghi": 1}, 0, None

    def __call__(self):
        self.asked += 1
        if self.trouble:
            raise self.trouble
        return [{"pizza": name, "count": count} for name, count in self.counts.items()]


@pytest.fixture
def query():
    return Query(reports("windowed")[:5])


@pytest.fixture
def view(query):
    view = StreamView(query)
    yield view
    view.close()
    until(lambda: not view._looks)


def press(view, act, *on):
    """As the page does."""
    view._heard(view, {"act": act} | ({"on": on[0]} if on else {}), [])
    assert view.trouble == ""


def seen(view):
    """Which batch is shown."""
    return int(view.picture["clock"].content.removeprefix("batch "))


def buttons(view):
    return {it["act"]: it for it in view.controls}


def words_of(view):
    return [it.content for it in view.picture.all() if it.kind == "text"]


def test_the_newest_batch_is_shown_as_they_come(view, query):
    assert seen(view) == 4
    assert view.about == "orders_per_window · batch 4 · lag 80 · waits for its turn"
    query.told += reports("windowed")[5:8]
    query.message = "Processing new data"
    assert view.poll()
    assert seen(view) == 7
    assert view.about == "orders_per_window · batch 7 · lag 0 · works"
    assert "too late to count" in view.said


def test_a_picture_that_would_be_the_same_is_not_drawn_again(view, query):
    before = view.picture
    view.poll()
    assert view.picture is before
    query.told.append(reports("windowed")[13] | {"batchId": 5})  # nothing was to be done
    view.poll()
    assert view.picture is before


def test_back_forward_begin_and_live(view, query):
    assert buttons(view)["live"]["pressed"]
    press(view, "back")
    assert seen(view) == 3
    assert not buttons(view)["live"]["pressed"]
    query.told += reports("windowed")[5:8]
    view.poll()
    assert seen(view) == 3  # who looks back is left there
    press(view, "forward")
    assert seen(view) == 4
    press(view, "begin")
    assert seen(view) == 0
    press(view, "back")
    assert seen(view) == 0
    press(view, "live")
    assert seen(view) == 7
    assert "live" not in view.about
    query.told += reports("windowed")[8:9]
    view.poll()
    assert seen(view) == 8


def test_forward_from_the_last_but_one_is_live_again(view):
    press(view, "back")
    press(view, "forward")
    assert buttons(view)["live"]["pressed"]
    press(view, "forward")
    assert seen(view) == 4


@pytest.mark.parametrize(("share", "number"), [(0, 0), (0.5, 2), (0.99, 4), (1, 4)])
def test_the_timeline_is_dragged(view, share, number):
    press(view, "begin")
    press(view, "seek", share)
    assert seen(view) == number
    assert buttons(view)["live"]["pressed"] is (number == 4)


def test_before_the_first_batch_there_is_nothing_to_step_through():
    view = StreamView(Query())
    assert all(it.get("off") for act, it in buttons(view).items() if act != "live")
    for act in ("begin", "back", "forward", "play", "live"):
        press(view, act)
    press(view, "seek", 0.5)
    assert "No batch is done yet." in words_of(view)
    view.close()


def test_a_run_is_played_batch_by_batch_to_its_end(view):
    press(view, "play")
    assert (seen(view), buttons(view)["play"]["words"]) == (0, "❙❙")
    start = time.monotonic()
    shown = []
    for step in range(1, 6):
        view.advance(start + step * 10)
        shown.append(seen(view))
    assert shown == [1, 2, 3, 4, 4]
    assert buttons(view)["play"]["words"] == "▸"
    assert buttons(view)["live"]["pressed"]


def test_playing_waits_for_its_turn_and_is_paused(view):
    press(view, "play")
    view.advance(time.monotonic())
    assert seen(view) == 0
    press(view, "play")
    view.advance(time.monotonic() + 100)
    assert seen(view) == 0
    press(view, "play")
    press(view, "forward")
    view.advance(time.monotonic() + 100)
    assert seen(view) == 1  # a step is the end of playing


def test_nothing_else_can_be_called_from_the_page(view):
    view._heard(view, {"act": "moments"}, [])
    assert view.trouble.startswith("There is no 'moments' here")


# -- the end -----------------------------------------------------------------------------------


def test_a_query_that_stopped_says_so_and_is_asked_no_more(view, query):
    query.told += reports("windowed")[5:6]
    query.end()
    assert not view.poll()
    assert seen(view) == 5  # the last batch was not missed
    assert "■ The query has stopped." in words_of(view)
    assert view.said == "The query has stopped."
    assert buttons(view)["live"]["words"] == "▸▸"
    asked = query.asked
    assert not view.poll()
    assert query.asked == asked


def test_a_query_that_failed_shows_the_first_sentence(view, query):
    query.end(ValueError(FAILURE))
    view.poll()
    assert "▲ ApiException: there is no topic ordres." in words_of(view)
    assert view.about.endswith("failed")
    press(view, "back")
    assert seen(view) == 3


def test_spark_that_is_gone_is_an_end_too(view, query):
    del query.isActive
    assert not view.poll()
    assert "▲ Spark answers no more (AttributeError)." in words_of(view)


def test_the_thread_ends_with_the_query(view, query):
    before = threads("refresh StreamView")
    view._heard(view, {"watch": "one", "on": True}, [])
    query.told += reports("windowed")[5:7]
    until(lambda: seen(view) == 6)
    query.end()
    until(lambda: not view._looks)
    assert threads("refresh StreamView") <= before
    assert "■ The query has stopped." in words_of(view)


# -- beside it ---------------------------------------------------------------------------------


@pytest.fixture
def table():
    return Table()


@pytest.fixture
def with_table(query, table):
    view = StreamView(query, table=table)
    yield view
    view.close()


def test_the_table_is_asked_once_a_batch_and_compared(with_table, query, table):
    view = with_table
    assert table.asked == 1
    view.poll()
    assert table.asked == 1
    table.counts = {"funghi": 2, "salami": 1}
    query.told += reports("windowed")[5:6]
    view.poll()
    assert table.asked == 2
    assert "1 → 2" in words_of(view)
    assert "2 rows, 2 changed" in words_of(view)
    press(view, "back")
    assert "1 → 2" not in words_of(view)
    assert "1 row, unchanged" in words_of(view)
    press(view, "back")
    assert "Not looked at: the next batch was done too soon." in words_of(view)


def test_a_table_from_before_the_first_batch_on_is_new_as_a_whole(table):
    view = StreamView(Query([batch(0)]), table=table)
    assert "1 row, 1 changed" in words_of(view)
    view.close()


def test_a_table_that_cannot_be_had_is_reported_and_holds_nothing_up(with_table, query, table):
    view, table.trouble = with_table, ValueError("no such table: t. Look again.")
    query.told += reports("windowed")[5:6]
    assert view.poll()
    assert view.trouble == "No table: no such table: t."
    assert seen(view) == 5
    table.trouble = None
    query.told += reports("windowed")[6:7]
    view.poll()
    assert view.trouble == ""


def test_records_are_asked_of_the_brokers_for_each_batch(query, monkeypatch):
    asked = []

    def tail(consumer, shares, rows):
        asked.append([(str(it), it.start, it.end) for it in shares])
        return [SampleRecord("orders-0", 3, "funghi", "{}")]

    class Brokers:
        def __init__(self, config):
            assert config["bootstrap.servers"] == "127.0.0.1:9092,127.0.0.1:9093"

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(feed, "tail", tail)
    monkeypatch.setattr(feed, "Consumer", Brokers)
    monkeypatch.setattr(feed, "MOST", 2)
    view = StreamView(query, "127.0.0.1:9092,127.0.0.1:9093")
    assert asked[-1] == [("orders-0", 20, 60), ("orders-1", 20, 60)]
    assert len(asked) == 2
    assert "orders-0 @ 3" in words_of(view)
    query.told += reports("windowed")[6:7]  # without rows: nobody needs to be asked
    monkeypatch.delattr(feed, "Consumer")
    view.poll()
    assert view.trouble == ""
    assert "0 rows" in words_of(view)
    press(view, "begin")
    assert "not looked at" in words_of(view)
    view.close()


def test_brokers_that_cannot_be_reached_are_reported(query, monkeypatch):
    monkeypatch.setattr(last_records, "PATIENCE", 0.05)
    view = StreamView(query, "127.0.0.1:1")
    assert view.trouble.startswith("No records: ")
    assert seen(view) == 4
    view.close()
