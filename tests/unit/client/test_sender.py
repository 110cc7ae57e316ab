"""What a producer sends when, and what it makes of the answers. Numbers: test_idempotence.py."""

from datetime import UTC, datetime

import pytest

from engine.client.core import UNSENT
from engine.client.producing.batch import max_size
from engine.client.values import KafkaError
from engine.errors import ErrorCode
from engine.storage.batch import Codec
from tests.unit.client.producing import Desk


def test_a_record_goes_to_its_leader_and_its_place_is_told() -> None:
    it = Desk({"acks": "all", "request.timeout.ms": 7000}, leaders=[1, 2])
    it.add(1, b"a", b"b")
    (sent,) = it.step()
    assert (sent.to, sent.values) == (2, {1: ["a", "b"]})
    assert (sent.ask.request.acks, sent.ask.request.timeout.total_seconds()) == (-1, 7)
    assert it.told == []
    sent.answer(offset=40)
    assert it.told == [("a", None, 40), ("b", None, 41)]
    assert (it.accumulator.used, it.accumulator.records) == (0, 0)


def test_a_request_has_one_batch_for_each_partition_of_its_leader() -> None:
    it = Desk(leaders=[1, 2, 1])
    for partition in range(3):
        it.add(partition, b"x" * 90, b"y" * 90)
    x, y = ["x" * 90], ["y" * 90]
    assert [(each.to, each.values) for each in it.step()] == [
        (1, {0: x, 2: x}),
        (1, {0: y, 2: y}),
        (2, {1: x}),
        (2, {1: y}),
    ]


def test_a_batch_waits_until_it_is_full_or_has_lingered() -> None:
    it = Desk({"linger.ms": 50})
    it.add(0, b"a")
    assert it.step() == []
    assert it.sender.due() == 0.05
    assert it.step(0.04) == []
    (sent,) = it.step(0.01)
    assert sent.values == {0: ["a"]}
    it.add(0, b"b" * 60, b"c" * 60)
    (sent,) = it.step()
    assert sent.values == {0: ["b" * 60]}, "the second did not fit: the first is full"


def test_a_hurry_ends_lingering() -> None:
    it = Desk({"linger.ms": 50})
    it.add(0, b"a")
    it.accumulator.no_linger += 1
    assert len(it.step()) == 1


def test_no_more_than_so_many_requests_wait_for_one_broker() -> None:
    it = Desk({"max.in.flight": 2}, leaders=[1, 2])
    it.add(0, *[b"x" * 60] * 5)
    it.add(1, b"y")
    sent = it.step()
    assert [each.to for each in sent] == [1, 1, 2]
    assert it.step() == []
    sent[0].answer()
    assert [each.to for each in it.step()] == [1]


def test_one_in_flight_keeps_the_order_even_when_the_leader_moves() -> None:
    it = Desk({"max.in.flight": 1}, leaders=[1])
    it.add(0, b"x" * 60, b"y" * 60)
    (sent,) = it.step()
    it.lead(2)
    assert it.step() == [], "the first may still be stored by the old leader"
    sent.fail()
    assert it.step() == []
    (sent,) = it.step(0.1)
    assert (sent.to, sent.values) == (2, {0: ["x" * 60]})


def test_a_request_is_no_larger_than_allowed() -> None:
    it = Desk({"max.request.size": 250}, leaders=[1, 1, 1])
    for partition in range(3):
        it.add(partition, b"x" * 50)
    sent = it.step()
    assert [sorted(each.values) for each in sent] == [[0, 1], [2]]


def test_every_partition_comes_to_its_turn() -> None:
    it = Desk({"max.request.size": 100, "max.in.flight": 1}, leaders=[1, 1, 1])
    for partition in range(3):
        it.add(partition, *[b"x" * 60] * 3)
    turns = []
    for _ in range(6):
        (sent,) = it.step()
        turns += sent.values
        sent.answer()
    assert turns == [0, 1, 2, 0, 1, 2]


