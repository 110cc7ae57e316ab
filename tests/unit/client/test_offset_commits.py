"""Commits: in order, once for all that wait together, and by whom they may be made."""

import pytest

from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.unit.client.world import MembershipState, OnLost, World, partitions

T0, T1 = partitions("t", 0, 1)
NONE = ErrorCode.none
SESSION = 10.0
COOPERATIVE = {"partition_assignment_strategy": ("cooperative-sticky",)}


@pytest.fixture
def world():
    return World()


def stable(world, **config):
    app = world.app("one", **config)
    world.settle()
    return app


def ends(world, told, limit=1.0):
    world.until(lambda: told, limit)
    (what,) = told
    return what


def code(world, told, limit=1.0):
    error = ends(world, told, limit)
    assert isinstance(error, ApiException), error
    return error.code


def test_what_is_committed_is_what_is_fetched(world):
    app = stable(world)
    told = app.commit({T0: 5, T1: 6}, epoch=2, metadata="note")
    assert ends(world, told) == {T0: NONE, T1: NONE}
    assert ends(world, app.fetch(T0, T1, TopicPartition("t", 2))) == {
        T0: OffsetAndMetadata(5, 2, "note"),
        T1: OffsetAndMetadata(6, 2, "note"),
        TopicPartition("t", 2): OffsetAndMetadata(-1),
    }


def test_a_fetch_sees_the_commit_before_it(world):
    app = stable(world)
    app.commit({T0: 5})
    assert ends(world, app.fetch(T0))[T0].offset == 5


def test_what_waits_together_goes_together_and_each_is_told_its_own(world):
    app = stable(world)
    first = app.commit({T0: 1})
    world.turn()
    rest = [app.commit({T0: 2}), app.commit({T1: 7}), app.commit({T0: 3})]
    world.run(0.1)
    assert first == [{T0: NONE}]
    assert rest == [[{T0: NONE}], [{T1: NONE}], [{T0: NONE}]]
    assert app.asked.count("OFFSET_COMMIT") == 2
    assert ends(world, app.fetch(T0))[T0].offset == 3


def test_a_partition_that_does_not_exist_is_told_of_alone(world):
    app = stable(world)
    gone = TopicPartition("gone", 0)
    world.brokers[1].missing.add(gone)
    assert ends(world, app.commit({T0: 5, gone: 1})) == {
        T0: NONE,
        gone: ErrorCode.unknown_topic_or_partition,
    }


# -- a coordinator that is not there ---------------------------------------------------------


def test_it_is_tried_again_where_the_coordinator_is_now(world):
    app = stable(world)
    told = app.commit({T0: 5})
    world.act()
    world.fail_over(2)
    assert ends(world, told) == {T0: NONE}
    assert ends(world, app.fetch(T0))[T0].offset == 5


def test_what_is_tried_again_is_not_overtaken(world):
    """Otherwise the first commit, done at last, would put the group back to where it was."""
    app = stable(world)
    first = app.commit({T0: 5})
    world.act()
    world.fail_over(2)
    second = app.commit({T0: 6})
    world.run(2)
    assert first == second == [{T0: NONE}]
    assert ends(world, app.fetch(T0))[T0].offset == 6


def test_a_coordinator_that_is_loading_is_waited_for(world):
    app = stable(world)
    world.move(2, is_loaded=False)
    told = app.commit({T0: 5})
    world.run(5)
    assert told == []
    world.load()
    assert ends(world, told) == {T0: NONE}


def test_but_not_for_ever(world):
    app = stable(world, default_api_timeout_ms=4000)
    world.move(2, is_loaded=False)
    commit, fetch = app.commit({T0: 5}), app.fetch(T0)
    world.run(3.9)
    assert commit == fetch == []
    assert code(world, commit) == code(world, fetch) == ErrorCode.request_timed_out
    assert not app.offsets._waiting


def test_without_permission_each_of_many_is_told(world):
    world.denied = ErrorCode.group_authorization_failed
    app = world.app("one")
    app.membership.unsubscribe(world.now)
    told = [app.commit({T0: 1}), app.fetch(T0), app.commit({T0: 2})]
    assert [code(world, each) for each in told] == [world.denied] * 3


# -- who may commit --------------------------------------------------------------------------


def test_whoever_assigns_partitions_by_hand_commits_as_nobody(world):
    app = world.app("alone")
    app.membership.unsubscribe(world.now)
    assert ends(world, app.commit({T0: 5})) == {T0: NONE}
    assert set(app.asked) <= {"METADATA", "FIND_COORDINATOR", "OFFSET_COMMIT"}


def test_but_not_beside_the_members_of_a_group(world):
    stable(world)
    other = world.app("other")
    other.membership.unsubscribe(world.now)
    assert code(world, other.commit({T0: 5})) == ErrorCode.unknown_member_id


