"""A broker's life: registration, heartbeats, unfenced, and the way out."""

import asyncio
from uuid import UUID

import pytest

from engine.broker.kraft import lifecycle_manager
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.lifecycle_manager import BrokerLifecycleManager
from engine.config.kraft import KRaftBrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.broker_states import BROKER_STEPS, BrokerRunState, BrokerStep
from tests.limits import ANSWER_S
from tests.unit.broker.kraft.quorum import FakeQuorum

REGISTRATION = UUID(int=1)  # stands for the request, which is passed on
VOTERS = "101@h:1,102@h:2"


def manager(quorum, *, known=True, **keys):
    settings = {
        "node.id": "1",
        "controller.quorum.voters": VOTERS,
        "controller.listener.names": "CONTROLLER",
        "broker.heartbeat.interval.ms": "5",
        **{name.replace("_", "."): text for name, text in keys.items()},
    }
    config = KRaftBrokerConfig.parse(settings)
    channel = ControllerChannel(quorum, "broker-1", 5.0)
    return BrokerLifecycleManager(config, channel, lambda: 40, lambda: known, lambda *_, **__: None)


def heard(quorum, *, caught_up=False, fenced=True, may_stop=False, error=ErrorCode.none):
    quorum.answer(
        101,
        error_code=error,
        is_caught_up=caught_up,
        is_fenced=fenced,
        should_shut_down=may_stop,
    )


def run(story):
    async def limited():
        async with asyncio.timeout(ANSWER_S):
            await story()

    asyncio.run(limited())


def test_every_state_and_step_is_in_the_table():
    assert {state for state, _ in BROKER_STEPS} | set(BROKER_STEPS.values()) == set(BrokerRunState)
    assert {step for _, step in BROKER_STEPS} == set(BrokerStep)


def test_a_broker_catches_up_is_unfenced_and_hands_over():
    """It wants to be fenced until its replicas are ready, and stops when it may."""

    async def story():
        quorum = FakeQuorum()
        life = manager(quorum)
        beating = asyncio.create_task(life.run())
        heard(quorum)
        heard(quorum, caught_up=True)
        await life.until(BrokerRunState.RECOVERY)
        life.ready()
        heard(quorum, caught_up=True, fenced=False)
        await life.until(BrokerRunState.RUNNING)
        leaving = asyncio.create_task(life.leave())
        heard(quorum, fenced=False)
        heard(quorum, fenced=False)
        heard(quorum, may_stop=True)
        await leaving
        await beating
        messages = [message for _, _, message in quorum.asked]
        assert messages[0].want_fence
        assert not messages[-1].want_fence
        assert messages[-1].want_shut_down
        assert messages[0].current_metadata_offset == 40

    run(story)


def test_a_running_broker_that_is_fenced_goes_on():
    """It was silent for too long; the next heartbeats unfence it again."""

    async def story():
        quorum = FakeQuorum()
        life = manager(quorum)
        life.state, life.is_ready = BrokerRunState.RUNNING, True
        heard(quorum, fenced=True)
        beating = asyncio.create_task(life.run())
        while len(quorum.asked) < 2:
            await asyncio.sleep(0)
        assert (life.state, life.is_fenced) == (BrokerRunState.RUNNING, True)
        assert not any(message.want_fence for *_, message in quorum.asked)
        beating.cancel()

    run(story)


def test_a_refused_registration_is_tried_again(monkeypatch):
    monkeypatch.setattr(lifecycle_manager, "REFUSED_WAIT_S", 0.0)

    async def story():
        quorum = FakeQuorum()
        quorum.answer(101, error_code=ErrorCode.duplicate_broker_registration)
        quorum.answer(101, error_code=ErrorCode.none, broker_epoch=77)
        life, told = manager(quorum), []
        await life.register(REGISTRATION, told.append)
        assert told == [77] == [life.epoch]

    run(story)


async def beats(quorum, life, count):
    """The epochs of heartbeats, until the controller was asked so often."""
    beating = asyncio.create_task(life.run())
    while len(quorum.asked) < count:
        await asyncio.sleep(0)
    beating.cancel()
    return [it.broker_epoch for *_, it in quorum.asked if it != REGISTRATION]


def test_a_broker_with_a_stale_epoch_registers_again():
    async def story():
        quorum = FakeQuorum()
        quorum.answer(101, error_code=ErrorCode.none, broker_epoch=5)
        heard(quorum, error=ErrorCode.stale_broker_epoch)
        quorum.answer(101, error_code=ErrorCode.none, broker_epoch=77)
        life, told = manager(quorum), []
        await life.register(REGISTRATION, told.append)
        assert await beats(quorum, life, 4) == [5, 77]
        assert told == [5, 77] and life.epoch == 77

    run(story)


def test_a_broker_that_another_process_has_replaced_stays_away():
    async def story():
        quorum = FakeQuorum()
        heard(quorum, error=ErrorCode.stale_broker_epoch)
        quorum.answer(101, error_code=ErrorCode.duplicate_broker_registration)
        for _ in range(3):
            heard(quorum, error=ErrorCode.stale_broker_epoch)
        life = manager(quorum)
        life._registration = REGISTRATION
        assert len(await beats(quorum, life, 5)) == 4

    run(story)


def test_a_broker_whose_registration_was_removed_stays_away():
    async def story():
        quorum = FakeQuorum()
        for _ in range(3):
            heard(quorum, error=ErrorCode.stale_broker_epoch)
        assert len(await beats(quorum, manager(quorum, known=False), 3)) == 3

    run(story)


def test_a_broker_that_leaves_does_not_register_again():
    async def story():
        quorum = FakeQuorum()
        life = manager(quorum)
        life.state = BrokerRunState.PENDING_CONTROLLED_SHUTDOWN
        heard(quorum, error=ErrorCode.stale_broker_epoch)
        heard(quorum, error=ErrorCode.stale_broker_epoch)
        beating = asyncio.create_task(life.run())
        while len(quorum.asked) < 3:
            await asyncio.sleep(0)
        beating.cancel()
        assert all(it.want_shut_down for *_, it in quorum.asked)

    run(story)


def test_a_broker_that_cannot_register_says_why(monkeypatch):
    monkeypatch.setattr(lifecycle_manager, "REFUSED_WAIT_S", 0.001)

    async def story():
        quorum = FakeQuorum()
        for _ in range(10_000):
            quorum.answer(101, error_code=ErrorCode.inconsistent_cluster_id)
        life = manager(quorum, initial_broker_registration_timeout_ms="500")
        with pytest.raises(ApiException, match=r"unable to register.*inconsistent_cluster_id"):
            await life.register(REGISTRATION, lambda _: None)

    run(story)


def test_a_broker_without_a_controller_stops_when_its_session_is_over():
    async def story():
        life = manager(FakeQuorum(leader=None), broker_session_timeout_ms="30")
        life.state = BrokerRunState.RUNNING
        await life.leave()
        assert life.state is BrokerRunState.PENDING_CONTROLLED_SHUTDOWN

    run(story)
