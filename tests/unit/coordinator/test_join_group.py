"""JoinGroup: who gets in, who leads, and when a rebalance ends."""

import pytest

from engine.coordinator.group import ClassicGroupState
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import GROUP, REBALANCE, SESSION, SUBSCRIPTION, Shell

BOTH = (("range", b"r"), ("roundrobin", b"rr"))


def code(shell, number):
    return shell.answer(number).error_code


# -- a new member --------------------------------------------------------------------------


def test_an_old_client_joins_at_once():
    shell = Shell()
    answer = shell.answer(shell.join(version=3, client_id="old"))
    assert (answer.error_code, answer.member_id) == (ErrorCode.none, "old-1")


def test_an_id_that_nobody_joins_with_is_forgotten():
    shell = Shell()
    id = shell.answer(shell.join()).member_id
    shell.advance(SESSION - 1)
    assert shell.group.pending == {id}
    shell.advance(1)
    assert shell.group.pending == set()
    assert code(shell, shell.join(id)) == ErrorCode.unknown_member_id


def test_a_rebalance_waits_for_those_that_were_given_an_id():
    shell = Shell()
    (old,) = shell.stable()
    new = shell.answer(shell.join()).member_id
    again = shell.join(old)
    assert shell.answer(again) is None
    shell.join(new)
    assert code(shell, again) == ErrorCode.none
    assert set(shell.group.members) == {old, new}


def test_and_no_longer_than_their_session():
    shell = Shell()
    (old,) = shell.stable()
    shell.join()
    again = shell.join(old)
    shell.advance(SESSION)
    assert code(shell, again) == ErrorCode.none


