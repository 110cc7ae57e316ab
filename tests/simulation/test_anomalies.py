"""The checks of random transactions, on histories of simulated clusters: sound ones and others."""

from contextlib import suppress

import pytest

import proof.storms.invariants
from proof.chaos.anomalies import find
from proof.chaos.history import ReadRecord
from proof.chaos.operations import (
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    Poll,
    PolledValue,
    SentValue,
)
from proof.storms.defects import DEFECTS, SOUND
from proof.storms.invariants import ALWAYS, Violation
from proof.storms.run import Run
from proof.storms.transaction_invariants import number_of
from proof.storms.transactions.writer import Outcome

TYPES = {
    Outcome.COMMITTED: OperationType.OK,
    Outcome.ABORTED: OperationType.FAIL,
    Outcome.UNKNOWN: OperationType.INFO,
}
READER = 1_000_000  # the process of the first reader


def value_of(text):
    """t0007.1 is 71; a transaction has less than ten."""
    return number_of(text) * 10 + int(text.rpartition(".")[2])


def anomalies(seed, defect, monkeypatch):
    """Of a run that no broken invariant ends early: it goes on until all is at rest, or late."""

    def check(observed, invariants):
        if invariants is not ALWAYS:
            proof.storms.invariants.check(observed, invariants)

    monkeypatch.setattr("proof.storms.run.check", check)
    run = Run(seed, defect=defect)
    with suppress(Violation):
        run.go()
    workload, history, final = run.transaction_workload, OperationHistory(), []
    for made in workload.transactions:
        sent = (SentValue(where.partition, value_of(value)) for where, value in made.records)
        history.operations.append(
            ClientOperation(made.number, TYPES[made.outcome], TXN, tuple(sent))
        )
    for number, reader in enumerate(workload.readers):
        place = reader.partition.partition
        rows = tuple(PolledValue(place, row.offset, value_of(row.value)) for row in reader.rows)
        read = ClientOperation(READER + number, OperationType.OK, TXN, (Poll(rows),))
        history.operations.append(read)
        final += [ReadRecord(place, row.offset, b"%d" % row.value) for row in rows]
    assert any(it.type is OperationType.OK and it.sent for it in history.operations)
    assert final
    return {finding.kind.value for finding in find(history, final)}


@pytest.mark.parametrize("seed", [0, 3])
def test_a_sound_cluster_has_none(seed, monkeypatch):
    assert anomalies(seed, SOUND, monkeypatch) == set()


@pytest.mark.parametrize(("name", "first"), [("late-request", 6), ("unstable-read", 0)])
def test_a_planted_mistake_is_found(name, first, monkeypatch):
    found = set()
    for seed in range(first, first + 8):
        found |= anomalies(seed, DEFECTS[name], monkeypatch)
        if "G1a" in found:
            return
    pytest.fail(f"no aborted read in eight runs; but {found}")
