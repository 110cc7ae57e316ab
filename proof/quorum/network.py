"""The network between the nodes of a quorum: each message travels alone.

    send ──> lost, or doubled ──> late by a random delay ──> received, unless the way is cut
             or the receiver has started anew meanwhile

This is harsher than TCP, which keeps the order and breaks a connection: whatever survives here
survives there. A way is one direction between two nodes.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from engine.model import Callbacks
from engine.raft.messages import RaftMessage
from engine.sim.clock import Clock

USUAL_MS = (1, 5)  # the delay of a message


class RaftWay(NamedTuple):
    """What happens to the messages in one direction."""

    delay_ms: tuple[int, int] = USUAL_MS
    loss: float = 0.0  # the probability that a message is lost
    doubling: float = 0.0  # ... that it comes twice
    is_cut: bool = False


SOUND_WAY = RaftWay()
Lives = tuple[int, int]  # how often the sender and the receiver had been started when it was sent
Received = Callable[[int, RaftMessage, Lives], None]  # from, what with the receiver as its peer


class RaftNetwork:
    def __init__(
        self, clock: Clock, random: Random, received: Received, usual: RaftWay = SOUND_WAY
    ) -> None:
        self.ways: dict[tuple[int, int], RaftWay] = {}  # those with a fault
        # From whom, and the delay; None: it is lost on its way.
        self.sent = Callbacks[[int, RaftMessage, int | None]]()
        self._usual = usual
        self._clock = clock
        self._random = random
        self._received = received

    def cut(self, one: int, other: int) -> None:
        """In both directions; `ways.clear()` heals all."""
        self.ways[one, other] = self.ways[other, one] = RaftWay(is_cut=True)

    def send(self, source: int, message: RaftMessage, lives: Lives) -> None:
        way = self.ways.get((source, message.peer), self._usual)
        if way.is_cut or (way.loss and self._random.random() < way.loss):
            self.sent(source, message, None)
            return
        doubled = way.doubling and self._random.random() < way.doubling
        for _ in range(2 if doubled else 1):
            shortest, longest = way.delay_ms
            delay = shortest + int(self._random.random() * (longest - shortest + 1))
            self.sent(source, message, delay)
            self._clock.after(delay, self._arrive, source, message, lives)

    def _arrive(self, source: int, message: RaftMessage, lives: Lives) -> None:
        if not self.ways.get((source, message.peer), SOUND_WAY).is_cut:
            self._received(source, message, lives)
