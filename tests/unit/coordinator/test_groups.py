"""All groups: whose they are, and how they come from the log and go."""

import pytest
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.list_groups.v4.request import ListGroupsRequest

from engine.coordinator.group import ClassicGroupState
from engine.coordinator.owned_partitions import partition_of
from engine.coordinator.records import GroupKey, OffsetKey
from engine.errors import ErrorCode
from engine.storage.records import Record
from tests.unit.coordinator.shell import (
    GROUP,
    NONE,
    PARTITION,
    REBALANCE,
    SESSION,
    SUBSCRIPTION,
    T0,
    U0,
    Shell,
    config,
)

LOADING = ErrorCode.coordinator_load_in_progress
ELSEWHERE = ErrorCode.not_coordinator


def listed(shell, *states):
    answer = shell.answer(shell.ask(ListGroupsRequest(states_filter=states)))
    return answer.error_code, {(each.group_id, each.group_state) for each in answer.groups}


def described(shell, *groups):
    request = DescribeGroupsRequest(groups=groups, include_authorized_operations=False)
    return shell.answer(shell.ask(request)).groups


def deleted(shell, *groups):
    answer = shell.answer(shell.ask(DeleteGroupsRequest(groups_names=groups)))
    return {each.group_id: each.error_code for each in answer.results}


# -- where a group belongs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "hash"),
    [
        ("", 0),
        ("testGroup", None),
        ("polygenelubricants", -(2**31)),  # of which Java has no positive
        ("Größe", None),
        ("\U0001f600", 1_772_899),  # two units of UTF-16 in Java
    ],
)
def test_the_hash_is_javas(group, hash):
    if hash is None:
        hash = sum(ord(each) * 31 ** (len(group) - 1 - n) for n, each in enumerate(group))
        hash = (hash + 2**31) % 2**32 - 2**31
    positive = 0 if hash == -(2**31) else abs(hash)
    for partitions in (1, 7, 50, 2**40):
        assert partition_of(group, partitions) == positive % partitions


def test_partitions_that_are_known():
    assert partition_of("testGroup", 50) == 49
    assert partition_of("default-group", 50) == 15
    assert partition_of("polygenelubricants", 50) == 0


# -- a broker that does not know -----------------------------------------------------------------


def everything(shell):
    """The code of every request that there is."""
    (group,) = described(shell, GROUP)
    return {
        "join": shell.answer(shell.join()).error_code,
        "sync": shell.answer(shell.sync("m", 1)).error_code,
        "heartbeat": shell.heartbeat("m", 1),
        "leave": shell.leave("m").error_code,
        "commit": shell.committed(shell.commit({T0: 1}))[T0],
        "fetch": shell.fetch(T0).error_code,
        "describe": group.error_code,
        "delete": deleted(shell, GROUP)[GROUP],
    }


def test_a_broker_that_does_not_lead_the_partition_says_so():
    shell = Shell(partitions=[n for n in range(50) if n != PARTITION])
    assert set(everything(shell).values()) == {ELSEWHERE}


def test_nor_does_it_guess_while_it_is_reading():
    shell = Shell(partitions=())
    shell.coordinator.load(PARTITION, 0)
    answers = everything(shell)
    assert answers.pop("heartbeat") == NONE
    assert answers.pop("sync") == ErrorCode.rebalance_in_progress
    assert set(answers.values()) == {LOADING}
    assert listed(shell) == (LOADING, set())


# -- more partitions of __consumer_offsets ---------------------------------------------------------


def test_alarms_find_their_group_after_partitions_were_added():
    """The id of the group has another partition of 60. Kafka's timers have the group itself."""
    shell = Shell()
    shell.stable(2)
    shell.coordinator.set_partition_count(60)
    assert partition_of(GROUP, 60) != PARTITION
    shell.advance(SESSION + REBALANCE)
    (group,) = shell.coordinator.snapshot()
    assert (group["group"], group["members"], group["state"]) == (GROUP, [], "Empty")


