"""ZooKeeper for a broker that lives on one asyncio loop: a thin layer over kazoo.

kazoo keeps the connection in a thread of its own. All that comes in there, answers, watches
and changes of the session, is handed to the loop in the order in which the server sent it:

    kazoo's thread:   answer 1   watch on /a   answer 2   session lost
                         │            │            │           │      call_soon_threadsafe
    the loop:         future 1   callback(/a)   future 2   listener(EXPIRED)

Invariant: whoever watches /a hears of its change before an answer shows them the new /a.

The life of a session, as the listener is told:

    CONNECTED ──> SUSPENDED ──> CONNECTED   in time: the same session, ephemeral nodes are there
        ^             │
        └── EXPIRED <─┘                     too late: the session is over, its nodes are gone

Only the server can end a session, so EXPIRED is learned after reconnecting, and followed by
CONNECTED with another id: the broker has to register again. Every watch fires once, also when
the connection is lost: read again, and watch again.

Invariant: what is asked in one session is never done in the next. After an expiry kazoo's thread
refuses all questions, and goes on only when the listener has been told.

What fails is raised: ConnectionLoss, after which nobody knows whether the writes were done, and
SessionExpiredError, after which what was ephemeral is gone. Left to itself kazoo would keep a
question until the server is back, were it tomorrow. Here it is lost, too, when the server has been
out of reach for as long as a session lasts.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionLoss,
    NoNodeError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import KazooState, WatchedEvent, ZnodeStat

from engine.controller.asks import Ask, Changed, Check, Create, Delete, Set, Write
from engine.links import Link
from engine.zookeeper import packets
from engine.zookeeper.handler import LoopHandler

Watch = Callable[[WatchedEvent], None]


class State(Enum):
    CONNECTED = "connected"
    SUSPENDED = "suspended"  # no connection; whether the session lives on is not known
    EXPIRED = "expired"


class Session(NamedTuple):
    """What the listener is told."""

    state: State
    session_id: int | None  # None unless connected


class ZookeeperClient:
    """One session after another, from `connect` to `close`."""

    def __init__(
        self,
        hosts: str,
        session_timeout: float,
        listener: Callable[[Session], None] | None = None,
        link: Link | None = None,
    ) -> None:
        """Hosts as Kafka's zookeeper.connect has them: host:port,host:port/chroot."""
        self.hosts = hosts
        self.session_id: int | None = None  # of the session that is connected now
        self._listener = listener
        self._patience = session_timeout
        self._suspended: float | None = None  # since when, in the loop's time
        self._loop = asyncio.get_running_loop()
        self._connected = self._loop.create_future()
        self._batches: set[_Batch] = set()  # of questions that are not answered yet
        self._give_up: asyncio.TimerHandle | None = None
        handler = LoopHandler(self._loop, link or Link())
        self._kazoo = KazooClient(
            hosts,
            timeout=session_timeout,
            handler=handler,
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 0.5},
        )
        handler.asked = lambda: bool(self._kazoo._queue)
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

    async def close(self) -> None:
        """Ends the session, so its ephemeral nodes go at once and not after the time-out."""
        self._kazoo.remove_listener(self._session_changed)
        if self._give_up is not None:
            self._give_up.cancel()
        await asyncio.to_thread(self._kazoo.stop)
        self._kazoo.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def answer(
        self, asks: Sequence[Ask], changed: Callable[[Changed], None] = lambda _: None
    ) -> list[Any]:
        """All questions are on their way at once. `changed` is called on the loop."""
        if self._suspended is not None and self._loop.time() >= self._suspended + self._patience:
            raise self._lost()  # and nothing is left with kazoo, to be done some day
        if not asks:
            return []
        kazoo, root = self._kazoo, self._kazoo.chroot
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

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, ZnodeStat]:
        data, stat = await self._answer(self._kazoo.get_async, path, watch)
        return data, stat

    async def exists(self, path: str, watch: Watch | None = None) -> ZnodeStat | None:
        """The watch fires for a node that comes into being, too."""
        return await self._answer(self._kazoo.exists_async, path, watch)

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        names: list[str] = await self._answer(self._kazoo.get_children_async, path, watch)
        return names

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        parents: bool = False,
    ) -> tuple[str, ZnodeStat]:
        """The name it got, and its stat: `czxid` of a broker's node is the broker's epoch."""
        name, stat = await self._answer(
            self._kazoo.create_async,
            path,
            data,
            ephemeral=ephemeral,
            sequence=sequence,
            makepath=parents,
            include_data=True,
        )
        return name, stat

    async def ensure(self, path: str) -> None:
        """A persistent path that may be there already, created with its parents."""
        await self._answer(self._kazoo.ensure_path_async, path)

    async def set(self, path: str, data: bytes, version: int = -1) -> ZnodeStat:
        return await self._answer(self._kazoo.set_async, path, data, version)

    async def delete(self, path: str, version: int = -1) -> None:
        await self._answer(self._kazoo.delete_async, path, version)

    async def delete_tree(self, path: str) -> None:
        """A node and all below it, deepest first; those that are gone already are as wanted."""
        with contextlib.suppress(NoNodeError):
            for name in await self.children(path):
                await self.delete_tree(f"{path}/{name}")
            await self.delete(path)

    async def multi(self, *writes: Write) -> list[Any]:
        """All or none: a name for each Create, a stat for each Set, True for the others.

        The error is that of the one write which failed, and carries its path.
        """
        transaction = self._kazoo.transaction()
        for write in writes:
            match write:
                case Create(path, data, ephemeral, sequence):
                    transaction.create(path, data, ephemeral=ephemeral, sequence=sequence)
                case Set(path, data, version):
                    transaction.set_data(path, data, version)
                case Delete(path, version):
                    transaction.delete(path, version)
                case Check(path, version):
                    transaction.check(path, version)
        results: list[Any] = await self._answer(transaction.commit_async)
        for write, result in zip(writes, results, strict=True):
            # Those before the failed write were rolled back, those after it never tried.
            if isinstance(result, Exception) and not isinstance(
                result, RolledBackError | RuntimeInconsistency
            ):
                result.args = (write.path,)
                raise result
        return results

    async def _answer(self, ask: Callable[..., "_Pending"], *what: Any, **more: Any) -> Any:
        """What kazoo's thread will learn, as a future of the loop."""
        now, future = self._loop.time(), self._loop.create_future()
        deadline = (now if self._suspended is None else self._suspended) + self._patience

        def settle(done: _Pending) -> None:
            self._loop.call_soon_threadsafe(_settle, future, done.exception, done.value)

        try:
            if now >= deadline:
                raise TimeoutError  # and nothing is left with kazoo, to be done some day
            async with asyncio.timeout_at(deadline):
                ask(*what, **more).rawlink(settle)
                return await future
        except TimeoutError:
            raise ConnectionLoss(f"no answer from {self.hosts}") from None

    def _session_changed(self, state: str) -> None:
        """In kazoo's thread, which is why the session's id is read here and now."""
        client_id = self._kazoo.client_id
        told = {
            KazooState.CONNECTED: State.CONNECTED,
            KazooState.SUSPENDED: State.SUSPENDED,
            KazooState.LOST: State.EXPIRED,
        }[state]
        session = Session(told, client_id[0] if client_id else None)
        self._loop.call_soon_threadsafe(self._tell, session)
        if told is State.EXPIRED:
            heard = threading.Event()
            self._loop.call_soon_threadsafe(heard.set)
            heard.wait()

    def _tell(self, session: Session) -> None:
        self.session_id = session.session_id
        self._suspended = None
        if self._give_up is not None:
            self._give_up.cancel()
        if session.state is State.SUSPENDED:
            self._suspended = self._loop.time()
            self._give_up = self._loop.call_later(self._patience, self._lose_all)
        if session.state is State.CONNECTED and not self._connected.done():
            self._connected.set_result(None)
        if self._listener is not None:
            self._listener(session)

    def _lose_all(self) -> None:
        for batch in self._batches:
            batch.settle(self._lost())

    def _lost(self) -> ConnectionLoss:
        return ConnectionLoss(f"no answer from {self.hosts}")


