"""The controller's hands: order, answers, lost connections and lost sessions."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from engine.broker.zookeeper.controller_service import ControllerService
from engine.controller.context import LiveBroker
from engine.controller.events import Began, Rebalance
from engine.controller.requests import Request
from engine.errors import ApiException, ErrorCode, MetadataUnavailable
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper.requests import Changed, Get
from engine.zookeeper.znodes import BrokerEndPoint, BrokerInfo


class Decider:
    """In place of the controller: asks two questions for each event, and writes all down."""

    def __init__(self):
        self.broker_id = 1
        self.leader_id = 1
        self.active = True
        self.brokers = {}
        self.outbox = []
        self.story = []

    def handle(self, event):
        name = type(event).__name__
        self.story.append(f"{name} begins")
        try:
            first = yield [Get(f"/{name}/1")]
            second = yield [Get(f"/{name}/2")]
        except GeneratorExit:
            self.story.append(f"{name} is given up")
            raise
        self.story.append(f"{name} ends")
        return [*first, *second]

    def expired(self):
        self.active = False
        self.story.append("expired")


class Oracle:
    """In place of ZooKeeper: answers when it is let, with what it is given."""

    def __init__(self):
        self.asked = []
        self.troubles = []
        self.open = asyncio.Event()
        self.open.set()

    async def ask(self, asks, changed=None):
        self.asked += [ask.path for ask in asks]
        await self.open.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        return [ask.path for ask in asks]


class Silent:
    """A broker that answers no request of the controller."""

    def __init__(self):
        self.connected = []

    def connect(self, host, port, number, client_id, timeout_s):
        self.connected.append((number, timeout_s))
        return self

    async def ask(self, api, message):
        await asyncio.Event().wait()

    def close(self):
        """There is nothing to close."""


@asynccontextmanager
async def office(connect=None):
    decider, oracle = Decider(), Oracle()
    tasks = set()

    def spawn(work):
        task = asyncio.create_task(work)
        tasks.add(task)
        return task

    controller_service = ControllerService(decider, oracle, connect, spawn, 7.0)
    controller_service.set_connected(True)
    spawn(controller_service.run())
    try:
        yield controller_service, decider, oracle
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def run(story):
    asyncio.run(asyncio.wait_for(story(), 10))


def test_brokers_have_controller_socket_timeout_ms_for_an_answer():
    async def story():
        silent = Silent()
        async with office(silent.connect) as (controller_service, decider, _):
            endpoint = BrokerEndPoint("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")
            decider.brokers = {2: LiveBroker(7, BrokerInfo((endpoint,), 0))}
            decider.listener = "PLAINTEXT"
            message = UpdateMetadataRequest(
                controller_id=1, controller_epoch=1, topic_states=(), live_brokers=()
            )
            decider.outbox.append(Request(2, 7, message))
            await controller_service.ask(Began())
            await asyncio.sleep(0)
            assert silent.connected == [(2, 7.0)]

    run(story)


def test_one_event_ends_before_the_next_begins():
    async def story():
        async with office() as (controller_service, decider, _):
            controller_service.note(Began())
            controller_service.note(Changed("/a"))
            answer = await controller_service.ask(Rebalance())
            assert answer == ["/Rebalance/1", "/Rebalance/2"]
            assert decider.story == [
                *("Began begins", "Began ends"),
                *("Changed begins", "Changed ends"),
                *("Rebalance begins", "Rebalance ends"),
            ]

    run(story)


def test_a_question_that_was_lost_is_asked_again():
    async def story():
        async with office() as (controller_service, decider, oracle):
            oracle.troubles = [MetadataUnavailable(), MetadataUnavailable()]
            assert await controller_service.ask(Began()) == ["/Began/1", "/Began/2"]
            assert oracle.asked == ["/Began/1"] * 3 + ["/Began/2"]
            assert decider.story == ["Began begins", "Began ends"]

    run(story)


def test_nothing_is_asked_while_the_connection_is_down():
    async def story():
        async with office() as (controller_service, _, oracle):
            oracle.troubles = [MetadataUnavailable()]
            controller_service.connected.clear()
            waiting = asyncio.ensure_future(controller_service.ask(Began()))
            while not oracle.asked:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert oracle.asked == ["/Began/1"]
            controller_service.connected.set()
            assert await waiting == ["/Began/1", "/Began/2"]

    run(story)


def test_what_was_begun_in_a_session_ends_with_it():
    async def story():
        async with office() as (controller_service, decider, oracle):
            oracle.open.clear()
            begun = asyncio.ensure_future(controller_service.ask(Began()))
            queued = asyncio.ensure_future(controller_service.ask(Rebalance()))
            while not oracle.asked:
                await asyncio.sleep(0)
            controller_service.expired()
            oracle.open.set()
            for waiting in (begun, queued):
                with pytest.raises(ApiException) as refusal:
                    await waiting
                assert refusal.value.code == ErrorCode.not_controller
            assert decider.story == ["Began begins", "expired", "Began is given up"]
            assert oracle.asked == ["/Began/1"]

            controller_service.connected.set()
            controller_service.note(Began())
            while "Began ends" not in decider.story:
                await asyncio.sleep(0)

    run(story)


def test_only_the_controller_is_asked():
    async def story():
        async with office() as (controller_service, decider, _):
            decider.active, decider.leader_id = False, 3
            with pytest.raises(ApiException, match="the controller is broker 3") as refusal:
                await controller_service.ask(Rebalance())
            assert refusal.value.code == ErrorCode.not_controller
            assert decider.story == []

    run(story)
