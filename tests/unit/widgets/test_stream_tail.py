"""The last records of a batch, read once more from a log that is only told of."""

from collections import deque

import pytest

from engine.client.reader import Batch
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Header
from engine.storage.records import Record as Stored
from widgets.stream import tail as tails
from widgets.stream.history import Share
from widgets.stream.tail import tail


class Brokers:
    """Who leads a topic's partitions is known once it was asked for."""

    def __init__(self):
        self.known = set()

    def topic(self, name):
        self.known.add(name)


BROKERS = Brokers()


class Log:
    """Stands for Reader: hands out batches of three records, from where it was asked."""

    sizes, asked, gone, late, trouble = {}, [], 0, [], None

    def __init__(self, cluster, positions, reset):
        assert cluster.known == {it.topic for it in positions}
        self.asked.append(dict(positions))
        self.batches = deque()
        for partition, start in positions.items():
            for base in range(max(start, self.gone) // 3 * 3, self.sizes[partition], 3):
                self.batches.append(self.batch(partition, base, start))

    def batch(self, partition, base, start):
        rows = [
            Stored(base + at, 1000 * (base + at) + partition.partition, b"k%d" % at, b"tea")
            for at in range(3)
        ]
        data = memoryview(bytes(records.encode(rows, base_offset=base)))
        return Batch(partition, Header.parse(data), data, start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def poll(self, timeout):
        if self.late:
            self.late.pop()
            return []
        return [self.batches.popleft()] if self.batches else []


@pytest.fixture
def log(monkeypatch):
    orders = [TopicPartition("orders", number) for number in range(2)]
    monkeypatch.setattr(tails, "Reader", Log)
    monkeypatch.setattr(Log, "sizes", dict.fromkeys(orders, 60))
    monkeypatch.setattr(Log, "asked", [])
    monkeypatch.setattr(Log, "gone", 0)
    monkeypatch.setattr(Log, "late", [])
    monkeypatch.setattr(Log, "trouble", None)
    monkeypatch.setattr(BROKERS, "known", set())
    return Log


def share(partition, start, end):
    return Share("orders", partition, start, end, end)


def places(found):
    return [(it.partition, it.offset) for it in found]


def test_the_last_of_all_partitions_by_their_times(log):
    found = tail(BROKERS, [share(0, 10, 40), share(1, 0, 39)], 69)
    assert len(found) == tails.MOST
    assert places(found)[-3:] == [("orders-0", 38), ("orders-1", 38), ("orders-0", 39)]
    assert (found[-1].key, found[-1].value) == ("k0", "tea")
    assert log.asked == [{TopicPartition("orders", 0): 28, TopicPartition("orders", 1): 27}]


def test_what_the_batch_before_or_the_next_has_read_is_left_out(log):
    assert places(tail(BROKERS, [share(0, 10, 14)], 4)) == [
        ("orders-0", at) for at in range(10, 14)
    ]


def test_what_was_read_earlier_is_left_out_though_it_is_newer(log):
    found = tail(BROKERS, [share(0, 10, 14), share(1, 0, 2)], 6)
    assert places(found)[:3] == [("orders-1", 0), ("orders-1", 1), ("orders-0", 10)]


def test_a_partition_of_which_nothing_was_read_is_not_asked_for(log):
    assert places(tail(BROKERS, [share(0, 7, 7), share(1, 7, 8)], 1)) == [("orders-1", 7)]
    assert log.asked == [{TopicPartition("orders", 1): 7}]


def test_nothing_read_is_nobody_asked(log):
    assert tail(BROKERS, [share(0, 7, 7)], 0) == []
    assert log.asked == []


def test_where_the_query_began_is_told_by_how_many_it_read(log):
    # Spark doesn't say where a query began: at the end of a topic, here
    found = tail(BROKERS, [Share("orders", 0, None, 40, 40)], 3)
    assert places(found) == [("orders-0", at) for at in (37, 38, 39)]


def test_records_that_retention_took_are_not_there(log, monkeypatch):
    monkeypatch.setattr(Log, "gone", 30)
    found = tail(BROKERS, [share(0, 20, 33)], 13)
    assert places(found) == [("orders-0", at) for at in (30, 31, 32)]


def test_it_is_content_with_what_there_is(log):
    # a compacted log, or a transaction's marker at the end
    found = tail(BROKERS, [share(0, 55, 70)], 15)
    assert places(found)[-1] == ("orders-0", 59)


def test_a_broker_that_has_not_answered_yet_is_waited_for(log, monkeypatch):
    monkeypatch.setattr(Log, "late", ["two", "polls"])
    assert places(tail(BROKERS, [share(0, 7, 8)], 1)) == [("orders-0", 7)]


def test_what_is_in_the_way_is_told_if_nothing_comes(log, monkeypatch):
    why = KafkaError(ErrorCode.leader_not_available, "orders-0 has no leader")
    monkeypatch.setattr(Log, "trouble", why)
    assert len(tail(BROKERS, [share(0, 7, 9), share(1, 60, 61)], 3)) == 2
    monkeypatch.setattr(tails, "PATIENCE", 0.05)
    monkeypatch.setattr(Log, "sizes", {TopicPartition("orders", 0): 0})
    with pytest.raises(KafkaError, match="orders-0 has no leader"):
        tail(BROKERS, [share(0, 7, 8)], 1)


def test_the_wait_has_an_end(log, monkeypatch):
    monkeypatch.setattr(tails, "PATIENCE", 0.05)
    monkeypatch.setattr(Log, "sizes", {TopicPartition("orders", 0): 0})
    assert tail(BROKERS, [share(0, 7, 8)], 1) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [(None, "null"), (b"tea", "tea"), (b"\xff", "\ufffd"), (b"x" * 500, "x" * 59 + "…")],
)
def test_bytes_as_text(data, words):
    assert tails._text(data) == words
