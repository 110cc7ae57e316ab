"""The server: one event loop, many connections, one request at a time for each.

    bytes -> FrameReader -> queue -> handler -> pieces -> socket
                              |                   |
             stop reading while one waits     file slices are sent by sendfile

A connection's requests are answered in order, as in Kafka: the broker takes the next request after
it has sent the response to the previous one. So a client that does not read its responses blocks
only itself. A client that sends many requests at once is served for a millisecond, then the others
are served. Bytes that are not a request close the connection, after the requests before them.

Most requests have their answer without waiting. So the first steps of a lone Produce, Fetch,
Heartbeat or OffsetCommit are taken as soon as its bytes are there, which saves two turns of the
loop. If it has to wait, the connection's task goes on with it.

Invariant: memory per connection is bounded: one request being served, the whole requests that came
in the same chunk, one request being received, and one response being sent.

A response to another broker waits while a lab has cut or slowed the link (links.py). A lab may also
drop responses to clients (request_faults.py).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from types import coroutine
from typing import Any, cast

from engine.broker.file_slices import send_file, sendable
from engine.broker.request_faults import RequestFaults
from engine.links import Links
from engine.security.principals import ANONYMOUS
from engine.storage.segment import Slice, SliceGone
from engine.wire.apis import Api
from engine.wire.errors import Malformed
from engine.wire.frame import Frame, FrameReader

RECEIVE = 256 * 1024  # bytes read from a socket at once
ACCEPTING_TURNS = 3  # of the loop, in which asyncio hands over what it has accepted
TURN = 0.001  # seconds for which one connection is served before the others
BUFFERED = 64 * 1024  # bytes that may wait for a slow reader
# The handlers of these need no asyncio task until they wait (asyncio.timeout(), for instance, would
# need one). So their first steps are taken at once, without a turn of the loop.
AT_ONCE = {Api.PRODUCE, Api.FETCH, Api.HEARTBEAT, Api.OFFSET_COMMIT}

Pieces = Sequence[Any]  # bytes, and slices of files between them
Handle = Callable[["Connection", Frame], Awaitable[Pieces | None]]
Secure = Callable[["Connection"], asyncio.BaseProtocol]  # what is in front of a connection

log = logging.getLogger(__name__)


class Connection(asyncio.BufferedProtocol):
    """One client, or another broker. Created by the event loop when it connects."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.peer = "?"
        self.throttle_ms = 0  # no request is taken for so long after this one (quotas, KIP-219)
        self.last_used = 0.0  # the loop's time of the last bytes in
        self.client_id: str | None = None
        self.peer_id: int | None = None  # the id of a broker, once a request shows it
        self.listener, self.principal = "PLAINTEXT", ANONYMOUS
        self.handle = server.handle  # a listener with SASL puts its authentication before it
        self._loop = asyncio.get_running_loop()
        self.send_file: Callable[..., Awaitable[int]] = send_file
        self._transport: asyncio.Transport | None = None
        self.frames = FrameReader(server.max_request_bytes)
        self._queue: deque[Frame | Malformed] = deque()
        self._arrived = asyncio.Event()
        self._idle = False  # no request is being served
        # A request that was begun outside of the task, and the future that it waits for.
        self._begun: tuple[Coroutine[Any, Any, None], Any] | None = None
        self._turn_ends = 0.0  # then other connections are served
        self._writable = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # -- called by the loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=BUFFERED)
        if place := transport.get_extra_info("peername"):  # otherwise the client is gone again
            self.peer = "{}:{}".format(*place)
        if len(self.server.connections) >= (most := self.server.max_connections()):
            self.drop(f"there are {most} connections (max.connections)")
            return
        self.last_used = self._loop.time()
        self._writable.set()
        self.server.connections.add(self)
        self._task = self._loop.create_task(self._serve(), name=f"connection {self.peer}")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        assert self._transport is not None
        self.last_used = self._loop.time()
        try:
            self._queue.extend(self.frames.feed(self.server.buffer[:nbytes]))
        except Malformed as error:
            self._queue.append(error)
        if self._idle and len(self._queue) == 1 and _api(self._queue[0]) in AT_ONCE:
            self._begin(self._queue.popleft())
            return
        if len(self._queue) > 1 or (self._queue and self._arrived.is_set()):
            self._transport.pause_reading()
        if self._queue:
            self._arrived.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self)
        if self.frames.partial:
            log.info("%s closed the connection in the middle of a request", self.peer)
        if self._task is not None:
            self._task.cancel()

    # -- serving -------------------------------------------------------------------------

    def _begin(self, frame: Frame | Malformed) -> None:
        """Answer a request at once. If its handler has to wait, the connection's task continues."""
        answering = self._answer(frame)
        try:
            waits_for = answering.send(None)
        except StopIteration:
            return
        self._idle, self._begun = False, (answering, waits_for)
        self._arrived.set()

    async def _serve(self) -> None:
        assert self._transport is not None
        try:
            while not self._transport.is_closing():
                await self._next()
        finally:
            if self._begun is not None:
                self._begun[0].close()

    async def _next(self) -> None:
        """Wait for a request, and answer it."""
        assert self._transport is not None
        if not self._queue and self._begun is None:
            self._arrived.clear()
            self._idle = True
            await self._arrived.wait()
            self._idle = False
            self._turn_ends = self._loop.time() + TURN
        elif self._loop.time() >= self._turn_ends:
            await asyncio.sleep(0)  # serve the others
            self._turn_ends = self._loop.time() + TURN
        if self._begun is not None:
            begun, self._begun = self._begun, None
            await resumed(*begun)
            return
        frame = self._queue.popleft()
        if not self._queue and not isinstance(frame, Malformed):
            self._transport.resume_reading()
        await self._answer(frame)

    async def _answer(self, frame: Frame | Malformed) -> None:
        try:
            if isinstance(frame, Malformed):
                raise frame
            if answer := await self.handle(self, frame):
                if self.peer_id is None and self.server.faults.drops(_api(frame), self.client_id):
                    self.close("a lab asked to drop this answer")
                    return
                await self.send(answer)
            if self.throttle_ms:
                await asyncio.sleep(self.throttle_ms / 1000)  # muted
        except Malformed as error:
            self.close(str(error))
        except ConnectionError as error:
            self.close(f"cannot answer: {error}")
        except Exception:
            log.exception("a bug, in a request of %s (%s)", self.peer, self.client_id)
            self.close("internal error")

    async def send(self, pieces: Pieces) -> None:
        assert self._transport is not None
        if len(pieces) == 1 and not isinstance(pieces[0], Slice):
            await self._pass_link()
            self._transport.write(pieces[0])
        else:
            await self._send_slices(pieces)
        if not self._writable.is_set():
            await self.writable()
        self.last_used = self._loop.time()

    async def _send_slices(self, pieces: Pieces) -> None:
        """Send an answer with slices of files. Bytes are copied, long slices sent by the kernel."""
        transport = self._transport
        assert transport is not None
        with ExitStack() as kept_open:
            pieces = [sendable(piece, kept_open) for piece in pieces]
            await self._pass_link()
            copied: list[bytes | bytearray | memoryview] = []
            for piece in pieces:
                if not isinstance(piece, Slice):
                    copied.append(piece)
                    continue
                transport.write(b"".join(copied))
                copied.clear()
                sent = await self.send_file(transport, piece.file, piece.position, piece.size)
                if sent != piece.size:
                    raise SliceGone("a log file was truncated while it was sent")
        if copied:
            transport.write(b"".join(copied))

    async def _pass_link(self) -> None:
        if self.peer_id is not None:
            await self.server.links.passes(str(self.peer_id))

    async def writable(self) -> None:
        """Wait until the client has read enough of what was sent."""
        await self._writable.wait()

    def close(self, reason: str) -> None:
        """Close the connection after the bytes that wait to be sent."""
        assert self._transport is not None
        log.info("closing the connection of %s (%s): %s", self.peer, self.client_id, reason)
        self._transport.close()

    def drop(self, reason: str) -> None:
        """Close the connection at once, even if bytes wait to be sent."""
        assert self._transport is not None
        log.info("dropping the connection of %s (%s): %s", self.peer, self.client_id, reason)
        if self._task is None or self._task.done():
            self._transport.abort()
        else:  # asyncio cannot close a socket during sendfile: cancel that first
            abort = self._transport.abort
            self._task.add_done_callback(lambda task: abort())
            self._task.cancel()


