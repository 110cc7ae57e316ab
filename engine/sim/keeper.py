"""ZooKeeper at the other end of the network: its server, and what a broker has in place of kazoo.

    Keeper                                          Ensemble
      Hello(session or 0)  ───────────────────────>   a session, old or new
                           <───────────────────────   Welcome(number), or Expired
      Questions, Ping      ───────────────────────>
                           <── Changed, answers, Pong   in the order in which they came about

A session outlives its connections. Whoever does not come back in time learns that it is over only
by coming back: nobody can be told who cannot be reached. When a connection breaks, every watch
fires, for what happens now nobody will hear of: read again, and watch again.

Invariant: what is asked in one session is never done in the next.

A question that was on its way when the connection broke is answered with None: nobody knows
whether it was done.
"""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from engine.controller.asks import Ask, Changed, Children, Exists, Get, Work
from engine.sim.clock import Clock
from engine.sim.network import End, Network
from engine.sim.process import Process
from engine.sim.zookeeper import Session, Zookeeper

NAME = "zookeeper"
AGAIN = 100  # ms between two attempts to connect

Answered = Callable[[Any], object]


class Hello(NamedTuple):
    session: int  # 0: a new one
    timeout: int


class Welcome(NamedTuple):
    session: int


class Questions(NamedTuple):
    asks: Sequence[Ask]


class Answers(NamedTuple):
    answers: list[Any]


class Word(Enum):
    """What has nothing to add."""

    PING = "ping"
    PONG = "pong"
    EXPIRED = "expired"
    BYE = "bye"


class Seat:
    """A session, and the connection by which its owner is reached just now."""

    def __init__(self, zookeeper: Zookeeper, timeout: int) -> None:
        self.end: End | None = None
        self.session: Session = zookeeper.connect(timeout, self._tell)

    def _tell(self, change: Changed) -> None:
        if self.end is not None:
            self.end.send(change)


class Ensemble:
    """The server, which never fails but may be cut off."""

    def __init__(self, clock: Clock, network: Network) -> None:
        self.model = Zookeeper(clock)
        self.answered: list[Callable[[int, Ask, Any], None]] = []  # told of session, ask, answer
        self._seats: dict[int, Seat] = {}
        network.listen(NAME, self._accept)

    def expire(self, number: int) -> None:
        """Its owner is told when it asks next; it may know already that the session is over."""
        if number in self._seats:
            self._seats[number].session.expire()

    def _accept(self, end: End) -> None:
        end.received = partial(self._greet, end)

    def _greet(self, end: End, hello: Hello) -> None:
        seat = self._seats.get(hello.session)
        if hello.session and (seat is None or not seat.session.alive):
            self._seats.pop(hello.session, None)
            end.send(Word.EXPIRED)
            return
        if seat is None:
            seat = Seat(self.model, hello.timeout)
            self._seats[seat.session.number] = seat
        elif seat.end is not None:
            self._lose(seat, seat.end)
        seat.end = end
        seat.session.touch()
        end.received = partial(self._hear, seat, end)
        end.broken = partial(self._lose, seat, end)
        end.send(Welcome(seat.session.number))

    def _lose(self, seat: Seat, end: End) -> None:
        if seat.end is end:
            seat.end = None
            seat.session.disconnect()
            end.close()

    def _hear(self, seat: Seat, end: End, message: Any) -> None:
        if message is Word.BYE:
            seat.session.close()
            del self._seats[seat.session.number]
        elif message is Word.PING and seat.session.alive:
            seat.session.touch()
            end.send(Word.PONG)
        elif isinstance(message, Questions):
            seat.session.ask(message.asks, partial(self._reply, seat, end, message.asks))
        else:
            self._lose(seat, end)

    def _reply(self, seat: Seat, end: End, asks: Sequence[Ask], answers: list[Any] | None) -> None:
        if answers is None:  # the session is over; its owner has to come back to hear that
            self._lose(seat, end)
            return
        for tell in self.answered:
            for ask, answer in zip(asks, answers, strict=True):
                tell(seat.session.number, ask, answer)
        end.send(Answers(answers))


