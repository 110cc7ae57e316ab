"""Offsets that count when a transaction is committed, and not before."""

import pytest
from kio.schema.txn_offset_commit.v3.response import TxnOffsetCommitResponse

from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.owned_partitions import partition_of
from engine.coordinator.records import OffsetKey, OffsetValue, encode_key
from engine.errors import ErrorCode
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record
from engine.wire.apis import Api
from engine.wire.codec import decode_response
from engine.wire.errors import RequestHeader
from tests.unit.coordinator.shell import (
    GROUP,
    NONE,
    PARTITION,
    START,
    T0,
    T1,
    U0,
    Shell,
)
from tests.unit.wire.frames import encode_response

ANN, BOB = TransactionalProducer(7, 0), TransactionalProducer(8, 3)
UNSTABLE = ErrorCode.unstable_offset_commit
NEIGHBOUR = next(f"h{n}" for n in range(1000) if partition_of(f"h{n}", 50) == PARTITION)
STRANGER = next(f"s{n}" for n in range(1000) if partition_of(f"s{n}", 50) != PARTITION)


# -- a transaction, from its beginning to its end ------------------------------------------------


def test_the_records_are_those_of_any_commit_but_in_the_name_of_the_producer():
    shell = Shell(held=True)
    number = shell.commit_in(BOB, {T0: 5, U0: 7}, metadata="note")
    assert [each.producer for each in shell.waiting] == [BOB]
    assert shell.answer(number) is None
    shell.finish()
    assert shell.committed(number) == {T0: NONE, U0: NONE}
    header = RequestHeader(Api.TXN_OFFSET_COMMIT, 3, 7, "c")
    frame = encode_response(header, shell.answer(number))[4:]  # without its size
    sent = decode_response(header, frame)
    assert isinstance(sent, TxnOffsetCommitResponse)
    assert [topic.name for topic in sent.topics] == ["t", "u"]
    assert {row.error_code for topic in sent.topics for row in topic.partitions} == {NONE}
    assert shell.records() == [
        (OffsetKey(GROUP, "t", 0), OffsetValue(5, 3, "note", START)),
        (OffsetKey(GROUP, "u", 0), OffsetValue(7, 3, "note", START)),
    ]


def test_a_plain_commit_is_in_nobodys_name():
    shell = Shell(held=True)
    shell.commit({T0: 5})
    assert [each.producer for each in shell.waiting] == [None]


def test_nobody_sees_it_before_the_transaction_is_committed():
    shell = Shell()
    shell.commit({T0: 3})
    shell.commit_in(ANN, {T0: 5, U0: 7})
    assert shell.offsets(T0, U0) == {T0: 3, U0: -1}
    assert shell.offsets() == {T0: 3}
    assert shell.stability(T0, T1, U0) == [UNSTABLE, -1, UNSTABLE]
    shell.end(ANN)
    assert shell.offsets() == {T0: 5, U0: 7}
    assert shell.stability(T0, U0) == [5, 7]


def test_that_it_is_committed_is_told_then():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5, U0: 7})
    assert shell.told("offset.committed") == []
    shell.end(ANN)
    assert shell.told("offset.committed") == [{"group": GROUP, "offsets": {"t-0": 5, "u-0": 7}}]


def test_what_becomes_of_it_is_told_and_whose_it_is():
    shell = Shell()
    for committed in (True, False):
        shell.commit_in(ANN, {T0: 5, U0: 7})
        shell.end(ANN, committed)
    shell.end(BOB)  # he has written none of its offsets
    own = {"group": GROUP, "member": "", "producer": 7, "epoch": 0}
    pending = own | {"result": "pending", "offsets": {"t-0": 5, "u-0": 7}}
    ends = [
        {"group": GROUP, "result": result, "producer": 7} for result in ("committed", "aborted")
    ]
    assert shell.told("offset.transaction") == [pending, ends[0], pending, ends[1]]


def test_an_aborted_one_leaves_nothing():
    shell = Shell()
    shell.commit({T0: 3})
    shell.commit_in(ANN, {T0: 5, U0: 7})
    shell.end(ANN, committed=False)
    assert shell.stability(T0, U0) == [3, -1]
    shell.end(ANN)
    assert shell.offsets() == {T0: 3}
    assert len(shell.told("offset.committed")) == 1