class _Batch:
    """Replies to questions that were asked together, as kazoo's thread hears them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, size: int) -> None:
        self.future: asyncio.Future[list[Any]] = loop.create_future()
        self._loop = loop
        self._replies: list[Any] = [None] * size
        self._missing = size

    def hear(self, place: int, reply: Any) -> None:
        """The loop is told once, when all are there."""
        self._replies[place] = reply
        self._missing -= 1
        if not self._missing:
            self._loop.call_soon_threadsafe(self.settle, None)

    def fail(self, error: Exception) -> None:
        self._loop.call_soon_threadsafe(self.settle, error)

    def settle(self, error: Exception | None) -> None:
        _settle(self.future, error, self._replies)


class _Reply(NamedTuple):
    """What kazoo fills in: of its AsyncResult nothing else is needed, a lock least of all."""

    batch: _Batch
    place: int | None = None  # None: nobody asked for it

    def set(self, value: Any) -> None:
        if self.place is not None:
            self.batch.hear(self.place, value)

    def set_exception(self, error: Exception) -> None:
        if isinstance(error, packets.REFUSALS):
            self.set(error)
        else:
            self.batch.fail(error)


def _settle(future: asyncio.Future[Any], error: BaseException | None, value: Any) -> None:
    if future.done():
        return  # whoever asked was cancelled
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


class _Pending(Protocol):
    """kazoo's AsyncResult."""

    value: Any

    @property
    def exception(self) -> BaseException | None: ...

    def rawlink(self, callback: Callable[["_Pending"], None]) -> None: ...
