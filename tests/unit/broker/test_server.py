"""A connection on a transport that only notes what is written: when a request is answered.

A request that needs no waiting is answered while its bytes come in. One that waits keeps its place:
those after it are answered after it, and if the client goes away, its handler is cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from engine.broker.server import AT_ONCE, Connection, Server
from engine.wire.apis import Api
from engine.wire.errors import Malformed
from engine.wire.frame import SIZE, Frame

Served = Callable[[Connection, Frame], Awaitable[list[bytes]]]


class NotingTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_reading = True
        self.closed = False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 5)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """No bytes ever wait here."""

    def write(self, data: object) -> None:
        self.written.append(bytes(data))  # type: ignore[call-overload]

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class OneConnection:
    def __init__(self, handle: Served) -> None:
        self.server = Server(
            handle, max_request_bytes=1000, max_connections=lambda: 10, idle_ms=60_000
        )
        self.transport = NotingTransport()
        self.connection = Connection(self.server)
        self.connection.connection_made(self.transport)

    def receive(self, *requests: bytes) -> None:
        data = b"".join(SIZE.pack(len(request)) + request for request in requests)
        self.server.buffer[: len(data)] = data
        self.connection.buffer_updated(len(data))


def request(api: Api, name: bytes) -> bytes:
    return int(api).to_bytes(2) + name


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def echo(connection: Connection, frame: Frame) -> list[bytes]:
    return [bytes(frame[2:])]


class Gate:
    """A handler that answers a request named "wait" once the gate is open."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.ended_by: list[str] = []

    async def handle(self, connection: Connection, frame: Frame) -> list[bytes]:
        try:
            if frame[2:] == b"wait":
                await self.opened.wait()
        except BaseException as error:
            self.ended_by.append(type(error).__name__)
            raise
        return [bytes(frame[2:])]


def test_a_lone_request_is_answered_while_its_bytes_come_in() -> None:
    async def story() -> None:
        one = OneConnection(echo)
        await turns()
        for name in (b"a", b"b", b"c"):
            one.receive(request(Api.PRODUCE, name))
            assert one.transport.written.pop() == name

    asyncio.run(story())


def test_a_request_whose_handler_needs_a_task_gets_one() -> None:
    async def in_time(connection: Connection, frame: Frame) -> list[bytes]:
        async with asyncio.timeout(10):
            return await echo(connection, frame)

    async def story() -> None:
        one = OneConnection(in_time)
        await turns()
        assert Api.METADATA not in AT_ONCE
        one.receive(request(Api.METADATA, b"a"))
        assert one.transport.written == []
        await turns()
        assert one.transport.written == [b"a"]

    asyncio.run(story())


def test_those_after_a_request_that_waits_are_answered_after_it() -> None:
    async def story() -> None:
        gate = Gate()
        one = OneConnection(gate.handle)
        await turns()
        one.receive(request(Api.FETCH, b"wait"))
        one.receive(request(Api.FETCH, b"second"))
        await turns()
        one.receive(request(Api.FETCH, b"third"))
        await turns()
        assert one.transport.written == []
        assert not one.transport.is_reading, "a client that is not answered may send no more"
        gate.opened.set()
        await turns(30)
        assert one.transport.written == [b"wait", b"second", b"third"]
        assert one.transport.is_reading
        one.receive(request(Api.FETCH, b"fourth"))
        assert one.transport.written[3:] == [b"fourth"], "it is idle again"

    asyncio.run(story())


def test_who_goes_away_while_a_request_waits_has_it_cancelled() -> None:
    async def story(turns_before: int) -> list[str]:
        gate = Gate()
        one = OneConnection(gate.handle)
        await turns()
        one.receive(request(Api.FETCH, b"wait"))
        await turns(turns_before)
        one.connection.connection_lost(None)
        await turns()
        assert one.transport.written == []
        return gate.ended_by

    assert asyncio.run(story(turns_before=10)) == ["CancelledError"]
    assert asyncio.run(story(turns_before=0)) == ["GeneratorExit"], "no task had it yet"


def test_bytes_that_are_no_request_close_the_connection_after_the_answers() -> None:
    async def picky(connection: Connection, frame: Frame) -> list[bytes]:
        if frame[2:] == b"bad":
            raise Malformed("bad")
        return await echo(connection, frame)

    async def story() -> None:
        one = OneConnection(picky)
        await turns()
        one.receive(request(Api.PRODUCE, b"good"))
        one.receive(request(Api.PRODUCE, b"bad"))
        assert one.transport.closed
        await turns()
        two = OneConnection(picky)
        await turns()
        two.receive(*(request(Api.PRODUCE, name) for name in (b"good", b"bad", b"late")))
        await turns(20)
        assert two.transport.closed
        assert two.transport.written == [b"good"], "nothing is answered after the bad one"

    asyncio.run(story())


def test_a_client_over_its_quota_is_not_answered_before_its_time() -> None:
    async def throttled(connection: Connection, frame: Frame) -> list[bytes]:
        connection.throttle_ms = 50 if frame[2:] == b"much" else 0
        return await echo(connection, frame)

    async def story() -> None:
        one = OneConnection(throttled)
        await turns()
        one.receive(request(Api.PRODUCE, b"much"))
        one.receive(request(Api.PRODUCE, b"next"))
        await turns()
        assert one.transport.written == [b"much"]
        while one.transport.written == [b"much"]:
            await asyncio.sleep(0.01)
        assert one.transport.written == [b"much", b"next"]

    asyncio.run(story())


def test_a_mistake_in_a_handler_is_loud_whatever_its_class(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A RuntimeError, too, which sendfile raises when its transport is being closed."""

    async def changing(connection: Connection, frame: Frame) -> list[bytes]:
        raise RuntimeError("dictionary changed size during iteration")

    async def story() -> None:
        one = OneConnection(changing)
        one.receive(request(Api.PRODUCE, b"a"))
        await turns()
        assert one.transport.closed

    asyncio.run(story())
    (told,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "a bug" in told.message and told.exc_info is not None


def test_a_client_that_is_gone_again_has_no_address() -> None:
    async def story() -> None:
        one = OneConnection(echo)
        gone = NotingTransport()
        gone.get_extra_info = lambda *_: None  # type: ignore[method-assign, assignment]
        lost = Connection(one.server)
        lost.connection_made(gone)
        lost.connection_lost(None)
        assert lost.peer == "?" and one.server.connections == {one.connection}

    asyncio.run(story())