def test_each_transaction_ends_by_itself():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5, T1: 5})
    shell.commit_in(BOB, {T0: 6, U0: 6})
    shell.end(BOB)
    assert shell.offsets() == {T0: 6, U0: 6}
    assert shell.stability(T0, T1, U0) == [UNSTABLE, UNSTABLE, 6]
    shell.end(ANN, committed=False)
    assert shell.offsets() == {T0: 6, U0: 6}


def test_a_producer_goes_from_one_to_the_next():
    shell = Shell()
    for offset, committed in ((5, True), (6, False), (7, True), (8, False)):
        shell.commit_in(ANN, {T0: offset})
        shell.end(ANN, committed)
    assert shell.stability(T0) == [7]


def test_it_ends_for_all_groups_of_the_partition_and_for_no_other():
    shell = Shell()
    for group in (GROUP, NEIGHBOUR, STRANGER):
        shell.commit_in(ANN, {T0: 5}, group=group)
    shell.end(ANN)
    found = [shell.offsets(T0, group=each)[T0] for each in (GROUP, NEIGHBOUR, STRANGER)]
    assert found == [5, 5, -1]
    shell.end(ANN, partition=partition_of(STRANGER, 50))
    assert shell.offsets(T0, group=STRANGER) == {T0: 5}


def test_without_a_producer_it_is_a_plain_one():
    shell = Shell()
    nobody = TransactionalProducer(NO_PRODUCER_ID, -1)
    assert shell.committed(shell.commit_in(nobody, {T0: 5})) == {T0: NONE}
    assert shell.batches[0].writer is None
    assert shell.stability(T0) == [5]


def test_a_marker_of_nobody_ends_nothing():
    shell = Shell(held=True)
    shell.commit({T0: 5})
    shell.do(shell.coordinator.ended(PARTITION, NO_PRODUCER_ID, False, shell.now))
    shell.finish()
    assert shell.offsets() == {T0: 5}


# -- what is later in the log wins ---------------------------------------------------------------


def test_a_plain_commit_behind_it_outlives_it():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5, U0: 5})
    shell.commit({T0: 2})
    shell.end(ANN)
    assert shell.offsets() == shell.successor().offsets() == {T0: 2, U0: 5}
    assert shell.told("offset.committed")[-1]["offsets"] == {"u-0": 5}


def test_one_before_it_does_not():
    shell = Shell(held=True)
    shell.commit({T0: 9})
    shell.commit_in(ANN, {T0: 5})
    shell.finish(which=1)
    shell.end(ANN)
    shell.finish()
    assert shell.offsets() == {T0: 5}


def test_nor_does_one_that_was_read_from_the_log():
    shell = Shell()
    shell.commit({T0: 9})
    shell.commit_in(ANN, {T0: 5})
    after = shell.successor()
    after.commit({U0: 1})
    after.end(ANN)
    assert after.offsets() == {T0: 5, U0: 1}


def test_the_order_of_the_records_decides_not_that_of_the_ends():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5})
    shell.commit_in(BOB, {T0: 6})
    shell.end(BOB)
    shell.end(ANN)
    assert shell.offsets() == shell.successor().offsets() == {T0: 6}


def test_within_a_transaction_the_last_one():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5, T1: 1})
    shell.commit_in(ANN, {T0: 4})
    shell.end(ANN)
    assert shell.offsets() == shell.successor().offsets() == {T0: 4, T1: 1}
    assert shell.told("offset.committed") == [{"group": GROUP, "offsets": {"t-0": 4, "t-1": 1}}]


# -- while it is on its way to the log -----------------------------------------------------------


@pytest.mark.parametrize("outcome", [NONE, ErrorCode.request_timed_out])
@pytest.mark.parametrize(("committed", "shown"), [(True, 5), (False, 3)])
def test_what_stands_before_a_marker_is_in_the_log_whatever_is_heard_of_it(
    committed, shown, outcome
):
    shell = Shell()
    shell.commit({T0: 3})
    shell.held = True
    number = shell.commit_in(ANN, {T0: 5})
    assert shell.stability(T0) == [UNSTABLE]
    shell.end(ANN, committed)
    assert shell.stability(T0) == [shown]
    shell.finish(outcome)
    assert shell.committed(number) == {T0: outcome}
    assert shell.stability(T0) == [shown]


