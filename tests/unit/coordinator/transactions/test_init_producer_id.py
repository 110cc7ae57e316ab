"""InitProducerId: who a producer is, and who it is not any more."""

import pytest

from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.transactions.metadata import (
    LAST_EPOCH,
    MAX_EPOCH,
    NO_PRODUCER,
    TransactionMetadata,
    TxnState,
)
from engine.coordinator.transactions.records import encode_key, encode_value
from engine.errors import ErrorCode
from engine.storage.records import Record
from tests.unit.coordinator.transactions.shell import (
    BUSY,
    EPOCH,
    FENCED,
    FIRST,
    ID,
    NEIGHBOUR,
    NONE,
    OLD_FENCED,
    PARTITION,
    START,
    T0,
    TIMEOUT,
    Shell,
)

INVALID = ErrorCode.invalid_request


def at_epoch(epoch, state=TxnState.EMPTY, **options):
    """A shell that finds a producer with this epoch in the log."""
    shell = Shell(partitions=(), **options)
    partitions = frozenset({T0} if state is TxnState.ONGOING else ())
    metadata = TransactionMetadata(
        TransactionalProducer(7, epoch), TIMEOUT, state, partitions, START, START
    )
    shell.lead(PARTITION, EPOCH, [Record(0, START, encode_key(ID), encode_value(metadata))])
    return shell


def test_the_first_and_those_after_it():
    shell = Shell()
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 0))
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 1))
    assert shell.initialized(id="shipping")[0] == ErrorCode.not_coordinator  # it is elsewhere
    assert [(name, it.producer.epoch, it.timeout) for name, it in shell.records()] == [
        (ID, 0, TIMEOUT),
        (ID, 1, TIMEOUT),
    ]


def test_it_is_answered_when_it_is_written():
    shell = Shell(held=True)
    first = shell.init()
    assert shell.answer(first) is None
    assert shell.code(shell.init()) == BUSY
    shell.finish()
    assert shell.answer(first).producer_id == FIRST
    second = shell.init()
    assert shell.code(second) is None
    shell.finish()
    assert shell.answer(second).producer_epoch == 1


def test_one_that_never_came_to_be_leaves_nothing():
    shell = Shell(held=True)
    number = shell.init()
    shell.finish(ErrorCode.not_enough_replicas)
    answer = shell.answer(number)
    assert answer.error_code == ErrorCode.coordinator_not_available
    assert (answer.producer_id, answer.producer_epoch) == NO_PRODUCER
    assert shell.transaction is None
    assert shell.coordinator.snapshot() == []


def test_a_raised_epoch_that_was_not_written_is_not_raised():
    shell = Shell()
    writer = shell.begin()
    shell.held = True
    number = shell.init()
    shell.finish(ErrorCode.request_timed_out)
    assert shell.code(number) == ErrorCode.coordinator_not_available
    assert shell.transaction.producer == writer
    shell.held = False
    assert shell.added(writer, T0) == NONE


@pytest.mark.parametrize("id", ["", None, "x" * 2**15])
def test_what_is_no_transactional_id(id):
    assert Shell().initialized(id=id) == (INVALID, NO_PRODUCER)


@pytest.mark.parametrize("expected", [(-1, 0), (7, -1)])
def test_an_id_goes_with_an_epoch(expected):
    assert Shell().initialized(expected) == (INVALID, NO_PRODUCER)


@pytest.mark.parametrize(("timeout", "allowed"), [(0, 0), (-1, 0), (1, 1), (500, 1), (501, 0)])
def test_how_long_a_transaction_may_take(timeout, allowed):
    code, _ = Shell(transaction_max_timeout_ms=500).initialized(timeout=timeout)
    assert code == (NONE if allowed else ErrorCode.invalid_transaction_timeout)


def test_the_newest_timeout_counts():
    shell = Shell()
    shell.begin(timeout=10)
    shell.begin(timeout=20)
    assert shell.transaction.metadata.timeout == 20


def test_without_a_producer_id_at_hand():
    """Only who needs one is sent away."""
    shell = Shell(ids=iter([FIRST]))
    shell.begin()
    assert shell.coordinator.needs_producer_id
    assert shell.initialized(id=NEIGHBOUR) == (ErrorCode.coordinator_load_in_progress, NO_PRODUCER)
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 1))
    assert [each["transactional_id"] for each in shell.coordinator.snapshot()] == [ID]


