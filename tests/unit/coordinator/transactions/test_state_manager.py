"""All transactional ids: whose they are, and how they come from the log and go."""

import pytest

from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.transactions.transaction import RETRY_MS
from engine.errors import ErrorCode
from engine.storage.records import Record
from tests.unit.coordinator.transactions.shell import (
    BUSY,
    ELSEWHERE,
    EPOCH,
    FENCED,
    FIRST,
    ID,
    NEIGHBOUR,
    NONE,
    PARTITION,
    START,
    T0,
    T1,
    TIMEOUT,
    Shell,
)

LOADING = ErrorCode.coordinator_load_in_progress


@pytest.mark.parametrize("state", ["nobody's", "being read", "given up"])
def test_who_is_not_led_here(state):
    shell = Shell(partitions=())
    if state != "nobody's":
        shell.coordinator.load(PARTITION, EPOCH)
    if state == "given up":
        shell.do(shell.coordinator.unload(PARTITION, shell.now))
        shell.coordinator.replay(PARTITION, [Record(0, START, b"\0\0\0\1x", b"")], shell.now)
        shell.do(shell.coordinator.loaded(PARTITION, shell.now))
    code = LOADING if state == "being read" else ELSEWHERE
    assert shell.initialized()[0] == code
    writer = TransactionalProducer(FIRST, 0)
    assert shell.added(writer, T0) == code
    assert shell.code(shell.add_offsets(writer)) == code
    assert shell.ended(writer) == code
    assert shell.told("transaction.unreadable") == []


def test_a_partition_is_not_led_twice():
    with pytest.raises(AssertionError, match="not unloaded"):
        Shell().coordinator.load(PARTITION, EPOCH + 1)


def test_what_cannot_be_read_is_told_and_the_rest_is_known():
    shell = Shell()
    shell.begin()
    records = [record for _, record in shell.accepted]
    odd = [Record(7, START, None, b""), Record(8, START, b"\0\0\0\1x", b"\0\0")]
    other = Shell(partitions=())
    other.lead(PARTITION, EPOCH, [*odd, *records])
    assert [each["offset"] for each in other.told("transaction.unreadable")] == [7, 8]
    assert other.state == "Empty"


def test_the_number_of_partitions_may_be_another():
    shell = Shell(partitions=(0,))
    shell.coordinator.set_partition_count(1)
    assert shell.begin() == TransactionalProducer(FIRST, 0)


def test_nothing_ends_within_its_own_topic():
    assert Shell().coordinator.ended(PARTITION, FIRST, True, START) == []


# -- the coordinator goes, in the middle of each state --------------------------------------------


def successor_of(shell, **options):
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    assert shell.coordinator.snapshot() == []
    assert all(len(shell.replies[each]) == 1 for each in range(1, shell.asked + 1))
    return shell.successor(**options)


def test_empty():
    shell = Shell()
    writer = shell.begin()
    other = successor_of(shell)
    assert other.transaction.metadata == other.records()[-1][1]
    assert other.added(writer, T0) == NONE


def test_on_the_way_to_empty():
    shell = Shell(held=True)
    number = shell.init()
    other = successor_of(shell)
    assert shell.code(number) == ELSEWHERE
    assert other.transaction is None
    assert other.begin() == TransactionalProducer(FIRST + 1, 0)


def test_ongoing():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    other = successor_of(shell)
    assert (other.state, other.marks) == ("Ongoing", [])
    assert other.added(writer, T1) == NONE
    assert other.ended(writer) == NONE
    (mark,) = other.marks
    assert (mark.partitions, mark.coordinator_epoch) == ((T0, T1), EPOCH + 1)


def test_ongoing_and_too_long_over_both():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.advance(TIMEOUT - 1000)
    other = successor_of(shell)
    other.advance(11_000)
    assert other.state == "CompleteAbort"
    assert other.ended(writer) == FENCED


@pytest.mark.parametrize("written", [False, True])
def test_on_the_way_to_a_decision(written):
    """The write that nobody has heard of may be there, or not: the producer asks again."""
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.held = True
    number = shell.end(writer)
    (write,) = shell.waiting
    if written:
        shell.accepted.append((PARTITION, write.records[0]))
    other = successor_of(shell)
    assert (shell.code(number), shell.marks) == (ELSEWHERE, [])
    assert other.ended(writer) == NONE
    assert other.state == "CompleteCommit"
    assert [mark.committed for mark in other.marks] == [True]
    shell.finish()  # too late
    assert shell.marks == []


@pytest.mark.parametrize("committed", [True, False])
def test_decided_and_not_told_everywhere(committed):
    shell = Shell(markers=False)
    writer = shell.begin()
    shell.add(writer, T0, T1)
    shell.end(writer, committed)
    shell.mark(shell.marks[0], T0)
    other = successor_of(shell, markers=False)
    (mark,) = other.marks
    assert mark == shell.marks[0]._replace(coordinator_epoch=EPOCH + 1)
    assert other.initialized()[0] == BUSY
    other.mark(mark)
    assert other.state == ("CompleteCommit" if committed else "CompleteAbort")


def test_on_the_way_to_complete():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.held = True
    shell.end(writer)
    shell.finish()
    other = successor_of(shell)
    shell.advance(RETRY_MS)
    assert len(shell.waiting) == 1  # the first one: nobody tries again what is led elsewhere
    assert len(other.marks) == 1
    assert other.state == "CompleteCommit"


def test_fenced_and_not_aborted_everywhere():
    shell = Shell(markers=False)
    writer = shell.begin()
    shell.add(writer, T0)
    shell.init()
    other = successor_of(shell)
    assert other.state == "CompleteAbort"
    assert [mark.producer for mark in other.marks] == [TransactionalProducer(FIRST, 1)]
    assert other.ended(writer) == FENCED
    assert other.begin() == TransactionalProducer(FIRST, 2)


def test_complete():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.end(writer)
    other = successor_of(shell)
    assert (other.state, other.marks) == ("CompleteCommit", [])
    assert other.ended(writer) == NONE
    assert other.added(writer, T1) == NONE


def test_on_the_way_to_be_forgotten():
    shell = Shell(transactional_id_expiration_ms=1)
    writer = shell.begin()
    shell.held = True
    shell.advance(3_600_000)
    assert len(shell.waiting) == 1
    other = successor_of(shell)
    assert other.added(writer, T0) == NONE


def test_we_lead_again():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0)
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    shell.lead(PARTITION, EPOCH + 2, [record for _, record in shell.accepted])
    shell.end(writer)
    assert shell.marks[0].coordinator_epoch == EPOCH + 2


# -- for those who look on -------------------------------------------------------------------------


def test_a_snapshot():
    shell = Shell(markers=False)
    writer = shell.begin()
    shell.begin(id=NEIGHBOUR)
    shell.now += 5
    shell.add(writer, T1, T0)
    shell.now += 5
    shell.end(writer)
    shell.mark(shell.marks[0], T0)
    first, second = shell.coordinator.snapshot()
    assert first == {
        "transactional_id": ID,
        "partition": PARTITION,
        "state": "PrepareCommit",
        "pending": None,
        "producer_id": FIRST,
        "epoch": 0,
        "updated": START + 10,
        "started": START + 5,
        "timeout": TIMEOUT,
        "partitions": ["t-0", "t-1"],
        "unmarked": ["t-1"],
    }
    assert (second["transactional_id"], second["state"]) == (NEIGHBOUR, "Empty")
    assert second["started"] is None
    shell.held = True
    shell.mark(shell.marks[0], T1)
    assert shell.coordinator.snapshot()[0]["pending"] == "CompleteCommit"
