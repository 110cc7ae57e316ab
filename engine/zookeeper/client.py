"""The ZooKeeper client of a broker: kazoo on one asyncio loop.

kazoo has the connection in a thread of its own. Answers, watches and changes of the session are
passed from there to the loop, in the order in which the server sent them:

    kazoo's thread:   answer 1   watch on /a   answer 2   session lost
                         │            │            │           │      call_soon_threadsafe
    the loop:         future 1   callback(/a)   future 2   listener(EXPIRED)

Invariant: the watch on /a fires before an answer has the new /a.

With several servers, kazoo connects to one of them, and to another one when that has not answered
for two thirds of the session time-out. The session and its watches move with it.

The states of a session, as the listener gets them:

    CONNECTED ──> SUSPENDED ──> CONNECTED   in time: the same session, ephemeral nodes are there
        ^             │
        └── EXPIRED <─┘                     too late: the session is over, its nodes are gone

Only the server can end a session, so EXPIRED is known only after a new connection, and followed by
CONNECTED with another id: the broker has to register again. Every watch fires once, also when the
connection is lost: read again, and watch again.

Invariant: a request of one session is never done in the next one. After an expiry kazoo's thread
refuses all requests, until the listener has been called.

kazoo's errors end here. A lost connection and the end of a session are MetadataUnavailable: it is
not known whether the writes were done, and after the session the ephemeral nodes are gone. Any
other of its errors is a MetadataError. kazoo itself keeps a request until the server is back,
however long that takes. Here it fails when the server has not answered for the session time-out.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any, NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionLoss,
    KazooException,
    SessionExpiredError,
    WriterNotClosedException,
)
from kazoo.protocol.states import KazooState

from engine.errors import MetadataError, MetadataUnavailable
from engine.links import Link
from engine.zookeeper import packets
from engine.zookeeper.handler import LoopHandler
from engine.zookeeper.requests import Ask, Changed, Create

log = logging.getLogger(__name__)

CLOSE_WAIT_S = 5.0  # for the answer to the end of a session
COUNTER = 0xFFFFFFFF  # the lower half of a zxid counts the transactions of an epoch


class SessionState(Enum):
    CONNECTED = "connected"
    SUSPENDED = "suspended"  # no connection; the session may be over or not
    EXPIRED = "expired"


class Session(NamedTuple):
    """The listener's argument."""

    state: SessionState
    session_id: int | None  # None unless connected


