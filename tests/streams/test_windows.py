"""Events in time: windows that close, records that come too late, streams that meet."""

import pytest

from sparkstreams import queries, record_columns, windows
from tests.interop.watch import until
from tests.streams.table_stories import SLOW, put, rows, shows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
START = 1_700_000_000_000  # a full minute and 20 seconds, so that windows begin at :20, :30 ...


def at(cluster, topic, *seconds, key="tea", value=None):
    for second in seconds:
        put(cluster, topic, (key, value or {"n": second}), at=START + second * 1000)


def test_a_window_counts_what_is_late_until_it_is_closed(spark, cluster, new_topic):
    topic = new_topic(1)
    stream = record_columns.stream(spark, cluster.bootstrap, topic, "n INT")
    counted = windows.windowed(stream, every="10 seconds", late="5 seconds", key="key")
    query = queries.as_table(counted, "drunk", mode="update", key=["start", "key"])
    seen = ("second(start)", "second(end)", "key", "count")

    def shown(*wanted):
        until(lambda: rows(spark.table("drunk").selectExpr(*seen)) == list(wanted), SLOW)

    at(cluster, topic, 1, 4, 9)
    shown((20, 30, "tea", 3))
    at(cluster, topic, 12, 8)  # 8 is late, and its window still open: 12 - 5 < 10
    shown((20, 30, "tea", 4), (30, 40, "tea", 1))
    at(cluster, topic, 27)
    shown((20, 30, "tea", 4), (30, 40, "tea", 1), (40, 50, "tea", 1))
    closed = "2023-11-14T22:13:42.000Z"  # 27 - 5, and so both windows before are
    until(lambda: query.lastProgress["eventTime"].get("watermark") == closed, SLOW)
    assert windows.late(query) == 0
    at(cluster, topic, 3)
    until(lambda: windows.late(query) == 1, SLOW)
    shown((20, 30, "tea", 4), (30, 40, "tea", 1), (40, 50, "tea", 1))
    query.stop()


def test_two_streams_meet_within_a_time(spark, cluster, new_topic):
    orders, payments = new_topic(1), new_topic(1)
    left = record_columns.stream(spark, cluster.bootstrap, orders, "item STRING, n INT")
    right = record_columns.stream(spark, cluster.bootstrap, payments, "paid INT, n INT")
    joined = windows.join(left, right, on="key", within="10 seconds")
    assert {"n", "right_n", "timestamp", "right_timestamp"} < set(joined.columns)
    assert len(set(joined.columns)) == len(joined.columns)
    query = queries.as_table(joined.select("key", "item", "paid"), "met", mode="append")
    at(cluster, orders, 0, key="1", value={"item": "tea"})
    at(cluster, orders, 20, key="2", value={"item": "cake"})
    at(cluster, payments, 9, key="1", value={"paid": 3})
    at(cluster, payments, 9, key="2", value={"paid": 4})  # 11 seconds apart
    at(cluster, payments, 10, key="2", value={"paid": 5})
    shows(spark, "met", [("1", "tea", 3), ("2", "cake", 5)])
    query.processAllAvailable()
    assert rows(spark.table("met")) == [("1", "tea", 3), ("2", "cake", 5)]
    query.stop()
