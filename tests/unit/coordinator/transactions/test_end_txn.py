"""EndTxn, and how all partitions come to know of it."""

import pytest

from engine.coordinator.effects import TransactionalProducer, TxnMarkers
from engine.coordinator.transactions.transaction import RETRY_MS
from engine.errors import ErrorCode
from tests.unit.coordinator.transactions.shell import (
    BUSY,
    EPOCH,
    ID,
    NONE,
    PARTITION,
    T0,
    T1,
    U0,
    Shell,
)

INVALID = ErrorCode.invalid_txn_state
COMMIT, ABORT = True, False
WRITE_ERRORS = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas_after_append: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}


def ongoing(*partitions, **options):
    shell = Shell(**options)
    writer = shell.begin()
    shell.add(writer, *(partitions or (T0,)))
    shell.events.clear()
    return shell, writer


@pytest.mark.parametrize(("committed", "word"), [(COMMIT, "Commit"), (ABORT, "Abort")])
def test_from_the_decision_to_the_last_partition(committed, word):
    shell, writer = ongoing(T1, U0, T0, markers=False)
    shell.held = True
    number = shell.end(writer, committed)
    assert (shell.code(number), shell.marks) == (None, [])  # not before it is written
    shell.finish()
    assert shell.code(number) == NONE
    assert shell.state == f"Prepare{word}"
    assert shell.marks == [TxnMarkers(ID, PARTITION, EPOCH, writer, committed, (T0, T1, U0))]
    shell.mark(shell.marks[0], T1)
    shell.mark(shell.marks[0], T1)
    assert shell.transaction.unmarked == {T0, U0}
    assert shell.waiting == []
    shell.mark(shell.marks[0], T0, U0)
    assert shell.state == f"Prepare{word}"
    shell.finish()
    assert shell.state == f"Complete{word}"
    assert [(each["was"], each["state"], each["partitions"]) for each in shell.told()] == [
        ("Ongoing", f"Prepare{word}", ["t-0", "t-1", "u-0"]),
        (f"Prepare{word}", f"Complete{word}", []),
    ]
    ids = {(each["id"], each["producer"], each["epoch"]) for each in shell.told()}
    assert ids == {(ID, *writer)}


@pytest.mark.parametrize("committed", [COMMIT, ABORT])
@pytest.mark.parametrize("again", [COMMIT, ABORT])
def test_asked_a_second_time(committed, again):
    shell, writer = ongoing(markers=False)
    assert shell.ended(writer, committed) == NONE
    assert shell.ended(writer, again) == BUSY
    shell.mark(shell.marks[0])
    assert shell.ended(writer, again) == (NONE if again == committed else INVALID)
    assert len(shell.marks) == 1


@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_nothing_has_begun(committed):
    shell = Shell()
    assert shell.ended(shell.begin(), committed) == INVALID


def test_two_who_end_it_at_once():
    shell, writer = ongoing()
    shell.held = True
    first, second = shell.end(writer, COMMIT), shell.end(writer, ABORT)
    assert (shell.code(first), shell.code(second)) == (None, BUSY)
    shell.finish()
    shell.finish()
    assert (shell.code(first), shell.state) == (NONE, "CompleteCommit")


@pytest.mark.parametrize("error", WRITE_ERRORS)
def test_a_decision_that_was_not_written_is_none(error):
    shell, writer = ongoing()
    shell.held = True
    number = shell.end(writer)
    shell.finish(error)
    assert shell.code(number) == WRITE_ERRORS[error]
    assert (shell.state, shell.marks, shell.told()) == ("Ongoing", [], [])
    shell.held = False
    assert shell.ended(writer, ABORT) == NONE
    assert [mark.committed for mark in shell.marks] == [False]


@pytest.mark.parametrize("error", WRITE_ERRORS)
def test_a_completion_that_was_not_written_is_tried_again(error):
    shell, writer = ongoing()
    shell.held = True
    shell.end(writer)
    shell.finish()
    for _ in range(3):
        shell.finish(error)
        assert shell.state == "PrepareCommit"
        assert shell.waiting == []
        shell.mark(shell.marks[0])  # once more, for nothing
        assert shell.waiting == []
        shell.advance(RETRY_MS)
        assert len(shell.waiting) == 1
    shell.finish()
    assert shell.state == "CompleteCommit"
    assert len(shell.marks) == 1


def test_what_is_said_too_late_changes_nothing():
    shell, writer = ongoing(markers=False)
    shell.end(writer)
    (mark,) = shell.marks
    stranger = mark._replace(producer=TransactionalProducer(writer.producer_id, writer.epoch + 1))
    shell.mark(stranger)
    shell.mark(mark._replace(transactional_id="elsewhere"))
    assert shell.state == "PrepareCommit"
    shell.mark(mark)
    shell.add(writer, T1)
    shell.mark(mark, T1)
    assert (shell.state, shell.transaction.metadata.partitions) == ("Ongoing", {T1})
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    shell.mark(mark)
    assert shell.coordinator.snapshot() == []


def test_the_same_epoch_ends_many_transactions():
    shell, writer = ongoing()
    for committed in (COMMIT, ABORT, COMMIT):
        shell.add(writer, T1)
        assert shell.ended(writer, committed) == NONE
    assert [mark.committed for mark in shell.marks] == [True, False, True]
    assert {mark.producer for mark in shell.marks} == {writer}