def test_only_the_leader_is_told_who_is_in_the_group():
    shell = Shell(group_initial_rebalance_delay_ms=3000)
    _, (first, second) = shell.members(2, protocols=BOTH)
    shell.advance(6000)
    leader, follower = shell.answer(first), shell.answer(second)
    assert [each.member_id for each in leader.members] == [leader.member_id, follower.member_id]
    assert {each.metadata for each in leader.members} == {b"r"}
    assert follower.members == ()
    assert {leader.leader, follower.leader} == {leader.member_id}
    assert {leader.generation_id, follower.generation_id} == {1}
    assert (leader.protocol_type, leader.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize("version", range(8))
def test_what_an_error_says_of_the_protocol(version):
    shell = Shell()
    answer = shell.answer(shell.join("nobody", version=version))
    assert answer.error_code == ErrorCode.unknown_member_id
    assert answer.protocol_name == (None if version == 7 else "")
    assert (answer.generation_id, answer.leader, answer.member_id) == (-1, "", "nobody")


# -- how long a rebalance takes --------------------------------------------------------------


def test_the_first_rebalance_waits_and_each_newcomer_prolongs_it():
    shell = Shell(group_initial_rebalance_delay_ms=3000)
    first = shell.join(version=0)
    shell.advance(2999)
    assert shell.answer(first) is None
    second = shell.join(version=0)
    shell.advance(3000)
    assert shell.answer(first) is None
    shell.advance(1)
    assert shell.answer(first) and shell.answer(second)


def test_but_not_beyond_the_rebalance_timeout():
    shell = Shell(group_initial_rebalance_delay_ms=3000)
    numbers = [shell.join(version=0, rebalance_timeout=10_000)]
    for _ in range(9):
        shell.advance(1000)
        numbers.append(shell.join(version=0, rebalance_timeout=10_000))
    shell.advance(999)
    assert [shell.answer(each) for each in numbers] == [None] * 10
    shell.advance(1)
    assert all(shell.answer(each) for each in numbers)


def test_alone_it_waits_once():
    shell = Shell(group_initial_rebalance_delay_ms=3000)
    number = shell.join(version=0)
    shell.advance(2999)
    assert shell.answer(number) is None
    shell.advance(1)
    assert shell.answer(number)


def test_a_group_that_was_empty_for_a_while_waits_once_more():
    shell = Shell()
    (id,) = shell.stable()
    shell.leave(id)
    assert (shell.group.state, shell.group.generation) == (ClassicGroupState.EMPTY, 2)
    shell = shell.successor(group_initial_rebalance_delay_ms=3000)
    number = shell.join(version=0)
    shell.join(version=0)
    shell.advance(2999)
    assert shell.answer(number) is None
    shell.advance(1)
    assert shell.answer(number).generation_id == 3


def test_who_is_not_back_in_time_is_out():
    shell = Shell()
    one, two = shell.stable(2)
    number = shell.join(one, rebalance_timeout=REBALANCE)
    for _ in range(REBALANCE // 5000 - 1):
        shell.advance(5000)
        assert shell.heartbeat(two, 1) == ErrorCode.rebalance_in_progress
    shell.advance(4999)
    assert shell.answer(number) is None
    shell.advance(1)
    assert [each.member_id for each in shell.answer(number).members] == [one]
    assert shell.told("group.member")[-1] == {
        "group": GROUP,
        "member": two,
        "instance": None,
        "what": "did not join again",
    }
    assert shell.heartbeat(two, 1) == ErrorCode.unknown_member_id


def test_a_leader_that_is_late_leads_no_more():
    shell = Shell()
    one, two = shell.stable(2)
    shell.join(two, protocols=BOTH[:1])
    for _ in range(REBALANCE // 5000):
        shell.advance(5000)
        shell.heartbeat(one, 1)
    assert shell.group.members.leader == two


def test_a_member_that_waits_is_not_taken_for_dead():
    shell = Shell()
    one, two = shell.stable(2)
    number = shell.join(one)
    for _ in range(10):
        shell.advance(5000)
        shell.heartbeat(two, 1)
    assert one in shell.group.members
    shell.join(two)
    assert code(shell, number) == ErrorCode.none
    shell.advance(SESSION - 1)
    assert one in shell.group.members
    shell.advance(1)
    assert one not in shell.group.members


def test_a_new_member_waits_five_minutes_and_no_longer():
    shell = Shell()
    (old,) = shell.stable(rebalance_timeout=3_600_000)
    number = shell.join(version=0)
    for _ in range(59):
        shell.advance(5000)
        shell.heartbeat(old, 1)
    shell.advance(4999)
    assert shell.answer(number) is None
    shell.advance(1)
    assert code(shell, number) == ErrorCode.unknown_member_id
    assert shell.answer(number).member_id == ""


# -- who joins again -------------------------------------------------------------------------


def test_a_follower_with_another_subscription_starts_a_rebalance():
    shell = Shell()
    _, two = shell.stable(2)
    assert shell.answer(shell.join(two, protocols=(("range", b"other"),))) is None
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_who_missed_the_answer_gets_it_again():
    shell = Shell()
    id = shell.answer(shell.join(version=0)).member_id
    again = shell.answer(shell.join(id))
    assert (again.generation_id, again.leader) == (1, id)
    assert [each.member_id for each in again.members] == [id]
    assert shell.group.state is ClassicGroupState.COMPLETING_REBALANCE


def test_who_has_changed_its_mind_meanwhile_starts_over():
    shell = Shell()
    id = shell.answer(shell.join(version=0)).member_id
    again = shell.answer(shell.join(id, protocols=(("range", b"other"),)))
    assert again.generation_id == 2


def test_who_asks_twice_is_answered_twice():
    shell = Shell()
    one, two = shell.stable(2)
    first = shell.join(one)
    second = shell.join(one)
    assert code(shell, first) == ErrorCode.rebalance_in_progress
    shell.join(two)
    assert code(shell, second) == ErrorCode.none


def test_a_changed_mind_during_the_rebalance_counts():
    shell = Shell()
    one, two = shell.stable(2)
    shell.join(two, protocols=(("range", b"a"),))
    shell.join(two, protocols=(("range", b"b"),))
    leader = shell.answer(shell.join(one))
    assert [each.metadata for each in leader.members] == [SUBSCRIPTION, b"b"]


def test_unknown_members_are_told_so():
    shell = Shell()
    shell.stable()
    assert code(shell, shell.join("somebody")) == ErrorCode.unknown_member_id
    assert code(shell, shell.join("somebody", group="none")) == ErrorCode.unknown_member_id


# -- the protocol ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocols": (("sticky", b""),)},
        {"protocols": ()},
        {"protocol_type": "connect"},
        {"protocol_type": ""},
    ],
)
def test_who_has_nothing_in_common_is_refused_and_the_group_lives_on(wrong):
    shell = Shell()
    (id,) = shell.stable()
    assert code(shell, shell.join(**wrong)) == ErrorCode.inconsistent_group_protocol
    assert code(shell, shell.join(id, **wrong)) == ErrorCode.inconsistent_group_protocol
    assert shell.heartbeat(id, 1) == ErrorCode.none


@pytest.mark.parametrize("wrong", [{"protocols": ()}, {"protocol_type": ""}])
def test_nobody_makes_a_group_without_a_protocol(wrong):
    shell = Shell()
    assert code(shell, shell.join(**wrong)) == ErrorCode.inconsistent_group_protocol
    assert shell.group is None


# -- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (5999, ErrorCode.invalid_session_timeout),
        (6000, ErrorCode.member_id_required),
        (1_800_000, ErrorCode.member_id_required),
        (1_800_001, ErrorCode.invalid_session_timeout),
        (-1, ErrorCode.invalid_session_timeout),
    ],
)
def test_the_bounds_of_a_session(session, expected):
    shell = Shell()
    assert code(shell, shell.join(session_timeout=session)) == expected