class Keeper:
    """One session after another. The listener is told what broker/zookeeper.py tells its own."""

    def __init__(
        self,
        process: Process,
        timeout: int,
        connected: Callable[[], object],
        suspended: Callable[[], object],
        expired: Callable[[], object],
    ) -> None:
        self.session = 0
        self._process = process
        self._timeout = timeout
        self._connected, self._suspended, self._expired = connected, suspended, expired
        self._end: End | None = None
        self._welcome = False  # the connection is one of our session
        self._heard = 0  # when the server last said anything
        self._asked: deque[tuple[Questions, Answered]] = deque()  # on the way, or to be sent
        self._watched: dict[str, Callable[[Changed], object]] = {}
        process.every(max(1, timeout // 3), self._ping)

    @property
    def is_connected(self) -> bool:
        """Then the session was alive a moment ago."""
        return self._welcome

    def connect(self) -> None:
        process = self._process
        self._heard = process.clock.now
        end = self._end = process.network.connect(process.name, NAME)
        end.received = partial(process.do, self._hear, end)
        end.broken = partial(process.do, self._broken, end)
        end.send(Hello(self.session, self._timeout))

    def ask(
        self,
        asks: Sequence[Ask],
        done: Answered,
        changed: Callable[[Changed], object] = lambda change: None,
    ) -> None:
        """`done` gets the answers, or None. While there is no connection the questions wait."""
        if not asks:
            done([])
            return
        for ask in asks:
            if isinstance(ask, Get | Exists | Children) and ask.watch:
                self._watched[ask.path] = changed
        self._asked.append((Questions(asks), done))
        if self._welcome and self._end is not None:
            self._end.send(self._asked[-1][0])

    def say_goodbye(self) -> None:
        """End the session: what is ephemeral goes at once."""
        if self._welcome and self._end is not None:
            self._end.send(Word.BYE)

    def _hear(self, end: End, message: Any) -> None:
        if end is not self._end:
            return
        self._heard = self._process.clock.now
        match message:
            case Answers(answers):
                self._asked.popleft()[1](answers)
            case Changed(path):
                if path in self._watched:
                    self._watched[path](message)
            case Welcome(session):
                self._begin(end, session)
            case Word.EXPIRED:
                self.session = 0
                self._give_up()
                self._expired()
                end.send(Hello(0, self._timeout))

    def _begin(self, end: End, session: int) -> None:
        self.session, self._welcome = session, True
        for questions, _ in self._asked:
            end.send(questions)
        self._connected()

    def _ping(self) -> None:
        if self._end is None:
            return
        if self._process.clock.now - self._heard >= self._timeout * 2 // 3:
            self._end.close()
            self._broken(self._end)
        elif self._welcome:
            self._end.send(Word.PING)

    def _broken(self, end: End) -> None:
        if end is not self._end:
            return
        self._end = None
        if self._welcome:
            self._welcome = False
            self._suspended()
            self._give_up()
            watched, self._watched = self._watched, {}
            for path, changed in watched.items():
                changed(Changed(path))
        self._process.after(AGAIN, self.connect)

    def _give_up(self) -> None:
        asked, self._asked = self._asked, deque()
        for _, done in asked:
            done(None)


def carry_out(
    keeper: Keeper,
    work: Work[Any],
    done: Callable[[Any], object],
    lost: Callable[[], object],
    answers: Sequence[Any] | None = None,
) -> None:
    """Put the questions of some work to ZooKeeper, to its end; `lost` if one has no answer."""
    try:
        asks = work.send(answers)  # type: ignore[arg-type]  # the first time it is None
    except StopIteration as end:
        done(end.value)
        return

    def go_on(answers: Any) -> None:
        if answers is None:
            lost()
        else:
            carry_out(keeper, work, done, lost, answers)

    keeper.ask(asks, go_on)