def test_a_group_belongs_to_the_partition_from_which_it_was_loaded():
    shell = Shell()
    shell.stable(1)
    after = Shell(partitions=())
    after.coordinator.set_partition_count(60)
    assert partition_of(GROUP, 60) != PARTITION
    after.coordinator.load(PARTITION, 0)
    after.coordinator.replay(PARTITION, [record for _, record in shell.accepted], after.now)
    after.do(after.coordinator.loaded(PARTITION, after.now))
    after.advance(SESSION)
    (group,) = after.coordinator.snapshot()
    assert (group["partition"], group["members"]) == (PARTITION, [])


# -- a successor ---------------------------------------------------------------------------------


def test_it_gives_everyone_a_new_session():
    shell = Shell()
    _one, two = shell.stable(2)
    shell.advance(SESSION - 1)
    after = shell.successor()
    after.advance(SESSION - 1)
    after.heartbeat(two, 1)
    after.advance(1)
    assert set(after.group.members) == {two}
    assert after.group.members.leader == two


def test_it_knows_what_the_group_reads():
    shell = Shell()
    shell.stable()
    assert shell.group.topics == shell.successor().group.topics == {"t"}


def test_offsets_outlive_the_members():
    shell = Shell()
    shell.stable()
    shell.commit({T0: 5}, *shell.group.members, 1)
    shell.leave(*shell.group.members)
    after = shell.successor()
    assert (after.group.state, after.offsets()) == (ClassicGroupState.EMPTY, {T0: 5})
    assert after.committed(after.commit({T0: 6})) == {T0: NONE}


def test_what_was_deleted_stays_deleted():
    shell = Shell()
    shell.commit({T0: 5, U0: 6})
    shell.commit({T0: 5}, group="h")
    assert deleted(shell, "h") == {"h": NONE}
    after = shell.successor()
    assert listed(after)[1] == {(GROUP, "Empty")}


def test_a_group_may_be_born_again():
    shell = Shell()
    (one,) = shell.stable()
    shell.leave(one)
    assert deleted(shell, GROUP) == {GROUP: NONE}
    (two,) = shell.stable()
    after = shell.successor()
    assert (after.group.generation, list(after.group.members)) == (1, [two])


def test_what_can_not_be_read_is_passed_over_and_told():
    shell = Shell()
    shell.commit({T0: 5})
    good = [record for _, record in shell.accepted]
    bad = [Record(7, 0, b"\0\7?", b""), Record(8, 0, None, b""), Record(9, 0, good[0].key, b"\0")]
    after = Shell(partitions=())
    after.coordinator.load(PARTITION, 0)
    after.coordinator.replay(PARTITION, bad[:2] + good + bad[2:], after.now)
    after.do(after.coordinator.loaded(PARTITION, after.now))
    assert after.offsets() == {T0: 5}
    assert [each["offset"] for each in after.told("group.unreadable")] == [7, 8, 9]


def test_the_log_is_read_to_its_end_once():
    shell = Shell()
    (one,) = shell.stable()
    shell.do(shell.coordinator.loaded(PARTITION, shell.now))
    assert shell.heartbeat(one, 1) == NONE


def test_reading_may_be_given_up():
    shell = Shell(partitions=())
    shell.coordinator.load(PARTITION, 0)
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    shell.coordinator.replay(PARTITION, [], shell.now)
    shell.do(shell.coordinator.loaded(PARTITION, shell.now))
    assert shell.heartbeat("m", 1) == ELSEWHERE


# -- resigning -----------------------------------------------------------------------------------


def test_who_waits_is_told_that_another_broker_is_the_coordinator():
    shell = Shell()
    one, two = shell.stable(2)
    shell.held = True
    commit = shell.commit({T0: 5}, one, 1)
    join = shell.join(one)
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    assert shell.answer(join).error_code == ELSEWHERE
    assert shell.committed(commit) == {T0: ELSEWHERE}
    assert shell.heartbeat(two, 1) == ELSEWHERE
    shell.advance(10 * SESSION)
    shell.finish()
    assert shell.offsets(T0) == {}


