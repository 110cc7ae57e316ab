"""Requests of a broker to the active controller, which changes meanwhile."""

import asyncio
from dataclasses import dataclass

import pytest

from engine.broker.kraft import controller_channel
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.errors import ErrorCode
from engine.wire.controller_apis import ControllerApi
from tests.limits import ANSWER_S
from tests.unit.broker.kraft.quorum import FakeQuorum


@dataclass(frozen=True)
class Answer:
    error_code: ErrorCode
    text: str = ""


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(controller_channel, "RETRY_S", 0.0)


async def asked(quorum):
    channel = ControllerChannel(quorum, "broker-1", 5.0)
    async with asyncio.timeout(ANSWER_S):
        return await channel.ask(ControllerApi.BROKER_HEARTBEAT, "hello")


def test_a_request_goes_to_the_leader_and_again_to_the_next_one():
    """No answer, and NOT_CONTROLLER, are no answers: the next attempt asks who leads."""

    async def story():
        quorum = FakeQuorum()
        quorum.answers[101].put_nowait(ConnectionError("it broke"))
        quorum.answers[101].put_nowait(Answer(ErrorCode.not_controller))
        quorum.answers[101].put_nowait(Answer(ErrorCode.none, "done"))
        assert (await asked(quorum)).text == "done"
        assert [id for id, *_ in quorum.asked] == [101, 101, 101]

    asyncio.run(story())


def test_a_leader_that_is_silent_is_left_when_there_is_another_one():
    async def story():
        quorum = FakeQuorum()
        asking = asyncio.create_task(asked(quorum))
        await quorum.asked_once.wait()
        quorum.answers[102].put_nowait(Answer(ErrorCode.none, "from 102"))
        quorum.elect(102)
        assert (await asking).text == "from 102"

    asyncio.run(story())


def test_without_a_leader_a_request_waits_for_one():
    async def story():
        quorum = FakeQuorum(leader=None)
        asking = asyncio.create_task(asked(quorum))
        await asyncio.sleep(0)
        assert quorum.asked == []
        quorum.answers[101].put_nowait(Answer(ErrorCode.none, "at last"))
        quorum.elect(101)
        assert (await asking).text == "at last"

    asyncio.run(story())
