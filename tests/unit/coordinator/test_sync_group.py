"""SyncGroup, Heartbeat and LeaveGroup: from the leader's shares to the end of a membership."""

from dataclasses import make_dataclass

import pytest
from kio.schema.leave_group.v4.request import LeaveGroupRequest

from engine.assignors.protocol import Assignment, encode_assignment
from engine.coordinator.group import ClassicGroupState
from engine.coordinator.records import GroupKey
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import GROUP, NONE, SESSION, T0, T1, Shell


def code(shell, number):
    return shell.answer(number).error_code


@pytest.fixture
def shell():
    return Shell(group_initial_rebalance_delay_ms=1000)


def completing(shell, count=2, **more):
    ids, numbers = shell.members(count, **more)
    shell.advance(2000)
    assert shell.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert all(shell.answer(each) for each in numbers)
    return ids


# -- shares ----------------------------------------------------------------------------------


def test_everyone_gets_the_share_that_the_leader_gave(shell):
    one, two = completing(shell)
    second = shell.sync(two, 1)
    assert shell.answer(second) is None
    first = shell.sync(one, 1, {one: b"1", two: b"2"})
    assert [shell.answer(each).assignment for each in (first, second)] == [b"1", b"2"]
    assert shell.answer(first).protocol_name == "range"
    assert shell.answer(first).protocol_type == "consumer"
    assert shell.group.state is ClassicGroupState.STABLE


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.not_enough_replicas, ErrorCode.coordinator_not_available),
        (ErrorCode.not_enough_replicas_after_append, ErrorCode.coordinator_not_available),
        (ErrorCode.unknown_topic_or_partition, ErrorCode.coordinator_not_available),
        (ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (ErrorCode.kafka_storage_error, ErrorCode.not_coordinator),
        (ErrorCode.request_timed_out, ErrorCode.rebalance_in_progress),
        (ErrorCode.message_too_large, ErrorCode.unknown_server_error),
        (ErrorCode.corrupt_message, ErrorCode.corrupt_message),
    ],
)
def test_if_it_can_not_be_written_all_start_over(failure, told):
    shell = Shell(held=True, group_initial_rebalance_delay_ms=1000)
    one, two = completing(shell)
    numbers = [shell.sync(two, 1), shell.sync(one, 1, {one: b"1", two: b"2"})]
    shell.finish(failure)
    assert [code(shell, each) for each in numbers] == [told, told]
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert {each.assignment for each in shell.group.members.values()} == {b""}


def test_a_share_that_comes_through_too_late_is_nobodys():
    shell = Shell(held=True, group_initial_rebalance_delay_ms=1000)
    one, two = completing(shell)
    number = shell.sync(one, 1, {one: b"1", two: b"2"})
    shell.leave(two)
    assert code(shell, number) == ErrorCode.rebalance_in_progress
    shell.finish()
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert shell.group.members[one].assignment == b""


def test_what_the_leader_says_twice_counts_once():
    shell = Shell(held=True, group_initial_rebalance_delay_ms=1000)
    (one,) = completing(shell, 1)
    first = shell.sync(one, 1, {one: b"first"})
    second = shell.sync(one, 1, {one: b"second"})
    assert len(shell.waiting) == 1
    shell.finish()
    assert code(shell, first) == ErrorCode.rebalance_in_progress
    assert shell.answer(second).assignment == b"first"


def test_members_that_the_leader_forgot_get_nothing_and_strangers_are_ignored(shell):
    one, two = completing(shell)
    number = shell.sync(two, 1)
    shell.sync(one, 1, {one: b"1", "stranger": b"?"})
    assert (code(shell, number), shell.answer(number).assignment) == (NONE, b"")
    ((_, value),) = shell.records()
    assert [each.assignment for each in value.members] == [b"1", b""]


def test_what_a_follower_proposes_is_ignored(shell):
    one, two = completing(shell)
    shell.sync(two, 1, {two: b"mine"})
    assert shell.group.state is ClassicGroupState.COMPLETING_REBALANCE
    shell.sync(one, 1, {one: b"1", two: b"2"})
    assert shell.answer(shell.sync(two, 1)).assignment == b"2"


