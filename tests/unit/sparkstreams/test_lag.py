"""How far behind a query is, read from what Spark tells of its progress."""

import json
from types import SimpleNamespace

from sparkstreams.queries import lag


def source(newest, done):
    return {"latestOffset": newest, "endOffset": done}


TWO = source({"orders": {"0": 10, "1": 7}}, {"orders": {"0": 8, "1": 7}})


def test_what_waits_is_reported_for_each_partition_and_in_all() -> None:
    assert lag({"sources": [TWO]}) == ({"orders": {0: 2, 1: 0}}, 2)


def test_progress_is_taken_as_spark_gives_it_too() -> None:
    told = SimpleNamespace(json=json.dumps({"sources": [TWO]}))
    assert lag(told) == lag({"sources": [TWO]})


def test_offsets_may_come_as_text() -> None:
    texts = {name: json.dumps(value) for name, value in TWO.items()}
    assert lag({"sources": [texts]}) == lag({"sources": [TWO]})


def test_a_partition_that_is_new_waits_whole() -> None:
    grown = source({"orders": {"0": 10, "1": 4}}, {"orders": {"0": 10}})
    assert lag({"sources": [grown]}) == ({"orders": {0: 0, 1: 4}}, 4)


def test_a_query_that_began_meanwhile_is_not_ahead() -> None:
    assert lag({"sources": [source({"orders": {"0": 5}}, {"orders": {"0": 8}})]})[1] == 0


def test_other_sources_have_no_lag() -> None:
    rate = source(None, 17)
    assert lag({"sources": [rate, TWO, source("3", "3")]}) == ({"orders": {0: 2, 1: 0}}, 2)


def test_one_topic_read_twice_is_as_far_behind_as_the_slower() -> None:
    slower = source({"orders": {"0": 10}}, {"orders": {"0": 1}})
    faster = source({"orders": {"0": 10}}, {"orders": {"0": 9}})
    for both in ([slower, faster], [faster, slower]):
        assert lag({"sources": both}) == ({"orders": {0: 9}}, 9)
