"""Static members (KIP-345): who comes back under its name takes the place that it had."""

from engine.coordinator.group import ClassicGroupState
from engine.errors import ErrorCode
from tests.unit.coordinator.shell import NONE, SESSION, SUBSCRIPTION, T0, Shell, config


def code(shell, number):
    return shell.answer(number).error_code


def stable(shell, *instances, **more):
    """A stable group of one static member of each name, the first leading; their ids."""
    shell.coordinator.configure(config(group_initial_rebalance_delay_ms=1000))
    numbers = [shell.join(group_instance_id=each, **more) for each in instances]
    shell.advance(2000)
    answers = [shell.answer(each) for each in numbers]
    ids = [each.member_id for each in answers]
    for id, instance in zip(ids, instances, strict=True):
        shell.sync(id, 1, {each: each.encode() for each in ids}, group_instance_id=instance)
    assert shell.group.state is ClassicGroupState.STABLE
    return ids


def test_it_joins_at_once_and_is_named_by_its_instance():
    shell = Shell()
    answer = shell.answer(shell.join(group_instance_id="i", client_id="app"))
    assert (answer.error_code, answer.member_id) == (NONE, "i-1")
    assert [each.group_instance_id for each in answer.members] == ["i"]


def test_the_one_before_is_fenced():
    shell = Shell()
    _one, two = stable(shell, "a", "b")
    new = shell.answer(shell.join(group_instance_id="b")).member_id
    fenced = ErrorCode.fenced_instance_id
    assert shell.heartbeat(two, 1, "b") == fenced
    assert code(shell, shell.join(two, group_instance_id="b")) == fenced
    assert code(shell, shell.sync(two, 1, group_instance_id="b")) == fenced
    assert shell.committed(shell.commit({T0: 1}, two, 1, instance="b")) == {T0: fenced}
    assert shell.leave((two, "b")).members[0].error_code == fenced
    assert shell.heartbeat(two, 1) == ErrorCode.unknown_member_id
    assert shell.heartbeat(new, 1, "b") == NONE
    assert [each["what"] for each in shell.told("group.member")][-2:] == ["fenced", "joined"]


def test_a_leader_that_is_back_is_told_by_an_old_name_or_in_a_word_to_assign_nothing():
    """To a client of JoinGroup 9 it is said (KIP-814); an older one leads only under its own id."""
    shell = Shell()
    one, _two = stable(shell, "a", "b")
    old = shell.answer(shell.join(group_instance_id="a"))
    assert (old.leader, old.skip_assignment, old.members) == (one, False, ())
    new = shell.answer(shell.join(group_instance_id="a", version=9))
    assert (new.leader, new.skip_assignment) == (new.member_id, True)
    assert [each.group_instance_id for each in new.members] == ["b", "a"]
    follower = shell.answer(shell.join(group_instance_id="b", version=9))
    assert (follower.leader, follower.skip_assignment) == (new.member_id, False)
    assert follower.members == ()


def test_two_of_one_name_fence_each_other_while_they_wait():
    shell = Shell()
    stable(shell, "a", "b")
    shell.join(version=0)
    first = shell.join(group_instance_id="b")
    second = shell.join(group_instance_id="b")
    assert code(shell, first) == ErrorCode.fenced_instance_id
    assert shell.answer(second) is None


def test_also_one_that_waits_for_its_share():
    shell = Shell(group_initial_rebalance_delay_ms=1000)
    numbers = [shell.join(group_instance_id=each) for each in "ab"]
    shell.advance(2000)
    _, two = [shell.answer(each).member_id for each in numbers]
    waits = shell.sync(two, 1, group_instance_id="b")
    shell.join(group_instance_id="b")
    assert code(shell, waits) == ErrorCode.fenced_instance_id
    assert (
        shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    )  # the leader has been told of another id


