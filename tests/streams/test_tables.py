"""A tea house's orders as tables: latest, count, total; their changes as a topic, and back again.

orders (a topic)  ─>  table  ─>  changes (a compacted topic)  ─>  the same table elsewhere
"""

import pytest
from pyspark.sql import functions as f

from engine.errors import ApiException
from sparkstreams import expiring_state, queries, record_columns, state, tables
from tests.interop.watch import until
from tests.streams.table_stories import SLOW, finished, folder, put, rows, shows

ORDER = "item STRING, price INT"
pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def order(item: str, price: int) -> dict[str, object]:
    return {"item": item, "price": price}


@pytest.fixture(scope="module")
def orders(cluster):
    """Eight good records, two without a key or a value, and seven that are not what they should."""
    cluster.admin.create_topic("orders", 2, 1)
    good = [("ann", order("tea", 3)), ("bob", order("cake", 5)), ("ann", order("cake", 5))]
    put(cluster, "orders", *good, ("eve", order("tea", 3)), ("eve", None), (None, order("tea", 3)))
    put(cluster, "orders", ("b1", '{"item":"tea","pri'), ("b2", "hello"), ("b3", "[1, 2]"))
    put(cluster, "orders", ("b4", ""), ("b5", "null"), ("b6", '{"item":"tea","price":"much"}'))
    put(cluster, "orders", ("dan", "{}"))
    return "orders"


def test_every_record_is_a_row_and_those_that_do_not_fit_keep_their_text(spark, cluster, orders):
    found = record_columns.records(spark, cluster.bootstrap, orders, ORDER)
    assert rows(record_columns.bad(found), "key", "_corrupt") == [
        ("b1", '{"item":"tea","pri'),
        ("b2", "hello"),
        ("b3", "[1, 2]"),
        ("b4", ""),
        ("b5", "null"),
        ("b6", '{"item":"tea","price":"much"}'),
    ]
    assert rows(record_columns.good(found), "key", "item", "price", "_deleted") == [
        ("ann", "cake", 5, False),
        ("ann", "tea", 3, False),
        ("bob", "cake", 5, False),
        ("dan", None, None, False),
        ("eve", "tea", 3, False),
        ("eve", None, None, True),
        (None, "tea", 3, False),
    ]


def test_a_table_is_written_as_a_changelog_and_read_back(spark, cluster, orders, tmp_path):
    """Stream, table, its changes, the table again; the state and its feed have the same."""
    cluster.admin.create_topic("latest", 2, 1, config={"cleanup.policy": "compact"})
    good = record_columns.good(record_columns.stream(spark, cluster.bootstrap, orders, ORDER))
    table, checkpoint = tables.latest(good), folder(tmp_path, "latest")

    def run():
        return finished(
            queries.to_topic(
                table, cluster.bootstrap, "latest", checkpoint=checkpoint, available_now=True
            )
        )

    def rebuilt():
        return rows(tables.from_changelog(spark, cluster.bootstrap, "latest", ORDER))

    query = run()
    behind, total = queries.lag(query.lastProgress)
    assert behind == {orders: {0: 0, 1: 0}}
    assert total == 0
    changes = record_columns.records(spark, cluster.bootstrap, "latest")
    assert ("eve", None) in rows(changes, "key", "value")  # a tombstone
    after = [("ann", "cake", 5), ("bob", "cake", 5), ("dan", None, None)]
    assert rebuilt() == after
    remembered = state.state(spark, checkpoint)
    assert rows(tables.alive(remembered), "key", "item", "price") == after
    assert rows(remembered.where("_deleted"), "key") == [("eve",)]

    put(cluster, orders, ("bob", None), ("ann", order("tea", 4)))
    run()  # a processor that comes back: it goes on where it was
    assert rebuilt() == [("ann", "tea", 4), ("dan", None, None)]
    fed = state.state_changes(spark, checkpoint, since=1)
    assert rows(fed, "batch_id", "change_type", "key", "item", "_deleted") == [
        (1, "update", "ann", "tea", False),
        (1, "update", "bob", None, True),
    ]


def test_counts_and_totals_exactly_once(spark, cluster, new_topic, tmp_path):
    source, counts, totals = new_topic(), new_topic(), new_topic()
    put(cluster, source, ("ann", order("tea", 3)), ("ann", order("cake", 5)), ("ann", None))
    put(cluster, source, (None, order("tea", 3)), ("bob", order("tea", 3)))
    stream = record_columns.stream(spark, cluster.bootstrap, source, ORDER)
    for table, topic in (
        (tables.count(stream, "key"), counts),
        (tables.total(stream, "key", "price"), totals),
    ):
        query = queries.to_topic(
            table,
            cluster.bootstrap,
            topic,
            checkpoint=folder(tmp_path, topic),
            exactly_once=True,
            available_now=True,
        )
        finished(query)
    read = tables.from_changelog
    assert rows(read(spark, cluster.bootstrap, counts, "count INT")) == [("ann", 2), ("bob", 1)]
    assert rows(read(spark, cluster.bootstrap, totals, "total INT")) == [("ann", 8), ("bob", 3)]


