"""One member: what it asks, what it makes of the answers, and what it waits for."""

import pytest

from engine.assignors.protocol import Assignment, encode_assignment
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.unit.client.world import (
    MembershipState,
    OnAssign,
    OnLost,
    OnRevoke,
    World,
    partitions,
)

COOPERATIVE = {"partition_assignment_strategy": ("cooperative-sticky",)}
EVERYTHING = partitions("t", 0, 1, 2, 3)
HEARTBEAT, SESSION = 3.0, 10.0


@pytest.fixture
def world():
    return World()


def member(world, **config):
    """One that is stable, alone."""
    app = world.app("one", **config)
    world.settle()
    return app


def refuse(world, app, api, code):
    """The next answer to that is this."""
    real = app.membership.answered

    def answered(ask, response, now):
        if ask.api is api:
            app.membership.answered = real
            values = {name: getattr(response, name) for name in response.__slots__}
            response = type(response)(**values | {"error_code": code})
        real(ask, response, now)

    app.membership.answered = answered


# -- joining -------------------------------------------------------------------------------------


def test_it_is_given_a_name_and_joins_with_it(world):
    app = member(world)
    assert [each for each in app.asked if each != "METADATA"] == [
        "FIND_COORDINATOR",
        "JOIN_GROUP",
        "JOIN_GROUP",
        "SYNC_GROUP",
    ]
    group, generation, name, instance = app.membership.identity
    assert (group, generation, instance) == ("g", 1, None)
    assert name.startswith("one-")


def test_every_step_is_told(world):
    app = member(world)
    assert [each.data["now"] for each in app.events if each.kind == "consumer.state"] == [
        "joining",
        "syncing",
        "assigning",
        "stable",
    ]
    (assigned,) = [each.data for each in app.events if each.kind == "consumer.assigned"]
    assert assigned["partitions"] == ["t-0", "t-1", "t-2", "t-3"]
    assert (assigned["group"], assigned["generation"]) == ("g", 1)


def test_an_application_that_does_not_poll_is_waited_for(world):
    app = world.app("one")
    app.is_polling = False
    world.run(30)
    assert app.state is MembershipState.ASSIGNING
    assert list(app.membership.callbacks.waiting) == [OnAssign(EVERYTHING)]
    assert app.owned == []
    assert app.asked.count("HEARTBEAT") > 5  # it is still a member
    app.is_polling = True
    world.settle()
    assert app.owned == list(EVERYTHING)


def test_an_order_that_nobody_has_begun_with_is_withdrawn(world):
    app = world.app("one")
    app.is_polling = False
    world.until(lambda: app.membership.callbacks.waiting)
    refuse(world, app, Api.HEARTBEAT, ErrorCode.unknown_member_id)
    world.until(lambda: not app.membership.callbacks.waiting, limit=HEARTBEAT + 1)
    app.is_polling = True
    world.run(2 * SESSION)
    assert [type(each) for each in app.log] == [OnAssign]


def test_an_order_that_is_being_carried_out_counts(world):
    """Its callback is running when we learn that we are out: what it was given is lost then."""
    app = world.app("one")
    app.is_polling = False
    world.until(lambda: app.membership.callbacks.waiting)
    order = app.membership.callbacks.take()
    refuse(world, app, Api.HEARTBEAT, ErrorCode.unknown_member_id)
    world.until(lambda: app.state is MembershipState.REVOKING, limit=HEARTBEAT + 1)
    assert not app.membership.callbacks.waiting
    app.membership.done(order, world.now)
    assert list(app.membership.callbacks.waiting) == [OnLost(EVERYTHING)]
    app.is_polling = True
    world.settle()
    assert app.owned == list(EVERYTHING)


def test_done_is_said_of_what_was_taken(world):
    app = world.app("one")
    app.is_polling = False
    world.until(lambda: app.membership.callbacks.waiting)
    with pytest.raises(AssertionError, match="taken from the queue first"):
        app.membership.done(app.membership.callbacks.waiting[0], world.now)


