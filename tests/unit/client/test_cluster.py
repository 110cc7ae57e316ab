"""Finding the broker that can do it, also while leaders move and brokers go."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kio.schema.metadata.v11.request import MetadataRequest

from engine.client.cluster import ClusterView
from engine.client.connection import REQUEST_TIMEOUT, Address
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, metadata

ORDERS = TopicPartition("orders", 0)


class Brokers:
    """Brokers 1 and 2. Both tell what stands here."""

    def __init__(self, stack: ExitStack) -> None:
        self.topics: dict[str, list[int]] = {"orders": [1, 2]}
        self.controller = 1
        tell = {Api.METADATA: self._metadata}
        self.one, self.two = (stack.enter_context(FakeBroker(tell)) for _ in range(2))
        self.alive = {1: self.one.address, 2: self.two.address}

    def _metadata(self, request: Any) -> Any:
        return metadata(self.alive, self.topics, request, self.controller)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    with ExitStack() as stack:
        yield Brokers(stack)


@pytest.fixture
def view(brokers: Brokers) -> Iterator[ClusterView]:
    with ClusterView([brokers.one.address], patience=5) as view:
        yield view


def test_one_address_leads_to_all_brokers(brokers: Brokers, view: ClusterView) -> None:
    assert view.metadata.brokers == brokers.alive
    assert view.node(2).address == brokers.two.address
    with view.open(2) as another:
        assert another is not view.node(2)
        assert another.address == brokers.two.address
    assert view.controller() is view.node(1)


def test_all_that_is_done_together_has_its_time(view: ClusterView) -> None:
    """Each request has what is left of it; afterwards, and for others, all is as before."""
    with view.within(0.5):
        assert 0 < view.node(1).timeout <= 0.5
        with pytest.raises(KafkaError, match="broker 7 is not alive"):
            view.retry(lambda: view.node(7))
        assert view.node(1).timeout < 0.2
    assert view.node(1).timeout == REQUEST_TIMEOUT


def test_the_first_address_that_answers_is_taken(brokers: Brokers) -> None:
    nobody = Address("127.0.0.1", 1)
    with ClusterView([nobody, brokers.two.address]) as view:
        assert view.metadata.controller == 1


def test_nobody_answers_is_told_at_once_and_of_each() -> None:
    with pytest.raises(
        KafkaError, match=r"no broker at 127\.0\.0\.1:1: .*; no broker at 127\.0\.0\.1:2"
    ):
        ClusterView([Address("127.0.0.1", 1), Address("127.0.0.1", 2)], patience=3600)


def test_a_topic_has_its_leaders(view: ClusterView) -> None:
    topic = view.topic("orders")
    assert [partition.leader for partition in topic.partitions.values()] == [1, 2]
    assert view.leader(TopicPartition("orders", 1)) == 2


def test_an_unknown_topic_is_told_with_the_nearest(view: ClusterView) -> None:
    with pytest.raises(KafkaError, match=r"no topic ordres in this cluster; did you mean orders\?"):
        view.topic("ordres")
    with pytest.raises(KafkaError, match=r"no topic xyzzy in this cluster; there are 1 others"):
        view.topic("xyzzy")
    assert view.topic("orders")  # the unknown ones are not asked for any more
    assert not view.metadata.topics.keys() - {"orders"}


@pytest.mark.parametrize("create", [True, False])
def test_only_who_wants_to_write_creates_a_topic(
    create: bool, brokers: Brokers, view: ClusterView
) -> None:
    view.topic("orders", create=create)
    assert brokers.one.requests(Api.METADATA)[-1].allow_auto_topic_creation is create


def test_a_topic_that_was_just_created_is_waited_for(brokers: Brokers, view: ClusterView) -> None:
    waited: list[ErrorCode] = []

    def waiting(error: KafkaError, seconds: float) -> None:
        waited.append(error.code)
        brokers.topics["new"] = [1]

    with ClusterView([brokers.one.address], waiting=waiting) as view:
        assert view.topic("new", create=True).partitions[0].leader == 1
    assert waited == [ErrorCode.unknown_topic_or_partition]


@pytest.mark.parametrize(
    "code",
    [ErrorCode.not_leader_or_follower, ErrorCode.leader_not_available, ErrorCode.network_exception],
)
def test_what_passes_is_tried_again_with_new_metadata(
    code: ErrorCode, brokers: Brokers, view: ClusterView
) -> None:
    view.topic("orders")
    asked = []

    def attempt() -> str:
        asked.append(view.leader(ORDERS))
        if asked == [1]:
            brokers.topics["orders"] = [2, 2]
            raise KafkaError(code)
        return "done"

    assert view.retry(attempt) == "done"
    assert asked == [1, 2]


def test_what_does_not_pass_is_an_error_at_once(view: ClusterView) -> None:
    attempts = []

    def attempt() -> None:
        attempts.append(1)
        raise KafkaError(ErrorCode.invalid_config, "no such key")

    with pytest.raises(KafkaError, match="no such key"):
        view.retry(attempt)
    assert len(attempts) == 1


def test_patience_ends(brokers: Brokers) -> None:
    brokers.topics["orders"] = [-1]
    with ClusterView([brokers.one.address], patience=0.3) as view:
        view.topic("orders")
        with pytest.raises(KafkaError, match="orders-0 has no leader") as caught:
            view.retry(lambda: view.leader(ORDERS))
    assert caught.value.code == ErrorCode.leader_not_available
    assert len(brokers.one.requests(Api.METADATA)) >= 3


def test_a_broker_that_is_gone_is_replaced_by_the_next(brokers: Brokers, view: ClusterView) -> None:
    """The others are known from the metadata, not from the bootstrap address."""
    brokers.one.stop()
    del brokers.alive[1]
    brokers.controller = 2
    request = MetadataRequest(topics=(), include_topic_authorized_operations=False)
    response = view.retry(lambda: view.controller().ask(Api.METADATA, request))
    assert response.controller_id == 2
    assert view.controller().address == brokers.two.address
    with pytest.raises(KafkaError, match="broker 1 is not alive"):
        view.node(1)


def test_no_controller_for_a_moment(brokers: Brokers) -> None:
    brokers.controller = -1

    def elected(error: KafkaError, seconds: float) -> None:
        assert error.message == "the cluster has no controller"
        brokers.controller = 2

    with ClusterView([brokers.one.address], waiting=elected) as view:
        assert view.retry(view.controller).address == brokers.two.address