def test_a_stream_meets_a_table_as_it_is_now(spark, cluster, new_topic):
    """The table of a running query is followed; one replayed once stays as it was."""
    source, prices = new_topic(), new_topic()
    put(cluster, prices, ("tea", {"price": 3}))
    now = record_columns.good(record_columns.stream(spark, cluster.bootstrap, prices, "price INT"))
    running = queries.as_table(tables.latest(now), "prices")
    shows(spark, "prices", [("tea", 3)])
    asked = record_columns.stream(spark, cluster.bootstrap, source, "item STRING, who STRING").drop(
        "key"
    )
    live = spark.table("prices").withColumnsRenamed({"key": "item", "price": "now"})
    once = tables.from_changelog(spark, cluster.bootstrap, prices, "price INT")
    once = once.withColumnsRenamed({"key": "item", "price": "then"})
    both = tables.enrich(tables.enrich(asked, live, "item"), once, "item")
    query = queries.as_table(both.select("who", "item", "now", "then"), "priced", mode="append")
    put(cluster, source, ("1", {"who": "ann", "item": "tea"}))
    shows(spark, "priced", [("ann", "tea", 3, 3)])
    put(cluster, prices, ("tea", {"price": 4}), ("cake", {"price": 5}))
    shows(spark, "prices", [("cake", 5), ("tea", 4)])
    put(cluster, source, ("2", {"who": "bob", "item": "tea"}), ("3", {"who": "eve", "item": "gin"}))
    wanted = [("ann", "tea", 3, 3), ("bob", "tea", 4, 3), ("eve", "gin", None, None)]
    shows(spark, "priced", wanted)
    put(cluster, prices, ("tea", None))
    shows(spark, "prices", [("cake", 5)])
    assert spark.sql("SELECT sum(price) AS all FROM prices").first()["all"] == 5
    query.stop()
    running.stop()


def test_what_is_kept_is_forgotten_with_its_tombstone(spark, cluster, new_topic, tmp_path):
    source, changes = new_topic(1), new_topic(1)
    checkpoint = folder(tmp_path, "expiring_state")
    table = expiring_state.kept(
        record_columns.stream(spark, cluster.bootstrap, source, ORDER).drop("_corrupt")
    )

    def run():
        place = {"checkpoint": checkpoint, "available_now": True}
        return finished(queries.to_topic(table, cluster.bootstrap, changes, **place))

    put(cluster, source, ("ann", order("tea", 3)), ("bob", order("tea", 3)))
    assert run().lastProgress["stateOperators"][0]["numRowsTotal"] == 2
    put(cluster, source, ("ann", order("cake", 5)), ("bob", None))
    assert run().lastProgress["stateOperators"][0]["numRowsTotal"] == 1
    rebuilt = tables.from_changelog(spark, cluster.bootstrap, changes, ORDER)
    assert rows(rebuilt) == [("ann", "cake", 5)]


def test_what_is_kept_is_forgotten_with_time(spark, cluster, new_topic, tmp_path):
    source, changes = new_topic(1), new_topic(1)
    orders = record_columns.stream(spark, cluster.bootstrap, source, ORDER).drop("_corrupt")
    table = expiring_state.kept(orders, forget_ms=3_000)
    place = folder(tmp_path, "forgotten")
    query = queries.to_topic(table, cluster.bootstrap, changes, checkpoint=place, every="1 second")

    def state():
        told = query.lastProgress
        return told["stateOperators"][0]["numRowsTotal"] if told else 0

    put(cluster, source, ("ann", order("tea", 3)), ("bob", order("tea", 3)))
    until(lambda: state() > 0 or query.exception(), SLOW)
    until(lambda: state() == 0 or query.exception(), SLOW)
    assert query.exception() is None
    query.stop()
    told = tables.from_changelog(spark, cluster.bootstrap, changes, ORDER)
    assert rows(told) == [("ann", "tea", 3), ("bob", "tea", 3)]  # nobody is told


def test_a_row_takes_one_branch_and_merging_brings_all_back(spark):
    numbers = spark.createDataFrame([(n,) for n in (1, 2, 3, 4, None)], "n INT")
    branches = tables.branch(numbers, big="n > 2", odd=f.col("n") % 2 == 1)
    assert {name: rows(df) for name, df in branches.items()} == {
        "big": [(3,), (4,)],
        "odd": [(1,)],
        "rest": [(2,), (None,)],
    }
    assert rows(tables.merge(*branches.values())) == rows(numbers)
    with pytest.raises(ApiException, match="'rest' is where all other rows go"):
        tables.branch(numbers, rest="n > 2")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("key STRING, n INT", "a field 'key', which is the name of a column of every record"),
        ("_deleted BOOLEAN", "a field '_deleted'"),
        ("INT", "a schema names fields"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(spark, cluster, orders, schema, message):
    with pytest.raises(ApiException, match=message):
        record_columns.records(spark, cluster.bootstrap, orders, schema)
