"""The server: one event loop, many connections, one request at a time for each.

    bytes -> FrameReader -> queue -> handler -> pieces -> socket
                              |                   |
             stop reading while one waits     file slices are sent by sendfile

A connection's requests are answered in order, as in Kafka: the broker takes the next request after
it has sent the response to the previous one. So a client that does not read its responses blocks
only itself. A client that sends many requests at once is served for a millisecond, then the others
are served. Bytes that are not a request close the connection, after the requests before them.

Invariant: memory per connection is bounded: one request being served, the whole requests that came
in the same chunk, one request being received, and one response being sent.

A response to another broker waits while a lab has cut or slowed the link (links.py). A lab may also
drop responses to clients (request_faults.py).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

from engine.broker.file_slices import sendable
from engine.broker.request_faults import RequestFaults
from engine.links import Links
from engine.security.principals import ANONYMOUS
from engine.storage.segment import Slice, SliceGone
from engine.wire.errors import Malformed
from engine.wire.frame import Frame, FrameReader

RECEIVE = 256 * 1024  # bytes read from a socket at once
ACCEPTING_TURNS = 3  # of the loop, in which asyncio hands over what it has accepted
TURN = 0.001  # seconds for which one connection is served before the others
BUFFERED = 64 * 1024  # bytes that may wait for a slow reader

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
        self.send_file: Callable[..., Awaitable[int]] = asyncio.get_running_loop().sendfile
        self._transport: asyncio.Transport | None = None
        self.frames = FrameReader(server.max_request_bytes)
        self._queue: deque[Frame | Malformed] = deque()
        self._arrived = asyncio.Event()
        self._turn_ends = 0.0  # then other connections are served
        self._writable = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # -- called by the loop --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=BUFFERED)
        host, port, *_ = transport.get_extra_info("peername")
        self.peer = f"{host}:{port}"
        if len(self.server.connections) >= (most := self.server.max_connections()):
            self.drop(f"there are {most} connections (max.connections)")
            return
        loop = asyncio.get_running_loop()
        self.last_used = loop.time()
        self._writable.set()
        self.server.connections.add(self)
        self._task = loop.create_task(self._serve(), name=f"connection {self.peer}")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        assert self._transport is not None
        self.last_used = asyncio.get_running_loop().time()
        try:
            self._queue.extend(self.frames.feed(self.server.buffer[:nbytes]))
        except Malformed as error:
            self._queue.append(error)
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

    async def _serve(self) -> None:
        try:
            while True:
                frame = await self._next()
                if answer := await self.handle(self, frame):
                    api = int.from_bytes(frame[:2], "big")
                    if self.peer_id is None and self.server.faults.drops(api, self.client_id):
                        self.close("a lab asked to drop this answer")
                        return
                    await self.send(answer)
                if self.throttle_ms:
                    await asyncio.sleep(self.throttle_ms / 1000)  # muted
        except Malformed as error:
            self.close(str(error))
        except (ConnectionError, RuntimeError) as error:
            self.close(f"cannot answer: {error}")  # sendfile raises RuntimeError
        except Exception:
            log.exception("a bug, in a request of %s (%s)", self.peer, self.client_id)
            self.close("internal error")

    async def _next(self) -> Frame:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        if not self._queue:
            self._arrived.clear()
            await self._arrived.wait()
            self._turn_ends = loop.time() + TURN
        elif loop.time() >= self._turn_ends:
            await asyncio.sleep(0)  # serve the others
            self._turn_ends = loop.time() + TURN
        frame = self._queue.popleft()
        if isinstance(frame, Malformed):
            raise frame
        if not self._queue:
            self._transport.resume_reading()
        return frame

    async def send(self, pieces: Pieces) -> None:
        transport, loop = self._transport, asyncio.get_running_loop()
        assert transport is not None
        with ExitStack() as kept_open:
            pieces = [sendable(piece, kept_open) for piece in pieces]
            if self.peer_id is not None:
                await self.server.links.passes(str(self.peer_id))
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
        await self.writable()
        self.last_used = loop.time()

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
        loop = asyncio.get_running_loop()
        for listening in [each for server in self._servers for each in server.sockets]:
            loop.remove_reader(listening.fileno())
        for _ in range(ACCEPTING_TURNS):
            await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.drop("the broker is stopping")
        for server in self._servers:
            await server.wait_closed()