def test_the_next_transaction_is_not_ended_by_what_ends_the_one_before():
    shell = Shell(held=True)
    shell.commit_in(ANN, {T0: 5})
    shell.end(ANN)
    shell.commit_in(ANN, {T0: 6})
    shell.finish()
    shell.finish()
    assert shell.offsets() == {T0: 5}
    assert shell.stability(T0) == [UNSTABLE]
    shell.end(ANN)
    assert shell.offsets() == {T0: 6}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.not_enough_replicas, ErrorCode.coordinator_not_available),
        (ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (ErrorCode.record_list_too_large, ErrorCode.invalid_commit_offset_size),
        (ErrorCode.invalid_producer_epoch, ErrorCode.invalid_producer_epoch),
        (ErrorCode.request_timed_out, ErrorCode.request_timed_out),
    ],
)
def test_a_write_that_failed_is_no_part_of_the_transaction(failure, told):
    shell = Shell(held=True)
    shell.commit_in(ANN, {T0: 5})
    number = shell.commit_in(ANN, {T0: 6, U0: 6})
    shell.finish()
    shell.finish(failure)
    assert shell.committed(number) == {T0: told, U0: told}
    assert shell.stability(T0, U0) == [UNSTABLE, -1]
    shell.end(ANN)
    assert shell.offsets() == {T0: 5}


def test_who_waits_when_the_coordinator_goes_is_told_so():
    shell = Shell(held=True)
    number = shell.commit_in(ANN, {T0: 5})
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    assert shell.committed(number) == {T0: ErrorCode.not_coordinator}
    shell.end(ANN)
    assert shell.told("offset.committed") == []


# -- a successor ---------------------------------------------------------------------------------


def test_it_finds_the_ends_in_the_log():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5})
    shell.commit_in(BOB, {U0: 5})
    shell.end(ANN)
    shell.end(BOB, committed=False)
    after = shell.successor()
    assert after.offsets() == {T0: 5}
    assert after.stability(T0, U0) == [5, -1]
    assert after.told("offset.committed") == []


@pytest.mark.parametrize(("committed", "shown"), [(True, 5), (False, 3)])
def test_what_is_open_stays_so(committed, shown):
    shell = Shell()
    shell.commit({T0: 3})
    shell.commit_in(ANN, {T0: 5})
    after = shell.successor()
    assert after.offsets() == {T0: 3}
    assert after.stability(T0) == [UNSTABLE]
    after.end(ANN, committed)
    assert after.stability(T0) == [shown]


def test_a_group_may_have_nothing_but_that():
    shell = Shell()
    shell.commit_in(ANN, {T0: 5})
    after = shell.successor()
    assert after.group.state is ClassicGroupState.EMPTY
    shell.end(ANN, committed=False)
    assert shell.successor().group is None


def test_it_ends_while_others_are_being_read():
    """A partition that is being read hears of what is found there, and of nothing else."""
    shell = Shell()
    shell.commit_in(ANN, {T0: 5})
    shell.commit_in(ANN, {T0: 6}, group=STRANGER)
    after = shell.successor()
    after.do(after.coordinator.unload(PARTITION, after.now))
    after.coordinator.load(PARTITION, 0)
    after.end(ANN, partition=partition_of(STRANGER, 50))
    assert after.offsets(T0, group=STRANGER) == {T0: 6}
    after.load(PARTITION)
    assert after.stability(T0) == [UNSTABLE]


def test_no_transaction_has_tombstones():
    shell = Shell()
    shell.commit({T0: 5})
    after = Shell(partitions=())
    after.coordinator.load(PARTITION, 0)
    records = [record for _, record in shell.accepted]
    after.coordinator.replay(PARTITION, records, after.now)
    bad = Record(9, 0, encode_key(OffsetKey(GROUP, "t", 0)), None)
    after.coordinator.replay(PARTITION, [bad], after.now, ANN.producer_id)
    after.do(after.coordinator.loaded(PARTITION, after.now))
    assert after.offsets() == {T0: 5}
    assert [each["offset"] for each in after.told("group.unreadable")] == [9]


def test_the_topic_may_turn_out_to_have_another_number_of_partitions():
    shell = Shell(partitions=())
    shell.coordinator.set_partition_count(1)
    shell.coordinator.load(0, 4)
    shell.do(shell.coordinator.loaded(0, shell.now))
    assert shell.committed(shell.commit_in(ANN, {T0: 5})) == {T0: NONE}
