"""Each promise of transactions holds in a quiet run, and complains if somebody tampers with it."""

import pytest

from engine.client.producing.batch import ProducerIdAndEpoch
from engine.coordinator.records import OffsetValue
from engine.model import TopicPartition
from engine.sim.client import Row
from engine.storage.control import ControlType
from proof.storms import transaction_invariants
from proof.storms.invariants import ALWAYS, AT_REST, Violation, check
from proof.storms.run import Run
from proof.storms.transactions.transaction_log import TransactionInLog
from proof.storms.transactions.workload import OFFSETS_OF_GROUPS, PARTITIONS
from proof.storms.transactions.writer import Outcome, group_of

COPIES = PARTITIONS[0]


@pytest.fixture
def run():
    run = Run(0, 8)
    run.storm.is_over = True
    run.go()
    run.observed.observe()
    check(run.observed, ALWAYS + AT_REST)
    return run


def complaint(run, promise):
    with pytest.raises(Violation) as raised:
        check(run.observed, (promise,))
    assert raised.value.invariant == promise.__name__
    return raised.value.text


def written(run, outcome):
    return next(it for it in run.transaction_workload.transactions if it.outcome is outcome)


def log(run, partition=COPIES):
    return run.observed.transaction_logs[partition]


def test_a_run_has_transactions_of_each_kind(run):
    outcomes = {it.outcome for it in run.transaction_workload.transactions}
    assert outcomes >= {Outcome.COMMITTED, Outcome.ABORTED}
    assert any(it.has_offsets for it in run.transaction_workload.transactions)
    assert all(reader.rows for reader in run.transaction_workload.readers)


def test_two_producers_of_one_epoch(run):
    one, other = run.transaction_workload.everyone[:2]
    other._manager.producer = one.producer
    assert str(one.producer) in complaint(
        run, transaction_invariants.an_epoch_belongs_to_one_producer
    )
    other._manager.producer = ProducerIdAndEpoch(99, 0)
    check(run.observed, (transaction_invariants.an_epoch_belongs_to_one_producer,))


def test_a_record_of_an_epoch_that_is_over(run):
    committed = run.observed.committed[COPIES]
    last = committed[-1]
    old = last.header._replace(producer_epoch=last.header.producer_epoch - 1)
    committed.append(last._replace(header=old))
    assert f"epoch {old.producer_epoch} follows" in complaint(
        run, transaction_invariants.fenced_producers_change_nothing
    )


@pytest.mark.parametrize("outcome", [Outcome.COMMITTED, Outcome.ABORTED])
def test_another_end_than_the_writer_was_told(run, outcome):
    told = written(run, outcome)
    other = Outcome.ABORTED if outcome is Outcome.COMMITTED else Outcome.COMMITTED
    told.outcome = other
    assert complaint(run, transaction_invariants.transactions_end_in_one_way).startswith(
        f"transaction {told.number} was told to be {other.value}"
    )


def test_two_ends_of_one_transaction(run):
    told = written(run, Outcome.COMMITTED)
    partition, value = told.records[0]
    other = next(each for each in PARTITIONS if each != partition)
    log(run, other).records.append((value, TransactionInLog(0, ControlType.ABORT)))
    assert complaint(run, transaction_invariants.transactions_end_in_one_way)


def test_a_reader_gets_what_was_aborted(run):
    reader = run.transaction_workload.readers[0]
    reader.rows[1] = Row(1, "t0099.0", 0)
    assert "t0099.0 was read" in complaint(
        run, transaction_invariants.readers_get_what_is_committed
    )


def test_a_leader_gives_out_an_open_transaction(run):
    log(run).open[5] = TransactionInLog(0)
    assert "a transaction is open from offset 0 of copies-0" in complaint(
        run, transaction_invariants.the_last_stable_offset_waits
    )


def store(run, number):
    """An offset in the group of the first id that has one."""
    leader = next(it for it in run.observed.leaders if it.partition.id == OFFSETS_OF_GROUPS)
    id = next(it.id for it in run.transaction_workload.transactions if it.has_offsets)
    group = leader.running.group(group_of(id))
    group.offsets.stored[TopicPartition("orders", 0)] = OffsetValue(number, -1, "", 0)


def test_the_offset_of_a_transaction_that_was_aborted(run):
    number = written(run, Outcome.ABORTED).number
    store(run, number)
    assert f"the offset of transaction {number}" in complaint(
        run, transaction_invariants.offsets_wait_for_the_marker
    )


def test_an_offset_that_is_not_the_last_one(run):
    store(run, 9999)
    assert "has offset 9999" in complaint(
        run, transaction_invariants.all_that_was_committed_is_there
    )


def test_a_transaction_without_an_end(run):
    log(run).open[5] = TransactionInLog(0)
    assert complaint(run, transaction_invariants.every_transaction_has_ended) == (
        "1 transactions in copies-0 are open"
    )


def test_a_committed_record_that_is_not_there(run):
    told = written(run, Outcome.COMMITTED)
    told.records.append((COPIES, "t9999.9"))
    assert "t9999.9" in complaint(run, transaction_invariants.all_that_was_committed_is_there)
