"""The last records of a batch, read once more from a log that is only told of."""

from collections import deque
from itertools import groupby

import pytest

from engine.client.values import (
    ClusterMetadata,
    KafkaException,
    Message,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from widgets.stream import last_records
from widgets.stream.history import PartitionShare
from widgets.stream.last_records import tail


class Log:
    """Stands for Consumer: hands out batches of three records, from where it was assigned."""

    def __init__(self):
        orders = [("orders", number) for number in range(2)]
        self.sizes, self.gone = dict.fromkeys(orders, 60), 0
        self.asked, self.late, self.leader = [], [], 1

    def assign(self, places):
        self.asked.append({(it.topic, it.partition): it.offset for it in places})
        self.positions = dict(self.asked[-1])
        self.batches = deque()
        for at, start in self.positions.items():
            offsets = range(max(start, self.gone), self.sizes[at])
            for _, batch in groupby(offsets, key=lambda offset: offset // 3):
                self.batches.append([self.message(at, offset) for offset in batch])

    def message(self, at, offset):
        key = b"k%d" % (offset % 3)
        return Message(*at, offset, key, b"tea", timestamp=(1, 1000 * offset + at[1]))

    def consume(self, most, timeout):
        if self.late:
            self.late.pop()
            return []
        batch = self.batches.popleft() if self.batches else []
        for each in batch:
            self.positions[each.topic(), each.partition()] = each.offset() + 1
        return batch

    def position(self, places):
        return [
            TopicPartition(it.topic, it.partition, self.positions[it.topic, it.partition])
            for it in places
        ]

    def list_topics(self, topic, timeout):
        partitions = {number: PartitionMetadata(number, self.leader) for number in range(2)}
        return ClusterMetadata(topics={topic: TopicMetadata(topic, partitions)})


@pytest.fixture
def log():
    return Log()


def share(partition, start, end):
    return PartitionShare("orders", partition, start, end, end)


def places(found):
    return [(it.partition, it.offset) for it in found]


def test_the_last_of_all_partitions_by_their_times(log):
    found = tail(log, [share(0, 10, 40), share(1, 0, 39)], 69)
    assert len(found) == last_records.MOST
    assert places(found)[-3:] == [("orders-0", 38), ("orders-1", 38), ("orders-0", 39)]
    assert (found[-1].key, found[-1].value) == ("k0", "tea")
    assert log.asked == [{("orders", 0): 28, ("orders", 1): 27}]


def test_what_the_batch_before_or_the_next_has_read_is_left_out(log):
    assert places(tail(log, [share(0, 10, 14)], 4)) == [("orders-0", at) for at in range(10, 14)]


def test_what_was_read_earlier_is_left_out_though_it_is_newer(log):
    found = tail(log, [share(0, 10, 14), share(1, 0, 2)], 6)
    assert places(found)[:3] == [("orders-1", 0), ("orders-1", 1), ("orders-0", 10)]


def test_a_partition_of_which_nothing_was_read_is_not_asked_for(log):
    assert places(tail(log, [share(0, 7, 7), share(1, 7, 8)], 1)) == [("orders-1", 7)]
    assert log.asked == [{("orders", 1): 7}]


def test_nothing_read_is_nobody_asked(log):
    assert tail(log, [share(0, 7, 7)], 0) == []
    assert log.asked == []


def test_where_the_query_began_is_reported_by_how_many_it_read(log):
    # Spark doesn't say where a query began: at the end of a topic, here
    found = tail(log, [PartitionShare("orders", 0, None, 40, 40)], 3)
    assert places(found) == [("orders-0", at) for at in (37, 38, 39)]


def test_records_that_retention_took_are_not_there(log):
    log.gone = 30
    found = tail(log, [share(0, 20, 33)], 13)
    assert places(found) == [("orders-0", at) for at in (30, 31, 32)]


def test_it_is_content_with_what_there_is(log):
    # the broker that had the others was lost
    found = tail(log, [share(0, 55, 70)], 15)
    assert places(found)[-1] == ("orders-0", 59)


def test_the_marker_of_a_transaction_at_the_end_is_no_record(log):
    log.sizes["orders", 0] = 9
    passed = log.position
    log.position = lambda places: [TopicPartition("orders", 0, passed(places)[0].offset + 1)]
    log.consume = once(log.consume, 3)
    found = tail(log, [share(0, 0, 10)], 12)
    assert places(found)[-1] == ("orders-0", 8)


def once(consume, times):
    """Nobody asks for more when all positions are behind what is wanted."""
    left = iter(range(times))

    def counted(most, timeout):
        next(left)
        return consume(most, timeout)

    return counted


def test_a_broker_that_has_not_answered_yet_is_waited_for(log):
    log.late = ["two", "polls"]
    assert places(tail(log, [share(0, 7, 8)], 1)) == [("orders-0", 7)]


def test_a_partition_without_leader_is_told_if_nothing_comes(log, monkeypatch):
    log.leader = -1
    assert len(tail(log, [share(0, 7, 9), share(1, 60, 61)], 3)) == 2
    monkeypatch.setattr(last_records, "PATIENCE", 0.05)
    log.sizes = {("orders", 0): 0}
    with pytest.raises(KafkaException, match="orders-0 has no leader"):
        tail(log, [share(0, 7, 8)], 1)


def test_the_wait_has_an_end(log, monkeypatch):
    monkeypatch.setattr(last_records, "PATIENCE", 0.05)
    log.sizes = {("orders", 0): 0}
    assert tail(log, [share(0, 7, 8)], 1) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [(None, "null"), (b"tea", "tea"), (b"\xff", "\ufffd"), (b"x" * 500, "x" * 59 + "…")],
)
def test_bytes_as_text(data, words):
    assert last_records._text(data) == words
