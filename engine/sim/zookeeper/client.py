"""The broker's end of a session with the simulated ZooKeeper, over the simulated network.

    SimulatedZookeeperClient                        Ensemble (ensemble.py)
      ConnectRequest(session or 0) ────────────────>   a new session, or an existing one
                           <────────────────────────   ConnectResponse(number), or EXPIRED
      RequestBatch, PING   ────────────────────────>
                           <── Changed, ResponseBatch, PONG   in the order of the events

A session outlives its connections. A client that comes back too late learns only then that its
session is over. When a connection breaks, every watch fires, because the client will miss what
happens from now on: it has to read again, and watch again.

Invariant: a request of one session is never carried out in the next.

A request in flight when the connection breaks ends in MetadataUnavailable: the client cannot know
whether it was carried out. A request without a connection waits for the next one, as in kazoo;
after the session's time-out its caller gets an error (engine/zookeeper/client.py).

Left out: the creation time of a node, so notes of changed configurations are never removed; and
a chroot.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from kazoo.exceptions import ConnectionLoss, SessionExpiredError

from engine.sim.network import End
from engine.sim.process import SimulatedProcess
from engine.zookeeper.client import Session, SessionState, translated
from engine.zookeeper.requests import Ask, Changed, Children, Exists, Get

NAME = "zookeeper"
AGAIN = 100  # ms between two attempts to connect


class ConnectRequest(NamedTuple):
    session: int  # 0: a new one
    timeout: int


class ConnectResponse(NamedTuple):
    session: int


class RequestBatch(NamedTuple):
    asks: Sequence[Ask]


class ResponseBatch(NamedTuple):
    answers: list[Any]


class ControlMessage(Enum):
    """A message without content."""

    PING = "ping"
    PONG = "pong"
    EXPIRED = "expired"
    BYE = "bye"


class SimulatedZookeeperClient:
    """One session after another, from `connect` to `close`: zookeeper/client.py without kazoo."""

    def __init__(
        self, process: SimulatedProcess, timeout: int, listener: Callable[[Session], None]
    ) -> None:
        self.session = 0
        self.session_id: int | None = None  # of the session that is connected now
        self._process = process
        self._timeout = timeout
        self._listener = listener
        self._end: End | None = None
        self._heard = 0  # when the last message of the server came
        self._suspended: int | None = None  # since when
        # Sent, or to be sent.
        self._asked: deque[tuple[RequestBatch, asyncio.Future[Any]]] = deque()
        self._watched: dict[str, Callable[[Changed], object]] = {}
        self._connected = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """If so, the session was alive a moment ago."""
        return self.session_id is not None

    async def connect(self, timeout: float) -> None:
        self._process.every(max(1, self._timeout // 3), self._ping)
        self._open_connection()
        async with asyncio.timeout(timeout):
            await self._connected.wait()

    async def create_chroot(self) -> None:
        """There is none here."""

    async def close(self) -> None:
        """End the session: its ephemeral nodes are deleted at once."""
        if self.is_connected and self._end is not None:
            self._end.send(ControlMessage.BYE)
        self._end = None

    async def ask(
        self, asks: Sequence[Ask], changed: Callable[[Changed], object] = lambda _: None
    ) -> list[Any]:
        now = self._process.clock.now
        if self._suspended is not None and now >= self._suspended + self._timeout:
            raise translated(ConnectionLoss("no answer from ZooKeeper"))
        if not asks:
            return []
        for ask in asks:
            if isinstance(ask, Get | Exists | Children) and ask.watch:
                self._watched[ask.path] = changed
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.append((RequestBatch(asks), answer))
        if self.is_connected and self._end is not None:
            self._end.send(self._asked[-1][0])
        found: list[Any] = await answer
        return found

    # -- the connection ------------------------------------------------------------------

    def _open_connection(self) -> None:
        process = self._process
        self._heard = process.clock.now
        end = self._end = process.network.connect(process.name, NAME)
        end.received = partial(process.do, self._receive, end)
        end.broken = partial(process.do, self._broken, end)
        end.send(ConnectRequest(self.session, self._timeout))

    def _receive(self, end: End, message: Any) -> None:
        if end is not self._end:
            return
        self._heard = self._process.clock.now
        match message:
            case ResponseBatch(answers):
                _, future = self._asked.popleft()
                if not future.done():  # the caller was cancelled, or has given up
                    future.set_result(answers)
            case Changed(path):
                if path in self._watched:
                    self._watched[path](message)
            case ConnectResponse(session):
                self._begin(end, session)
            case ControlMessage.EXPIRED:
                self.session, self._suspended = 0, None
                self._fail_all(translated(SessionExpiredError("the session is over")))
                self._asked.clear()
                self._listener(Session(SessionState.EXPIRED, None))
                end.send(ConnectRequest(0, self._timeout))

    def _begin(self, end: End, session: int) -> None:
        self.session = self.session_id = session
        self._suspended = None
        for questions, _ in self._asked:
            end.send(questions)
        self._connected.set()
        self._listener(Session(SessionState.CONNECTED, session))

    def _ping(self) -> None:
        if self._end is None:
            return
        if self._process.clock.now - self._heard >= self._timeout * 2 // 3:
            self._end.close()
            self._broken(self._end)
        elif self.is_connected:
            self._end.send(ControlMessage.PING)

    def _broken(self, end: End) -> None:
        if end is not self._end:
            return
        self._end = None
        if self.is_connected:
            self.session_id, self._suspended = None, self._process.clock.now
            self._process.after(self._timeout, self._give_up, self._suspended)
            self._fail_all(translated(ConnectionLoss("the connection to ZooKeeper broke")))
            self._asked.clear()
            self._listener(Session(SessionState.SUSPENDED, None))
            watched, self._watched = self._watched, {}
            for path, changed in watched.items():
                changed(Changed(path))
        self._process.after(AGAIN, self._open_connection)

    def _give_up(self, suspended: int) -> None:
        """The callers wait no longer. Their requests may still be carried out later."""
        if self._suspended == suspended:
            self._fail_all(translated(ConnectionLoss("no answer from ZooKeeper")))

    def _fail_all(self, error: Exception) -> None:
        for _, future in self._asked:
            if not future.done():
                future.set_exception(error)
