"""The handler under kazoo: its thread, its wake-up socket, and the faults of the link.

    the loop                       kazoo's thread                          ZooKeeper
    request ──> queue, wake-up ──> select ──> send ──────── out ──────────>
    answer  <── call_soon_threadsafe <── recv <── select <── in ───────────

kazoo gets its sockets from the handler, and waits in the handler's `select`: the faults of a lab
are applied there. A cut link is like a pulled cable: data to be sent stays in the queue, received
data is not read, no connection breaks, and no new one is made. A slow link delays both directions
by `delay`; later data is sent together with the first, so only the latency grows. A fault holds for
all servers of an ensemble, or for one of them.

kazoo's usual handler also has a worker thread for watches and one for answers. This one has
neither: both are passed to the loop at once, in the order in which the server sent them.

A server that is just starting may accept a connection and never answer: closing it fails, because
the database is not loaded yet. kazoo would wait for the session time-out. So the first answer must
come soon; if not, kazoo connects again, with a longer time-out.

Invariant: without a fault, a wait costs a few checks of the link and nothing else.
Invariant: a caller never waits for kazoo's thread. kazoo's own wake-up is a socket to which every
request writes a byte; after some hundred unread bytes, the writer would block.
"""

import asyncio
import contextlib
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import Callback, WatchedEvent

from engine.links import Link

CHECK = 0.02  # seconds between two checks of a link with faults
GREETING = 0.5  # seconds for the first answer on a new connection; doubled after a failure
GIVE_UP = 1 / 3  # of its time-out a write waits for a link with faults: then a ping is missed, too


class LoopHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's handler without worker threads, and with the faults of a link."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        super().__init__()
        self.completion_queue = self  # kazoo only calls `put`
        self.asked: Callable[[], bool] = lambda: False  # whether requests wait to be sent
        self._loop = loop
        self._link = link  # to every server
        self.servers: Mapping[tuple[str, int], Link] = {}  # to each, by host and port
        self._server = Link()  # of these, the one in use
        self._tried: tuple[str, int] | None = None  # the server to which it connected last
        self._wakeup: WakeupSocket | None = None
        self._greeting = GREETING
        self._greeted = True
        self._due: dict[int, float] = {}  # until when a slow link delays a socket
        self._event: WatchedEvent | None = None  # that fired last
        self._called: set[Callable[..., None]] = set()

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def put(self, completion: Callable[[], None]) -> None:
        """An answer has come. It only passes the answer to the loop, so it is called at once."""
        completion()

    def dispatch_callback(self, callback: Callback) -> None:
        """A watch has fired, unless the client is closing.

        One event may fire a watch on the data and one on the children: call the function once.
        """
        (event,) = callback.args
        if event is not self._event:
            self._event, self._called = event, set()
        if self._running and callback.func not in self._called:
            self._called.add(callback.func)
            self._loop.call_soon_threadsafe(callback.func, event)

    def create_socket_pair(self) -> tuple["WakeupSocket", "WakeupSocket"]:
        self._wakeup = WakeupSocket(self.asked)
        return self._wakeup, self._wakeup

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **more: Any
    ) -> Any:
        """The packets that open a connection use the link in both directions.

        With several servers, each gets its part of the time only, and the one that was tried last
        is not tried again before another: the next one may still be in time. (kazoo takes them in
        any order, Java's client in turn.)
        """
        server = hostname, address[1]
        if server == self._tried and len(self.servers) > 1:
            self._tried = None
            raise TimeoutError("another server first")
        self._tried = server
        self._server = self.servers.get(server) or Link()
        timeout /= max(len(self.servers), 1)
        until = time.monotonic() + timeout
        self._due.clear()
        while self._cut() and time.monotonic() < until:
            self._pause(CHECK)
        self._pause(min(2 * self._delay, timeout))
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the link to ZooKeeper is cut")
        self._greeted = False
        return super().create_connection(address, hostname=hostname, timeout=left, **more)

    def select(
        self, reads: Sequence[Any], writes: Sequence[Any], _errors: object, timeout: float
    ) -> tuple[list[Any], list[Any]]:
        if self._greeted:
            return self._select(reads, writes, timeout)
        limit = self._greeting + 2 * self._delay
        ready = self._select(reads, writes, min(timeout, limit))
        self._greeted = bool(ready[0])
        if self._greeted:
            self._greeting = GREETING
        elif reads:
            self._greeting *= 2
        return ready

    def _select(
        self, reads: Sequence[Any], writes: Sequence[Any], timeout: float
    ) -> tuple[list[Any], list[Any]]:
        began = time.monotonic()
        ready = _ready(reads, writes, timeout)
        if not (self._cut() or self._delay):
            return ready
        return self._select_with_faults(reads, writes, began + timeout * (GIVE_UP if writes else 1))

    def _select_with_faults(
        self, reads: Sequence[Any], writes: Sequence[Any], until: float
    ) -> tuple[list[Any], list[Any]]:
        """The sockets that are ready and not blocked by a fault; the link is checked repeatedly."""
        while True:
            left = max(0.0, until - time.monotonic())
            reads_now = [end for end in reads if not self._held(end)]
            writes_now = [] if self._out_cut else writes
            come, go = _ready(reads_now, writes_now, min(left, CHECK))
            passed = self._delayed(reads_now, come)
            if passed or go or not left:
                return passed, go
            self._pause(min(left, CHECK / 4) if come else 0)

    def _held(self, end: Any) -> bool:
        """The wake-up socket stands for sending, the other one for receiving."""
        return self._out_cut if end is self._wakeup else self._in_cut

    def _delayed(self, reads: Sequence[Any], come: list[Any]) -> list[Any]:
        """Those that have been ready for the delay of the link."""
        now, delay = time.monotonic(), self._delay
        for end in reads:
            if end in come:
                self._due.setdefault(end.fileno(), now + delay)
            else:
                self._due.pop(end.fileno(), None)
        return [end for end in come if self._due[end.fileno()] <= now]

    def _cut(self) -> bool:
        return self._out_cut or self._in_cut

    @property
    def _out_cut(self) -> bool:
        return self._link.out_cut or self._server.out_cut

    @property
    def _in_cut(self) -> bool:
        return self._link.in_cut or self._server.in_cut

    @property
    def _delay(self) -> float:
        return max(self._link.delay, self._server.delay)

    def _pause(self, seconds: float) -> None:
        """A client that closes does not wait for the link."""
        if self._cut() and not self._running:
            raise TimeoutError("the link to ZooKeeper is cut")
        time.sleep(seconds)


class WakeupSocket:
    """Wakes kazoo's thread. Both ends of kazoo's socket pair are this one object.

    It is readable from the first request until none is left, however many come meanwhile.
    """

    def __init__(self, asked: Callable[[], bool]) -> None:
        self._asked = asked
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._is_set = False

    def fileno(self) -> int:
        return self._read.fileno()

    def send(self, _byte: bytes) -> None:
        if not self._is_set:
            self._is_set = True
            self._write.send(b"\0")

    def recv(self, _size: int) -> None:
        """kazoo has taken a request.

        The order matters: a request before `_is_set` is cleared is seen by the second check, a
        later one sets it again.
        """
        if not self._asked():
            with contextlib.suppress(BlockingIOError):  # no byte was written
                self._read.recv(64)
            self._is_set = False
            if self._asked():
                self.send(b"\0")

    def close(self) -> None:
        self._read.close()
        self._write.close()


def _ready(
    reads: Sequence[Any], writes: Sequence[Any], timeout: float
) -> tuple[list[Any], list[Any]]:
    """select(2) for any descriptor; kazoo's own makes and closes an epoll each time."""
    poll = select.poll()
    for end in reads:
        poll.register(end, select.POLLIN)
    for end in writes:
        poll.register(end, select.POLLOUT)
    found = {number for number, _ in poll.poll(timeout * 1000)}
    return (
        [end for end in reads if end.fileno() in found],
        [end for end in writes if end.fileno() in found],
    )
