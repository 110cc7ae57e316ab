"""Each anomaly is found in a history in which it is planted, alone; a clean history has none."""

import pytest

from proof.chaos.anomalies import find, strongly_connected
from proof.chaos.history import ReadRecord
from proof.chaos.judge import FindingKind
from proof.chaos.operations import (
    ASSIGN,
    SUBSCRIBE,
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    Poll,
    PolledValue,
    SentValue,
)

OK, FAIL, INFO = OperationType.OK, OperationType.FAIL, OperationType.INFO


def send(partition, value, offset=None):
    return SentValue(partition, value, offset)


def poll(*records):
    """(partition, offset, value) ..."""
    return Poll(tuple(PolledValue(*each) for each in records))


class Written:
    """A history, and what is committed in the end."""

    def __init__(self):
        self.history, self.final = OperationHistory(), []

    def note(self, process, kind, *steps, what=TXN):
        self.history.operations.append(ClientOperation(process, kind, what, steps))

    def ok(self, process, *steps):
        self.note(process, OK, *steps)

    def end(self, *records):
        self.final = [
            ReadRecord(partition, offset, b"%d" % value) for partition, offset, value in records
        ]

    def kinds(self):
        return {finding.kind.value for finding in find(self.history, self.final)}

    def texts(self):
        return [finding.text for finding in find(self.history, self.final)]


@pytest.fixture
def written():
    """Two producers and two readers. Markers stand at the offsets 2, 5 and 6 of partition 0; the
    value 14 at offset 4 was aborted."""
    made = Written()
    for process, kind in ((3, ASSIGN), (4, ASSIGN)):
        made.note(process, OK, what=kind)
    made.ok(1, send(0, 10, 0), send(0, 11, 1))
    made.ok(3, poll(), poll((0, 0, 10), (0, 1, 11)))
    made.ok(2, send(0, 13, 3), send(1, 20, 0))
    made.note(1, FAIL, send(0, 14), poll((1, 0, 20)))
    made.ok(3, poll((0, 3, 13)), send(1, 21, 2))
    made.ok(4, poll((1, 0, 20), (1, 2, 21)), poll((0, 0, 10)))
    made.note(1, INFO, send(0, 15), send(1, 22))
    made.end((0, 0, 10), (0, 1, 11), (0, 3, 13), (1, 0, 20), (1, 2, 21))
    return made


def test_a_clean_history_has_none(written):
    assert written.texts() == []


def test_what_nobody_answered_may_be_there_as_a_whole(written):
    written.end(*((each.partition, each.offset, int(each.value)) for each in written.final),
                (0, 7, 15), (1, 4, 22))  # fmt: skip
    assert written.texts() == []


def test_a_committed_value_that_nobody_has_read(written):
    """Below one that somebody has read it is lost, above all of them it is missing in the end."""
    written.ok(5, send(0, 16, 2))
    assert written.kinds() == {"lost-write"}
    assert "16 of the transaction of process 5 at 0.0 s (ok), at offset 2" in written.texts()[0]


def test_a_committed_value_behind_all_that_was_read(written):
    written.ok(2, send(0, 16, 8))
    assert written.kinds() == {"unseen"}


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (send(1, 30, 0), "inconsistent-offsets"),  # acknowledged where another one is
        (send(0, 10, 8), "duplicate"),
    ],
)
def test_offsets_and_values_that_do_not_agree(written, step, kind):
    written.ok(5, step)
    assert kind in written.kinds()


def test_two_readers_see_different_values_at_one_offset(written):
    written.note(6, OK, what=ASSIGN)
    written.ok(6, poll((0, 3, 11)))
    assert written.kinds() == {"inconsistent-offsets", "duplicate"}


def test_a_value_of_an_aborted_transaction_is_read(written):
    written.note(6, OK, what=ASSIGN)
    written.ok(6, poll((0, 4, 14)))
    assert written.kinds() == {"G1a"}


def test_evidence_of_a_transaction_that_was_aborted_itself_counts(written):
    written.note(6, FAIL, poll((0, 4, 14)))
    assert written.kinds() == {"G1a"}


def test_a_value_that_nobody_has_sent_is_read(written):
    written.note(6, OK, poll((0, 7, 999)))
    assert written.kinds() == {FindingKind.PHANTOM.value}