def test_shares_of_consumers_are_told_to_those_who_look_on(shell):
    one, two = completing(shell)
    share = encode_assignment(Assignment((T0, T1)))
    shell.sync(one, 1, {one: share, two: b"garbage"})
    assert shell.told("group.assignment") == [
        {
            "group": GROUP,
            "generation": 1,
            "protocol": "range",
            "leader": one,
            "shares": {one: ["t-0", "t-1"], two: None},
        }
    ]


# -- who never syncs -------------------------------------------------------------------------


def test_a_leader_that_never_syncs_is_out_after_the_rebalance_timeout(shell):
    one, two = completing(shell, rebalance_timeout=8000)
    number = shell.sync(two, 1)
    shell.advance(4000)
    shell.heartbeat(one, 1)
    shell.advance(3999)
    assert shell.answer(number) is None
    shell.advance(1)
    assert code(shell, number) == ErrorCode.rebalance_in_progress
    assert list(shell.group.members) == [two]
    assert shell.group.members.leader == two


def test_a_follower_that_never_syncs_too_and_the_others_share_out_anew(shell):
    one, two = completing(shell, rebalance_timeout=8000)
    shell.sync(one, 1, {one: b"1", two: b"2"})
    shell.advance(4000)
    for each in (one, two):
        assert shell.heartbeat(each, 1) == NONE
    shell.advance(4000)
    assert list(shell.group.members) == [one]
    assert shell.heartbeat(one, 1) == ErrorCode.rebalance_in_progress


def test_if_all_have_synced_nothing_happens_then(shell):
    one, two = completing(shell, rebalance_timeout=8000)
    shell.sync(one, 1, {})
    shell.sync(two, 1)
    shell.advance(7999)
    shell.heartbeat(one, 1)
    shell.heartbeat(two, 1)
    shell.advance(2000)
    assert shell.group.state is ClassicGroupState.STABLE


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"member": "nobody"}, ErrorCode.unknown_member_id),
        ({"generation": 0}, ErrorCode.illegal_generation),
        ({"generation": 2}, ErrorCode.illegal_generation),
        ({"protocol_type": "connect"}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_name": "sticky"}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_name": None}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_name": None, "version": 4}, NONE),
        ({"group": "none"}, ErrorCode.unknown_member_id),
        ({"group": ""}, ErrorCode.invalid_group_id),
        ({"group_instance_id": "i"}, ErrorCode.unknown_member_id),
    ],
)
def test_what_sync_group_refuses(shell, wrong, expected):
    (one,) = completing(shell, 1)
    request = {"member": one, "generation": 1, "shares": {}} | wrong
    assert code(shell, shell.sync(**request)) == expected


def test_during_a_rebalance_there_are_no_shares(shell):
    one, two = completing(shell)
    number = shell.sync(two, 1)
    shell.join(version=0)
    assert code(shell, number) == ErrorCode.rebalance_in_progress
    assert code(shell, shell.sync(one, 1, {})) == ErrorCode.rebalance_in_progress


def test_who_syncs_twice_is_answered_twice(shell):
    one, two = completing(shell)
    first, second = shell.sync(two, 1), shell.sync(two, 1)
    assert code(shell, first) == ErrorCode.rebalance_in_progress
    shell.sync(one, 1, {two: b"2"})
    assert shell.answer(second).assignment == b"2"


# -- heartbeats ------------------------------------------------------------------------------


def test_who_is_silent_for_its_session_is_out():
    shell = Shell()
    (one,) = shell.stable()
    shell.advance(SESSION - 1)
    assert shell.heartbeat(one, 1) == NONE
    shell.advance(SESSION - 1)
    assert one in shell.group.members
    shell.advance(1)
    assert (shell.group.state, shell.group.generation) == (ClassicGroupState.EMPTY, 2)
    assert shell.told("group.member")[-1]["what"] == "expired"