def test_without_a_leader_it_waits_and_looks_for_one() -> None:
    it = Desk(leaders=[-1])
    it.add(0, b"a")
    assert it.step() == []
    assert it.view.is_stale
    it.lead(3)
    assert [each.to for each in it.step()] == [3]


def test_with_acks_0_what_is_sent_is_done() -> None:
    it = Desk({"acks": 0})
    it.add(0, b"a")
    (sent,) = it.step()
    assert not sent.ask.answered and sent.ask.request.acks == 0
    sent.done()
    assert it.told == [("a", None, -1)]


def test_the_brokers_own_time_is_told() -> None:
    it = Desk()
    it.add(0, b"a")
    it.step()[0].answer(log_append_time=datetime(2020, 1, 1, tzinfo=UTC))
    assert it.sender.reports[0].append_time == 1577836800000


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_batch_is_compressed_as_a_whole(codec: str) -> None:
    it = Desk({"compression.type": codec})
    it.add(0, b"a", b"b")
    (sent,) = it.step()
    assert sent.header.codec is Codec[codec.upper()]
    assert sent.values == {0: ["a", "b"]}


# -- what fails, and what becomes of it --------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.not_leader_or_follower,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_enough_replicas,
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.corrupt_message,
        ErrorCode.kafka_storage_error,
    ],
    ids=lambda code: code.name,
)
def test_what_may_pass_is_tried_again_after_a_pause(code: ErrorCode) -> None:
    it = Desk()
    it.add(0, b"a")
    it.step()[0].answer(code)
    assert it.step(0.05) == []
    assert it.sender.due() == 0.1
    (sent,) = it.step(0.05)
    sent.answer(offset=5)
    assert it.told == [("a", None, 5)]


def test_a_moved_leader_makes_the_view_stale() -> None:
    it = Desk()
    it.add(0, b"a")
    it.step()[0].answer(ErrorCode.not_leader_or_follower)
    assert not it.view.is_stale
    it.step()
    assert it.view.is_stale


@pytest.mark.parametrize(
    "code",
    [ErrorCode.invalid_record, ErrorCode.invalid_required_acks, ErrorCode.unknown_server_error],
    ids=lambda code: code.name,
)
def test_what_will_not_pass_is_told(code: ErrorCode) -> None:
    it = Desk()
    it.add(0, b"a")
    it.step()[0].answer(code)
    assert it.told == [("a", KafkaError(code).name(), -1)]
    assert it.step(1) == []


def test_retries_are_counted() -> None:
    it = Desk({"retries": 2})
    it.add(0, b"a")
    for _ in range(3):
        assert it.told == []
        it.step(1)[0].answer(ErrorCode.not_enough_replicas)
    assert it.told == [("a", "NOT_ENOUGH_REPLICAS", -1)]


def test_what_was_never_sent_was_no_attempt() -> None:
    it = Desk({"retries": 0})
    it.add(0, b"a")
    for _ in range(10):
        it.step(1)[0].fail(UNSENT)
    it.step(1)[0].answer()
    assert it.told == [("a", None, 0)]


def test_time_ends_every_attempt() -> None:
    it = Desk({"delivery.timeout.ms": 1000})
    it.add(0, b"a")
    (sent,) = it.step()
    assert it.sender.due() == 1
    it.step(1)
    assert it.told == [("a", "_MSG_TIMED_OUT", -1)]
    sent.answer(offset=3)  # too late to be told otherwise
    assert it.told == []
    assert it.accumulator.used == 0


def test_what_was_given_up_is_not_sent_again() -> None:
    it = Desk({"delivery.timeout.ms": 1000})
    it.add(0, b"a")
    (sent,) = it.step()
    it.step(1)
    sent.fail()
    assert it.step(1) == []


def test_time_also_ends_waiting_in_a_queue() -> None:
    it = Desk({"delivery.timeout.ms": 1000}, leaders=[-1])
    it.add(0, b"a")
    it.step(0.5)
    it.add(0, b"b" * 150)
    it.step(0.5)
    assert it.told == [("a", "_MSG_TIMED_OUT", -1)]
    it.step(0.5)
    assert it.told == [("b" * 150, "_MSG_TIMED_OUT", -1)]


