"""What Spark reported of two real queries, folded into moments.

stream_windowed.json counted orders by window: bursts, pauses, one order that came too late.
stream_join.json joined orders with payments, with all that there was.
"""

import json
from pathlib import Path

import pytest

from widgets.stream import history, words
from widgets.stream.history import QueryHistory

HERE = Path(__file__).parent
STARTED = {"name": "q", "timestamp": "2026-11-22T08:00:00.000Z", "runId": "one"}


def reports(name):
    return json.loads((HERE / f"stream_{name}.json").read_text())


def folded(told):
    found = QueryHistory()
    for each in told:
        found.add(each)
    return found


def batch(number, **facts):
    """What Spark says of a batch that is done."""
    return {**STARTED, "batchId": number, "durationMs": {"addBatch": 5}, **facts}


def kafka(start, end, latest, rows=0):
    offsets = {"startOffset": start, "endOffset": end, "latestOffset": latest}
    return {"description": "org.x.PythonMicroBatchStream@1", "numInputRows": rows, **offsets}


@pytest.fixture(scope="module")
def windowed():
    return folded(reports("windowed"))


def test_each_batch_has_one_moment_and_idleness_has_none(windowed):
    told = reports("windowed")
    assert [it["batchId"] for it in told] == list(range(14))
    assert [it.batch for it in windowed.moments] == list(range(13))
    assert not windowed.add(told[-1])  # nothing was to be done
    assert not windowed.add(told[5])  # is known
    assert len(windowed.moments) == 13


def test_a_batch_is_reported_in_full(windowed):
    fifth = windowed.moments[4]
    (source,), (state,) = fifth.sources, fifth.states
    assert (source.name, fifth.rows, fifth.rows_out, fifth.sink) == ("orders", 80, 13, "memory")
    shares = [(str(it), it.start, it.end, it.latest, it.lag) for it in source.shares]
    assert shares == [("orders-0", 20, 60, 100, 40), ("orders-1", 20, 60, 100, 40)]
    assert fifth.lag == 80
    assert (state.operator, state.rows, state.updated, state.removed) == (
        "stateStoreSave",
        17,
        13,
        0,
    )
    assert fifth.took == 1539
    assert round(fifth.rate) == 52
    assert round(fifth.rate_out) == 8
    assert words.clocks([fifth.watermark, *fifth.event_times]) == [
        "08:00:20",
        "08:00:41",
        "08:02:00",
    ]


def test_the_parts_of_a_batch_stand_in_their_order_and_sum_up_to_it(windowed):
    names = [name for name, _ in windowed.moments[4].parts]
    assert names[:6] == [
        *("latestOffset", "getBatch", "walCommit", "queryPlanning", "addBatch", "commitOffsets")
    ]
    for it in windowed.moments:
        assert sum(spent for _, spent in it.parts) == it.took


def test_a_batch_without_rows_moves_the_watermark_and_drops_state(windowed):
    before, after = windowed.moments[5:7]
    assert (before.rows, after.rows, after.event_times) == (80, 0, None)
    assert after.watermark > before.watermark
    assert (before.states[0].rows, after.states[0].rows, after.states[0].removed) == (16, 4, 12)


def test_the_first_batch_has_no_watermark_yet(windowed):
    assert windowed.moments[0].watermark is None


@pytest.mark.parametrize(("rows", "start"), [(12, 0), (5, None), (0, None)])
def test_where_a_query_began_is_known_if_it_read_all_there_is(rows, start):
    told = kafka(None, {"orders": {"0": 10, "1": 2}}, None, rows)
    shares = history.moment(batch(0, sources=[told])).shares
    assert [it.start for it in shares] == [start, start]


def test_a_row_behind_the_watermark_is_late(windowed):
    assert [it.batch for it in windowed.moments if it.late] == [7]
    early, _ = windowed.moments[7].event_times
    assert early < windowed.moments[7].watermark


def test_a_join_has_two_sources_each_with_its_lag():
    second = folded(reports("join")).moments[1]
    assert [(it.name, it.rows) for it in second.sources] == [("orders", 0), ("payments", 20)]
    assert [it.lag for it in second.shares] == [0, 0, 5, 5]
    assert (second.rows, second.lag) == (20, 10)


def test_operators_stand_as_rows_flow_through_them():
    # Spark lists them from the sink on
    told = [{"operatorName": "stateStoreSave"}, {"operatorName": "dedupe"}]
    states = history.moment(batch(0, stateOperators=told)).states
    assert [it.operator for it in states] == ["dedupe", "stateStoreSave"]