def test_who_has_not_joined_yet_has_nothing_to_commit(world):
    app = world.app("one")
    world.turn()
    world.turn()
    assert app.state is MembershipState.JOINING
    assert code(world, app.commit({T0: 5})) == ErrorCode.rebalance_in_progress


def test_what_was_read_is_committed_while_it_is_revoked(world):
    one = stable(world)
    one.is_polling = False
    world.app("two")
    world.until(lambda: one.membership.callbacks.waiting)
    assert one.state is MembershipState.REVOKING
    assert ends(world, one.commit({T0: 5})) == {T0: NONE}
    one.is_polling = True
    world.settle()


def test_a_cooperative_member_commits_while_others_have_yet_to_join(world):
    """It goes on reading meanwhile; its JoinGroup waits on a connection of its own."""
    one, two = world.app("one", **COOPERATIVE), world.app("two", **COOPERATIVE)
    world.settle()
    two.is_connected = False
    world.app("three", **COOPERATIVE)
    world.until(lambda: one.state is MembershipState.JOINING)
    world.run(1)
    told = one.commit({one.owned[0]: 5})
    assert ends(world, told) == {one.owned[0]: NONE}
    assert one.state is MembershipState.JOINING


def test_a_commit_that_comes_too_late_is_made_again_by_who_still_owns(world):
    """As it was under way, all joined, and its generation is over; but not what it read."""
    one = stable(world, **COOPERATIVE)
    world.app("two", **COOPERATIVE)
    world.until(lambda: one.state is MembershipState.JOINING)
    told = one.commit({T0: 5})
    world.settle()
    assert told == [{T0: NONE}]
    assert one.asked.count("OFFSET_COMMIT") == 2


def test_and_not_by_who_does_not(world):
    """Others have it now, and may have committed more."""
    one = stable(world)
    world.app("two")
    world.until(lambda: one.state is MembershipState.JOINING)
    told = one.commit({T0: 5})
    world.settle()
    assert code(world, told) == ErrorCode.rebalance_in_progress
    assert world.group.generation == 2  # and nobody has taken that for a reason to begin again


def test_a_commit_waits_while_it_is_not_known_who_we_are(world):
    one = stable(world, **COOPERATIVE)
    world.app("two", **COOPERATIVE)
    world.until(lambda: one.state is MembershipState.SYNCING)
    told = one.commit({T0: 5})
    world.act()
    assert (one.state, "OFFSET_COMMIT" in one.asked) == (MembershipState.SYNCING, False)
    assert ends(world, told) == {T0: NONE}
    world.settle()


def test_a_commit_tells_of_a_rebalance_before_the_heartbeat_does(world):
    one = stable(world)
    joined = world.now
    world.app("two")
    world.run(0.1)
    # As the group prepares, the commit is taken; and once all have joined it is too late.
    assert ends(world, one.commit({T0: 5})) == {T0: NONE}
    world.settle()
    assert world.now < joined + 3.1


def test_who_was_thrown_out_is_told_and_joins_again(world):
    one, two = world.app("one"), world.app("two")
    world.settle()
    (mine, *_) = two.owned
    two.is_connected = False
    world.until(lambda: one.numbers == [0, 1, 2, 3])
    two.is_polling, two.is_connected = False, True
    told = two.commit({mine: 5})
    assert code(world, told, limit=SESSION) == ErrorCode.unknown_member_id
    two.is_polling = True
    world.settle()
    assert two.owned
    assert ends(world, one.fetch(mine))[mine].offset == -1  # it was refused


def test_a_commit_may_be_what_tells_it(world):
    app = stable(world)
    shell = world.brokers[1]
    shell.now = world.milliseconds
    shell.leave(app.membership.identity.member_id)  # an administrator has sent it away
    told = app.commit({T0: 5})
    assert code(world, told, limit=0.1) == ErrorCode.unknown_member_id
    assert app.changes(OnLost)  # no heartbeat was due yet
    world.settle()
    assert app.owned


def test_who_knows_that_it_is_out_does_not_even_ask(world):
    app = stable(world, max_poll_interval_ms=5000)
    app.is_polling = False
    world.until(lambda: app.membership.exceeded)
    asked = app.asked.count("OFFSET_COMMIT")
    assert code(world, app.commit({T0: 5})) == ErrorCode.unknown_member_id
    assert app.asked.count("OFFSET_COMMIT") == asked


def test_a_commit_whose_answer_was_lost_is_not_made_again_by_who_lost_the_partition(world):
    """Its fate is not known, and meanwhile another member reads on from there."""
    shared = TopicPartition("t", 3)
    first = world.app("a")
    world.settle()
    world.run(1)
    world.frozen.add(1)
    told = first.commit({shared: 5})
    world.run(0.5)
    world.move(2)
    second = world.app("b")
    world.until(lambda: world.is_stable and shared in second.owned)

    second.commit({shared: 9})
    world.run(40)

    assert world.group.offsets.stored[shared].offset == 9
    assert [each.code for each in told] == [ErrorCode.rebalance_in_progress]
