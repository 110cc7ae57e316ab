"""Under kazoo: the thread that talks to ZooKeeper, its wake-up bell and the link that it goes by.

    the loop                       kazoo's thread                          ZooKeeper
    question ──> queue, bell ──> select ──> send ────────── out ──────────>
    answer   <── call_soon_threadsafe <── recv <── select <── in ───────────

kazoo asks its handler for sockets and waits in its `select`, so that is where a lab's faults are.
A cut link is a pulled cable: what is to be sent stays in the queue, what has come stays unread,
no connection breaks by it, and a new one is not made. A slow one holds both directions back for
`delay`; what comes up meanwhile goes together with the first, so latency grows and not the work.

kazoo's usual handler also has a worker thread for watches and one for answers. Ours has neither:
both go to the loop at once, in the order in which the server sent them.

A server that is just starting may take a connection and forget it: it stumbles over its unloaded
database while closing it, and leaves it open, unanswered. kazoo would wait as long as a session
lasts, and then have none. So the first word must come soon; if not, we call again, more patiently.

Invariant: with no fault set, a wait costs a few looks at the link and nothing else.
Invariant: whoever asks never waits for kazoo's thread. kazoo's own bell is a socket into which
every question writes a byte; after some hundred that nobody reads, the writer hangs.
"""

import asyncio
import contextlib
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import Callback, WatchedEvent

from engine.links import Link

LOOK_AGAIN = 0.02  # seconds: how soon a healed link is noticed
GREETING = 0.5  # seconds for the first word from a new connection; each time in vain, twice that
GIVE_UP = 1 / 3  # of the time that a write may take: a lost ping would be missed by then, too


class LoopHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's handler, its two worker threads replaced by the loop, its sockets by a link's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: Link) -> None:
        super().__init__()
        self.completion_queue = self  # of which kazoo only needs `put`
        self.asked: Callable[[], bool] = lambda: False  # whether questions wait to be sent
        self._loop = loop
        self._link = link
        self._bell: Bell | None = None
        self._greeting = GREETING
        self._greeted = True
        self._due: dict[int, float] = {}  # until when a slow link holds what is ready
        self._event: WatchedEvent | None = None  # that fired last, and whom it was told to
        self._told: set[Callable[..., None]] = set()

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        self._running = False

    def put(self, completion: Callable[[], None]) -> None:
        """An answer has come: at once, for all that ours do is to pass it to the loop."""
        completion()

    def dispatch_callback(self, callback: Callback) -> None:
        """A watch has fired; those that fire because we close have nobody to tell.

        One event may fire a watch on the data and one on the children: tell it once.
        """
        (event,) = callback.args
        if event is not self._event:
            self._event, self._told = event, set()
        if self._running and callback.func not in self._told:
            self._told.add(callback.func)
            self._loop.call_soon_threadsafe(callback.func, event)

    def create_socket_pair(self) -> tuple["Bell", "Bell"]:
        self._bell = Bell(self.asked)
        return self._bell, self._bell

    def create_connection(self, *args: Any, timeout: float, **more: Any) -> Any:
        """The packets that open a connection go both ways over the link."""
        until = time.monotonic() + timeout
        self._due.clear()
        while self._cut() and time.monotonic() < until:
            self._pause(LOOK_AGAIN)
        self._pause(min(2 * self._link.delay, timeout))
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no way to ZooKeeper")
        self._greeted = False
        return super().create_connection(*args, timeout=left, **more)

    def select(
        self, reads: Sequence[Any], writes: Sequence[Any], _errors: object, timeout: float
    ) -> tuple[list[Any], list[Any]]:
        if self._greeted:
            return self._select(reads, writes, timeout)
        patience = self._greeting + 2 * self._link.delay
        ready = self._select(reads, writes, min(timeout, patience))
        self._greeted = bool(ready[0])
        if self._greeted:
            self._greeting = GREETING
        elif reads:
            self._greeting *= 2
        return ready

    def _select(
        self, reads: Sequence[Any], writes: Sequence[Any], timeout: float
    ) -> tuple[list[Any], list[Any]]:
        link, began = self._link, time.monotonic()
        ready = _ready(reads, writes, timeout)
        if not (link.out_cut or link.in_cut or link.delay):
            return ready
        return self._past_faults(reads, writes, began + timeout * (GIVE_UP if writes else 1))

    def _past_faults(
        self, reads: Sequence[Any], writes: Sequence[Any], until: float
    ) -> tuple[list[Any], list[Any]]:
        """What is ready and may pass; the link is looked at again and again."""
        while True:
            left = max(0.0, until - time.monotonic())
            reads_now = [end for end in reads if not self._held(end)]
            writes_now = [] if self._link.out_cut else writes
            come, go = _ready(reads_now, writes_now, min(left, LOOK_AGAIN))
            passed = self._delayed(reads_now, come)
            if passed or go or not left:
                return passed, go
            self._pause(min(left, LOOK_AGAIN / 4) if come else 0)

    def _held(self, end: Any) -> bool:
        """The bell wants to send, the socket to receive."""
        return self._link.out_cut if end is self._bell else self._link.in_cut

    def _delayed(self, reads: Sequence[Any], come: list[Any]) -> list[Any]:
        """Those that have been ready for as long as the link is slow."""
        now, delay = time.monotonic(), self._link.delay
        for end in reads:
            if end in come:
                self._due.setdefault(end.fileno(), now + delay)
            else:
                self._due.pop(end.fileno(), None)
        return [end for end in come if self._due[end.fileno()] <= now]

    def _cut(self) -> bool:
        return self._link.out_cut or self._link.in_cut

    def _pause(self, seconds: float) -> None:
        """Whoever closes does not wait for the link to heal."""
        if self._cut() and not self._running:
            raise TimeoutError("no way to ZooKeeper")
        time.sleep(seconds)


class Bell:
    """Wakes kazoo's thread. Both ends of kazoo's socket pair are this one object.

    It rings from the first question until none is left, however many come meanwhile.
    """

    def __init__(self, asked: Callable[[], bool]) -> None:
        self._asked = asked
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._ringing = False

    def fileno(self) -> int:
        return self._read.fileno()

    def send(self, _byte: bytes) -> None:
        if not self._ringing:
            self._ringing = True
            self._write.send(b"\0")

    def recv(self, _size: int) -> None:
        """kazoo has taken a question.

        The order matters: whoever asks before the bell is still is seen by the second look,
        whoever asks after it rings again.
        """
        if not self._asked():
            with contextlib.suppress(BlockingIOError):  # kazoo looked, and nothing was asked
                self._read.recv(64)
            self._ringing = False
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
