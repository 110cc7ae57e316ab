"""When a client asks who leads what, and which answers it believes."""

from collections.abc import Sequence
from types import SimpleNamespace as Message
from typing import Any
from uuid import UUID

from engine.client.core import ANY, Ask
from engine.client.metadata import MetadataView
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api

SETTINGS = ClientConfig(
    bootstrap_servers=("a:1", "b:2"), retry_backoff_ms=100, metadata_max_age_ms=5000
)
DOWN = ApiException(ErrorCode.broker_not_available, "nobody there")
ORDERS = TopicPartition("orders", 0)


def told(
    leaders: Sequence[int], epoch: int = 0, topic_id: int = 1, error: ErrorCode = ErrorCode.none
) -> Message:
    """The answer about `orders`."""
    return Message(
        cluster_id="c",
        controller_id=1,
        brokers=(
            Message(node_id=1, host="a", port=1, rack="north"),
            Message(node_id=2, host="b", port=2, rack=None),
        ),
        topics=(
            Message(
                name="orders",
                topic_id=UUID(int=topic_id),
                error_code=error,
                is_internal=False,
                partitions=tuple(
                    Message(
                        partition_index=number,
                        leader_id=leader,
                        replica_nodes=(1, 2),
                        isr_nodes=(1,),
                        leader_epoch=epoch,
                    )
                    for number, leader in enumerate(leaders)
                ),
            ),
        ),
    )


def asks(view: MetadataView, now: float) -> list[Ask]:
    return list(view.step(now, view))


def learn(view: MetadataView, now: float, response: Message) -> None:
    (ask,) = asks(view, now)
    view.answered(ask, response, now)


def test_it_asks_anybody_at_once_and_not_twice() -> None:
    view = MetadataView(SETTINGS)
    view.want(["orders"])
    (ask,) = asks(view, 0)
    assert (ask.to, ask.api) == (ANY, Api.METADATA)
    assert [topic.name for topic in ask.request.topics] == ["orders"]
    assert not ask.request.allow_auto_topic_creation
    assert asks(view, 1) == []
    assert view.due() is None, "an answer is to come"


def test_what_it_was_told_it_knows() -> None:
    view = MetadataView(SETTINGS)
    view.want(["orders"])
    assert (view.metadata.leader(ORDERS), view.partitions("orders"), view.error("orders")) == (
        -1,
        None,
        None,
    )
    learn(view, 0, told([2, 1], epoch=7))
    assert (view.metadata.leader(ORDERS), view.partitions("orders")) == (2, 2)
    assert view.error("orders") == ErrorCode.none
    assert list(view.topics()) == ["orders"]
    assert view.metadata.racks == {1: "north"}
    partition = view.metadata.partition(ORDERS)
    assert partition is not None and partition.epoch == 7
    assert view.version == 1
    assert view.metadata.leader(TopicPartition("orders", 2)) == -1


def test_it_asks_again_when_it_is_old() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([1]))
    assert view.due() == 15
    assert asks(view, 14.9) == []
    assert len(asks(view, 15)) == 1


def test_it_asks_again_soon_when_it_is_stale() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([1]))
    view.stale()
    assert asks(view, 10.05) == [], "retry.backoff.ms"
    learn(view, 10.1, told([2]))
    assert view.due() == 15.1


def test_a_new_topic_is_asked_for_at_once() -> None:
    view = MetadataView(SETTINGS, create=True)
    learn(view, 10, told([1]))
    view.add("payments")
    (ask,) = asks(view, 10)
    assert [topic.name for topic in ask.request.topics] == ["payments"]
    assert ask.request.allow_auto_topic_creation
    assert view.wants("payments") and not view.wants("orders")


def test_nothing_is_asked_twice_without_a_pause() -> None:
    view = MetadataView(SETTINGS)
    (ask,) = asks(view, 10)
    view.failed(ask, DOWN, 10)
    view.add("payments")
    assert view.due() == 10.1


def test_nothing_new_is_wanted_when_less_is() -> None:
    view = MetadataView(SETTINGS)
    view.want(["orders", "payments"])
    learn(view, 10, told([1]))
    view.want(["orders"])
    assert view.due() == 15


def test_all_topics() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([1]))
    view.want([], all=True)
    (ask,) = asks(view, 10)
    assert ask.request.topics is None
    assert view.wants("whatever")


def test_without_a_leader_it_asks_again() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([1, -1]))
    assert view.due() == 10.1


def test_a_topic_that_may_come_is_asked_for_again() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([], error=ErrorCode.unknown_topic_or_partition))
    assert view.error("orders") == ErrorCode.unknown_topic_or_partition
    assert view.partitions("orders") is None
    assert not view.topics()
    assert view.due() == 10.1


def test_a_topic_that_cannot_be_is_not() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 10, told([], error=ErrorCode.invalid_topic_exception))
    assert view.due() == 15


def test_a_broker_that_is_behind_is_not_believed() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 0, told([2, 2], epoch=5))
    learn(view, 5, told([1, 1], epoch=4))
    assert view.metadata.leader(ORDERS) == 2
    learn(view, 10, told([1, 1], epoch=5))
    assert view.metadata.leader(ORDERS) == 1
    assert view.version == 3


def test_a_topic_made_anew_begins_with_epoch_0() -> None:
    view = MetadataView(SETTINGS)
    learn(view, 0, told([2], epoch=5))
    learn(view, 5, told([1], epoch=0, topic_id=2))
    assert view.metadata.leader(ORDERS) == 1


def test_no_answer_is_trouble_once_everybody_was_asked() -> None:
    view = MetadataView(SETTINGS)
    now = 0.0
    troubles: list[Any] = []
    for _ in range(2):
        (ask,) = asks(view, now)
        view.failed(ask, DOWN, now)
        troubles.append(view.trouble)
        now += 0.1
    assert troubles == [None, DOWN]
    learn(view, now, told([1]))
    assert view.trouble is None


def test_a_broker_that_knows_no_brokers_yet_is_not_believed() -> None:
    """It has just started: a group whose leader believed it would give up all partitions."""
    view = MetadataView(SETTINGS)
    view.want(["orders"])
    learn(view, 0.0, told([1]))
    nothing = told([], error=ErrorCode.unknown_topic_or_partition)
    nothing.brokers = ()
    learn(view, 5.0, nothing)
    assert (view.partitions("orders"), view.version) == (1, 1)
    assert len(asks(view, 5.1)) == 1, "another one is asked soon"