def test_a_transaction_reads_its_own_value_before_its_commit(written):
    written.ok(6, send(0, 16, 7), poll((0, 7, 16)))
    assert written.kinds() == {"precommitted-read"}


def test_half_of_a_transaction_with_an_unknown_end(written):
    written.final.append(ReadRecord(0, 7, b"15"))
    assert written.kinds() == {"half"}
    assert "15 is there, not 22" in written.texts()[0]


@pytest.mark.parametrize(
    ("polls", "kind"),
    [
        ([poll((0, 0, 10)), poll((0, 0, 10))], "nonmonotonic-poll"),
        ([poll((0, 3, 13)), poll((0, 1, 11))], "nonmonotonic-poll"),
        ([poll((0, 0, 10)), poll((0, 3, 13))], "poll-skip"),
    ],
)
def test_a_consumer_goes_back_or_leaves_out(written, polls, kind):
    """Between two polls of a transaction, within one poll, between two transactions; and after a
    transaction that was aborted it may read all of that again."""
    one, other = polls
    written.note(7, OK, what=ASSIGN)
    written.ok(7, *polls)
    assert written.kinds() == {f"int-{kind}"}

    written.history.operations[-1] = ClientOperation(
        7, OK, TXN, (Poll(one.records + other.records),)
    )
    assert written.kinds() == {f"int-{kind}"}

    written.history.operations[-1:] = [ClientOperation(7, OK, TXN, (each,)) for each in polls]
    assert written.kinds() == {kind}

    written.history.operations[-2:] = [
        ClientOperation(7, FAIL, TXN, (one,)),
        ClientOperation(7, OK, TXN, polls[1:]),
    ]
    assert written.kinds() == set()


def test_who_subscribes_or_assigns_anew_may_go_back(written):
    for what in (SUBSCRIBE, ASSIGN):
        written.note(8, OK, what=what)
        written.ok(8, poll((0, 0, 10)))
        written.note(8, OK, what=what)
        written.ok(8, poll((0, 0, 10)))
    assert written.kinds() == set()
    written.note(9, OK, what=SUBSCRIBE)
    written.ok(9, poll((0, 3, 13)))
    written.ok(9, poll((0, 0, 10)))
    assert written.kinds() == set()
    written.ok(9, poll((0, 3, 13)), poll((0, 0, 10)))
    assert written.kinds() == {"int-nonmonotonic-poll"}


def test_markers_and_aborted_values_are_no_skip(written):
    written.note(7, OK, what=ASSIGN)
    written.ok(7, poll((0, 1, 11), (0, 3, 13)))
    assert written.kinds() == set()


def test_values_of_a_producer_in_another_order(written):
    written.ok(2, send(0, 16, 7), send(0, 17, 6))
    written.end(*((it.partition, it.offset, int(it.value)) for it in written.final),
                (0, 6, 17), (0, 7, 16))  # fmt: skip
    assert written.kinds() == {"nonmonotonic-send"}


def test_transactions_that_read_of_each_other(written):
    written.ok(7, send(0, 16, 7), poll((1, 4, 30)))
    written.ok(8, send(1, 30, 4), poll((0, 9, 17)))
    written.ok(9, send(0, 17, 9), poll((0, 7, 16)))
    written.end(*((it.partition, it.offset, int(it.value)) for it in written.final),
                (0, 7, 16), (0, 9, 17), (1, 4, 30))  # fmt: skip
    assert written.kinds() == {"G1c"}
    assert written.texts()[0].startswith("3 transactions have read each other's values")


@pytest.mark.parametrize(
    ("edges", "components"),
    [
        ([{1}, {2}, {0}], [[0, 1, 2]]),
        ([{1}, {2}, set()], [[0], [1], [2]]),
        ([{1, 2}, {0}, {3}, {4}, {2}], [[0, 1], [2, 3, 4]]),
        ([{0}], [[0]]),
        ([{each + 1} for each in range(5000)] + [{0}], [list(range(5001))]),
    ],
)
def test_strongly_connected_components(edges, components):
    found = sorted(sorted(each) for each in strongly_connected(edges))
    assert found == components
