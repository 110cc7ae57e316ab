"""OffsetCommit, OffsetFetch, OffsetDelete, and how long offsets are kept."""

from dataclasses import fields, make_dataclass
from datetime import timedelta

import pytest
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

from engine.client.offset_and_metadata import OffsetCommitRequest
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.records import GroupKey, OffsetKey, OffsetValue
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import (
    GROUP,
    NONE,
    SESSION,
    START,
    T0,
    T1,
    U0,
    Shell,
    commit_request,
    config,
)

UNKNOWN = ErrorCode.unknown_topic_or_partition
MINUTE = 60_000
CHECK = 10 * MINUTE  # how often it is looked what may go


def delete(shell, *partitions, group=GROUP):
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=each.topic,
            partitions=(OffsetDeleteRequestPartition(partition_index=each.partition),),
        )
        for each in partitions
    )
    answer = shell.answer(shell.ask(OffsetDeleteRequest(group_id=group, topics=topics)))
    rows = {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }
    return answer.error_code, rows


# -- committing ------------------------------------------------------------------------------


def test_a_commit_is_a_record_for_each_partition():
    shell = Shell()
    number = shell.commit({T0: 5, U0: 7}, metadata="note")
    assert shell.committed(number) == {T0: NONE, U0: NONE}
    assert shell.records() == [
        (OffsetKey(GROUP, "t", 0), OffsetValue(5, 3, "note", START)),
        (OffsetKey(GROUP, "u", 0), OffsetValue(7, 3, "note", START)),
    ]
    assert shell.told("offset.committed") == [{"group": GROUP, "offsets": {"t-0": 5, "u-0": 7}}]


def test_it_is_neither_seen_nor_acknowledged_before_it_is_replicated():
    shell = Shell(held=True)
    number = shell.commit({T0: 5})
    assert shell.answer(number) is None
    assert shell.offsets(T0) == {T0: -1}
    shell.finish()
    assert shell.committed(number) == {T0: NONE}
    assert shell.offsets(T0) == {T0: 5}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.not_enough_replicas, ErrorCode.coordinator_not_available),
        (ErrorCode.not_enough_replicas_after_append, ErrorCode.coordinator_not_available),
        (ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (ErrorCode.kafka_storage_error, ErrorCode.not_coordinator),
        (ErrorCode.message_too_large, ErrorCode.invalid_commit_offset_size),
        (ErrorCode.record_list_too_large, ErrorCode.invalid_commit_offset_size),
        (ErrorCode.request_timed_out, ErrorCode.request_timed_out),
    ],
)
def test_a_write_that_failed_leaves_the_offset_as_it_was(failure, told):
    shell = Shell()
    shell.commit({T0: 5})
    shell.held = True
    number = shell.commit({T0: 9})
    shell.finish(failure)
    assert shell.committed(number) == {T0: told}
    assert shell.offsets(T0, stable=True) == {T0: 5}


def test_the_newest_wins_whatever_is_heard_of_first():
    shell = Shell(held=True)
    shell.commit({T0: 5})
    shell.commit({T0: 6})
    shell.finish(which=1)
    shell.finish()
    assert shell.offsets(T0) == {T0: 6}


def test_what_is_on_its_way_is_unstable():
    shell = Shell(held=True)
    shell.commit({T0: 5, U0: 5})
    shell.commit({T0: 6})
    unstable = shell.fetch(T0, stable=True).topics[0].partitions[0]
    assert unstable.error_code == ErrorCode.unstable_offset_commit
    assert unstable.committed_offset == -1
    shell.finish()
    assert shell.offsets(U0, stable=True) == {U0: 5}
    assert shell.fetch(T0, stable=True).topics[0].partitions[0].error_code == (
        ErrorCode.unstable_offset_commit
    )
    assert shell.offsets(T0) == {T0: 5}


def test_partitions_that_do_not_exist_are_told_beside_the_others():
    shell = Shell()
    shell.missing = {U0}
    assert shell.committed(shell.commit({T0: 5, U0: 5})) == {T0: NONE, U0: UNKNOWN}
    assert shell.offsets() == {T0: 5}
    assert shell.committed(shell.commit({T0: 5, U0: 5}, "nobody", 3)) == {
        T0: ErrorCode.illegal_generation if shell.group is None else ErrorCode.unknown_member_id,
        U0: UNKNOWN,
    }


def test_of_partitions_that_do_not_exist_nothing_is_written():
    shell = Shell()
    shell.missing = {T0}
    assert shell.committed(shell.commit({T0: 5})) == {T0: UNKNOWN}
    assert (shell.accepted, shell.group) == ([], None)


def test_a_note_that_is_too_long():
    shell = Shell(offset_metadata_max_bytes=4)
    assert shell.committed(shell.commit({T0: 5}, metadata="12345")) == {
        T0: ErrorCode.offset_metadata_too_large
    }
    assert shell.accepted == []
    assert shell.committed(shell.commit({T0: 5}, metadata="1234")) == {T0: NONE}