# -- who says who it was ---------------------------------------------------------------------------


def test_who_is_current_goes_on_with_the_next_epoch():
    shell = Shell()
    writer = shell.begin()
    code, next = shell.initialized(writer)
    assert (code, next) == (NONE, TransactionalProducer(FIRST, 1))
    assert shell.initialized(next) == (NONE, TransactionalProducer(FIRST, 2))


def test_who_has_not_heard_the_answer_hears_it_again():
    shell = Shell()
    writer = shell.begin()
    shell.initialized(writer)
    for _ in range(3):
        assert shell.initialized(writer) == (NONE, TransactionalProducer(FIRST, 1))


def test_who_came_before_a_newcomer_is_fenced():
    shell = Shell()
    writer = shell.begin()
    shell.begin()
    for version, code in ((4, FENCED), (3, OLD_FENCED)):
        assert shell.initialized(writer, version=version) == (code, NO_PRODUCER)
    assert shell.initialized((99, 0)) == (FENCED, NO_PRODUCER)
    assert shell.transaction.producer == TransactionalProducer(FIRST, 1)


def test_a_successor_does_not_know_who_it_was_before():
    shell = Shell()
    writer = shell.begin()
    shell.initialized(writer)
    assert shell.successor().initialized(writer) == (FENCED, NO_PRODUCER)


def test_a_forgotten_producer_begins_anew():
    assert Shell().initialized((77, 5)) == (NONE, TransactionalProducer(FIRST, 0))


# -- the last epoch --------------------------------------------------------------------------------


def test_epochs_are_used_up_one_before_the_largest():
    shell = at_epoch(LAST_EPOCH - 1)
    assert shell.initialized() == (NONE, TransactionalProducer(7, LAST_EPOCH))
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 0))


def test_with_the_last_epoch_another_producer_id_is_given_and_given_again():
    shell = at_epoch(LAST_EPOCH)
    last = TransactionalProducer(7, LAST_EPOCH)
    for _ in range(3):
        assert shell.initialized(last) == (NONE, TransactionalProducer(FIRST, 0))
    shell.begin()
    assert shell.initialized(last) == (FENCED, NO_PRODUCER)


def test_the_largest_epoch_fences_who_has_the_last_one():
    shell = at_epoch(LAST_EPOCH, TxnState.ONGOING)
    assert shell.initialized() == (BUSY, NO_PRODUCER)
    (mark,) = shell.marks
    assert mark.producer == TransactionalProducer(7, MAX_EPOCH)
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 0))


# -- an ongoing transaction ------------------------------------------------------------------------


def test_an_ongoing_transaction_is_aborted_first():
    shell = Shell(markers=False)
    writer = shell.begin()
    shell.add(writer, T0)
    assert shell.initialized() == (BUSY, NO_PRODUCER)
    (mark,) = shell.marks
    assert (mark.producer, mark.committed, mark.partitions) == (
        TransactionalProducer(FIRST, 1),
        False,
        (T0,),
    )
    assert shell.initialized() == (BUSY, NO_PRODUCER)
    assert shell.ended(writer) == FENCED
    shell.mark(mark)
    assert shell.state == "CompleteAbort"
    assert shell.initialized() == (NONE, TransactionalProducer(FIRST, 2))


def test_while_it_is_fenced_nobody_is_told_what_is_not_written():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.held = True
    number = shell.init()
    assert shell.transaction.pending is TxnState.PREPARE_EPOCH_FENCE
    assert shell.ended(writer) == BUSY
    shell.finish(ErrorCode.not_enough_replicas)
    assert shell.code(number) == ErrorCode.coordinator_not_available
    assert shell.state == "Ongoing"
    shell.held = False
    assert shell.ended(writer) == NONE
    assert [mark.committed for mark in shell.marks] == [True]


def test_who_is_fenced_does_not_end_what_its_successor_does():
    shell = Shell()
    old = shell.begin()
    writer = shell.begin()
    shell.add(writer, T0)
    assert shell.initialized(old) == (FENCED, NO_PRODUCER)
    assert shell.state == "Ongoing"
    assert shell.initialized(writer) == (BUSY, NO_PRODUCER)
    assert shell.state == "CompleteAbort"
