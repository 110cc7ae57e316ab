"""What ends a transaction before its time, or a producer for good."""

import pytest

from engine.client.producing.transaction_manager import ProducerState
from engine.client.values import KafkaError
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.client.transacting import Desk, aborts, added, raised, started

BIG = 150  # bytes: two of them do not fit in one batch
FENCED = ErrorCode.producer_fenced


# -- what ends a transaction ---------------------------------------------------------------------


def test_a_refused_batch_ends_the_transaction_and_the_next_begins_in_a_new_epoch() -> None:
    it = started()
    it.add(0, *(name * BIG for name in (b"1", b"2", b"3")))
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    it.produces()[0].answer()
    second, third = it.produces()
    operation = it.core.commit()
    second.answer(ErrorCode.invalid_record)
    third.answer(ErrorCode.out_of_order_sequence_number)
    assert aborts(operation) == KafkaError.INVALID_RECORD
    assert it.core.state is ProducerState.ABORTABLE_ERROR
    it.core.returned(operation)
    assert it.asks(0.2) == [], "nothing more is sent, and nothing ended before the abort"
    told = {value[0]: error for value, error, _ in it.told}
    assert told == {"1": None, "2": "INVALID_RECORD", "3": "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    operation = it.core.abort()
    it.answer(Api.END_TXN)
    assert not operation.done
    init = it.answer(Api.INIT_PRODUCER_ID, epoch=1)
    assert (init.request.producer_id, init.request.producer_epoch) == (7, 0)
    assert operation.done and operation.error is None
    it.core.returned(operation)
    it.core.begin()
    it.add(0, b"4")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    assert it.produces()[0].numbers == (7, 1, 0)


def test_what_would_come_behind_a_gap_is_not_sent_again() -> None:
    it = started()
    it.write(b"0")
    it.add(0, b"1" * BIG, b"2" * BIG)
    first, second = it.produces()
    second.answer(ErrorCode.out_of_order_sequence_number)
    assert it.core.state is ProducerState.IN_TRANSACTION, "it may just have overtaken the other"
    first.answer(ErrorCode.invalid_record)
    assert it.asks(0.2) == []
    assert [error for _, error, _ in it.told] == ["INVALID_RECORD", "INVALID_RECORD"]


def test_what_waits_is_given_up_with_the_reason() -> None:
    it = started()
    it.add(0, b"1" * BIG, b"2" * BIG)
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    it.produces()[0].answer(ErrorCode.invalid_record)
    it.asks()
    assert [error for _, error, _ in it.told] == ["INVALID_RECORD", "INVALID_RECORD"]
    error = raised(it.core.check_open)
    assert error == KafkaError._STATE and error.txn_requires_abort()


def test_what_was_given_up_on_the_wire_may_still_arrive_so_the_end_waits_for_it() -> None:
    it = started(delivery_timeout_ms=1000, request_timeout_ms=900)
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    (sent,) = it.produces()
    assert it.asks(1.0) == []
    assert [error for _, error, _ in it.told] == ["_MSG_TIMED_OUT"]
    operation = it.core.abort()
    assert it.asks() == []
    sent.fail()
    it.answer(Api.END_TXN)
    init = it.answer(Api.INIT_PRODUCER_ID, epoch=1)
    assert init.request.producer_epoch == 0, "a number may be missing in the log"
    assert operation.done


def test_partitions_that_cannot_be_added_end_the_transaction() -> None:
    it = started()
    it.add(0, b"a")
    it.add(1, b"b")
    ask = it.ask(Api.ADD_PARTITIONS_TO_TXN)
    codes = [ErrorCode.topic_authorization_failed, ErrorCode.operation_not_attempted]
    response = added(dict(zip(sorted(ask.about), codes, strict=True)))
    it.core.answered(ask, response, it.now)
    assert it.asks() == []
    assert {error for _, error, _ in it.told} == {"TOPIC_AUTHORIZATION_FAILED"}
    it.core.abort()
    assert it.asks() == [], "nothing was begun"
    assert it.core.state is ProducerState.READY


def test_a_coordinator_that_forgot_us_has_nothing_to_end() -> None:
    it = started()
    it.write(b"a")
    operation = it.core.commit()
    it.answer(Api.END_TXN, ErrorCode.invalid_producer_id_mapping)
    aborts(operation)
    it.core.returned(operation)
    operation = it.core.abort()
    init = it.answer(Api.INIT_PRODUCER_ID, producer_id=8, epoch=0)
    assert (init.request.producer_id, init.request.producer_epoch) == (7, 0)
    assert operation.done and it.core.producer == (8, 0)
    it.core.returned(operation)
    it.core.begin()
    it.add(0, b"b")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    assert it.produces()[0].numbers == (8, 0, 0)


def test_a_log_with_a_newer_epoch_ends_the_transaction_and_only_the_coordinator_us() -> None:
    it = started()
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    it.produces()[0].answer(ErrorCode.invalid_producer_epoch)
    assert it.core.state is ProducerState.ABORTABLE_ERROR
    operation = it.core.abort()
    it.answer(Api.END_TXN, FENCED)
    error = operation.error
    assert error == KafkaError._FENCED and error.fatal() and not error.txn_requires_abort()
    assert error.str() == "a newer producer has the transactional id till-1: this one is fenced"


# -- what ends a producer ------------------------------------------------------------------------


def test_who_is_fenced_off_can_do_nothing_more() -> None:
    it = started()
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN, FENCED)
    assert it.asks() == []
    assert [error for _, error, _ in it.told] == ["_FATAL"]
    assert it.sender.fatal is not None and it.sender.fatal.fatal()
    for call in (it.core.init, it.core.begin, it.core.commit, it.core.abort):
        error = raised(call)
        assert error == KafkaError._FENCED and error.fatal()


def test_a_fenced_batch_ends_the_producer_too() -> None:
    it = started()
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    operation = it.core.commit()
    it.produces()[0].answer(FENCED)
    assert operation.error == KafkaError._FENCED
    assert it.core.state is ProducerState.FATAL_ERROR


@pytest.mark.parametrize(
    "code", [ErrorCode.invalid_transaction_timeout, ErrorCode.transactional_id_authorization_failed]
)
def test_a_transactional_id_that_is_refused_is_the_end(code: ErrorCode) -> None:
    it = Desk()
    operation = it.core.init()
    it.answer(Api.FIND_COORDINATOR)
    it.answer(Api.INIT_PRODUCER_ID, code)
    assert operation.error == code and operation.error.fatal()
    assert it.asks(1) == []


def test_a_cluster_without_transactions_is_the_end() -> None:
    it = Desk()
    operation = it.core.init()
    it.answer(Api.FIND_COORDINATOR)
    it.lose(it.ask(Api.INIT_PRODUCER_ID), ErrorCode.unsupported_version)
    assert operation.error is not None and operation.error.fatal()
