"""From batches to messages: what is shown, what is passed over, and where that leaves us."""

import pytest

from engine.client.consuming.assigned_partition import AssignedPartition, PositionState
from engine.client.consuming.completed_fetch import CompletedFetch
from engine.client.values import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from engine.errors import ApiException, ErrorCode
from engine.storage import control, records
from engine.storage.batch import with_log_append_time
from engine.storage.records import Record
from tests.unit.client.logs import P0, Log

PRODUCER, OTHER = 7, 8


@pytest.fixture
def log():
    return Log()


def fetched(log, start=0, aborted=()):
    place = AssignedPartition(P0)
    place.jump(PositionState.FETCHING, start)
    return CompletedFetch(place, start, memoryview(log.fetch(start)), aborted)


def values(messages):
    return [message.value().decode() for message in messages]


def everything(log, start=0, aborted=(), committed=False):
    it = fetched(log, start, aborted)
    found = []
    while not it.is_exhausted:
        found += it.unpack(100, committed).take(100)
    return values(found), it.place


def marker(log, producer, type):
    key, value = control.encode(control.Marker(type, 0))
    data = records.encode(
        [Record(log.end, 0, key, value)],
        base_offset=log.end,
        leader_epoch=log.epoch,
        producer_id=producer,
        transactional=True,
        control=True,
    )
    log.batches.append((log.end, log.end + 1, 0, data))
    log.end += 1


def test_a_message_has_all_that_the_record_had(log):
    log.append(b"value", at=[123])
    (message,) = fetched(log).unpack(1).take(1)
    assert (message.topic(), message.partition(), message.offset()) == ("t", 0, 0)
    assert (message.key(), message.value(), message.headers()) == (None, b"value", None)
    assert message.timestamp() == (TIMESTAMP_CREATE_TIME, 123)
    assert (message.leader_epoch(), message.error()) == (0, None)


def test_log_append_time_is_told_as_such(log):
    log.append(b"a")
    first, end, epoch, data = log.batches[0]
    log.batches[0] = first, end, epoch, with_log_append_time(data, 55)
    (message,) = fetched(log).unpack(1).take(1)
    assert message.timestamp() == (TIMESTAMP_LOG_APPEND_TIME, 55)


def test_a_batch_may_begin_before_the_offset_that_was_asked_for(log):
    log.append("a", "b", "c")
    assert everything(log, start=2)[0] == ["c"]


def test_only_as_many_batches_are_unpacked_as_are_needed(log):
    for first in "abcdef":
        log.append(first, first * 2)
    it = fetched(log)
    assert values(it.unpack(3).messages) == ["a", "aa", "b", "bb"]
    assert not it.is_exhausted
    assert values(it.unpack(1).messages) == ["c", "cc"]


def test_the_position_moves_with_what_is_handed_out(log):
    log.append("a", "b", "c")
    it = fetched(log)
    run = it.unpack(10)
    assert it.place.offset == 0
    assert values(run.take(2)) == ["a", "b"]
    assert (it.place.offset, it.place.epoch) == (2, 0)
    assert run.one().value() == b"c"
    assert it.place.offset == 3
    assert run.one() is None


def test_nothing_is_handed_out_on_another_turn(log):
    log.append("a", "b")
    it = fetched(log)
    run = it.unpack(10)
    run.one()
    it.place.jump(PositionState.FETCHING, 0)
    assert run.take(10) == []
    assert run.one() is None
    assert it.place.offset == 0


def test_a_gap_at_the_end_of_a_batch_is_passed(log):
    """Compaction takes records out and leaves the offsets."""
    data = records.encode([Record(0, 0, None, b"a")], last_offset=9)
    log.batches.append((0, 10, 0, data))
    log.end = 10
    shown, place = everything(log)
    assert shown == ["a"]
    assert place.offset == 10


def test_a_control_batch_is_not_shown_and_lies_behind_us(log):
    log.append("a", producer_id=PRODUCER, transactional=True)
    marker(log, PRODUCER, control.ControlType.COMMIT)
    shown, place = everything(log)
    assert shown == ["a"]
    assert place.position == (2, 0)


def test_a_batch_that_does_not_match_its_crc_is_not_shown(log):
    log.append("a")
    log.append("b")
    first, end, epoch, data = log.batches[1]
    log.batches[1] = first, end, epoch, data[:-2] + b"X" + data[-1:]
    it = fetched(log)
    assert values(it.unpack(1).messages) == ["a"]
    with pytest.raises(ApiException, match="batch at offset 1 does not match its CRC") as caught:
        it.unpack(1)
    assert caught.value.code == ErrorCode.corrupt_message
    it = fetched(log)
    assert values(it.unpack(10).messages) == ["a"], "what lies before it, in the same call, too"
    assert not it.is_exhausted
    with pytest.raises(ApiException, match="batch at offset 1"):
        it.unpack(10)


def test_check_crcs_false_looks_away(log):
    log.append("a")
    first, end, epoch, data = log.batches[0]
    log.batches[0] = first, end, epoch, data[:-2] + b"X" + data[-1:]
    assert values(fetched(log).unpack(1, check=False).messages) == ["X"]


# -- transactions ----------------------------------------------------------------------------


@pytest.fixture
def transactions(log):
    """One that was aborted, with one that was not and records of no transaction in between."""
    log.append("no1", producer_id=PRODUCER, transactional=True)  # offset 0
    log.append("yes1", producer_id=OTHER, transactional=True)
    log.append("plain")
    log.append("no2", producer_id=PRODUCER, transactional=True)
    marker(log, PRODUCER, control.ControlType.ABORT)  # 4
    log.append("yes2", producer_id=PRODUCER, transactional=True)
    marker(log, OTHER, control.ControlType.COMMIT)
    marker(log, PRODUCER, control.ControlType.COMMIT)  # 7
    return log


def test_read_committed_passes_over_what_was_aborted(transactions):
    shown, place = everything(transactions, aborted=[(0, PRODUCER)], committed=True)
    assert shown == ["yes1", "plain", "yes2"]
    assert place.offset == 8


def test_read_uncommitted_shows_it_all(transactions):
    shown, _ = everything(transactions, aborted=[(0, PRODUCER)])
    assert shown == ["no1", "yes1", "plain", "no2", "yes2"]


def test_two_transactions_of_one_producer_are_told_apart(log):
    log.append("yes", producer_id=PRODUCER, transactional=True)
    marker(log, PRODUCER, control.ControlType.COMMIT)
    log.append("no", producer_id=PRODUCER, transactional=True)  # 2
    log.append("of no transaction", producer_id=PRODUCER)
    marker(log, PRODUCER, control.ControlType.ABORT)
    shown, _ = everything(log, aborted=[(2, PRODUCER)], committed=True)
    assert shown == ["yes", "of no transaction"]
