"""Finding the broker that can do it, also while leaders move and brokers go."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kio.schema.describe_log_dirs.v2.request import DescribeLogDirsRequest
from kio.schema.metadata.v11.request import MetadataRequest

from engine.client.address import Address
from engine.client.admin.requests import find_offset
from engine.client.cluster import REQUEST_TIMEOUT_S, ClusterClient
from engine.client.consuming.offset_lookup import EARLIEST, LATEST
from engine.client.core import Ask
from engine.client.network import Submitted
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.answers import found
from tests.unit.client.fake import NOTHING, FakeBroker, HangUp, Message, metadata

ORDERS = TopicPartition("orders", 0)
ASK = MetadataRequest(topics=(), include_topic_authorized_operations=False)


class Brokers:
    """Brokers 1 and 2. Both tell what stands here."""

    def __init__(self, stack: ExitStack) -> None:
        self.topics: dict[str, list[int]] = {"orders": [1, 2]}
        self.controller = 1
        tell = {Api.METADATA: self.answer}
        self.one, self.two = (stack.enter_context(FakeBroker(tell)) for _ in range(2))
        self.alive = {1: self.one.address, 2: self.two.address}

    def answer(self, request: Any) -> Any:
        return metadata(self.alive, self.topics, request, self.controller)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    with ExitStack() as stack:
        yield Brokers(stack)


@pytest.fixture
def view(brokers: Brokers) -> Iterator[ClusterClient]:
    with ClusterClient([brokers.one.address], patience=5) as view:
        yield view


def test_one_address_leads_to_all_brokers(brokers: Brokers, view: ClusterClient) -> None:
    assert view.metadata.brokers == brokers.alive
    view.ask(2, Api.METADATA, ASK)
    assert len(brokers.two.requests(Api.METADATA)) == 1
    brokers.controller = 2
    view.refresh()
    view.ask_controller(Api.METADATA, ASK)
    view.topic("orders")
    view.ask_leader(TopicPartition("orders", 1), Api.METADATA, ASK)
    assert len(brokers.two.requests(Api.METADATA)) == 3


def test_all_that_is_done_together_has_its_time(brokers: Brokers, view: ClusterClient) -> None:
    """Each request has what is left of it; afterwards, and for others, all is as before."""
    asked: list[float | None] = []
    submit = view._network.submit

    def noted(ask: Ask) -> Submitted:
        asked.append(ask.timeout)
        return submit(ask)

    view._network.submit = noted  # type: ignore[method-assign]
    with view.within(0.5):
        view.ask(1, Api.METADATA, ASK)
        assert 0 < (asked[-1] or 0) <= 0.5
        with pytest.raises(ApiException, match="broker 7 is not alive"):
            view.retry(lambda: view.ask(7, Api.METADATA, ASK))
        view.ask(1, Api.METADATA, ASK)
        assert 0 < (asked[-1] or 0) < 0.2
    view.ask(1, Api.METADATA, ASK)
    assert asked[-1] == REQUEST_TIMEOUT_S


def test_a_request_that_is_not_answered_in_time_is_an_error(brokers: Brokers) -> None:
    brokers.one.answers[Api.DESCRIBE_LOG_DIRS] = lambda request: NOTHING
    request = DescribeLogDirsRequest(topics=None)
    with (
        ClusterClient([brokers.one.address], timeout=0.2) as view,
        pytest.raises(ApiException, match="does not answer") as caught,
    ):
        view.ask(1, Api.DESCRIBE_LOG_DIRS, request)
    assert caught.value.code == ErrorCode.request_timed_out


def test_a_response_can_be_fetched_later(brokers: Brokers, view: ClusterClient) -> None:
    sent = view.submit(2, Api.METADATA, ASK)
    assert view.ask(1, Api.METADATA, ASK).controller_id == 1
    assert view.result(sent).controller_id == 1


def test_a_connection_that_the_broker_closed_is_made_again(
    brokers: Brokers, view: ClusterClient
) -> None:
    def hang_up(request: Any) -> Any:
        brokers.one.answers[Api.METADATA] = brokers.answer
        raise HangUp

    brokers.one.answers[Api.METADATA] = hang_up
    assert view.retry(lambda: view.ask(1, Api.METADATA, ASK)).controller_id == 1


def test_no_thread_is_started(brokers: Brokers) -> None:
    """Threads of other tests may still be ending: only a new one would be this client's."""
    before = set(threading.enumerate())
    with ClusterClient([brokers.one.address]) as view:
        assert view.ask(1, Api.METADATA, ASK).controller_id == 1
        started = set(threading.enumerate()) - before
    assert "brokerlab-client" not in {thread.name for thread in started}


def test_a_coordinator_is_asked_for(brokers: Brokers, view: ClusterClient) -> None:
    brokers.one.answers[Api.FIND_COORDINATOR] = lambda request: found(2)
    assert view.coordinator("billing") == 2


def test_offsets_can_be_asked_for(brokers: Brokers, view: ClusterClient) -> None:
    def listed(request: Any) -> Any:
        (wanted,) = request.topics[0].partitions
        row = Message(
            partition_index=wanted.partition_index,
            error_code=ErrorCode.none,
            timestamp=-1,
            offset=2 if wanted.timestamp == LATEST else 0,
        )
        return Message(topics=(Message(name="orders", partitions=(row,)),))

    brokers.one.answers[Api.LIST_OFFSETS] = listed
    view.topic("orders")
    assert find_offset(view, ORDERS, LATEST).offset == 2
    assert find_offset(view, ORDERS, EARLIEST).offset == 0