class ZookeeperClient:
    """One session after another, from `connect` to `close`."""

    def __init__(
        self,
        hosts: str,
        session_timeout: float,
        listener: Callable[[Session], None] | None = None,
        link: Link | None = None,
        to_server: Callable[[int], Link] = lambda number: Link(),
    ) -> None:
        """Hosts as in Kafka's zookeeper.connect: host:port,host:port/chroot.

        `link`: to every server; `to_server(2)`: to the second one.
        """
        self.hosts = hosts
        self.session_id: int | None = None  # of the session that is connected now
        self._listener = listener
        self._session_timeout = session_timeout
        self._suspended: float | None = None  # since this time of the loop
        self._loop = asyncio.get_running_loop()
        self._connected = self._loop.create_future()
        self._batches: set[_Batch] = set()  # of requests without an answer yet
        self._give_up: asyncio.TimerHandle | None = None
        handler = LoopHandler(self._loop, link or Link())
        self._kazoo = EnsembleKazoo(
            hosts,
            timeout=session_timeout,
            handler=handler,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
        )
        handler.asked = lambda: bool(self._kazoo._queue)
        handler.servers = {
            server: to_server(number) for number, server in enumerate(self._kazoo.hosts, 1)
        }
        self._kazoo.add_listener(self._session_changed)

    async def connect(self, timeout: float) -> None:
        self._kazoo.start_async()
        try:
            await asyncio.wait_for(asyncio.shield(self._connected), timeout)
        except TimeoutError:
            await self.close()
            raise TimeoutError(
                f"no answer from ZooKeeper at {self.hosts} in {timeout:g} s: is it running?"
            ) from None

    async def create_chroot(self) -> None:
        """If there is none yet, as Kafka's brokers do."""
        if root := self._kazoo.chroot:
            chroot = [*packets.parents(Create(f"{root}/", parents=True))]
            with _translated():
                await self._answer_all(chroot, "", lambda _: None)

    async def close(self) -> None:
        """End the session: its ephemeral nodes are deleted at once, not after the time-out.

        If the server does not answer within `CLOSE_WAIT_S`, the session ends by its time-out.
        """
        self._kazoo.remove_listener(self._session_changed)
        if self._give_up is not None:
            self._give_up.cancel()
        closed = asyncio.Event()
        # Not a thread of the loop's executor: that one would be waited for when the loop ends.
        threading.Thread(target=self._stop, args=(closed,), daemon=True).start()
        try:
            await asyncio.wait_for(closed.wait(), CLOSE_WAIT_S)
        except TimeoutError:
            log.warning("ZooKeeper does not answer: the session ends by its time-out")

    def _stop(self, closed: asyncio.Event) -> None:
        """Stop kazoo, and wait for its thread: so not on the loop, but in a thread of its own."""
        self._kazoo.handler.stop()  # first, so that no watch fires when the session ends
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except WriterNotClosedException as error:
            log.warning("the connection to ZooKeeper was not closed: %s", error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(closed.set)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(
        self, asks: Sequence[Ask], changed: Callable[[Changed], None] = lambda _: None
    ) -> list[Any]:
        """Send all requests at once. Returns their answers. `changed` is called on the loop."""
        with _translated():
            if (
                self._suspended is not None
                and self._loop.time() >= self._suspended + self._session_timeout
            ):
                raise self._lost()  # kazoo would send it later
            if not asks:
                return []
            return await self._answer_all(asks, self._kazoo.chroot, changed)

    async def _answer_all(
        self, asks: Sequence[Ask], root: str, changed: Callable[[Changed], None]
    ) -> list[Any]:
        kazoo = self._kazoo
        batch = _Batch(self._loop, len(asks))
        self._batches.add(batch)
        try:
            for place, ask in enumerate(asks):
                for parent in packets.parents(ask):
                    kazoo._call(packets.packet(parent, root, changed), _Reply(batch))
                kazoo._call(packets.packet(ask, root, changed), _Reply(batch, place))
            replies = await batch.future
        finally:
            self._batches.discard(batch)
        return [packets.answer(ask, reply, root) for ask, reply in zip(asks, replies, strict=True)]

    def _session_changed(self, state: str) -> None:
        """Called in kazoo's thread, so the session's id is read at once."""
        client_id = self._kazoo.client_id
        new = {
            KazooState.CONNECTED: SessionState.CONNECTED,
            KazooState.SUSPENDED: SessionState.SUSPENDED,
            KazooState.LOST: SessionState.EXPIRED,
        }[state]
        session = Session(new, client_id[0] if client_id else None)
        self._loop.call_soon_threadsafe(self._notify, session)
        if new is SessionState.EXPIRED:
            notified = threading.Event()
            self._loop.call_soon_threadsafe(notified.set)
            notified.wait()

    def _notify(self, session: Session) -> None:
        self.session_id = session.session_id
        self._suspended = None
        if self._give_up is not None:
            self._give_up.cancel()
        if session.state is SessionState.SUSPENDED:
            self._suspended = self._loop.time()
            self._give_up = self._loop.call_later(self._session_timeout, self._lose_all)
        if session.state is SessionState.CONNECTED and not self._connected.done():
            self._connected.set_result(None)
        if self._listener is not None:
            self._listener(session)

    def _lose_all(self) -> None:
        for batch in self._batches:
            batch.settle(self._lost())

    def _lost(self) -> ConnectionLoss:
        return ConnectionLoss(f"no answer from {self.hosts}")


@contextmanager
def _translated() -> Iterator[None]:
    """kazoo's errors are raised as those of any metadata store."""
    try:
        yield
    except KazooException as error:
        raise translated(error) from error


def translated(error: KazooException) -> MetadataError:
    lost = isinstance(error, ConnectionLoss | SessionExpiredError)
    kind = MetadataUnavailable if lost else MetadataError
    made = kind(f"ZooKeeper did not answer: {type(error).__name__}")
    made.__cause__ = error
    return made


class EnsembleKazoo(KazooClient):  # type: ignore[misc]
    """A client that can go from a new leader to a follower at once.

    The answers of a new leader have the zxid at which its epoch begins: 0x300000000, which is no
    transaction. Followers show the last transaction, 0x200000026, until the next write, and refuse
    a client that claims to have seen more. So the beginning of an epoch is not remembered.
    """

    _seen = 0

    @property
    def last_zxid(self) -> int:
        """Of the last transaction that this client knows of."""
        return self._seen

    @last_zxid.setter
    def last_zxid(self, zxid: int) -> None:
        if zxid & COUNTER or not zxid:
            self._seen = zxid


class _Batch:
    """The replies to requests that were sent together. kazoo's thread fills it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, size: int) -> None:
        self.future: asyncio.Future[list[Any]] = loop.create_future()
        self._loop = loop
        self._replies: list[Any] = [None] * size
        self._missing = size

    def receive(self, place: int, reply: Any) -> None:
        """The loop is notified once, with the last reply."""
        self._replies[place] = reply
        self._missing -= 1
        if not self._missing:
            self._loop.call_soon_threadsafe(self.settle, None)

    def fail(self, error: Exception) -> None:
        self._loop.call_soon_threadsafe(self.settle, error)

    def settle(self, error: Exception | None) -> None:
        if self.future.done():
            return  # the caller was cancelled
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self._replies)


class _Reply(NamedTuple):
    """In the place of kazoo's AsyncResult, which has a lock and more that is not needed here."""

    batch: _Batch
    place: int | None = None  # None: the reply is ignored

    def set(self, value: Any) -> None:
        if self.place is not None:
            self.batch.receive(self.place, value)

    def set_exception(self, error: Exception) -> None:
        if isinstance(error, packets.REFUSALS):
            self.set(error)
        else:
            self.batch.fail(error)
