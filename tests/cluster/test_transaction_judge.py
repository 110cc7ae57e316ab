"""The judge of transactions: each kind of fault is found and named, a good run is not accused."""

import pytest

from proof.chaos.history import ReadRecord
from proof.chaos.judge import ChaosVerdict, FindingKind
from proof.chaos.transaction_history import CopiedRecord, TransactionEnd, TransactionHistory
from proof.chaos.transaction_judge import compare

PARTITIONS, RECORDS, TOGETHER = 2, 6, 2


class Run:
    """Six records in each of two partitions, copied two at a time by two copiers in turn."""

    def __init__(self) -> None:
        self.history = TransactionHistory("orders", "copies", PARTITIONS)
        self.history.lives = 2
        self.inputs = [
            ReadRecord(number, offset, b"order")
            for number in range(PARTITIONS)
            for offset in range(RECORDS)
        ]
        self.outputs: list[ReadRecord] = []
        self.offsets = dict.fromkeys(range(PARTITIONS), RECORDS)
        for turn in range(RECORDS // TOGETHER):
            self.copy(f"copier-{turn % 2}", turn, range(turn * TOGETHER, (turn + 1) * TOGETHER))
        self.outputs.sort()
        self.history.seen["reader"] = list(self.outputs)

    def copy(self, copier: str, number: int, offsets: range) -> None:
        made = self.history.begin(copier, number)
        made.end = TransactionEnd.COMMITTED
        for partition in range(PARTITIONS):
            for offset in offsets:
                for side in range(2):
                    value = CopiedRecord(copier, number, partition, offset, side).value
                    made.values.add(value)
                    target = (partition + side) % PARTITIONS
                    there = sum(each.partition == target for each in self.outputs)
                    self.outputs.append(ReadRecord(target, there + number, value))

    @property
    def first(self):
        return self.history.transactions["copier-0", 0]

    def drop(self, values) -> None:
        """As if they had never been stored."""
        self.outputs = [each for each in self.outputs if each.value not in values]
        self.history.seen.clear()

    def judged(self) -> ChaosVerdict:
        return compare(self.history, self.inputs, self.outputs, self.offsets)


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_good_run_is_not_accused(run):
    assert str(run.judged()) == (
        "nothing wrong: 3 transactions (0 unknown, 3 committed, 0 aborted) of 2 copiers, "
        "12 records read, 24 written, 24 seen on the way"
    )


def test_what_nobody_answered_may_be_there_or_not(run):
    run.first.end = TransactionEnd.UNKNOWN
    crashed = run.history.begin("copier-1", 9)
    crashed.values.add(CopiedRecord("copier-1", 9, 0, 3, 0).value)
    aborted = run.history.begin("copier-1", 10)
    aborted.values.add(CopiedRecord("copier-1", 10, 0, 3, 0).value)
    aborted.end = TransactionEnd.ABORTED
    assert run.judged().good


def test_a_transaction_that_was_lost(run):
    run.drop(run.first.values)
    verdict = run.judged()
    assert verdict.kinds == {FindingKind.LOST}
    assert "transaction 0 of copier-0 was committed, and nothing is there" in str(verdict)
    assert "the record at offset 1 of partition 0 has no copy on side 1" in str(verdict)


def test_a_record_that_nobody_copied(run):
    """Its offset was committed; no transaction has it."""
    run.inputs.append(ReadRecord(1, RECORDS, b"order"))
    run.offsets[1] = RECORDS + 1
    assert run.judged().kinds == {FindingKind.LOST, FindingKind.APART}


def test_a_record_that_nobody_has_come_to_is_not_lost(run):
    """That the copiers were late is told by who waited for them."""
    run.inputs.append(ReadRecord(1, RECORDS, b"order"))
    assert run.judged().good


def test_half_of_a_transaction(run):
    run.drop({each for each in run.first.values if each.endswith(b"/1")})
    verdict = run.judged()
    assert verdict.kinds == {FindingKind.HALF, FindingKind.LOST}
    assert "of transaction 0 of copier-0, which is committed, 4 of 8 values are there" in str(
        verdict
    )


def test_a_transaction_that_was_repeated(run):
    """Its offsets were not committed with it, and another copier did the same."""
    run.copy("copier-1", 7, range(4, 6))
    run.outputs.sort()
    run.history.seen.clear()
    verdict = run.judged()
    assert verdict.kinds == {FindingKind.DOUBLED}
    assert "the record at offset 4 of partition 0 has 2 copies on side 0" in str(verdict)


def test_a_batch_that_was_stored_twice(run):
    again = run.outputs[-1]
    run.outputs.append(again._replace(offset=again.offset + 5))
    assert run.judged().kinds == {FindingKind.DOUBLED}


def test_what_was_aborted_is_read_as_committed(run):
    run.first.end = TransactionEnd.ABORTED
    verdict = run.judged()
    assert verdict.kinds == {FindingKind.DIRTY}
    assert "transaction 0 of copier-0 was aborted" in str(verdict)


@pytest.mark.parametrize(
    ("partition", "value"),
    [(0, b"what?"), (0, b"copier-9/0/0/0/0"), (0, b"copier-0/0/0/5/0"), (1, b"copier-0/0/0/0/0")],
)
def test_what_was_never_written_there(run, partition, value):
    run.drop({value})
    run.outputs.append(ReadRecord(partition, 99, value))
    assert FindingKind.PHANTOM in run.judged().kinds


def test_an_order_that_has_changed(run):
    own = [at for at, each in enumerate(run.outputs) if each.value.endswith(b"/0")]
    same = [at for at in own if run.outputs[at].partition == 0]
    one, other = same[0], same[-1]
    first, last = run.outputs[one], run.outputs[other]
    run.outputs[one] = first._replace(value=last.value)
    run.outputs[other] = last._replace(value=first.value)
    run.history.seen.clear()
    assert run.judged().kinds == {FindingKind.REORDERED}


@pytest.mark.parametrize("offset", [RECORDS - 1, RECORDS + 1])
def test_offsets_that_do_not_agree_with_the_copies(run, offset):
    run.offsets[1] = offset
    verdict = run.judged()
    assert verdict.kinds == {FindingKind.APART}
    assert f"the group's offset of partition 1 is {offset}, and the copies end at 6" in str(verdict)


def test_a_reader_that_saw_what_is_not_committed(run):
    open_one = ReadRecord(0, 77, b"copier-0/9/0/0/0")
    run.history.seen["reader"].append(open_one)
    assert run.judged().kinds == {FindingKind.UNSTABLE}


def test_a_reader_that_saw_a_record_twice(run):
    run.history.seen["reader"].append(run.outputs[0])
    assert run.judged().kinds == {FindingKind.UNSTABLE}


def test_a_run_in_which_nothing_was_committed(run):
    for each in run.history.transactions.values():
        each.end = TransactionEnd.UNKNOWN
    assert run.judged().kinds == {FindingKind.BLIND}


def test_an_error_of_a_copier(run):
    run.history.errors.append("copier-1 had to end: what?")
    assert run.judged().kinds == {FindingKind.ERROR}