@pytest.mark.parametrize("ask", ["sync", "join", "commit"])
def test_other_requests_are_signs_of_life_too(ask):
    shell = Shell()
    one, two = shell.stable(2)
    for _ in range(3):
        shell.advance(SESSION - 1)
        shell.heartbeat(one, 1)
        match ask:
            case "sync":
                shell.sync(two, 1)
            case "join":
                shell.join(two)
            case "commit":
                shell.commit({T0: 1}, two, 1)
    assert set(shell.group.members) == {one, two}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"member": "nobody"}, ErrorCode.unknown_member_id),
        ({"generation": 2}, ErrorCode.illegal_generation),
        ({"group": "none"}, ErrorCode.unknown_member_id),
        ({"group": ""}, ErrorCode.invalid_group_id),
        ({"group": "x" * 32_768}, ErrorCode.invalid_group_id),
        ({"group": "x" * 10_000}, ErrorCode.unknown_member_id),
    ],
)
def test_what_heartbeat_refuses(wrong, expected):
    shell = Shell()
    (one,) = shell.stable()
    assert shell.heartbeat(**{"member": one, "generation": 1} | wrong) == expected


def test_a_heartbeat_of_a_wrong_generation_is_no_sign_of_life():
    shell = Shell()
    (one,) = shell.stable()
    shell.advance(SESSION - 1)
    shell.heartbeat(one, 0)
    shell.advance(1)
    assert shell.group.members == {}


# -- leaving ---------------------------------------------------------------------------------


def test_the_last_one_leaves_an_empty_group_behind():
    shell = Shell()
    one, two = shell.stable(2)
    answer = shell.leave(one, two)
    assert [each.error_code for each in answer.members] == [NONE, NONE]
    assert (shell.group.state, shell.group.generation) == (ClassicGroupState.EMPTY, 2)
    key, value = shell.records()[-1]
    assert key == GroupKey(GROUP)
    assert (value.generation, value.members, value.protocol, value.leader) == (2, (), None, None)
    assert value.protocol_type == "consumer"


def test_who_leaves_while_it_waits_is_told_so():
    shell = Shell()
    one, two = shell.stable(2)
    number = shell.join(one)
    shell.leave(one)
    assert code(shell, number) == ErrorCode.unknown_member_id
    number = shell.answer(shell.join(two))
    assert number.generation_id == 2


def test_who_leaves_while_it_waits_for_its_share_is_told_so(shell):
    _, two = completing(shell)
    number = shell.sync(two, 1)
    shell.leave(two)
    assert code(shell, number) == ErrorCode.unknown_member_id


def test_who_was_given_an_id_can_give_it_back():
    shell = Shell()
    (one,) = shell.stable()
    pending = shell.answer(shell.join()).member_id
    waits = shell.join(one)
    assert shell.answer(waits) is None
    assert shell.leave(pending).members[0].error_code == NONE
    assert code(shell, waits) == NONE


def test_each_that_leaves_has_an_error_of_its_own():
    shell = Shell()
    (one,) = shell.stable()
    answer = shell.leave("nobody", one, (one, "x"))
    assert answer.error_code == NONE
    assert [each.error_code for each in answer.members] == [
        ErrorCode.unknown_member_id,
        NONE,
        ErrorCode.unknown_member_id,
    ]


def test_an_old_client_leaves_alone():
    """Its request is read into the newest shape, and what that has lost beside it."""
    old = make_dataclass(
        "Old", [("member_id", str)], bases=(LeaveGroupRequest,), frozen=True, kw_only=True
    )
    shell = Shell()
    (one,) = shell.stable()
    unknown = shell.ask(old(group_id=GROUP, members=(), member_id="nobody"), version=2)
    assert code(shell, unknown) == ErrorCode.unknown_member_id
    assert code(shell, shell.ask(old(group_id=GROUP, members=(), member_id=one), version=2)) == NONE
    assert shell.group.members == {}


def test_nobody_can_leave_a_group_that_does_not_exist():
    shell = Shell()
    answer = shell.leave("somebody", group="none")
    assert answer.error_code == NONE
    assert [each.error_code for each in answer.members] == [ErrorCode.unknown_member_id]
    assert shell.leave("somebody", group="").error_code == ErrorCode.invalid_group_id