def test_a_note_that_no_record_has_room_for():
    shell = Shell(offset_metadata_max_bytes=100_000)
    assert shell.committed(shell.commit({T0: 5}, metadata="é" * 16_384)) == {
        T0: ErrorCode.offset_metadata_too_large
    }


def test_no_note_is_an_empty_one():
    shell = Shell()
    shell.commit({T0: 5}, metadata=None)
    assert shell.fetch(T0).topics[0].partitions[0].metadata == ""


# -- who may -----------------------------------------------------------------------------------


def test_members_of_this_generation_may():
    shell = Shell()
    one, two = shell.stable(2)
    assert shell.committed(shell.commit({T0: 5}, one, 1)) == {T0: NONE}
    shell.leave(two)
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert shell.committed(shell.commit({T0: 6}, one, 1)) == {T0: NONE}


@pytest.mark.parametrize(
    ("member", "generation", "expected"),
    [
        ("nobody", 1, ErrorCode.unknown_member_id),
        ("", -1, ErrorCode.unknown_member_id),
        (None, 0, ErrorCode.illegal_generation),
        (None, 2, ErrorCode.illegal_generation),
        (None, -1, ErrorCode.illegal_generation),
    ],
)
def test_others_may_not(member, generation, expected):
    shell = Shell()
    (one,) = shell.stable()
    number = shell.commit({T0: 5}, one if member is None else member, generation)
    assert shell.committed(number) == {T0: expected}
    assert shell.offsets() == {}


def test_nobody_may_while_the_shares_are_being_decided():
    shell = Shell()
    id = shell.answer(shell.join(version=0)).member_id
    number = shell.commit({T0: 5}, id, 1)
    assert shell.committed(number) == {T0: ErrorCode.rebalance_in_progress}


def test_a_member_that_was_thrown_out_may_not():
    shell = Shell()
    one, two = shell.stable(2)
    shell.advance(SESSION - 1)
    shell.heartbeat(two, 1)
    shell.advance(1)
    number = shell.commit({T0: 5}, one, 1)
    assert shell.committed(number) == {T0: ErrorCode.unknown_member_id}


def test_who_belongs_to_no_group_may_if_there_is_none():
    shell = Shell()
    assert shell.committed(shell.commit({T0: 5})) == {T0: NONE}
    assert shell.committed(shell.commit({T0: 6}, group="")) == {T0: NONE}
    assert shell.offsets(group="") == {T0: 6}
    late = shell.commit({T0: 7}, "m", 3, group="none")
    assert shell.committed(late) == {T0: ErrorCode.illegal_generation}
    assert shell.coordinator.groups.find("none") is None


# -- fetching ----------------------------------------------------------------------------------


def test_fetch_of_some_and_of_all():
    shell = Shell()
    shell.commit({T0: 5, T1: 6}, metadata="m")
    assert shell.offsets(T0, U0) == {T0: 5, U0: -1}
    assert shell.offsets() == {T0: 5, T1: 6}
    (row,) = shell.fetch(T0).topics[0].partitions
    assert (row.committed_leader_epoch, row.metadata) == (3, "m")
    (row,) = shell.fetch(U0).topics[0].partitions
    assert (row.committed_leader_epoch, row.metadata, row.error_code) == (-1, "", NONE)


def test_fetch_of_a_group_that_nobody_knows():
    shell = Shell()
    assert shell.offsets(T0, group="none") == {T0: -1}
    assert shell.offsets(group="none") == {}


@pytest.mark.parametrize("version", [1, 2, 7])
def test_an_error_of_the_group_is_told_in_two_ways(version):
    shell = Shell(partitions=())
    answer = shell.fetch(T0, version=version)
    if version == 1:
        assert answer.topics[0].partitions[0].error_code == ErrorCode.not_coordinator
    else:
        assert (answer.error_code, answer.topics) == (ErrorCode.not_coordinator, ())


# -- deleting ----------------------------------------------------------------------------------


def test_offsets_of_an_empty_group_can_be_deleted():
    shell = Shell()
    shell.commit({T0: 5, U0: 6})
    shell.missing = {T1}
    code, rows = delete(shell, T0, T1)
    assert (code, rows) == (NONE, {T0: NONE, T1: UNKNOWN})
    assert shell.offsets() == {U0: 6}
    assert shell.records()[-1] == (OffsetKey(GROUP, "t", 0), None)


def test_not_of_topics_that_are_being_read():
    shell = Shell()
    (one,) = shell.stable()
    shell.commit({T0: 5, U0: 6}, one, 1)
    assert delete(shell, T0, U0) == (NONE, {T0: ErrorCode.group_subscribed_to_topic, U0: NONE})
    assert shell.offsets() == {T0: 5}


def test_not_if_nobody_knows_what_is_being_read():
    shell = Shell()
    (one,) = shell.stable(protocols=(("range", b"garbage"),))
    shell.commit({U0: 6}, one, 1)
    assert delete(shell, U0) == (NONE, {U0: ErrorCode.group_subscribed_to_topic})
    shell = Shell()
    id = shell.answer(shell.join(version=0, protocol_type="connect")).member_id
    shell.sync(id, 1, {}, protocol_type="connect")
    assert delete(shell, U0) == (ErrorCode.non_empty_group, {})