def _api(frame: Frame | Malformed) -> int:
    """The key of a request's API; of bytes that are no request, a number that no API has."""
    return -1 if isinstance(frame, Malformed) else int.from_bytes(frame[:2], signed=True)


@coroutine
def resumed(begun: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Go on with a coroutine that has begun outside of a task, and waits for a future there."""
    while True:
        try:
            yield waits_for
        except BaseException as error:  # the task is cancelled, for instance
            step = partial(begun.throw, error)
        else:
            step = partial(begun.send, None)
        try:
            waits_for = step()
        except StopIteration:
            return


@dataclass(eq=False)
class Server:
    """The listening socket and its connections."""

    handle: Handle
    _: KW_ONLY
    max_request_bytes: int
    max_connections: Callable[[], int]  # may change at run time
    idle_ms: int
    links: Links = field(default_factory=Links)
    faults: RequestFaults = field(default_factory=RequestFaults)
    connections: set[Connection] = field(default_factory=set)
    shaking_hands: set[asyncio.Transport] = field(default_factory=set)  # TLS: no connections yet
    # Shared by all connections: none of them keeps a chunk.
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(RECEIVE)))
    _servers: list[asyncio.Server] = field(default_factory=list)  # one for each listener

    async def bind(
        self, host: str, port: int, secure: Secure = lambda connection: connection
    ) -> int:
        """Bind the port, without accepting yet. Returns the port: 0 asks for a free one."""
        server = await asyncio.get_running_loop().create_server(
            lambda: secure(Connection(self)), host, port, backlog=1024, start_serving=False
        )
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        for server in self._servers:
            await server.start_serving()

    def close_idle(self) -> None:
        """Close connections that have sent nothing for `connections.max.idle.ms`."""
        horizon = asyncio.get_running_loop().time() - self.idle_ms / 1000
        for connection in [each for each in self.connections if each.last_used < horizon]:
            connection.drop("it was idle for longer than connections.max.idle.ms")

    async def close(self) -> None:
        # A connection that is accepted while the server closes is never handed over, and with
        # Python 3.14 that is a traceback. So first no more are accepted.
        for listening in [each for server in self._servers for each in server.sockets]:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(ACCEPTING_TURNS):
            await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.drop("the server is stopping")
        for transport in list(self.shaking_hands):
            transport.abort()
        await asyncio.gather(*(server.wait_closed() for server in self._servers))
