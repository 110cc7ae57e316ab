"""What a task of the Spark source reads from a real broker, without Spark."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.client.address import Address
from engine.client.admin import requests
from engine.client.cluster import ClusterClient
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import Codec
from engine.storage.records import Record, encode
from sparkstreams import columns, range_reader
from sparkstreams.range_reader import read
from sparkstreams.source_options import ReadOptions
from sparkstreams.splits import Split
from tests.interop.raw import batch
from tests.interop.watch import until

CONFIG = {
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.retention.check.interval.ms": "200",
}
BATCHES = [1, 5, 3, 40, 1, 1, 10, 20, 2, 17]  # records in each


@pytest.fixture
def orders(client: Any, topic: str) -> tuple[str, list[bytes]]:
    """A hundred orders in batches of many sizes, in all codecs."""
    values = [b"order %d" % n for n in range(sum(BATCHES))]
    at = 0
    for turn, count in enumerate(BATCHES):
        codec = list(Codec)[turn % len(Codec)]
        sent = client.produce(topic, batch(*values[at : at + count], codec=codec))
        assert sent.error_code == 0
        at += count
    return topic, values


@pytest.fixture
def small_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_BYTES", "LEAST_BYTES", "MOST_BYTES"):
        monkeypatch.setattr(range_reader, name, 200)
    monkeypatch.setattr(columns, "ENOUGH", 300)


def options(cluster: Any, topic: str, **more: str) -> ReadOptions:
    given = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": topic}
    return ReadOptions.of(given | more)


def found(cluster: Any, topic: str, start: int, end: int, **more: str) -> list[tuple[int, Any]]:
    """Offsets and values of a range of partition 0."""
    return rows(read(Split(topic, 0, start, end), options(cluster, topic, **more)))


def rows(tables: Iterator[Any]) -> list[tuple[int, Any]]:
    return [
        (offset, value)
        for each in tables
        for offset, value in zip(
            each.column("offset").to_pylist(), each.column("value").to_pylist(), strict=True
        )
    ]


# -- the usual -------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 3, 47, 49, 50, 82])
@pytest.mark.parametrize("end", [1, 48, 50, 83, 100])
def test_any_range_of_a_log(cluster, orders, small_fetches, start: int, end: int) -> None:
    topic, values = orders
    assert found(cluster, topic, start, end) == list(enumerate(values))[start:end]


def test_at_one_go(cluster, orders) -> None:
    topic, values = orders
    assert found(cluster, topic, 0, 100) == list(enumerate(values))


def test_headers_keys_and_times_come_as_they_were_sent(cluster, client, topic) -> None:
    now = time.time_ns() // 1_000_000
    sent = [
        Record(0, now, b"ann", None, (("trace", b"1"), ("void", None))),
        Record(1, now - 5, None, b"", ()),
    ]
    assert client.produce(topic, encode(sent)).error_code == 0
    (table,) = read(Split(topic, 0, 0, 2), options(cluster, topic, includeHeaders="true"))
    ann, nobody = table.to_pylist()
    assert (ann["key"], ann["value"], nobody["key"], nobody["value"]) == (b"ann", None, None, b"")
    assert ann["headers"] == [{"key": "trace", "value": b"1"}, {"key": "void", "value": None}]
    assert nobody["headers"] is None
    assert [round(row["timestamp"].timestamp() * 1000) for row in (ann, nobody)] == [
        each.timestamp for each in sent
    ]
    assert (ann["topic"], ann["partition"], ann["timestampType"]) == (topic, 0, 0)


def test_who_stops_early_leaves_nothing_open(cluster, orders, small_fetches) -> None:
    """A task of a LIMIT: the connection is closed with it, or the broker would keep it."""
    tables = read(Split(orders[0], 0, 0, 100), options(cluster, orders[0]))
    assert next(tables).num_rows == 1
    tables.close()  # an unclosed socket would be a warning, and those are errors here
    assert next(tables, None) is None


# -- what is not there -----------------------------------------------------------------------


def test_a_compacted_topic(cluster, client, topic) -> None:
    """Nine customers move a hundred times, a tenth only in the middle of it all."""
    name = f"compacted-{topic}"
    settings = {"cleanup_policy": "compact", "segment_bytes": 2000}
    assert client.create(name, 1, **settings) == 0
    now = time.time_ns() // 1_000_000
    for n in range(0, 1000, 10):
        who = [b"%d" % i for i in range(10)] if n == 500 else [b"%d" % (i % 9) for i in range(10)]
        moved = [Record(i, now, who[i], b"street %d" % (n + i)) for i in range(10)]
        assert client.produce(name, encode(moved)).error_code == 0
    until(lambda: client.read(name)[0].offset == 509)
    whole = found(cluster, name, 0, 1000)
    assert whole[0] == (509, b"street 509") and whole[-1] == (999, b"street 999")
    assert all(value == b"street %d" % offset for offset, value in whole)
    assert {it.offset for it in client.read(name)} <= {offset for offset, _ in whole}
    assert found(cluster, name, 0, 510) == [(509, b"street 509")]
    assert found(cluster, name, 5, 509) == []


def test_records_that_were_deleted_before_they_were_read(cluster, orders, caplog) -> None:
    topic, values = orders
    with ClusterClient([Address.parse(cluster.bootstrap)]) as view:
        view.topic(topic)
        assert requests.delete_records(view, TopicPartition(topic, 0), 60) == 60
    with pytest.raises(ApiException, match=f"{topic}-0: offsets 10 to 59 are gone") as gone:
        found(cluster, topic, 10, 90)
    assert gone.value.code == ErrorCode.offset_out_of_range and not caplog.records
    kept = found(cluster, topic, 10, 90, failOnDataLoss="false")
    assert kept == list(enumerate(values))[60:90]
    assert f"{topic}-0: offsets 10 to 59 are gone" in caplog.text


def test_retention_in_the_middle_of_reading(cluster, orders, small_fetches) -> None:
    """The first answers are here already, with the fetch after them on its way."""
    topic, values = orders
    tables = read(Split(topic, 0, 0, 100), options(cluster, topic, failOnDataLoss="false"))
    first = rows(iter([next(tables)]))
    with ClusterClient([Address.parse(cluster.bootstrap)]) as view:
        view.topic(topic)
        assert requests.delete_records(view, TopicPartition(topic, 0), 99) == 99
    rest = first + rows(tables)
    assert rest[0] == (0, values[0]) and rest[-1] == (99, values[99]) and len(rest) < 100
    assert rest == [(offset, values[offset]) for offset, _ in rest]


# -- what is wrong ---------------------------------------------------------------------------


def test_a_topic_that_there_is_not(cluster, orders) -> None:
    topic, _ = orders
    with pytest.raises(ApiException, match=f"there is no topic {topic}s .* did you mean {topic}"):
        found(cluster, f"{topic}s", 0, 1)


def test_the_log_is_shorter_than_was_planned(cluster, orders) -> None:
    topic, values = orders
    brief = {"kafkaConsumer.pollTimeoutMs": "600"}
    with pytest.raises(ApiException, match=f"{topic}-0: offsets 100 to 119 are gone"):
        found(cluster, topic, 90, 120, **brief)
    kept = found(cluster, topic, 90, 120, **brief, failOnDataLoss="false")
    assert kept == list(enumerate(values))[90:]


def test_no_broker_answers() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        given = {"kafka.bootstrap.servers": address, "subscribe": "orders"}
        brief = ReadOptions.of(given | {"kafkaConsumer.pollTimeoutMs": "300"})
        with pytest.raises(ApiException, match=f"no broker at {address}"):
            next(read(Split("orders", 0, 0, 1), brief))