# -- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.not_coordinator,
        ErrorCode.coordinator_not_available,
        ErrorCode.rebalance_in_progress,
        ErrorCode.unknown_member_id,
        ErrorCode.illegal_generation,
    ],
)
def test_what_passes_is_tried_again(world, api, code):
    app = world.app("one")
    refuse(world, app, api, code)
    # A name that was given, and not taken, keeps the others waiting for a session.
    world.settle(limit=SESSION + 1)
    assert app.owned == list(EVERYTHING)
    assert app.log == [OnAssign(EVERYTHING)]
    assert not app.errors


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.inconsistent_group_protocol,
        ErrorCode.group_max_size_reached,
        ErrorCode.invalid_session_timeout,
        ErrorCode.group_authorization_failed,
    ],
)
def test_what_does_not_pass_is_told_and_tried_again_by_who_polls_on(world, api, code):
    app = world.app("one")
    refuse(world, app, api, code)
    world.settle(limit=SESSION + 1)
    assert app.errors == [code]
    assert app.owned == list(EVERYTHING)


def test_while_an_error_is_not_told_nothing_is_tried(world):
    app = world.app("one")
    refuse(world, app, Api.JOIN_GROUP, ErrorCode.group_max_size_reached)
    world.until(lambda: "JOIN_GROUP" in app.asked)
    app.is_polling = False
    world.run(30)
    assert (app.state, app.asked.count("JOIN_GROUP")) == (MembershipState.UNJOINED, 1)
    assert app.membership.error.code == ErrorCode.group_max_size_reached
    assert "group.max.size" in app.membership.error.message


@pytest.mark.parametrize("code", [ErrorCode.unknown_member_id, ErrorCode.illegal_generation])
def test_a_heartbeat_says_that_it_is_no_member(world, code):
    app = member(world)
    name = app.membership.identity.member_id
    refuse(world, app, Api.HEARTBEAT, code)
    world.until(lambda: app.changes(OnLost), limit=HEARTBEAT + 1)
    world.settle()
    assert app.log[1:] == [OnLost(EVERYTHING), OnAssign(EVERYTHING)]
    # Under a wrong generation it keeps its name: no ghost is left that others would wait for.
    keeps_name = code == ErrorCode.illegal_generation
    assert (app.membership.identity.member_id == name) is keeps_name


def test_a_heartbeat_that_no_coordinator_answers_changes_nothing(world):
    app = member(world)
    for code in (ErrorCode.coordinator_load_in_progress, ErrorCode.not_coordinator):
        refuse(world, app, Api.HEARTBEAT, code)
        world.run(2 * HEARTBEAT)
        assert app.state is MembershipState.STABLE
    assert app.asked.count("FIND_COORDINATOR") == 2
    assert app.log == [OnAssign(EVERYTHING)]


def test_a_heartbeat_that_failed_is_soon_sent_again(world):
    app = member(world)
    refuse(world, app, Api.HEARTBEAT, ErrorCode.not_coordinator)
    world.until(lambda: "HEARTBEAT" in app.asked)
    world.run(0.2)
    assert app.asked.count("HEARTBEAT") == 2


def test_an_answer_to_an_earlier_round_changes_nothing(world):
    """It has unsubscribed and subscribed again before its first JoinGroup was answered. The name
    that it is given there is given back, or the group would wait for it for a session."""
    app = world.app("one")
    world.until(lambda: "JOIN_GROUP" in app.asked)
    app.membership.unsubscribe(world.now)
    app.subscribe("t")
    world.settle(limit=1)
    assert app.asked.count("LEAVE_GROUP") == 1
    assert app.owned == list(EVERYTHING)


def test_what_is_held_against_an_earlier_identity_is_nothing_to_us(world):
    app = member(world)
    earlier = app.membership.identity._replace(generation_id=0)
    app.membership.group_error(ErrorCode.illegal_generation, earlier, world.now)
    assert (app.state, app.owned) == (MembershipState.STABLE, list(EVERYTHING))


def test_a_garbled_assignment_is_told(world):
    app = world.app("one")
    world.until(lambda: app.state is MembershipState.SYNCING)
    app.membership._synced(b"\x00\x01garbage", world.now)
    assert app.membership.error.code == ErrorCode.inconsistent_group_protocol
    world.settle(limit=SESSION + 1)
    assert app.owned == list(EVERYTHING)


def test_a_share_of_what_is_not_wanted_is_not_taken(world):
    app = world.app("one")
    world.until(lambda: app.state is MembershipState.SYNCING)
    app.membership._synced(encode_assignment(Assignment(partitions("u", 0))), world.now)
    world.settle(limit=1)
    assert app.log == [OnAssign(EVERYTHING)]