def test_without_numbers_a_retry_may_come_behind_what_was_sent_after_it() -> None:
    """The price of several in flight: Kafka's as well as ours."""
    it = Desk()
    it.add(0, b"1" * 90, b"2" * 90)
    first, second = it.step()
    first.answer(ErrorCode.not_enough_replicas)
    second.answer(offset=0)
    (again,) = it.step(0.1)
    again.answer(offset=1)
    assert [(value[0], offset) for value, _, offset in it.told] == [("2", 0), ("1", 1)]


def test_a_batch_that_is_too_large_is_split() -> None:
    it = Desk({"batch.size": 1000})
    values = [b"%d" % number * 50 for number in range(8)]
    it.add(0, *values)
    (whole,) = it.step()
    whole.answer(ErrorCode.message_too_large)
    assert it.accumulator.records == 8
    pieces = it.step()
    assert [each for piece in pieces for each in piece.values[0]] == whole.values[0]
    assert max(piece.header.size for piece in pieces) < whole.header.size * 0.6
    for number, piece in enumerate(pieces):
        piece.answer(offset=number * 100)
    places = [n * 100 + k for n, piece in enumerate(pieces) for k in range(len(piece.values[0]))]
    assert it.told == [
        (value.decode(), None, place) for value, place in zip(values, places, strict=True)
    ]
    assert (it.accumulator.used, it.accumulator.records) == (0, 0)


def test_a_record_that_is_too_large_alone_is_told() -> None:
    it = Desk({"batch.size": 1100})
    it.add(0, b"small", b"x" * 900)
    it.step()[0].answer(ErrorCode.message_too_large)
    small, large = it.step()
    small.answer()
    large.answer(ErrorCode.message_too_large)
    assert [(value[:5], error) for value, error, _ in it.told] == [
        ("small", None),
        ("xxxxx", "MSG_SIZE_TOO_LARGE"),
    ]


def test_a_purge_gives_up_what_waits_and_what_is_on_the_wire() -> None:
    it = Desk({"max.in.flight": 1})
    it.add(0, b"1" * 90, b"2" * 90)
    (sent,) = it.step()
    it.sender.purge(queued=True, in_flight=False, now=0)
    assert [(value[0], error) for value, error, _ in it.told] == [("2", "_PURGE_QUEUE")]
    it.sender.purge(queued=True, in_flight=True, now=0)
    assert [(value[0], error) for value, error, _ in it.told] == [("1", "_PURGE_INFLIGHT")]
    sent.fail()
    assert it.told == []
    assert it.step(1) == []


def test_who_wants_no_report_gets_none() -> None:
    it = Desk()
    it.add(0, b"a", told=False)
    it.step()[0].answer()
    assert not it.sender.reports
    assert it.accumulator.records == 0


# -- the buffer --------------------------------------------------------------------------------


def test_the_buffer_has_room_until_it_is_full() -> None:
    it = Desk({"buffer.memory": 240})
    size = max_size(None, b"x" * 60, ())
    it.add(0, b"x" * 60)
    assert it.accumulator.has_room(size)
    it.add(0, b"x" * 60)
    assert not it.accumulator.has_room(size)
    it.step()[0].answer()
    assert it.accumulator.has_room(size)


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (None, None, ()),
        (b"", b"", ()),
        (b"k" * 300, b"v" * 70_000, ()),
        (b"k", b"v", (("naïve ✓", None), ("h" * 200, b"x" * 300))),
    ],
)
def test_the_bound_of_a_records_size_holds(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    it = Desk({"batch.size": 10_000_000})
    it.add(0, b"first")
    queue = next(iter(it.accumulator.queues.values()))
    before = queue.batches[-1].size
    size = max_size(key, value, headers)
    late = 2**62  # its delta takes as many bytes as there can be
    batch, _ = it.accumulator.append(queue, size, key, value, late, headers, 0)
    assert batch.size - before <= size
