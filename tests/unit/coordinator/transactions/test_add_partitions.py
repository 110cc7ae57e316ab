"""AddPartitionsToTxn and AddOffsetsToTxn: where a transaction is going to write."""

import pytest

from engine.coordinator.effects import TransactionalProducer
from engine.errors import ErrorCode
from engine.model import TopicPartition
from tests.unit.coordinator.transactions.shell import (
    BUSY,
    FENCED,
    FIRST,
    MAPPING,
    NONE,
    OFFSETS,
    OLD_FENCED,
    START,
    T0,
    T1,
    U0,
    Shell,
)

UNKNOWN = ErrorCode.unknown_topic_or_partition
INTERNAL = TopicPartition("__transaction_state", 0)


def test_the_first_partition_begins_the_transaction():
    shell = Shell()
    writer = shell.begin()
    shell.now += 10
    assert shell.added(writer, T0) == NONE
    shell.now += 10
    assert shell.added(writer, T1, U0) == NONE
    metadata = shell.transaction.metadata
    assert (shell.state, metadata.partitions) == ("Ongoing", {T0, T1, U0})
    assert (metadata.started, metadata.updated) == (START + 10, START + 20)
    assert shell.records()[-1][1].partitions == {T0, T1, U0}


def test_it_is_answered_when_it_is_written_and_all_or_nothing_is():
    shell = Shell()
    writer = shell.begin()
    shell.held = True
    first, second = shell.add(writer, T0), shell.add(writer, T1)
    assert shell.codes(first) is None
    assert shell.codes(second) == {T1: BUSY}
    shell.finish(ErrorCode.not_enough_replicas)
    assert shell.codes(first) == {T0: ErrorCode.coordinator_not_available}
    assert shell.state == "Empty"
    assert shell.transaction.metadata.partitions == frozenset()


def test_partitions_that_are_known_are_not_written_again():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0, T1)
    written = len(shell.accepted)
    assert shell.added(writer, T1) == NONE
    assert len(shell.accepted) == written


def test_the_next_transaction_begins_with_its_own_partitions():
    shell = Shell()
    writer = shell.begin()
    for committed, partition in ((True, T0), (False, T1), (True, U0)):
        shell.now += 5
        assert shell.added(writer, partition) == NONE
        assert shell.transaction.metadata.partitions == {partition}
        assert shell.transaction.metadata.started == shell.now
        assert shell.ended(writer, committed) == NONE


def test_a_partition_that_is_not_there_keeps_the_others_out():
    shell = Shell()
    writer = shell.begin()
    shell.missing = {T1}
    codes = shell.codes(shell.add(writer, T0, T1, INTERNAL))
    assert codes == {
        T0: ErrorCode.operation_not_attempted,
        T1: UNKNOWN,
        INTERNAL: ErrorCode.topic_authorization_failed,
    }
    assert shell.state == "Empty"


def test_the_offsets_of_a_group_are_a_partition_too():
    shell = Shell()
    writer = shell.begin()
    assert shell.code(shell.add_offsets(writer)) == NONE
    assert shell.transaction.metadata.partitions == {OFFSETS}
    shell.add(writer, T0)
    assert shell.transaction.metadata.partitions == {OFFSETS, T0}


WRONG = [
    ({}, TransactionalProducer(FIRST + 1, 1), 9, MAPPING),
    ({"id": "never seen"}, TransactionalProducer(FIRST, 1), 9, None),
    ({"id": ""}, TransactionalProducer(FIRST, 1), 9, ErrorCode.invalid_request),
    ({}, TransactionalProducer(FIRST, 0), 2, FENCED),
    ({}, TransactionalProducer(FIRST, 0), 1, OLD_FENCED),
    ({}, TransactionalProducer(FIRST, 2), 2, FENCED),  # nobody has been given it yet
]


@pytest.mark.parametrize(("more", "writer", "version", "code"), WRONG)
@pytest.mark.parametrize("what", ["add", "add_offsets", "end"])
def test_who_may_not(what, more, writer, version, code):
    shell = Shell(partitions=range(50))
    shell.begin()
    current = shell.begin()
    shell.add(current, T0)
    arguments = {"add": (T0,), "add_offsets": (), "end": ()}[what]
    number = getattr(shell, what)(writer, *arguments, version=version, **more)
    answer = shell.codes(number)[T0] if what == "add" else shell.code(number)
    assert answer == (code or MAPPING)
    assert shell.state == "Ongoing"


@pytest.mark.parametrize("committed", [True, False])
def test_nothing_is_added_to_a_transaction_that_is_ending(committed):
    shell = Shell(markers=False)
    writer = shell.begin()
    shell.add(writer, T0)
    shell.end(writer, committed)
    assert shell.added(writer, T0) == BUSY
    assert shell.code(shell.add_offsets(writer)) == BUSY
    shell.mark(shell.marks[0])
    assert shell.added(writer, T1) == NONE


def test_a_transaction_without_partitions():
    """It writes nowhere, and there is nothing to tell anybody."""
    shell = Shell()
    writer = shell.begin()
    assert shell.codes(shell.add(writer)) == {}
    assert shell.state == "Ongoing"
    assert shell.ended(writer) == NONE
    assert (shell.state, shell.marks) == ("CompleteCommit", [])
