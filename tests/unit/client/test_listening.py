"""The ack modes: when which offset is committed, by the numbers that the article's lab expects."""

import threading

import pytest

from engine.client.listening import Ack, Listening
from engine.client.values import KafkaError, KafkaException, Message, TopicPartition


class Reader:
    """Hands out numbered records in batches, and notes what is committed after which of them."""

    def __init__(self, *records, batch=50):
        self.left = [Message("t", 0, n, value=n) if isinstance(n, int) else n for n in records]
        self.batch = batch
        self.polled = 0
        self.commits = []  # offset, after so many records were handed out
        self.mine = [TopicPartition("t", 0)]

    def poll(self, timeout):
        return next(iter(self.take(1)), None)

    def consume(self, count, timeout):
        return self.take(count)

    def take(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        self.polled += len(taken)
        return taken

    def assignment(self):
        return self.mine

    def commit(self, offsets, asynchronous):
        assert not asynchronous
        self.commits += [(each.offset, self.polled) for each in offsets]


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def listening(reader, ack, listener=lambda message: None, **more):
    return Listening(reader, listener, ack, batch=reader.batch, **more)


def run(it):
    while it.poll():
        pass


def test_record_commits_after_each():
    reader = Reader(*range(10))
    seen = []

    def listener(message):
        assert [offset for offset, _ in reader.commits] == list(range(1, message.value() + 1))
        seen.append(message.value())

    run(listening(reader, Ack.RECORD, listener))
    assert seen == list(range(10))
    assert [offset for offset, _ in reader.commits] == list(range(1, 11))


def test_a_crash_after_the_seventh_record_repeats_one_with_record_and_all_with_batch():
    def listener(message):
        if message.value() == 6:
            raise LookupError("it died")

    for ack, committed in ((Ack.RECORD, [1, 2, 3, 4, 5, 6]), (Ack.BATCH, [])):
        reader = Reader(*range(10))
        with pytest.raises(LookupError):
            listening(reader, ack, listener).poll()
        assert [offset for offset, _ in reader.commits] == committed


def test_batch_commits_after_each_batch():
    reader = Reader(*range(100))
    run(listening(reader, Ack.BATCH))
    assert reader.commits == [(50, 50), (100, 100)]


def test_count_commits_after_the_batch_that_makes_it_full():
    reader = Reader(*range(300))
    run(listening(reader, Ack.COUNT, count=120))
    assert reader.commits == [(150, 150), (300, 300)]


def test_time_commits_after_the_batch_in_which_it_was_over():
    reader, clock = Reader(*range(500)), Clock()
    it = listening(reader, Ack.TIME, seconds=2.0, clock=clock)
    for _ in range(10):
        clock.now += 0.3
        it.poll()
    assert reader.commits == [(350, 350)]  # after 2.1 seconds


def test_count_time_takes_what_comes_first():
    reader, clock = Reader(*range(500)), Clock()
    it = listening(reader, Ack.COUNT_TIME, count=120, seconds=1.0, clock=clock)
    for pause in (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0):
        clock.now += pause
        it.poll()
    assert [offset for offset, _ in reader.commits] == [150, 200, 350]


def test_manual_commits_after_the_batch_what_was_acknowledged():
    reader = Reader(*range(50))

    def listener(message, acknowledgment):
        if message.value() < 30:
            acknowledgment.acknowledge()
        assert not reader.commits

    run(listening(reader, Ack.MANUAL, listener))
    assert reader.commits == [(30, 50)]


def test_manual_immediate_commits_at_once():
    reader = Reader(*range(10))

    def listener(message, acknowledgment):
        acknowledgment.acknowledge()
        assert reader.commits[-1][0] == message.value() + 1

    run(listening(reader, Ack.MANUAL_IMMEDIATE, listener))
    assert len(reader.commits) == 10


def test_an_acknowledgment_from_another_thread_waits_for_the_end_of_the_batch():
    reader = Reader(*range(10))

    def listener(message, acknowledgment):
        other = threading.Thread(target=acknowledgment.acknowledge)
        other.start()
        other.join()
        assert not reader.commits

    run(listening(reader, Ack.MANUAL_IMMEDIATE, listener))
    assert reader.commits == [(10, 10)]


def test_what_was_not_acknowledged_is_not_committed():
    reader = Reader(*range(10))
    run(listening(reader, Ack.MANUAL_IMMEDIATE, lambda message, acknowledgment: None))
    assert reader.commits == []


def test_nothing_is_committed_of_what_others_have_by_now():
    reader = Reader(*range(10))
    reader.mine = []
    run(listening(reader, Ack.BATCH))
    assert reader.commits == []


def test_the_end_commits_what_was_processed():
    reader = Reader(*range(10))
    with listening(reader, Ack.COUNT, count=1000) as it:
        run(it)
        assert reader.commits == []
    assert reader.commits == [(10, 10)]


def test_an_error_is_raised_and_the_end_of_a_partition_is_none():
    end = Message("t", 0, 1, error=KafkaError(KafkaError._PARTITION_EOF))
    bad = Message("t", 0, 1, error=KafkaError(KafkaError._LOG_TRUNCATION))
    reader = Reader(0, end)
    assert listening(reader, Ack.BATCH).poll() == 1
    with pytest.raises(KafkaException):
        listening(Reader(bad), Ack.BATCH).poll()
