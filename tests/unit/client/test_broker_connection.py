"""A way to one broker, by hand: a test is its clock, and calls it when its socket is ready."""

import selectors
import socket
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from engine.client.address import Address
from engine.client.connection import BrokerConnection, ConnectionState
from engine.client.core import UNSENT, Ask
from engine.config.client import ClientConfig
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, metadata

SETTINGS = ClientConfig(
    bootstrap_servers=("a:1",), reconnect_backoff_ms=50, reconnect_backoff_max_ms=300
)
CORE: Any = object()
ASK = Ask(1, Api.METADATA, type("All", (), {"topics": None}))


class Hand:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.selector = selectors.DefaultSelector()
        self.link = BrokerConnection(SETTINGS, self.selector, lambda: self.address)

    def ask(self, now: float) -> Any:
        """What an ask comes to, at a time that stands still."""
        self.link.put(CORE, ASK, now)
        while not (found := list(self.link.outcomes())):
            self.link.move(now)
            for key, events in self.selector.select(0.01):
                key.data.serve(events, now)
            self.link.expire(now)
        ((core, ask, outcome),) = found
        assert core is CORE and ask is ASK
        return outcome


@pytest.fixture
def nobody() -> Iterator[Hand]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hand = Hand(Address(*listener.getsockname()))
    yield hand
    hand.link.close()
    hand.selector.close()


def test_the_pause_before_the_next_try_doubles_up_to_a_limit(nobody: Hand) -> None:
    now, pauses = 100.0, []
    for _ in range(5):
        error = nobody.ask(now)
        assert isinstance(error, ApiException) and error.code == UNSENT
        pauses.append(round(nobody.link.pause(now), 3))
        now += nobody.link.pause(now)
    assert pauses == [0.05, 0.1, 0.2, 0.3, 0.3]


def test_who_asks_meanwhile_waits_for_the_next_try(nobody: Hand) -> None:
    nobody.ask(100)
    nobody.link.put(CORE, ASK, 100.01)
    nobody.link.move(100.01)
    assert nobody.link.state is ConnectionState.DOWN
    assert nobody.link.due() == 100.05
    nobody.link.move(100.05)
    assert nobody.link.state is not ConnectionState.DOWN or list(nobody.link.outcomes())


def test_who_waits_too_long_for_a_connection_was_never_sent(nobody: Hand) -> None:
    nobody.ask(100)
    nobody.link.put(CORE, ASK._replace(timeout=0.02), 100)
    assert nobody.link.due() == 100.02
    nobody.link.expire(100.02)
    ((_, _, error),) = nobody.link.outcomes()
    assert (error.code, error.message) == (UNSENT, f"no connection to {nobody.address} in time")


def test_after_a_success_the_pause_is_short_again(nobody: Hand) -> None:
    for _ in range(4):
        nobody.ask(100 + nobody.link.pause(100) * 10)
    with FakeBroker({Api.METADATA: lambda request: metadata({}, {})}) as broker:
        nobody.address = broker.address
        assert nobody.ask(200).cluster_id == "a-cluster"
        assert nobody.link.state is ConnectionState.READY and nobody.link.pause(200) == 0
    while nobody.link.state is ConnectionState.READY:
        for key, events in nobody.selector.select(1):
            key.data.serve(events, 300)
    assert round(nobody.link.pause(300), 3) == 0.05


def test_after_the_largest_correlation_id_comes_zero() -> None:
    """An int32: a client that runs for months gets there."""
    with FakeBroker({Api.METADATA: lambda request: metadata({}, {})}) as broker:
        hand = Hand(broker.address)
        hand.link._numbers = count(2**31 - 1)
        for _ in range(3):
            assert hand.ask(100).cluster_id == "a-cluster"
        hand.link.close()
        hand.selector.close()


def test_a_result_without_an_answer_is_due_at_once() -> None:
    """A request that the broker does not serve: nothing arrives that would wake the network."""
    with FakeBroker({}, {}) as broker:
        hand = Hand(broker.address)
        hand.link.put(CORE, ASK, 100)
        while hand.link.state is not ConnectionState.READY:
            hand.link.move(100)
            for key, events in hand.selector.select(1):
                key.data.serve(events, 100)
        hand.link.move(100)
        due = hand.link.due()
        assert due is not None and due <= 100
        ((_, _, error),) = hand.link.outcomes()
        assert error.code == ErrorCode.unsupported_version
        assert hand.link.due() is None
        hand.link.close()
        hand.selector.close()


def test_a_name_without_address() -> None:
    hand = Hand(Address("no-such-host.invalid", 9092))
    error = hand.ask(0)
    assert error.code == UNSENT and "no broker at no-such-host.invalid:9092" in error.message
    hand.selector.close()


@pytest.mark.parametrize("address", [Address("a..b", 9092), Address("x" * 64 + ".org", 9092)])
def test_a_name_that_cannot_be_one(address: Address) -> None:
    hand = Hand(address)
    error = hand.ask(0)
    assert error.code == UNSENT and f"no broker at {address}" in error.message
    hand.selector.close()


def test_a_place_that_there_cannot_be_is_passed_over(monkeypatch: Any) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 70_000)),
        (-7, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9092)),  # as IPv6 where the machine has none
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    hand = Hand(Address("a-name", 9092))
    error = hand.ask(0)
    assert error.code == UNSENT and "no broker at a-name:9092" in error.message
    hand.selector.close()


class Stuck:
    """A socket that takes nothing any more."""

    def __init__(self, plain: Any) -> None:
        self.fileno, self.close = plain.fileno, plain.close

    def send(self, data: Any) -> int:
        raise BlockingIOError


def test_a_request_without_an_answer_has_a_time_out_too() -> None:
    """Produce with acks=0 to a broker that stands still: its connection is given up."""
    with FakeBroker({Api.METADATA: lambda request: metadata({}, {})}) as broker:
        hand = Hand(broker.address)
        hand.ask(100)
        plain = hand.link._socket
        hand.selector.unregister(plain)
        hand.link._socket = stuck = Stuck(plain)  # type: ignore[assignment]
        hand.selector.register(stuck, selectors.EVENT_READ, hand.link)
        hand.link.put(CORE, ASK._replace(answered=False, timeout=3), 100)
        hand.link.move(100)
        assert (hand.link.due(), list(hand.link.outcomes())) == (103, [])
        hand.link.expire(103)
        ((_, _, error),) = hand.link.outcomes()
        assert error.code == ErrorCode.request_timed_out
        assert hand.link.state is ConnectionState.DOWN
        hand.selector.close()


def test_a_name_with_several_addresses_is_tried_one_by_one(monkeypatch: Any) -> None:
    """`localhost` may be ::1 first, where no broker listens."""
    with FakeBroker({Api.METADATA: lambda request: metadata({}, {})}) as broker:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", closed_port())),
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", tuple(broker.address)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        hand = Hand(Address("a-name", 9092))
        assert hand.ask(0).cluster_id == "a-cluster"
        hand.link.close()
        hand.selector.close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