def test_another_choice_of_protocol_takes_a_rebalance():
    shell = Shell()
    both = (("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION))
    shell.coordinator.configure(config(group_initial_rebalance_delay_ms=1000))
    number = shell.join(group_instance_id="a", protocols=both)
    shell.advance(1000)
    one = shell.answer(number).member_id
    shell.sync(one, 1, {}, group_instance_id="a")
    answer = shell.answer(shell.join(group_instance_id="a", protocols=both[::-1]))
    assert (answer.generation_id, answer.protocol_name) == (2, "roundrobin")


def test_its_absence_is_not_noticed_before_its_session_is_over():
    shell = Shell()
    one, _two = stable(shell, "a", "b")
    shell.advance(SESSION - 1)
    shell.heartbeat(one, 1, "a")
    new = shell.answer(shell.join(group_instance_id="b")).member_id
    shell.advance(SESSION - 1)
    shell.heartbeat(one, 1, "a")
    assert set(shell.group.members) == {one, new}
    shell.advance(1)
    assert set(shell.group.members) == {one}


def test_one_that_does_not_join_again_in_time_stays_as_long_as_its_session():
    """Its share may be given to it in its absence."""
    shell = Shell()
    shell.coordinator.configure(config(group_initial_rebalance_delay_ms=1000))
    more = {"session_timeout": 100_000, "rebalance_timeout": 20_000}
    numbers = [shell.join(group_instance_id=each, **more) for each in "ab"]
    shell.advance(2000)
    one, two = [shell.answer(each).member_id for each in numbers]
    shell.sync(one, 1, {}, group_instance_id="a")
    shell.sync(two, 1, group_instance_id="b")
    number = shell.join(one, group_instance_id="a", **more)
    shell.advance(20_000)
    answer = shell.answer(number)
    assert [each.member_id for each in answer.members] == [one, two]
    assert answer.generation_id == 2


def test_a_static_leader_that_does_not_join_again_in_time_leads_no_more():
    shell = Shell()
    shell.coordinator.configure(config(group_initial_rebalance_delay_ms=1000))
    more = {"session_timeout": 100_000, "rebalance_timeout": 20_000}
    numbers = [shell.join(group_instance_id=each, **more) for each in "ab"]
    shell.advance(2000)
    one, two = [shell.answer(each).member_id for each in numbers]
    shell.sync(one, 1, {}, group_instance_id="a")
    changed = {"protocols": (("range", b"other"),), **more}
    number = shell.join(two, group_instance_id="b", **changed)
    shell.advance(20_000)
    assert shell.answer(number).leader == two
    assert [each.member_id for each in shell.answer(number).members] == [one, two]


def test_if_no_static_member_is_back_in_time_the_group_waits_on():
    shell = Shell()
    more = {"session_timeout": 100_000, "rebalance_timeout": 20_000}
    shell.coordinator.configure(config(group_initial_rebalance_delay_ms=1000))
    numbers = [shell.join(group_instance_id=each, **more) for each in "ab"]
    shell.advance(2000)
    one, two = [shell.answer(each).member_id for each in numbers]
    shell.sync(one, 1, {}, group_instance_id="a")
    shell.sync(two, 1, group_instance_id="b")
    shell.leave(("", "b"))
    assert shell.group.state is ClassicGroupState.PREPARING_REBALANCE
    shell.advance(45_000)
    assert (shell.group.state, shell.group.generation) == (ClassicGroupState.PREPARING_REBALANCE, 1)
    assert shell.answer(shell.join(one, group_instance_id="a", **more)).generation_id == 2


def test_a_rebalance_timeout_of_nothing_does_not_keep_the_broker_busy():
    shell = Shell()
    _one, _two = stable(shell, "a", "b")
    for each in shell.group.members.values():
        each.rebalance_timeout = 0
    shell.leave(("", "b"))
    rung, end = 0, shell.now + 5000
    while (due := shell.coordinator.due()) <= end:
        shell.now, rung = due, rung + 1
        shell.do(shell.coordinator.tick(due))
    assert rung < 10


def test_an_administrator_sends_it_away_by_name():
    shell = Shell()
    one, _two = stable(shell, "a", "b")
    answer = shell.leave(("", "b"), ("", "nobody"))
    assert [each.error_code for each in answer.members] == [NONE, ErrorCode.unknown_member_id]
    assert set(shell.group.members) == {one}


def test_an_id_that_was_given_out_is_not_a_static_members():
    shell = Shell()
    pending = shell.answer(shell.join()).member_id
    answer = shell.answer(shell.join(pending, group_instance_id="i"))
    assert answer.error_code == ErrorCode.unknown_member_id


def test_if_it_can_not_be_written_down_it_tries_again():
    shell = Shell()
    _one, _two = stable(shell, "a", "b")
    shell.held = True
    number = shell.join(group_instance_id="b")
    shell.finish(ErrorCode.not_enough_replicas)
    answer = shell.answer(number)
    assert answer.error_code == ErrorCode.coordinator_not_available
    assert answer.member_id == ""
    number = shell.join(group_instance_id="b")
    shell.finish()
    assert code(shell, number) == NONE
    assert shell.group.state is ClassicGroupState.STABLE


def test_two_come_back_before_either_is_replicated():
    shell = Shell()
    stable(shell, "a", "b")
    shell.held = True
    first, second = (shell.join(group_instance_id="b") for _ in range(2))
    shell.finish()
    shell.finish()
    assert code(shell, first) == ErrorCode.fenced_instance_id
    assert code(shell, second) == NONE
    assert shell.heartbeat(shell.answer(second).member_id, 1, "b") == NONE


def test_one_that_is_back_while_another_joins_is_answered_by_the_rebalance():
    """The protocol of the group may be one that the other does not support."""
    shell = Shell()
    both, coop = (("range", SUBSCRIPTION), ("coop", SUBSCRIPTION)), (("coop", SUBSCRIPTION),)
    one, two = stable(shell, "a", "b", protocols=both)
    shell.held = True
    back = shell.join(protocols=both, group_instance_id="a", version=9)
    other = shell.join(protocols=coop, version=0)
    shell.finish()
    assert shell.answer(back) is None
    shell.join(two, protocols=both, group_instance_id="b")
    assert (code(shell, back), code(shell, other)) == (NONE, NONE)
    assert shell.answer(back).protocol_name == "coop"
    assert shell.answer(back).member_id != one
