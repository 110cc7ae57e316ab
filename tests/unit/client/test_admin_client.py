"""AdminClient from outside: futures, time-outs, its end. What it does is shown in tests/interop."""

import gc
import multiprocessing
import threading
from collections.abc import Iterator
from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.client.admin.client import AdminClient
from engine.client.admin.values import ConfigResource, NewTopic, Node, OffsetSpec, Uuid
from engine.client.values import KafkaError, KafkaException, TopicPartition
from engine.errors import ErrorCode
from engine.model import parse_id
from engine.wire.apis import Api
from tests.interop.watch import threads, until
from tests.unit.client.fake import NOTHING, FakeBroker, HangUp, metadata


class Broker(FakeBroker):
    """It is the controller, and makes every topic that it is asked for."""

    def __init__(self) -> None:
        self.topics: dict[str, list[int]] = {}
        tell = {Api.METADATA: self._metadata, Api.CREATE_TOPICS: self._create}
        super().__init__(tell)

    def _metadata(self, request: Any) -> Any:
        return metadata({1: self.address}, self.topics, request)

    def _create(self, request: Any) -> Any:
        (topic,) = request.topics
        self.topics[topic.name] = [1]
        return Message(topics=[Message(error_code=ErrorCode.none, error_message=None)])


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def admin(broker: Broker) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": str(broker.address)}) as admin:
        yield admin


def code(failure: Any) -> int:
    error: KafkaError = failure.value.args[0]
    return error.code()


def test_a_future_for_each_topic(broker: Broker, admin: AdminClient) -> None:
    futures = admin.create_topics([NewTopic("a", 1, config={"retention.ms": 5}), NewTopic("b")])
    assert {name: future.result() for name, future in futures.items()} == {"a": None, "b": None}
    asked = [request.topics[0] for request in broker.requests(Api.CREATE_TOPICS)]
    assert [(it.name, it.num_partitions) for it in asked] == [("a", 1), ("b", -1)]
    assert asked[0].configs[0].value == "5"


def test_a_broker_that_comes_late_is_waited_for(broker: Broker) -> None:
    """The client may be there first, and find nobody who speaks Kafka at the address."""
    attempts = []

    def hang_up(request: Any) -> Any:
        attempts.append(request)
        if len(attempts) == 3:
            del broker.answers[Api.API_VERSIONS]
        raise HangUp

    broker.answers[Api.API_VERSIONS] = hang_up
    with AdminClient({"bootstrap.servers": str(broker.address)}) as admin:
        assert admin.describe_cluster().result().controller == Node(1, *broker.address)
    assert len(attempts) == 3


def test_nobody_waits_for_a_cluster_after_the_end(broker: Broker) -> None:
    attempts = []

    def hang_up(request: Any) -> Any:
        attempts.append(request)
        raise HangUp

    broker.answers[Api.API_VERSIONS] = hang_up
    before = threads("AdminClient")
    admin = AdminClient({"bootstrap.servers": str(broker.address)})
    future = admin.describe_cluster()
    until(lambda: len(attempts) > 2)
    admin.close()
    assert future.exception(10) is not None
    until(lambda: threads("AdminClient") <= before)


def test_time_is_up_whatever_is_in_the_way(broker: Broker, admin: AdminClient) -> None:
    """A broker that does not answer, one that is not the controller, one that hangs up."""

    def hang_up(request: Any) -> Any:
        raise HangUp

    elsewhere = Message(error_code=ErrorCode.not_controller, error_message="it is another one")
    for answer in (lambda _: NOTHING, lambda _: Message(topics=[elsewhere]), hang_up):
        broker.answers[Api.CREATE_TOPICS] = answer
        future = admin.create_topics([NewTopic("a")], request_timeout=0.3)["a"]
        with pytest.raises(KafkaException) as failure:
            future.result()
        assert code(failure) == KafkaError._TIMED_OUT


def test_the_time_of_one_call_is_not_that_of_the_next(broker: Broker, admin: AdminClient) -> None:
    broker.answers[Api.CREATE_TOPICS] = lambda request: NOTHING
    late = admin.create_topics([NewTopic("a")], request_timeout=0.2)["a"]
    assert "a" not in admin.list_topics().topics
    assert late.exception() is not None


def test_a_bug_is_told_by_the_future(broker: Broker, admin: AdminClient) -> None:
    broker.answers[Api.CREATE_TOPICS] = lambda request: Message(topics=[])
    with pytest.raises(IndexError, match="out of range"):
        admin.create_topics([NewTopic("a")])["a"].result()
    assert admin.describe_cluster().result().controller is not None


def test_use_after_close(broker: Broker, admin: AdminClient) -> None:
    admin.describe_cluster().result()
    admin.close()
    admin.close()
    with pytest.raises(RuntimeError, match="AdminClient closed"):
        admin.list_topics()


