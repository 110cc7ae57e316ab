"""The connection from this broker to another one of the cluster.

    ask(a) ──> | a | ─────────> broker 3
    ask(b)     | A | <─────────
       waits   | b | ─────────>               after A has arrived

A follower fetches over one connection; the controller sends its requests over another. One request
is in flight at a time, so requests about a partition are done in the order in which they were sent.

Every request has the newest version, without an ApiVersions request before it: all brokers of a
cluster have the same release.

Every failure is an `OSError` (ConnectionError and TimeoutError are): no connection, a broken one, a
time-out, bytes that are not a response. After a failure, or when `ask` is cancelled, the connection
is closed, and the next `ask` opens a new one.

Invariant: a late answer is never taken for the answer to another request: its connection is closed.
A request without an answer may have been done or not.
"""

import asyncio
import math
import ssl
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, cast

from engine.errors import ApiException
from engine.links import Links
from engine.security.sasl_client import Login, authentication
from engine.wire.apis import APIS, ApiKey
from engine.wire.codec import Apis, decode_response, encode_request
from engine.wire.errors import LARGEST_ID, Malformed, RequestHeader
from engine.wire.frame import Frame, FrameReader

RENEWED = 0.85  # the part of a session after which this broker authenticates again
RECEIVE = 128 * 1024  # bytes read from the socket at once


class LoginRefused(ConnectionError):
    """The other node does not know this one, or its password."""


class ConnectsBy(Protocol):
    """TLS and a login, or None, as they are set now: for the next connection."""

    @property
    def context(self) -> ssl.SSLContext | None: ...
    @property
    def login(self) -> Login | None: ...


@dataclass(eq=False, repr=False)
class Peer:
    """The owner cancels the calls that wait before it closes the connection."""

    host: str
    port: int
    peer_id: int
    _links: Links
    _client_id: str
    _timeout: float  # seconds
    _security: ConnectsBy | None = None  # None: a listener without TLS and SASL
    _apis: Apis = field(default_factory=lambda: APIS)  # of its listener: a controller has others
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # first come, first served
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _answers: "_Answers | None" = None
    _renew: float = math.inf  # when to authenticate again, in the loop's time

    def __str__(self) -> str:
        return f"broker {self.peer_id} at {self.host}:{self.port}"

    async def ask(self, api: ApiKey, message: Any) -> Any:
        """Returns the response in its newest shape. Raises an `OSError` if there is none.

        The time-out starts when the requests before it are done, even if the link is cut.
        """
        async with self._turn:
            try:
                return await self._ask(api, message)
            except BaseException:  # or the next request would get the late answer
                self.close()
                raise

    def close(self) -> None:
        """Close the connection. A request in flight fails."""
        if self._answers is not None:
            self._answers.disconnect("this side closed the connection")
            self._answers = None

    async def _ask(self, api: ApiKey, message: Any) -> Any:
        newest = self._apis[api].newest
        number = next(self._numbers) & LARGEST_ID
        header = RequestHeader(int(api), newest, number, self._client_id)
        frame = encode_request(header, message, self._apis)
        try:
            async with asyncio.timeout(self._timeout):
                answers = await self._connected()
                await self._links.passes(str(self.peer_id))
                return decode_response(header, await answers.next(frame), self._apis)
        except TimeoutError as error:
            raise TimeoutError(f"{self} has not answered within {self._timeout} s") from error
        except Malformed as error:
            raise ConnectionError(f"{self} does not speak Kafka's protocol: {error}") from error

    async def _connected(self) -> "_Answers":
        if self._answers is None or self._answers.lost:
            await self._links.passes(str(self.peer_id))
            loop = asyncio.get_running_loop()
            tls = self._security.context if self._security else None
            try:
                _, self._answers = await loop.create_connection(
                    _Answers, self.host, self.port, ssl=tls
                )
            except (OverflowError, UnicodeError) as error:  # the registered address is not valid
                raise ConnectionError(f"{self} has no address: {error}") from error
            await self._authenticate(self._answers)
        elif asyncio.get_running_loop().time() >= self._renew:
            await self._authenticate(self._answers)
        return self._answers

    async def _authenticate(self, answers: "_Answers") -> None:
        """Log in, if the listener asks for it."""
        self._renew = math.inf
        if self._security is None or self._security.login is None:
            return
        exchange = authentication(self._security.login, self._client_id)
        try:
            request = next(exchange)
            while True:
                request = exchange.send(await answers.next(request))
        except StopIteration as end:
            if end.value:
                self._renew = asyncio.get_running_loop().time() + RENEWED * end.value / 1000
        except ApiException as error:
            raise LoginRefused(f"{self} refuses this broker: {error.message}") from error


Connect = Callable[[str, int, int, str, float], Peer]  # host, port, id, client.id, time-out


async def ask_until(end: Coroutine[Any, Any, object], peer: Peer, api: ApiKey, message: Any) -> Any:
    """The response; None if `end` is done first: then the request is called off."""
    asking, ending = asyncio.create_task(peer.ask(api, message)), asyncio.create_task(end)
    try:
        await asyncio.wait({asking, ending}, return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else None
    finally:
        asking.cancel()
        ending.cancel()


class _Answers(asyncio.BufferedProtocol):
    """One connection: a request out, its answer in.

    Every chunk is received into the same buffer and appended to the answer. Receiving into the
    answer's own memory is not faster, because it has to be cleared first. asyncio's streams take
    three times as long for ten megabytes.
    """

    def __init__(self) -> None:
        self.lost = False
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader()
        self._buffer = memoryview(bytearray(RECEIVE))
        self._waiting: asyncio.Future[Frame] | None = None

    async def next(self, request: bytes) -> Frame:
        """Send a request and return its answer."""
        assert self._waiting is None, "one request at a time"
        assert self._transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            if self.lost:
                raise ConnectionError("the connection broke before the request was sent")
            self._transport.write(request)
            return await self._waiting
        finally:
            self._waiting = None

    def disconnect(self, why: str | Exception) -> None:
        self.lost = True
        if self._waiting is not None and not self._waiting.done():
            error = why if isinstance(why, Exception) else ConnectionError(why)
            self._waiting.set_exception(error)
        if self._transport is not None:
            self._transport.abort()

    # -- called by the loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, received: int) -> None:
        try:
            for frame in self._frames.feed(self._buffer[:received]):
                if self._waiting is None or self._waiting.done():
                    raise Malformed("an answer to no request")
                self._waiting.set_result(frame)
        except Malformed as error:
            self.disconnect(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.disconnect(exc or "the other side closed the connection")
