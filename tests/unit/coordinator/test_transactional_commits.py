"""TxnOffsetCommit: who may, how long it is kept, and what deletes it."""

import pytest
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.records import GroupKey, OffsetKey
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import (
    GROUP,
    NONE,
    PARTITION,
    SESSION,
    T0,
    T1,
    U0,
    Shell,
)

ANN = TransactionalProducer(7, 0)
MINUTE = 60_000
CHECK = 10 * MINUTE  # how often it is looked what may go


def delete_offset(shell, partition):
    rows = (OffsetDeleteRequestPartition(partition_index=partition.partition),)
    topics = (OffsetDeleteRequestTopic(name=partition.topic, partitions=rows),)
    shell.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics))


# -- who may -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "generation", "expected"),
    [
        (None, 1, NONE),
        (None, -1, NONE),
        ("", 1, NONE),
        ("", -1, NONE),  # as producers were before KIP-447
        ("nobody", 1, ErrorCode.unknown_member_id),
        ("nobody", 2, ErrorCode.unknown_member_id),
        (None, 0, ErrorCode.illegal_generation),
        ("", 2, ErrorCode.illegal_generation),
    ],
)
def test_what_is_said_of_the_member_is_checked(member, generation, expected):
    shell = Shell()
    (one,) = shell.stable()
    number = shell.commit_in(ANN, {T0: 5}, one if member is None else member, generation)
    assert shell.committed(number) == {T0: expected}
    result = "pending" if expected == NONE else expected.name
    assert [each["result"] for each in shell.told("offset.transaction")] == [result]
    shell.end(ANN)
    assert shell.offsets(T0) == {T0: 5 if expected == NONE else -1}


def test_a_static_member_that_was_replaced_is_fenced():
    shell = Shell()
    (was,) = shell.stable(group_instance_id="i")
    assert shell.committed(shell.commit_in(ANN, {T0: 4}, was, 1, instance="i")) == {T0: NONE}
    now = shell.answer(shell.join(group_instance_id="i")).member_id
    assert now != was
    late = shell.commit_in(ANN, {T0: 5}, was, 1, instance="i")
    assert shell.committed(late) == {T0: ErrorCode.fenced_instance_id}
    assert shell.committed(shell.commit_in(ANN, {T0: 6}, now, 1, instance="i")) == {T0: NONE}


def test_it_may_while_the_shares_are_being_decided():
    shell = Shell()
    id = shell.answer(shell.join(version=0)).member_id
    assert shell.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert shell.committed(shell.commit_in(ANN, {T0: 5}, id, 1)) == {T0: NONE}


def test_it_is_no_heartbeat():
    shell = Shell()
    (one,) = shell.stable()
    shell.advance(SESSION - 1)
    shell.commit_in(ANN, {T0: 5}, one, 1)
    shell.advance(1)
    assert shell.group.members == {}


def test_of_a_group_that_nobody_knows_no_member_can_be():
    shell = Shell()
    assert shell.committed(shell.commit_in(ANN, {T0: 5}, "m", 3)) == {
        T0: ErrorCode.unknown_member_id
    }
    assert shell.committed(shell.commit_in(ANN, {T0: 5}, "", 3)) == {
        T0: ErrorCode.illegal_generation
    }
    assert (shell.group, shell.accepted) == (None, [])
    assert shell.committed(shell.commit_in(ANN, {T0: 5})) == {T0: NONE}


def test_the_group_must_have_a_name():
    shell = Shell()
    number = shell.commit_in(ANN, {T0: 5}, group="")
    assert shell.committed(number) == {T0: ErrorCode.invalid_group_id}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (1, ErrorCode.coordinator_not_available),
        (2, ErrorCode.coordinator_load_in_progress),
        (3, ErrorCode.coordinator_load_in_progress),
    ],
)
def test_older_producers_are_not_told_of_loading(version, expected):
    shell = Shell(partitions=())
    number = shell.commit_in(ANN, {T0: 5}, version=version)
    assert shell.committed(number) == {T0: ErrorCode.not_coordinator}
    shell.coordinator.load(PARTITION, 0)
    number = shell.commit_in(ANN, {T0: 5}, version=version)
    assert shell.committed(number) == {T0: expected}


def test_of_each_partition_it_is_told_by_itself():
    shell = Shell(offset_metadata_max_bytes=4)
    shell.missing = {U0}
    assert shell.committed(shell.commit_in(ANN, {T0: 5, U0: 5})) == {
        T0: NONE,
        U0: ErrorCode.unknown_topic_or_partition,
    }
    shell.end(ANN)
    assert shell.committed(shell.commit_in(ANN, {T0: 6, U0: 6}, metadata="12345")) == {
        T0: ErrorCode.offset_metadata_too_large,
        U0: ErrorCode.unknown_topic_or_partition,
    }
    assert shell.stability(T0) == [5]


# -- how long it is kept -------------------------------------------------------------------------


def test_what_is_pending_keeps_itself_and_what_was_there():
    shell = Shell(offsets_retention_minutes=1)
    shell.commit({T0: 3, T1: 3})
    shell.commit_in(ANN, {T0: 5})
    shell.advance(CHECK)
    assert shell.offsets() == {T0: 3}
    shell.end(ANN, committed=False)
    shell.advance(CHECK)
    assert shell.group is None


def test_a_group_of_which_there_is_nothing_else_lives_as_long():
    shell = Shell()
    (one,) = shell.stable()
    shell.commit_in(ANN, {T0: 5}, one, 1)
    shell.leave(one)
    shell.advance(CHECK)
    assert shell.group.state is ClassicGroupState.EMPTY
    shell.end(ANN, committed=False)
    shell.advance(CHECK)
    assert shell.group is None
    assert shell.records()[-1] == (GroupKey(GROUP), None)


# -- deleting ------------------------------------------------------------------------------------


def by_an_administrator(shell):
    delete_offset(shell, T0)


def with_the_topic(shell):
    shell.do(shell.coordinator.forget([T0], shell.now))


def with_the_group(shell):
    shell.ask(DeleteGroupsRequest(groups_names=(GROUP,)))


WAYS = [by_an_administrator, with_the_topic, with_the_group]


@pytest.mark.parametrize("delete", WAYS)
def test_no_transaction_brings_back_what_was_deleted(delete):
    shell = Shell()
    shell.commit({T0: 3})
    shell.commit_in(ANN, {T0: 5})
    delete(shell)
    after = shell.successor()
    for each in (shell, after):
        each.end(ANN)
        assert each.offsets(T0, stable=True) == {T0: -1}
        assert each.told("offset.committed")[1:] == []
        assert each.coordinator.groups.find(GROUP) is None


@pytest.mark.parametrize("delete", WAYS)
def test_nor_if_there_was_nothing_else(delete):
    shell = Shell()
    shell.commit_in(ANN, {T0: 5})
    delete(shell)
    assert shell.records()[-1] == (OffsetKey(GROUP, "t", 0), None)
    assert shell.group is None
    assert shell.successor().group is None


@pytest.mark.parametrize("delete", WAYS)
def test_what_the_transaction_commits_after_that_counts(delete):
    shell = Shell()
    shell.commit_in(ANN, {T0: 5, U0: 5})
    delete(shell)
    shell.commit_in(ANN, {T0: 6})
    shell.end(ANN)
    expected = {T0: 6} if delete is with_the_group else {T0: 6, U0: 5}
    assert shell.offsets() == shell.successor().offsets() == expected
