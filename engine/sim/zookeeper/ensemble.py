"""The simulated ZooKeeper's servers: who is up, who leads, and the sessions of their clients.

    broker-1 ───┐             ┌─ server 1, the leader
    broker-2 ───┼── Network ──┼─ server 2                 one tree, which all of them read
    broker-3 ───┘             └─ server 3                 (model.py)

One server never fails. Of several some may be away, for a storm: a server that is killed closes its
connections at once, a silent one (paused, or cut off) answers nothing until its clients notice, and
their clients connect to another one. If the leader goes, or more than half of the servers are away,
all connections break, and nobody is served until a leader is elected.

Invariant: without a leader no session ends; a new leader gives each session its whole time again.

Left out: servers whose reads lag behind the leader's; votes, which take some time here, no more.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from engine.sim.clock import Clock
from engine.sim.network import End, Network
from engine.sim.zookeeper.client import (
    NAME,
    ConnectRequest,
    ConnectResponse,
    ControlMessage,
    RequestBatch,
    ResponseBatch,
)
from engine.sim.zookeeper.model import Zookeeper, ZookeeperSession
from engine.zookeeper.requests import Ask, Changed

ELECTION = 300, 3000  # ms that an election takes


class ServerSession:
    """A session on the servers, and its current connection: the client's, and by which server."""

    def __init__(self, zookeeper: Zookeeper, timeout: int) -> None:
        self.end: End | None = None
        self.server = 0
        self.model: ZookeeperSession = zookeeper.connect(timeout, self._notify)

    def _notify(self, change: Changed) -> None:
        if self.end is not None:
            self.end.send(change)


class Ensemble:
    def __init__(
        self, clock: Clock, network: Network, servers: int = 1, chance: Random | None = None
    ) -> None:
        self.model = Zookeeper(clock)
        self.servers = range(1, servers + 1)
        self.leader: int | None = 1
        # Each is called with session, ask and answer.
        self.answered: list[Callable[[int, Ask, Any], None]] = []
        self._clock = clock
        self._chance = chance or Random(0)
        self._away: set[int] = set()
        self._silent: set[int] = set()  # of those that are away
        self._elections = 0
        self._sessions: dict[int, ServerSession] = {}
        network.listen(NAME, self._accept)

    def expire(self, number: int) -> None:
        """The client learns it with its next request; the session may be over already."""
        if number in self._sessions:
            self._sessions[number].model.expire()

    # -- servers -------------------------------------------------------------------------

    @property
    def up(self) -> list[int]:
        return [each for each in self.servers if each not in self._away]

    @property
    def away(self) -> list[int]:
        return sorted(self._away)

    def kill(self, server: int) -> None:
        self._leave(server)

    def silence(self, server: int) -> None:
        self._silent.add(server)
        self._leave(server)

    def restart(self, server: int) -> None:
        """It is up again, whatever had happened to it; it follows, if there is a leader. What was
        sent to it meanwhile is lost, so clients that have not noticed lose their connections."""
        self._away.discard(server)
        self._silent.discard(server)
        self._break({server})
        if self.leader is None:
            self._elect()

    def _leave(self, server: int) -> None:
        self._away.add(server)
        self._break({server})
        if server == self.leader or not self._majority:
            self._elect()

    @property
    def _majority(self) -> bool:
        return 2 * len(self.up) > len(self.servers)

    def _elect(self) -> None:
        self.leader, self.model.ends_sessions = None, False
        self._break(set(self.servers))
        self._elections += 1
        if self._majority:
            self._clock.after(self._chance.randint(*ELECTION), self._elected, self._elections)

    def _elected(self, election: int) -> None:
        if election == self._elections:
            self.leader, self.model.ends_sessions = max(self.up), True
            for session in self.model.sessions.values():
                session.touch()

    def _break(self, servers: set[int]) -> None:
        """Close the connections to these servers, as far as the servers can do it."""
        for session in list(self._sessions.values()):
            if session.end is not None and session.server in servers - self._silent:
                self._disconnect(session, session.end)

    # -- sessions ------------------------------------------------------------------------

    def _accept(self, end: End) -> None:
        end.received = partial(self._connect, end)

    def _connect(self, end: End, request: ConnectRequest) -> None:
        if self.leader is None:
            end.close()
            return
        session = self._sessions.get(request.session)
        if request.session and (session is None or not session.model.alive):
            self._sessions.pop(request.session, None)
            end.send(ControlMessage.EXPIRED)
            return
        if session is None:
            session = ServerSession(self.model, request.timeout)
            self._sessions[session.model.number] = session
        elif session.end is not None:
            self._disconnect(session, session.end)
        session.end = end
        session.server = self._chance.choice(self.up) if len(self.up) > 1 else self.up[0]
        session.model.touch()
        end.received = partial(self._receive, session, end)
        end.broken = partial(self._disconnect, session, end)
        end.send(ConnectResponse(session.model.number))

    def _disconnect(self, session: ServerSession, end: End) -> None:
        if session.end is end:
            session.end = None
            session.model.disconnect()
            end.close()

    def _receive(self, session: ServerSession, end: End, message: Any) -> None:
        if session.server in self._silent:
            return
        if message is ControlMessage.BYE:
            session.model.close()
            del self._sessions[session.model.number]
        elif message is ControlMessage.PING and session.model.alive:
            session.model.touch()
            end.send(ControlMessage.PONG)
        elif isinstance(message, RequestBatch):
            session.model.ask(message.asks, partial(self._reply, session, end, message.asks))
        else:
            self._disconnect(session, end)

    def _reply(
        self, session: ServerSession, end: End, asks: Sequence[Ask], answers: list[Any] | None
    ) -> None:
        if answers is None:  # the session is over; the client learns it when it connects again
            self._disconnect(session, end)
            return
        for note in self.answered:
            for ask, answer in zip(asks, answers, strict=True):
                note(session.model.number, ask, answer)
        end.send(ResponseBatch(answers))