def test_a_partition_found_while_running_is_read_from_its_first_record():
    end = {"orders": {"10": 7, "9": 30}}
    told = kafka({"orders": {"9": 20}}, end, end, rows=17)
    shares = history.moment(batch(1, sources=[told])).shares
    assert [(it.partition, it.start, it.end) for it in shares] == [(9, 20, 30), (10, 0, 7)]


@pytest.mark.parametrize(
    ("offsets", "lag"),
    [(None, None), ({"orders": {"0": 5}}, 0), ({"orders": {"0": 9}}, 4), (17, None)],
)
def test_lag_is_reported_only_where_the_source_tells_it(offsets, lag):
    told = kafka({"orders": {"0": 1}}, {"orders": {"0": 5}}, offsets)
    assert history.moment(batch(1, sources=[told])).lag == lag


def test_sources_that_are_no_topics_and_sinks_that_dont_count():
    rate = {"description": "RateStreamV2[rowsPerSecond=50]", "endOffset": 3, "numInputRows": 50}
    sink = {"description": "ForeachBatchSink", "numOutputRows": -1}
    told = history.moment(batch(0, sources=[rate], sink=sink, inputRowsPerSecond=49.5))
    assert (told.sources[0].name, told.shares, told.lag, told.rows) == ("rate", [], None, 50)
    assert (told.sink, told.rows_out, told.rate_out, told.arriving) == (
        "foreachBatch",
        None,
        None,
        49.5,
    )


def test_a_query_that_was_started_again_repeats_a_number():
    told = folded([batch(0), batch(1), {**batch(1), "runId": "two"}])
    assert [(it.run, it.batch) for it in told.moments] == [("one", 0), ("one", 1), ("two", 1)]


def test_the_oldest_moments_are_forgotten(monkeypatch):
    monkeypatch.setattr(history, "MOST", 3)
    told = folded(map(batch, range(5)))
    assert ([it.batch for it in told.moments], told.forgotten) == ([2, 3, 4], 2)
    assert [it["batchId"] for it in told.plain()] == [2, 3, 4]


def test_a_run_is_kept_as_json_without_what_no_picture_shows():
    told = reports("windowed")
    for each in told:
        for state in each["stateOperators"]:
            state["customMetrics"] = {f"rocksdb{number}": number for number in range(50)}
    first = folded(told)
    first.add({"ended": "The query has stopped.", "failed": False})
    kept = json.dumps(first.plain())
    assert len(kept) < 16_000
    again = folded(json.loads(kept))
    assert (again.moments, again.ended, again.failed) == (first.moments, first.ended, False)


def test_the_first_end_counts():
    told = folded([batch(0), {"ended": "It broke.", "failed": True}])
    assert not told.add({"ended": "The query has stopped.", "failed": False})
    assert (told.ended, told.failed, len(told.moments)) == ("It broke.", True, 1)


TRACEBACK = """[STREAM_FAILED] Query [id = ec7c, runId = 5261] terminated with exception: \
[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform \
latestOffset: Traceback (most recent call last):
  File "python_streaming_source_runner.py", line 281, in main
engine.errors.ApiException: there is no topic ordres; did you mean orders? See the list.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
TypeError: 'NoneType' object is not callable
 SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: bad"""


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (
            "[STREAM_FAILED] Query [id = e, runId = 5] terminated with exception: "
            "[USER_RAISED_EXCEPTION] more than 30 SQLSTATE: P0001 SQLSTATE: XXKST\n"
            "=== Streaming Query ===\nIdentifier: bad",
            "more than 30",
        ),
        (TRACEBACK, "ApiException: there is no topic ordres; did you mean orders?"),
        ("No broker at 127.0.0.1:9092. Is it running?", "No broker at 127.0.0.1:9092."),
        ("", "Spark doesn't say why."),
        ("x" * 900, "x" * 299 + "…"),
    ],
)
def test_a_failure_is_one_sentence_about_its_cause(failure, sentence):
    assert words.sentence(failure) == sentence


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Getting offsets from org.apache.spark.x.PythonMicroBatchStream@52fc", "waits for data"),
        ("Waiting for data to arrive", "waits for data"),
        ("Processing new data", "works"),
        ("Counting sheep from org.apache.spark.Sheep@1", "counting sheep"),
    ],
)
def test_what_a_query_does_in_a_word(message, told):
    assert words.status(message) == told


def test_what_spark_learns_to_report_is_shown_under_its_own_name():
    spans = {"addBatch": 5, "triggerExecution": 9, "telepathy": 3}
    told = history.moment(batch(0, durationMs=spans))
    assert told.parts == (("addBatch", 5), ("telepathy", 3), ("rest", 1))
    assert words.operator("quantumJoin") == ("quantumJoin", "keeps state")
