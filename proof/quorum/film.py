"""What happened in a simulated quorum, kept so that one can go back to each moment.

    world ── hooks ──> QuorumFilm: events     who stood for election, voted, led, was killed
                                   nodes      each node's state, epoch, log and mark, over time
                                   messages   from whom, to whom, when it left, and when it came

A message that never came was lost, or its way was cut, or its receiver had ended.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.errors import ErrorCode
from engine.raft.messages import RaftMessage, RaftRequest, RaftResponse, VoteResponse
from proof.quorum.election_words import refused, told
from proof.quorum.moments import NodeMoment, moment_of
from proof.quorum.node import QuorumNode
from proof.quorum.world import QuorumWorld


class QuorumEvent(NamedTuple):
    at: int
    kind: str  # the name of a fault, or of a step of the Raft
    nodes: tuple[int, ...]  # whom it is about
    words: str


@dataclass(slots=True, eq=False)
class FilmedMessage:
    source: int
    target: int
    body: RaftRequest | RaftResponse
    sent: int
    due: int | None  # when it would come; None: it is lost on its way
    came: int | None = None


@dataclass(slots=True)
class QuorumFilm:
    voters: frozenset[int] = frozenset()
    nodes: dict[int, list[NodeMoment]] = field(default_factory=dict)
    messages: list[FilmedMessage] = field(default_factory=list)
    events: list[QuorumEvent] = field(default_factory=list)
    _underway: dict[tuple[int, int, int, type], list[FilmedMessage]] = field(default_factory=dict)

    @classmethod
    def of(cls, world: QuorumWorld) -> "QuorumFilm":
        film = cls(frozenset(node.id for node in world.voters))

        def sent(source: int, message: RaftMessage, delay: int | None) -> None:
            due = None if delay is None else world.now + delay
            film.see(world.nodes[source], world.now)
            film._sent(source, message, world.now, due)

        world.network.sent.append(sent)
        for node in world.nodes.values():
            film.nodes[node.id] = [NodeMoment(0, "down", None, 0, None, None, (), 0, 0, 0, 0, None)]
            node.heard.append(lambda node, message: film._heard(node, message, world.now))
            node.stepped.append(lambda node: film.see(node, world.now))
        return film

    def moment(self, node: int, at: int) -> NodeMoment:
        moments = self.nodes[node]
        return moments[max(0, bisect_right(moments, at, key=lambda it: it.at) - 1)]

    def between(self, first: int, last: int) -> list[tuple[int, FilmedMessage]]:
        """The messages that were on their way at some time between these, with their numbers."""
        return [
            (number, message)
            for number, message in enumerate(self.messages)
            if message.sent <= last and (message.came or message.sent) >= first
        ]

    def add(self, at: int, kind: str, words: str, *nodes: int) -> None:
        """Events are kept in the order of time, also those that are reported late."""
        insort(self.events, QuorumEvent(at, kind, nodes, words), key=lambda event: event.at)

    def see(self, node: QuorumNode, at: int) -> None:
        """Keep the moment of a node, if it is another one than the last."""
        last = self.nodes[node.id][-1]
        now = moment_of(node, at, last)
        if now._replace(at=0) == last._replace(at=0):
            return
        self.nodes[node.id].append(now)
        for kind, words, nodes in told(node.id, last, now):
            self.add(at, kind, words, *nodes)

    def _sent(self, source: int, message: RaftMessage, at: int, due: int | None) -> None:
        body = message.body
        if isinstance(body, VoteResponse) and body.error is ErrorCode.none and not body.granted:
            words = refused(source, message.peer, self.nodes[source][-1])
            self.add(at, "refused", words, source, message.peer)
        filmed = FilmedMessage(source, message.peer, message.body, at, due)
        self.messages.append(filmed)
        if due is not None:
            key = source, message.peer, message.id, type(message.body)
            self._underway.setdefault(key, []).append(filmed)

    def _heard(self, node: QuorumNode, message: RaftMessage, at: int) -> None:
        key = message.peer, node.id, message.id, type(message.body)
        if node.client is None:
            return  # nobody is there to hear it
        if waiting := self._underway.pop(key, []):
            waiting[0].came = at
            if waiting[1:]:
                self._underway[key] = waiting[1:]
