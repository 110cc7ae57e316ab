"""Transactions that take too long, and transactional ids that nobody uses."""

import pytest

from engine.coordinator.effects import TransactionalProducer
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import config
from tests.unit.coordinator.transactions.shell import (
    BUSY,
    FENCED,
    FIRST,
    ID,
    NEIGHBOUR,
    NONE,
    PARTITION,
    T0,
    Shell,
)

SWEEP, LOOK = 10_000, 3_600_000
UNUSED = {"transactional_id_expiration_ms": 10 * LOOK}


def test_one_that_takes_too_long_is_aborted_under_another_epoch():
    shell = Shell()
    writer = shell.begin(timeout=2 * SWEEP)
    shell.add(writer, T0)
    shell.advance(2 * SWEEP)  # as long as it may take, and no longer
    assert shell.state == "Ongoing"
    shell.advance(SWEEP)
    assert shell.state == "CompleteAbort"
    (mark,) = shell.marks
    assert (mark.committed, mark.producer) == (False, TransactionalProducer(FIRST, 1))
    assert shell.added(writer, T0) == FENCED
    assert shell.ended(writer) == FENCED
    assert shell.begin() == TransactionalProducer(FIRST, 2)


def test_who_came_before_the_one_that_took_too_long_is_fenced_too():
    shell = Shell()
    first = shell.begin(timeout=1)
    _, second = shell.initialized(first, timeout=1)
    shell.add(second, T0)
    shell.advance(SWEEP)
    assert shell.state == "CompleteAbort"
    assert shell.initialized(first)[0] == FENCED
    assert shell.initialized(second)[0] == FENCED


def test_its_time_begins_with_its_first_partition():
    shell = Shell()
    writer = shell.begin(timeout=SWEEP)
    shell.advance(5 * SWEEP)
    shell.add(writer, T0)
    shell.advance(SWEEP)
    assert shell.state == "Ongoing"
    shell.advance(SWEEP)
    assert shell.state == "CompleteAbort"


def test_if_it_could_not_be_written_it_is_tried_again():
    shell = Shell()
    writer = shell.begin(timeout=1)
    shell.add(writer, T0)
    shell.held = True
    shell.advance(SWEEP)
    assert shell.ended(writer) == BUSY
    shell.finish(ErrorCode.not_enough_replicas)
    assert (shell.state, shell.transaction.producer) == ("Ongoing", writer)
    shell.advance(SWEEP)
    shell.finish()
    shell.finish()
    assert (shell.state, shell.transaction.producer) == (
        "CompleteAbort",
        TransactionalProducer(FIRST, 1),
    )


def test_while_something_is_on_its_way_it_is_left_alone():
    shell = Shell(held=True)
    number = shell.init(timeout=1)
    shell.finish()
    answer = shell.answer(number)
    writer = TransactionalProducer(answer.producer_id, answer.producer_epoch)
    shell.add(writer, T0)
    shell.finish()
    shell.end(writer)
    shell.advance(10 * SWEEP)
    assert len(shell.waiting) == 1
    shell.finish()
    assert shell.state == "PrepareCommit"


@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort"])
def test_an_id_that_nobody_uses_is_forgotten(state):
    shell = Shell(**UNUSED)
    writer = shell.begin()
    if state != "Empty":
        shell.add(writer, T0)
        shell.end(writer, state == "CompleteCommit")
    assert shell.state == state
    shell.advance(10 * LOOK - 1)
    assert shell.state == state
    shell.advance(LOOK)
    assert shell.transaction is None
    assert shell.records()[-1] == (ID, None)
    assert shell.told()[-1]["state"] == "Dead"
    assert shell.successor().transaction is None
    assert shell.added(writer, T0) == ErrorCode.invalid_producer_id_mapping
    assert shell.begin() == TransactionalProducer(FIRST + 1, 0)


def test_an_id_that_is_in_use_is_not_forgotten():
    shell = Shell(transaction_max_timeout_ms=100 * LOOK, **UNUSED)
    writer = shell.begin(timeout=50 * LOOK)
    shell.add(writer, T0)
    shell.begin(id=NEIGHBOUR)
    shell.advance(9 * LOOK)
    shell.begin(id=NEIGHBOUR)
    shell.advance(9 * LOOK)
    assert shell.state == "Ongoing"
    assert {each["transactional_id"] for each in shell.coordinator.snapshot()} == {ID, NEIGHBOUR}


def test_while_it_is_being_forgotten_and_if_that_fails():
    shell = Shell(**UNUSED)
    writer = shell.begin()
    shell.held = True
    shell.advance(10 * LOOK)
    assert shell.initialized()[0] == BUSY
    assert shell.added(writer, T0) == BUSY
    shell.finish(ErrorCode.not_enough_replicas)
    assert shell.state == "Empty"
    shell.held = False
    assert shell.added(writer, T0) == NONE


def test_the_configuration_may_change():
    shell = Shell(**UNUSED)
    shell.begin()
    shell.coordinator.configure(config(transactional_id_expiration_ms=LOOK))
    shell.advance(LOOK)
    assert shell.transaction is None


def test_who_leads_nothing_looks_at_nothing():
    shell = Shell()
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    shell.advance(10 * LOOK)
    assert shell.coordinator.due() is None
