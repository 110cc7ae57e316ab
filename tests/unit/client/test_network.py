"""The thread between cores and brokers, on real sockets: what is asked comes back, once."""

import math
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from kio.schema.metadata.v11.request import MetadataRequest

from engine.client.address import Address
from engine.client.core import ANY, UNSENT, Ask
from engine.client.metadata import MetadataView
from engine.client.network import NetworkClient
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.interop.watch import threads, until
from tests.unit.client.fake import NOTHING, Answer, FakeBroker, HangUp, metadata

ALL = MetadataRequest(topics=None, include_topic_authorized_operations=False)


class Probe:
    """A core that asks what a test tells it to, and writes down what comes back."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self.back: list[tuple[Any, Any]] = []  # (about, response or error)
        self.steps = 0

    def step(self, now: float, view: MetadataView) -> list[Ask]:
        self.steps += 1
        asks, self.asks = self.asks, []
        return asks

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        self.back.append((ask.about, response))

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self.back.append((ask.about, error))

    def due(self) -> float | None:
        return None


class Client:
    def __init__(self, *addresses: Address, **settings: Any) -> None:
        names = tuple(map(str, addresses))
        self.settings = ClientConfig(bootstrap_servers=names, **settings)
        self.view = MetadataView(self.settings)
        self.probe = Probe()
        self.network = NetworkClient(self.settings, self.view, [self.probe])

    def ask(self, to: int, about: Any = None, **more: Any) -> None:
        with self.network.lock:
            self.probe.asks.append(Ask(to, Api.METADATA, ALL, about, **more))
            self.network.wake()

    def back(self, count: int) -> list[tuple[Any, Any]]:
        """What came back, as soon as it is so many."""
        with self.network.lock:
            assert self.network.wait(lambda: len(self.probe.back) >= count, 20)
            return list(self.probe.back)

    def knows(self, *brokers: int) -> None:
        with self.network.lock:
            assert self.network.wait(lambda: [*self.view.metadata.brokers] == [*brokers], 20)


@contextmanager
def client(*addresses: Address, **settings: Any) -> Iterator[Client]:
    made = Client(*addresses, **({"reconnect_backoff_ms": 1, "retry_backoff_ms": 1} | settings))
    try:
        yield made
    finally:
        made.network.close()


@contextmanager
def broker(
    answers: Mapping[Api, Answer] | None = None, brokers: dict[int, Address] | None = None
) -> Iterator[FakeBroker]:
    """One that knows of itself, as broker 1, unless it is to tell of others."""

    def tell(request: Any) -> Any:
        return metadata({1: made.address} if brokers is None else brokers, {})

    with FakeBroker({Api.METADATA: tell} | dict(answers or {})) as made:
        yield made


def free_address() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address(*listener.getsockname())


def error_in(outcome: Any) -> ApiException:
    assert isinstance(outcome, ApiException)
    return outcome


def test_from_a_bootstrap_address_to_a_broker() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        it.ask(1, "first")
        it.ask(ANY, "second")
        back = it.back(2)
        assert {about for about, _ in back} == {"first", "second"}
        assert all(response.cluster_id == "a-cluster" for _, response in back)


def test_a_dead_bootstrap_address_does_no_harm() -> None:
    with broker() as one, client(free_address(), one.address) as it:
        it.knows(1)


def test_answers_belong_to_the_requests_in_their_order() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        with it.network.lock:
            for number in range(50):
                it.ask(1, number)
        assert [about for about, _ in it.back(50)] == list(range(50))


def test_lanes_do_not_wait_for_one_another() -> None:
    release = threading.Event()

    def slow(request: Any) -> Any:
        release.wait(20)
        return metadata({}, {})

    with broker() as one, client(one.address) as it:
        it.knows(1)
        one.answers[Api.LIST_GROUPS] = slow
        with it.network.lock:
            it.probe.asks.append(Ask(1, Api.LIST_GROUPS, LIST_GROUPS, "slow", lane="other"))
        it.ask(1, "quick")
        assert [about for about, _ in it.back(1)] == ["quick"]
        one.answers[Api.LIST_GROUPS] = hang_up
        release.set()


def hang_up(request: Any) -> Any:
    raise HangUp


def nothing(request: Any) -> Any:
    return NOTHING


class _ListGroups:
    states_filter = ()


LIST_GROUPS = _ListGroups()


def test_a_broken_connection_fails_what_is_on_the_way_and_comes_back() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        one.answers[Api.LIST_GROUPS] = hang_up
        with it.network.lock:
            it.probe.asks.append(Ask(1, Api.LIST_GROUPS, LIST_GROUPS, "broken"))
            it.ask(1, "behind it")
        back = it.back(2)
        assert [about for about, _ in back] == ["broken", "behind it"]
        assert {error_in(outcome).code for _, outcome in back} == {ErrorCode.network_exception}
        it.ask(1, "again")
        about, response = it.back(3)[-1]
        assert about == "again" and response.cluster_id == "a-cluster"


def test_nobody_there_is_told_as_unsent() -> None:
    gone = free_address()
    with broker(brokers={1: gone}) as one, client(one.address) as it:
        it.knows(1)
        it.ask(1)
        error = error_in(it.back(1)[0][1])
        assert error.code == UNSENT
        assert error.message == f"no broker at {gone}: Connection refused"


def test_a_broker_that_is_not_known_is_told_as_unsent_and_looked_for() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        asked = len(one.requests(Api.METADATA))
        it.ask(7)
        assert error_in(it.back(1)[0][1]).code == UNSENT
        until(lambda: len(one.requests(Api.METADATA)) > asked)


def test_an_answer_that_does_not_come_ends_the_connection() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        one.answers[Api.LIST_GROUPS] = nothing
        with it.network.lock:
            it.probe.asks.append(Ask(1, Api.LIST_GROUPS, LIST_GROUPS, "lost", timeout=0.1))
            it.network.wake()
        assert error_in(it.back(1)[0][1]).code == ErrorCode.request_timed_out
        it.ask(1, "again")
        assert it.back(2)[-1][1].cluster_id == "a-cluster"


def test_a_broker_that_takes_the_call_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = Address(*mute.getsockname())
        with client(address, socket_connection_setup_timeout_ms=50) as it, it.network.lock:
            error = it.network.wait(lambda: it.view.trouble, 20)
            assert (error.code, error.message) == (UNSENT, f"{address} does not answer")


def test_what_is_not_kafka_is_told() -> None:
    def serve(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with client(Address(*listener.getsockname())) as it, it.network.lock:
            trouble = it.network.wait(lambda: it.view.trouble, 20)
            assert "not Kafka's protocol" in trouble.message
        thread.join()


def test_a_request_that_the_broker_does_not_serve() -> None:
    def tell(request: Any) -> Any:
        return metadata({1: one.address}, {})

    with (
        FakeBroker({Api.METADATA: tell}, {Api.METADATA: (0, 5)}) as one,
        client(one.address) as it,
    ):
        it.knows(1)
        with it.network.lock:
            it.probe.asks.append(Ask(1, Api.LIST_GROUPS, LIST_GROUPS))
            it.ask(1)
        (_, error), (_, response) = it.back(2)
        assert error_in(error).code == ErrorCode.unsupported_version
        assert "does not serve ListGroups in version 0 to 4" in error.message
        assert response.controller_id == 1
        versions = {version for api, version, _ in one.asked if api is Api.METADATA}
        assert versions == {5}


def test_what_needs_no_answer_is_back_once_it_is_sent() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        one.answers[Api.METADATA] = nothing
        it.ask(1, "told", answered=False)
        assert it.back(1) == [("told", None)]
        until(lambda: len(one.requests(Api.METADATA)) == 2)


def test_a_large_request_goes_out_in_pieces() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        names = tuple({f"topic-{number}-{'x' * 200}": 0 for number in range(20_000)})
        request = MetadataRequest(
            topics=tuple(_Named(name) for name in names), include_topic_authorized_operations=False
        )
        with it.network.lock:
            it.probe.asks.append(Ask(1, Api.METADATA, request))
            it.network.wake()
        it.back(1)
        assert tuple(topic.name for topic in one.requests(Api.METADATA)[-1].topics) == names


class _Named:
    topic_id = None

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_question_of_the_application() -> None:
    with broker() as one, client(one.address) as it:
        assert it.network.ask(Ask(ANY, Api.METADATA, ALL), 10).cluster_id == "a-cluster"
        one.answers[Api.LIST_GROUPS] = nothing
        with pytest.raises(ApiException, match=r"no answer to LIST_GROUPS within 0.1 s") as caught:
            it.network.ask(Ask(ANY, Api.LIST_GROUPS, LIST_GROUPS, lane="x"), 0.1)
        assert caught.value.code == ErrorCode.request_timed_out


def test_metadata_is_asked_for_until_time_is_up() -> None:
    with client(free_address()) as it, pytest.raises(ApiException) as caught:
        it.network.metadata(None, 0.1)
    assert caught.value.code in (UNSENT, ErrorCode.request_timed_out)


def test_who_waits_lets_the_network_sleep() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        with it.network.lock:
            before = it.probe.steps
            assert not it.network.wait(lambda: False, 0.3)  # nothing comes
            assert it.probe.steps - before < 10  # with a wake in each turn: thousands


def test_a_bug_in_a_core_is_told_to_the_next_caller() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)

        def broken(ask: Ask, response: Any, now: float) -> None:
            raise ZeroDivisionError("oh")

        it.probe.answered = broken  # type: ignore[method-assign]
        it.ask(1)
        with pytest.raises(RuntimeError, match="the client stopped at a bug of its own") as caught:
            it.back(1)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        with pytest.raises(RuntimeError, match="oh"):
            it.network.ask(Ask(ANY, Api.METADATA, ALL), 1)


@contextmanager
def held(network: NetworkClient) -> Iterator[None]:
    """While another thread has the lock."""
    has, over = threading.Event(), threading.Event()

    def hold() -> None:
        with network.lock:
            has.set()
            over.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert has.wait(20)
    yield
    over.set()
    thread.join()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from 3.12 on
def test_a_forked_child_is_refused_and_the_parent_goes_on() -> None:
    with broker() as one, client(one.address) as it:
        it.knows(1)
        read, write = os.pipe()
        with held(it.network):  # by a thread that the child will not have
            child = os.fork()
            if not child:  # no assertion may leave this process
                try:
                    with it.network.lock:
                        told = "nothing"
                except RuntimeError as error:
                    told = str(error)
                it.network.close()
                os.write(write, told.encode())
                os._exit(0)
        os.waitpid(child, 0)
        told = os.read(read, 1000).decode()
        os.close(read)
        os.close(write)
        assert f"process {child} is a fork of it" in told
        assert "make a new client there" in told
        it.ask(1)
        assert it.back(1)[0][1].cluster_id == "a-cluster"


def test_close_ends_the_thread_and_every_wait() -> None:
    before = threads("brokerlab-client")
    with broker() as one, client(one.address) as it:
        it.knows(1)
        found: list[Any] = []

        def wait() -> None:
            with it.network.lock:
                found.append(it.network.wait(lambda: False, math.inf))

        waiter = threading.Thread(target=wait)
        waiter.start()
        it.network.close()
        waiter.join(20)
        assert found == [False]
        it.network.close()
    assert threads("brokerlab-client") <= before