@pytest.mark.parametrize(
    "names",
    [
        {"protocol_type": "x" * 32_700},
        {"protocols": (("x" * 32_700, b""),)},
        {"group_instance_id": "x" * 32_700},
        {"client_id": "x" * 32_700},
    ],
)
def test_names_that_no_record_has_room_for(names):
    shell = Shell()
    assert code(shell, shell.join(**names)) == ErrorCode.invalid_request
    assert shell.group is None


def test_a_full_group_takes_nobody_else():
    shell = Shell(group_max_size=1)
    id = shell.answer(shell.join(version=0)).member_id
    assert code(shell, shell.join(version=0)) == ErrorCode.group_max_size_reached
    assert code(shell, shell.join(id)) == ErrorCode.none


def test_a_group_that_is_too_large_loses_those_that_come_last():
    shell = Shell()
    one, two, three = shell.stable(3)
    shell = shell.successor(group_max_size=2)
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert shell.answer(shell.join(three)) is None
    last = shell.join(one)
    refused = shell.answer(shell.join(two))
    assert (refused.error_code, refused.member_id) == (ErrorCode.group_max_size_reached, "")
    assert set(shell.group.members) == {one, three}
    assert code(shell, last) == ErrorCode.none


def test_an_old_client_has_one_timeout_for_both():
    shell = Shell()
    shell.join(version=0, rebalance_timeout=-1, session_timeout=7000)
    (member,) = shell.group.members.values()
    assert (member.session_timeout, member.rebalance_timeout) == (7000, 7000)


# -- in a member's own words (KIP-800) ------------------------------------------------------------


def test_why_a_member_joins_and_leaves_is_in_the_reason_of_the_rebalance():
    shell = Shell()
    id = shell.answer(shell.join(version=3, reason="the cat sat on the router")).member_id
    shell.sync(id, 1, {})
    shell.leave(id, reason="z" * 300)
    reasons = [each["reason"] for each in shell.told("group.state")]
    assert f"{id} joins: the cat sat on the router" in reasons
    assert f"{id} left: {'z' * 255}" in reasons
