"""ISR changes on their way to the controller: answered, refused, or sent once more."""

import asyncio
from types import SimpleNamespace

import pytest

from engine.broker import alter_isr_manager
from engine.broker.alter_isr_manager import AlterIsrManager
from engine.broker.metadata import AliveBroker, Metadata
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.partition import Proposal
from engine.wire.apis import Api
from engine.wire.messages.alter_isr import (
    AlterIsrPartitionResult,
    AlterIsrResponse,
    AlterIsrTopicResult,
)

ORDERS, OTHERS = TopicPartition("orders", 2), TopicPartition("others", 0)
FIRST = Proposal(ORDERS, 3, 9, (3, 1), 7, 12)  # broker 3 in epoch 9; controller's 7, version 12
SECOND = Proposal(OTHERS, 3, 4, (3,), 7, 5)


class Broker:
    """Broker 3, and the controllers that it asks: each answers as it is told."""

    def __init__(self, *proposals):
        self.broker_id, self.broker_epoch = 3, 300
        self.config = SimpleNamespace(controller_socket_timeout_ms=7000)
        self.proposals = list(proposals)
        self.work_changed = []
        self.overtaken = set()  # by LeaderAndIsr
        self.answered = []
        self.metadata = Metadata("cluster", 1)
        self.metadata.brokers = {n: AliveBroker(n, "127.0.0.1", 9000 + n) for n in (1, 2)}
        self.answers = {1: [], 2: []}  # a function of the request each, or an exception
        self.asked = []  # (broker, its topics)
        self.closed = []

    @property
    def partitions(self):
        role = SimpleNamespace(waits_for=lambda proposal: proposal not in self.overtaken)
        return dict.fromkeys((ORDERS, OTHERS), role)

    def isr_answered(self, proposal, version):
        self.answered.append((proposal, version))

    def connect(self, host, port, number, client_id, timeout):
        assert (client_id, timeout) == ("3", 7.0)
        return SimpleNamespace(
            ask=lambda api, request: self.ask(number, api, request),
            close=lambda: self.closed.append(number),
        )

    async def ask(self, number, api, request):
        assert api is Api.ALTER_ISR
        assert (request.broker_id, request.broker_epoch) == (3, self.broker_epoch)
        self.asked.append((number, request.topics))
        outcome = self.answers[number].pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return await outcome() if callable(outcome) else outcome

    async def run(self, answers):
        """Until so many proposals have their answer."""
        task = asyncio.create_task(AlterIsrManager(self, self.metadata, self.connect).run())
        for stir in self.work_changed:
            stir()
        async with asyncio.timeout(30):
            while len(self.answered) < answers:
                await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.answered


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(alter_isr_manager, "RESEND_S", 0)


def written(*proposals, **changes):
    return response(
        *(
            (
                each.partition,
                {
                    "leader_id": 3,
                    "leader_epoch": each.leader_epoch,
                    "isr": each.isr,
                    "current_isr_version": each.version + 1,
                }
                | changes,
            )
            for each in proposals
        )
    )


def refused(code, proposal=FIRST):
    return response((proposal.partition, {"error_code": code}))


def response(*rows):
    return AlterIsrResponse(
        topics=tuple(
            AlterIsrTopicResult(
                name=topic,
                partitions=(AlterIsrPartitionResult(partition_index=number, **fields),),
            )
            for (topic, number), fields in rows
        )
    )


def test_all_changes_that_wait_go_in_one_request():
    broker = Broker(FIRST, SECOND)
    broker.answers[1] = [written(FIRST, SECOND)]
    assert asyncio.run(broker.run(2)) == [(FIRST, 13), (SECOND, 6)]
    ((number, (orders, others)),) = broker.asked
    assert (number, orders.name, others.name) == (1, "orders", "others")
    (asked,) = orders.partitions
    assert (asked.partition_index, asked.leader_epoch) == (2, 9)
    assert (asked.new_isr, asked.current_isr_version) == ((3, 1), 12)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.fenced_leader_epoch,
        ErrorCode.invalid_update_version,
        ErrorCode.unknown_topic_or_partition,
    ],
)
def test_a_change_that_the_controller_has_overtaken_is_given_up(code):
    broker = Broker(FIRST)
    broker.answers[1] = [refused(code)]
    assert asyncio.run(broker.run(1)) == [(FIRST, None)]
    assert len(broker.asked) == 1


@pytest.mark.parametrize("wrong", [{"leader_epoch": 10}, {"current_isr_version": 11}])
def test_an_answer_about_another_epoch_or_an_older_version_is_not_believed(wrong):
    broker = Broker(FIRST)
    broker.answers[1] = [written(FIRST, **wrong)]
    assert asyncio.run(broker.run(1)) == [(FIRST, None)]


@pytest.mark.parametrize(
    "outcome",
    [
        ConnectionError("gone"),
        TimeoutError("late"),
        AlterIsrResponse(error_code=ErrorCode.stale_broker_epoch),
        AlterIsrResponse(error_code=ErrorCode.not_controller),
        refused(ErrorCode.unknown_server_error),
        response(),  # the partition is missing
    ],
)
def test_without_a_verdict_it_is_sent_again(outcome):
    broker = Broker(FIRST)
    broker.answers[1] = [outcome, outcome, written(FIRST)]
    assert asyncio.run(broker.run(1)) == [(FIRST, 13)]
    assert len(broker.asked) == 3


def test_only_the_changes_without_a_verdict_are_sent_again():
    broker = Broker(FIRST, SECOND)
    broker.answers[1] = [written(SECOND), written(FIRST)]
    assert asyncio.run(broker.run(2)) == [(SECOND, 6), (FIRST, 13)]
    assert [[topic.name for topic in topics] for _, topics in broker.asked] == [
        ["orders", "others"],
        ["orders"],
    ]


def test_the_next_controller_is_asked_though_the_old_one_does_not_answer():
    broker = Broker(FIRST)

    async def frozen():
        broker.metadata.controller = 2
        broker.metadata.changed()
        await asyncio.Event().wait()

    broker.answers = {1: [frozen], 2: [written(FIRST)]}
    assert asyncio.run(broker.run(1)) == [(FIRST, 13)]
    assert [number for number, _ in broker.asked] == [1, 2]
    assert broker.closed[0] == 1


def test_without_a_controller_the_change_waits_for_one():
    broker = Broker(FIRST)
    broker.metadata.controller = -1
    broker.answers[2] = [written(FIRST)]

    async def later():
        running = asyncio.create_task(broker.run(1))
        for _ in range(20):
            await asyncio.sleep(0)
        assert broker.asked == []
        broker.metadata.controller = 2
        broker.metadata.changed()
        return await running

    assert asyncio.run(later()) == [(FIRST, 13)]


def test_a_change_that_leader_and_isr_has_overtaken_is_not_sent_again():
    broker = Broker(FIRST, SECOND)

    async def lost():
        broker.overtaken.add(FIRST)
        raise ConnectionError

    broker.answers[1] = [lost, written(SECOND)]
    assert asyncio.run(broker.run(1)) == [(SECOND, 6)]
    assert [topic.name for topic in broker.asked[-1][1]] == ["others"]