def test_a_member_that_nobody_understands_gets_nothing(world):
    app = member(world)
    odd = world.brokers[1].join(protocols=(("range", b"\xff\xff"),), version=0)
    world.until(lambda: world.brokers[1].answer(odd) and world.group.state.value == "Stable")
    world.run(1)
    assert app.owned == list(EVERYTHING)


def test_a_broker_that_is_too_old_is_told(world):
    app = world.app("one", group_instance_id="i")
    world.until(lambda: app.state is MembershipState.JOINING and "JOIN_GROUP" in app.asked)
    (ask,) = [each for lane in world.lanes.values() for each in lane if each.api == Api.JOIN_GROUP]
    error = ApiException(ErrorCode.unsupported_version, "JoinGroup v5 is not served")
    app.membership.failed(ask, error, world.now)
    assert (app.membership.error, app.state) == (error, MembershipState.UNJOINED)


def test_there_can_be_no_coordinator(world):
    world.denied = ErrorCode.group_authorization_failed
    app = world.app("one")
    world.run(5)
    assert app.errors[:2] == [world.denied] * 2  # polling on is trying on
    world.denied = ErrorCode.none
    world.settle()
    assert app.owned == list(EVERYTHING)


def test_an_earlier_coordinator_makes_nobody_forget_the_one_of_now(world):
    app = member(world)
    app.coordinator.forget(99)
    assert app.coordinator.known == 1
    app.coordinator.forget(1)
    assert app.coordinator.known is None


# -- leaving -------------------------------------------------------------------------------------


def test_it_leaves_when_everything_has_been_given_up(world):
    app = member(world)
    app.is_polling = False
    app.close()
    world.run(1)
    assert list(app.membership.callbacks.waiting) == [OnRevoke(EVERYTHING)]
    assert world.group.members
    assert not app.membership.has_left
    app.is_polling = True
    world.until(lambda: app.membership.has_left, limit=1)
    assert not world.group.members


@pytest.mark.parametrize("turns", range(12))
def test_it_may_be_closed_at_any_time(world, turns):
    app = world.app("one")
    for _ in range(turns):
        world.turn()
    app.close()
    world.until(lambda: app.membership.has_left, limit=1)
    # Nothing is left that somebody else would have to wait for.
    assert world.group is None or not (world.group.members or world.group.pending)


def test_no_answer_is_waited_for_that_will_not_come(world):
    """Its first JoinGroup, that was to give it a name, has failed."""
    app = world.app("one")
    world.until(lambda: "JOIN_GROUP" in app.asked)
    app.is_connected = False
    world.run(1)
    app.is_connected = True
    world.settle()
    app.close()
    world.until(lambda: app.membership.has_left, limit=1)


def test_without_a_coordinator_it_goes_without_a_word(world):
    app = member(world)
    world.brokers[2] = world.brokers.pop(1)
    world.coordinator = None
    world.until(lambda: app.coordinator.known is None)
    app.close()
    world.until(lambda: app.membership.has_left, limit=1)
    assert "LEAVE_GROUP" not in app.asked


def test_it_unsubscribes_and_is_back_as_another(world):
    app = member(world)
    name = app.membership.identity.member_id
    app.membership.unsubscribe(world.now)
    world.until(lambda: app.membership.has_left)
    app.subscribe("t")
    world.settle()
    assert app.membership.identity.member_id != name
    assert app.log == [
        OnAssign(EVERYTHING),
        OnRevoke(EVERYTHING),
        OnAssign(EVERYTHING),
    ]


# -- states --------------------------------------------------------------------------------------


def test_no_member_takes_a_step_that_the_table_does_not_have(world):
    app = member(world)
    with pytest.raises(AssertionError, match="no member goes from"):
        app.membership._move(MembershipState.SYNCING, "a bug", world.now)


def test_who_hangs_while_it_joins_again_can_leave_in_the_end(world):
    """It has a name already, and so waits for none that the answer might bring."""
    one = world.app("one", max_poll_interval_ms=5_000)
    world.settle()
    two = world.app("two", max_poll_interval_ms=60_000)
    world.settle()
    two.is_polling = False  # so that whoever joins again has to wait
    world.app("three")
    world.until(lambda: one.state is MembershipState.JOINING)
    one.is_polling = False
    world.until(lambda: one.membership.exceeded)
    one.is_polling = two.is_polling = True
    one.close()
    world.until(lambda: one.membership.has_left, limit=20)