def test_what_waits_for_its_turn_fails_at_the_end(broker: Broker, admin: AdminClient) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(request: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return Broker._create(broker, request)

    broker.answers[Api.CREATE_TOPICS] = slow
    first = admin.create_topics([NewTopic("a")])["a"]
    assert begun.wait(10)
    second = admin.describe_cluster()
    closing = threading.Thread(target=admin.close)
    closing.start()
    with pytest.raises(RuntimeError, match="closed"):
        second.result(10)
    go_on.set()
    assert first.result(10) is None
    closing.join()


def test_a_client_that_is_let_go_leaves_no_thread(broker: Broker) -> None:
    before = threads("AdminClient")
    admin = AdminClient({"bootstrap.servers": str(broker.address)})
    admin.describe_cluster().result()
    assert threads("AdminClient") - before
    del admin
    gc.collect()
    until(lambda: threads("AdminClient") <= before)


def _use(admin: AdminClient, told: Any) -> None:
    try:
        admin.list_topics()
    except RuntimeError as error:
        told.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_told_of_it(admin: AdminClient) -> None:
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    child = context.Process(target=_use, args=(admin, told))
    child.start()
    child.join(30)
    assert "forked: make a new one here" in told.get()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({}, 'Missing required configuration "bootstrap.servers"'),
        ({"bootstrap.servers": ""}, "bootstrap.servers"),
        ({"bootstrap.servers": "here"}, "'here' is not HOST:PORT"),
        ({"bootstrap.servers": "h:1", "client": "x"}, "did you mean client.id?"),
        ({"bootstrap.servers": "h:1", "request.timeout.ms": -1}, "at least 0"),
    ],
)
def test_configurations_that_make_no_sense(config: dict[str, Any], text: str) -> None:
    with pytest.raises(KafkaException) as failure:
        AdminClient(config)
    assert code(failure) == KafkaError._INVALID_ARG
    assert text in failure.value.args[0].str()


@pytest.mark.parametrize("timeout", [-2, 4000])
def test_a_time_out_out_of_range(admin: AdminClient, timeout: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 3600"):
        admin.describe_cluster(request_timeout=timeout)


def test_a_new_topic_is_there_when_every_broker_knows(broker: Broker, admin: AdminClient) -> None:
    """Its leader may take a moment."""
    leaders = [[-1], [-1], [1]]

    def slowly(request: Any) -> Any:
        if request.topics and broker.topics:
            broker.topics["a"] = leaders.pop(0) if len(leaders) > 1 else leaders[0]
        return Broker._metadata(broker, request)

    broker.answers[Api.METADATA] = slowly
    admin.create_topic("a", partitions=1, replication=1)
    assert leaders == [[1]]


def test_a_topic_is_gone_when_no_broker_knows_it(broker: Broker, admin: AdminClient) -> None:
    """The controller has heard of it before the others."""
    known = [True, True, False]

    def slowly(request: Any) -> Any:
        if request.topics and known:
            broker.topics = {"a": [1]} if known.pop(0) else {}
        return Broker._metadata(broker, request)

    done = Message(responses=[Message(name="a", error_code=ErrorCode.none, error_message=None)])
    broker.answers[Api.METADATA] = slowly
    broker.answers[Api.DELETE_TOPICS] = lambda request: done
    admin.delete_topic("a")
    assert known == []


def test_a_new_topic_that_nobody_leads_is_told(broker: Broker, admin: AdminClient) -> None:
    broker.answers[Api.METADATA] = lambda request: metadata(
        {1: broker.address}, {each: [-1] for each in broker.topics}, request
    )
    assert broker.topics == {}
    with pytest.raises(KafkaException, match="broker 1 does not know all of it yet"):
        admin.create_topic("a", timeout=0.3)


def test_values_are_told_apart_by_what_they_mean() -> None:
    assert NewTopic("a", 3) == NewTopic("a", 5) < NewTopic("b")
    assert ConfigResource("topic", "a") == ConfigResource(2, "a", {"x": "y"})
    assert ConfigResource("topic", "a") < ConfigResource("broker", "1")
    assert (OffsetSpec.latest().value, OffsetSpec.earliest().value) == (-1, -2)
    id = Uuid(parse_id("AAAAAAAAAAH__________w"))
    assert (id.get_most_significant_bits(), id.get_least_significant_bits()) == (1, -1)
    assert str(id) == "AAAAAAAAAAH__________w"


def test_places_are_checked_before_they_are_asked_for(admin: AdminClient) -> None:
    with pytest.raises(ValueError, match="partition must be 0 or more"):
        admin.alter_partition_reassignments({TopicPartition("a"): [1]})
