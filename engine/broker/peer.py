"""The connection from this broker to another one of the cluster.

    ask(a) ──> | a | ─────────> broker 3
    ask(b)     | A | <─────────
       waits   | b | ─────────>               only when A is here

A follower fetches over such a connection, and the controller gives its orders over another. One
request is on the way at a time, so what was asked first is done first: an order about a partition
never overtakes the one before it.

Every request goes out in the newest version that we know, and nobody is asked for versions
first: all brokers of a cluster are of one release.

Whatever keeps an answer from coming is an `OSError`, as ConnectionError and TimeoutError are:
nobody listens, the connection breaks, time is up, what comes is no answer. Then, and when an
`ask` is cancelled, the connection is closed, and the next `ask` makes a new one.

Invariant: a late answer is never taken for that of another request; it has no connection left to
come by. What was asked without an answer may have been done or not.
"""

import asyncio
from itertools import count
from typing import Any, cast

from engine.links import Links
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.frame import Frame, FrameReader

RECEIVE = 128 * 1024  # bytes read from the socket at once


class Peer:
    """Its owner cancels what still waits here before it closes it."""

    def __init__(
        self, host: str, port: int, peer_id: int, links: Links, client_id: str, timeout_s: float
    ) -> None:
        self.peer_id = peer_id
        self._address = host, port
        self._links = links
        self._client_id = client_id
        self._timeout = timeout_s
        self._turn = asyncio.Lock()  # first come, first served
        self._numbers = count(1)
        self._answers: _Answers | None = None

    def __str__(self) -> str:
        host, port = self._address
        return f"broker {self.peer_id} at {host}:{port}"

    async def ask(self, api: Api, message: Any) -> Any:
        """The answer to a request, in its newest shape; an `OSError` if there is none.

        The time-out runs from when it is this request's turn, also while the link is cut.
        """
        async with self._turn:
            try:
                return await self._ask(api, message)
            except BaseException:  # the answer may come yet, and must not be the next one's
                self.close()
                raise

    def close(self) -> None:
        """Hang up. What is on the way fails."""
        if self._answers is not None:
            self._answers.hang_up("this side closed the connection")
            self._answers = None

    async def _ask(self, api: Api, message: Any) -> Any:
        header = RequestHeader(int(api), api.newest, next(self._numbers), self._client_id)
        frame = encode_request(header, message)
        try:
            async with asyncio.timeout(self._timeout):
                answers = await self._connected()
                await self._links.passes(str(self.peer_id))
                return decode_response(header, await answers.next(frame))
        except TimeoutError as error:
            raise TimeoutError(f"{self} has not answered within {self._timeout} s") from error
        except Malformed as error:
            raise ConnectionError(f"{self} does not speak Kafka's protocol: {error}") from error

    async def _connected(self) -> "_Answers":
        if self._answers is None or self._answers.lost:
            await self._links.passes(str(self.peer_id))
            loop = asyncio.get_running_loop()
            _, self._answers = await loop.create_connection(_Answers, *self._address)
        return self._answers


class _Answers(asyncio.BufferedProtocol):
    """One connection: a request out, its answer in.

    The kernel fills one buffer over and over, and an answer of many chunks grows by each of them.
    To receive straight into the answer's own memory is not faster, as that has to be cleared
    first; asyncio's streams take three times as long for ten megabytes.
    """

    def __init__(self) -> None:
        self.lost = False
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader()
        self._buffer = memoryview(bytearray(RECEIVE))
        self._waiting: asyncio.Future[Frame] | None = None

    async def next(self, request: bytes) -> Frame:
        """The answer to a request that is sent now."""
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

    def hang_up(self, why: str | Exception) -> None:
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
            self.hang_up(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.hang_up(exc or "the other side closed the connection")