def test_of_no_group_there_is_nothing_to_delete():
    shell = Shell()
    assert delete(shell, T0) == (ErrorCode.group_id_not_found, {})
    assert delete(shell, T0, group="") == (ErrorCode.invalid_group_id, {})


def test_a_commit_that_was_on_its_way_is_deleted_too():
    shell = Shell(held=True)
    number = shell.commit({T0: 5})
    delete(shell, T0)
    shell.finish()
    assert shell.committed(number) == {T0: NONE}
    assert shell.coordinator.groups.find(GROUP) is None


def test_a_later_commit_is_not_taken_for_the_deleted_one():
    shell = Shell(held=True)
    shell.commit({T0: 5, U0: 1})
    delete(shell, T0)
    shell.commit({T0: 6})
    shell.finish()
    assert shell.offsets(T0) == {T0: -1}
    shell.finish()
    assert shell.offsets(T0) == {T0: 6}


def test_a_deleted_topic_takes_its_offsets_along():
    shell = Shell()
    shell.commit({T0: 5, U0: 6})
    shell.commit({T0: 5}, group="h")
    shell.do(shell.coordinator.forget([T0, T1], shell.now))
    assert shell.offsets() == {U0: 6}
    assert shell.coordinator.groups.find("h") is None
    gone = {key for key, value in shell.records() if value is None}
    assert gone == {OffsetKey(GROUP, "t", 0), OffsetKey("h", "t", 0)}


# -- how long they are kept ----------------------------------------------------------------------


def test_offsets_without_a_group_are_kept_from_their_commit_on():
    shell = Shell(offsets_retention_minutes=60)
    shell.commit({T0: 5})
    shell.advance(30 * MINUTE)
    shell.commit({U0: 5})
    shell.advance(30 * MINUTE)
    assert shell.offsets() == {U0: 5}
    shell.advance(30 * MINUTE)
    assert shell.coordinator.groups.find(GROUP) is None
    assert shell.told("group.state")[-1]["now"] == "Dead"
    assert shell.records()[-1] == (OffsetKey(GROUP, "u", 0), None)


def test_those_of_a_group_from_when_it_became_empty():
    shell = Shell(offsets_retention_minutes=60)
    (one,) = shell.stable()
    shell.coordinator.configure(config(offsets_retention_minutes=60))
    shell.commit({T0: 5}, one, 1)
    for _ in range(120 * MINUTE // 5000):
        shell.advance(5000)
        shell.heartbeat(one, 1)
    assert shell.offsets() == {T0: 5}
    shell.leave(one)
    left = shell.now
    while shell.offsets():
        shell.advance(MINUTE)
    assert 60 * MINUTE <= shell.now - left <= 60 * MINUTE + CHECK
    assert [key for key, _ in shell.records()[-2:]] == [
        OffsetKey(GROUP, "t", 0),
        GroupKey(GROUP),
    ]
    assert [value for _, value in shell.records()[-2:]] == [None, None]


def test_those_of_topics_that_a_group_reads_no_more_from_their_commit_on():
    shell = Shell(offsets_retention_minutes=60)
    (one,) = shell.stable()
    shell.coordinator.configure(config(offsets_retention_minutes=60))
    shell.commit({T0: 5, U0: 5}, one, 1)
    for _ in range(70 * MINUTE // 5000):
        shell.advance(5000)
        shell.heartbeat(one, 1)
    assert shell.offsets() == {T0: 5}


def test_an_old_client_says_how_long():
    old = make_dataclass(
        "Old", [("retention_time", object)], bases=(OffsetCommitRequest,), frozen=True, kw_only=True
    )
    shell = Shell()
    for topic, kept in ((T0, timedelta(minutes=15)), (U0, timedelta(milliseconds=-1))):
        like = commit_request({topic: 5})
        named = {each.name: getattr(like, each.name) for each in fields(like)}
        shell.ask(old(**named, retention_time=kept), version=2)
    assert [value.expires_at for _, value in shell.records()] == [START + 15 * MINUTE, -1]
    shell.advance(CHECK)
    assert shell.offsets() == {T0: 5, U0: 5}
    shell.advance(CHECK)
    assert shell.offsets() == {U0: 5}


def test_an_empty_group_without_offsets_goes_at_the_next_look():
    shell = Shell()
    (one,) = shell.stable()
    shell.leave(one)
    shell.advance(CHECK)
    assert shell.coordinator.groups.find(GROUP) is None
    assert shell.records()[-1] == (GroupKey(GROUP), None)


def test_what_is_on_its_way_keeps_what_was_there():
    shell = Shell(offsets_retention_minutes=1)
    shell.commit({T0: 5})
    shell.held = True
    shell.commit({T0: 6})
    shell.advance(CHECK)
    assert shell.offsets() == {T0: 5}


def test_a_group_without_offsets_stays_when_none_of_them_is_deleted():
    shell = Shell()
    shell.leave(*shell.stable())
    shell.missing = {U0}
    assert delete(shell, U0) == (NONE, {U0: ErrorCode.unknown_topic_or_partition})
    assert shell.group.state.value == "Empty"
