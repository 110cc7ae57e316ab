"""Sending batches: five on the way, nothing lost when leaders move, and word of each."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.client.cluster import ClusterView
from engine.client.writer import IN_FLIGHT, Writer
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.fake import NOTHING, FakeBroker, HangUp, metadata, produced

ORDERS = TopicPartition("orders", 0)


class Story:
    """Broker 1 leads orders-0, until a test says otherwise; what it stores stands in `stored`."""

    def __init__(self) -> None:
        self.leader = 1
        self.stored: dict[int, list[bytes]] = {1: [], 2: []}
        self.script: dict[bytes, list[Any]] = {}  # batch -> what comes instead of success
        self.done: list[tuple[Any, ErrorCode | None]] = []
        self.one, self.two = (
            FakeBroker({Api.METADATA: self._metadata, Api.PRODUCE: self._produce(number)})
            for number in (1, 2)
        )
        self.view = ClusterView([self.one.address], patience=5)
        self.view.topic("orders")

    def stop(self) -> None:
        self.view.close()
        self.one.stop()
        self.two.stop()

    def writer(self, acks: int = -1) -> Writer:
        return Writer(self.view, self._noted, acks)

    def _noted(self, about: Any, error: KafkaError | None) -> None:
        self.done.append((about, error.code if error else None))

    def _metadata(self, request: Any) -> Any:
        brokers = {1: self.one.address, 2: self.two.address}
        return metadata(brokers, {"orders": [self.leader]}, request)

    def _produce(self, broker: int) -> Any:
        def answer(request: Any) -> Any:
            data = bytes(request.topic_data[0].partition_data[0].records)
            instead = self.script.get(data)
            if instead:
                act = instead.pop(0)
                if callable(act):
                    act()
                    return produced(request, ErrorCode.not_leader_or_follower)
                if isinstance(act, Exception):
                    raise act
                return produced(request, act, "in the broker's words")
            self.stored[broker].append(data)
            return NOTHING if request.acks == 0 else produced(request)

        return answer


@pytest.fixture
def story() -> Iterator[Story]:
    story = Story()
    yield story
    story.stop()


def test_batches_are_stored_in_order_and_told_of(story: Story) -> None:
    with story.writer() as writer:
        for number in range(20):
            writer.send(ORDERS, b"%d" % number, number)
        writer.flush()
    assert story.stored[1] == [b"%d" % number for number in range(20)]
    assert story.done == [(number, None) for number in range(20)]


def test_at_most_five_are_on_the_way(story: Story) -> None:
    with story.writer() as writer:
        for number in range(IN_FLIGHT):
            writer.send(ORDERS, b"batch", number)
        assert story.done == []  # nobody waited
        writer.send(ORDERS, b"batch", IN_FLIGHT)
        assert story.done == [(0, None)]
        while len(story.done) <= IN_FLIGHT:
            writer.poll(0.2)
    assert story.done == [(number, None) for number in range(IN_FLIGHT + 1)]


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_acks_are_asked_for(story: Story, acks: int) -> None:
    with story.writer(acks) as writer:
        writer.send(ORDERS, b"batch", "it")
        writer.flush()
        assert story.done == [("it", None)]
    while not story.one.requests(Api.PRODUCE):
        time.sleep(0.01)  # nobody answers acks=0: it is still on its way
    assert story.one.requests(Api.PRODUCE)[0].acks == acks


def test_when_the_leader_moves_what_it_refused_goes_to_the_new_one_in_order(story: Story) -> None:
    def move() -> None:
        story.leader = 2

    story.script = {b"1": [move], b"2": [ErrorCode.not_leader_or_follower]}
    with story.writer() as writer:
        for number in range(3):
            writer.send(ORDERS, b"%d" % number, number)
        writer.flush()
        writer.send(ORDERS, b"3", 3)
        writer.flush()
    assert story.stored == {1: [b"0"], 2: [b"1", b"2", b"3"]}
    assert story.done == [(number, None) for number in range(4)]


def test_when_the_connection_breaks_all_that_was_on_the_way_is_sent_again(story: Story) -> None:
    story.script = {b"0": [HangUp()]}
    with story.writer() as writer:
        for number in range(4):
            writer.send(ORDERS, b"%d" % number, number)
        writer.flush()
    assert story.stored[1] == [b"0", b"1", b"2", b"3"]
    assert story.done == [(number, None) for number in range(4)]


def test_when_the_leader_is_gone_the_next_one_gets_it(story: Story) -> None:
    story.one.stop()
    story.leader = 2
    with story.writer() as writer:
        writer.send(ORDERS, b"0", 0)
        writer.flush()
    assert story.stored == {1: [], 2: [b"0"]}
    assert story.done == [(0, None)]


def test_what_is_refused_for_good_is_told_and_the_rest_goes_on(story: Story) -> None:
    story.script = {b"1": [ErrorCode.message_too_large]}
    errors: list[str] = []
    with Writer(story.view, lambda about, error: errors.append(str(error))) as writer:
        for number in range(3):
            writer.send(ORDERS, b"%d" % number)
        writer.flush()
    assert story.stored[1] == [b"0", b"2"]
    assert errors == ["None", "orders-0: in the broker's words", "None"]


def test_hope_ends(story: Story) -> None:
    story.view.close()
    story.view = ClusterView([story.one.address], patience=0.3)
    story.view.topic("orders")
    story.script = {b"0": [ErrorCode.not_enough_replicas] * 50}
    with story.writer() as writer:
        writer.send(ORDERS, b"0", 0)
        writer.flush()
    assert story.done == [(0, ErrorCode.not_enough_replicas)]
    assert len(story.one.requests(Api.PRODUCE)) > 2