def test_the_first_address_that_answers_is_taken(brokers: Brokers) -> None:
    nobody = Address("127.0.0.1", 1)
    with ClusterClient([nobody, brokers.two.address]) as view:
        assert view.metadata.controller == 1


def test_nobody_answers_is_told_at_once_and_of_each() -> None:
    with pytest.raises(
        ApiException, match=r"no broker at 127\.0\.0\.1:1: .*; no broker at 127\.0\.0\.1:2"
    ):
        ClusterClient([Address("127.0.0.1", 1), Address("127.0.0.1", 2)], patience=3600)


def test_a_client_may_wait_for_the_first_broker(brokers: Brokers) -> None:
    def hang_up(request: Any) -> Any:
        raise HangUp

    def answers_now(error: ApiException, seconds: float) -> None:
        errors.append(error)
        brokers.one.answers[Api.METADATA] = brokers.answer

    errors: list[ApiException] = []
    brokers.one.answers[Api.METADATA] = hang_up
    with ClusterClient([brokers.one.address], waiting=answers_now, waits=True) as view:
        assert view.metadata.brokers == brokers.alive
    assert len(errors) == 1


def test_a_topic_has_its_leaders(view: ClusterClient) -> None:
    topic = view.topic("orders")
    assert [partition.leader for partition in topic.partitions.values()] == [1, 2]
    assert view.leader(TopicPartition("orders", 1)) == 2


def test_an_unknown_topic_is_told_with_the_nearest(view: ClusterClient) -> None:
    with pytest.raises(
        ApiException, match=r"no topic ordres in this cluster; did you mean orders\?"
    ):
        view.topic("ordres")
    with pytest.raises(ApiException, match=r"no topic xyzzy in this cluster; there is one other$"):
        view.topic("xyzzy")
    assert view.topic("orders")  # the unknown ones are not asked for any more
    assert not view.metadata.topics.keys() - {"orders"}


@pytest.mark.parametrize("create", [True, False])
def test_only_who_wants_to_write_creates_a_topic(
    create: bool, brokers: Brokers, view: ClusterClient
) -> None:
    view.topic("orders", create=create)
    assert brokers.one.requests(Api.METADATA)[-1].allow_auto_topic_creation is create


def test_a_topic_that_was_just_created_is_waited_for(brokers: Brokers, view: ClusterClient) -> None:
    waited: list[ErrorCode] = []

    def waiting(error: ApiException, seconds: float) -> None:
        waited.append(error.code)
        brokers.topics["new"] = [1]

    with ClusterClient([brokers.one.address], waiting=waiting) as view:
        assert view.topic("new", create=True).partitions[0].leader == 1
    assert waited == [ErrorCode.unknown_topic_or_partition]


@pytest.mark.parametrize(
    "code",
    [ErrorCode.not_leader_or_follower, ErrorCode.leader_not_available, ErrorCode.network_exception],
)
def test_what_passes_is_tried_again_with_new_metadata(
    code: ErrorCode, brokers: Brokers, view: ClusterClient
) -> None:
    view.topic("orders")
    asked = []

    def attempt() -> str:
        asked.append(view.leader(ORDERS))
        if asked == [1]:
            brokers.topics["orders"] = [2, 2]
            raise ApiException(code)
        return "done"

    assert view.retry(attempt) == "done"
    assert asked == [1, 2]


def test_what_does_not_pass_is_an_error_at_once(view: ClusterClient) -> None:
    attempts = []

    def attempt() -> None:
        attempts.append(1)
        raise ApiException(ErrorCode.invalid_config, "no such key")

    with pytest.raises(ApiException, match="no such key"):
        view.retry(attempt)
    assert len(attempts) == 1


def test_patience_ends(brokers: Brokers) -> None:
    brokers.topics["orders"] = [-1]
    with ClusterClient([brokers.one.address], patience=0.3) as view:
        view.topic("orders")
        with pytest.raises(ApiException, match="orders-0 has no leader") as caught:
            view.retry(lambda: view.leader(ORDERS))
    assert caught.value.code == ErrorCode.leader_not_available
    assert len(brokers.one.requests(Api.METADATA)) >= 3


def test_a_broker_that_is_gone_is_replaced_by_the_next(
    brokers: Brokers, view: ClusterClient
) -> None:
    """The others are known from the metadata, not from the bootstrap address."""
    brokers.one.stop()
    del brokers.alive[1]
    brokers.controller = 2
    response = view.retry(lambda: view.ask_controller(Api.METADATA, ASK))
    assert response.controller_id == 2
    with pytest.raises(ApiException, match="broker 1 is not alive"):
        view.ask(1, Api.METADATA, ASK)


def test_no_controller_for_a_moment(brokers: Brokers) -> None:
    brokers.controller = -1

    def elected(error: ApiException, seconds: float) -> None:
        assert error.message == "the cluster has no controller"
        brokers.controller = 2

    with ClusterClient([brokers.one.address], waiting=elected) as view:
        view.retry(lambda: view.ask_controller(Api.METADATA, ASK))
    assert len(brokers.two.requests(Api.METADATA)) == 1