def test_also_who_waits_for_a_share():
    shell = Shell(held=True)
    id = shell.answer(shell.join(version=0)).member_id
    number = shell.sync(id, 1, {id: b"x"})
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    assert shell.answer(number).error_code == ELSEWHERE
    assert shell.told("group.state")[-1]["now"] == "Dead"
    shell.finish()
    assert shell.answer(number).error_code == ELSEWHERE


def test_what_is_heard_of_an_earlier_reign_does_not_count():
    shell = Shell(held=True)
    shell.commit({T0: 5})
    shell.do(shell.coordinator.unload(PARTITION, shell.now))
    shell.coordinator.load(PARTITION, 0)
    shell.do(shell.coordinator.loaded(PARTITION, shell.now))
    shell.finish()
    assert shell.offsets() == {}


# -- administration ------------------------------------------------------------------------------


def test_groups_are_listed_by_their_state():
    shell = Shell()
    shell.stable()
    shell.commit({T0: 5}, group="h")
    assert listed(shell) == (NONE, {(GROUP, "Stable"), ("h", "Empty")})
    assert listed(shell, "Stable") == (NONE, {(GROUP, "Stable")})
    assert listed(shell, "Dead", "stable") == (NONE, set())


def test_a_stable_group_is_described_in_full():
    shell = Shell()
    one, _ = shell.stable(2)
    group, none, other = described(shell, GROUP, "none", "")
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    member = group.members[0]
    assert (member.member_id, member.client_id, member.client_host) == (one, "c", "/h")
    assert (member.member_metadata, member.member_assignment) == (
        SUBSCRIPTION,
        f"share of {one}".encode(),
    )
    assert (none.group_state, none.error_code, none.members) == ("Dead", NONE, ())
    assert (other.group_state, other.error_code) == ("Dead", NONE)


def test_of_others_the_shares_are_not_told():
    shell = Shell()
    one, two = shell.stable(2)
    shell.leave(two)
    (group,) = described(shell, GROUP)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    (member,) = group.members
    assert (member.member_id, member.member_metadata, member.member_assignment) == (one, b"", b"")


def test_only_empty_groups_can_be_deleted():
    shell = Shell()
    (one,) = shell.stable()
    shell.commit({T0: 5}, one, 1)
    assert deleted(shell, GROUP, "none", GROUP) == {
        GROUP: ErrorCode.non_empty_group,
        "none": ErrorCode.group_id_not_found,
    }
    shell.leave(one)
    assert deleted(shell, GROUP) == {GROUP: NONE}
    assert shell.records()[-2:] == [(OffsetKey(GROUP, "t", 0), None), (GroupKey(GROUP), None)]
    assert deleted(shell, GROUP) == {GROUP: ErrorCode.group_id_not_found}


def test_who_was_given_an_id_does_not_keep_a_group_from_being_deleted():
    shell = Shell()
    id = shell.answer(shell.join()).member_id
    assert deleted(shell, GROUP) == {GROUP: NONE}
    assert shell.accepted == []  # there was nothing of it in the log
    assert shell.answer(shell.join(id)).error_code == ErrorCode.unknown_member_id


def test_a_group_without_an_id_can_be_deleted():
    shell = Shell()
    shell.commit({T0: 5}, group="")
    assert deleted(shell, "") == {"": NONE}
    assert shell.offsets(group="") == {}


def test_a_snapshot_has_it_all():
    shell = Shell()
    one, _ = shell.stable(2)
    shell.commit({T0: 5}, one, 1)
    (group,) = shell.coordinator.snapshot()
    assert (group["group"], group["state"], group["generation"]) == (GROUP, "Stable", 1)
    assert (group["leader"], group["offsets"]) == (one, {"t-0": 5})
    assert [each["member"] for each in group["members"]] == list(shell.group.members)


def test_the_limits_can_be_changed_while_it_runs():
    shell = Shell()
    shell.coordinator.configure(config(group_min_session_timeout_ms=20_000))
    answer = shell.answer(shell.join())
    assert answer.error_code == ErrorCode.invalid_session_timeout
