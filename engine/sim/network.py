"""A network of named nodes that carries messages between them, and fails as it is told to.

    node 1                        way 1->2: delay, loss, cut                       node 2
    End.send ──> in flight ─────────────────────────────────> inbox ──> End.received
    End.received <── inbox <──────────────────────────────── in flight <── End.send

The model is TCP's, for that is what brokers speak:

- On one connection nothing overtakes and nothing is missing. A lost message would be sent again
  and again; what is left of that is that nothing more gets through in its direction and that both
  ends hear, `patience` later, that the connection is broken.
- A cut way is a pulled cable: what arrives waits. Healed in time, it comes through, in order;
  otherwise the connection is broken, which both ends learn as above.
- A dead node's peers hear of it after one trip, as its kernel closes its sockets; so does who
  calls a node that does not listen.

A way that is not `ordered` carries each message by itself: it may overtake, and be lost alone.

Invariant: an end hears `broken` at most once, and nothing after it; one that closed hears nothing.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Any

from engine.sim.clock import Clock

PATIENCE = 30_000  # ms
LOST = -1  # in place of a time of arrival

Carried = Callable[[str, str, Any, int], object]  # from, to, what, when it arrives


class Signal(Enum):
    """What TCP says to itself."""

    OPEN = "open"
    CLOSE = "close"


class Way:
    """From one node to another; the way back is another one."""

    __slots__ = ("cut", "delay", "inboxes", "loss", "ordered")

    def __init__(self, delay: tuple[int, int]) -> None:
        self.delay = delay  # ms: each message takes something in between
        self.loss = 0.0  # how likely a message is lost
        self.ordered = True
        self.cut = False
        self.inboxes: list[End] = []  # with messages that wait for it to be healed


class End:
    """One end of a connection, as its node has it. Its node says what is to be done at news."""

    def __init__(self, network: "Network", node: str, way: Way, out: Way) -> None:
        self.node = node
        self.received: Callable[[Any], object] = _nobody
        self.broken: Callable[[], object] = _nobody
        self.alive = True
        self._network = network
        self._peer = self
        self._way, self._out = way, out
        self._last = 0  # when the last message so far arrives
        self._inbox: deque[Any] = deque()
        self._taken = 0  # how many came out of it
        self._stuck = False  # a message to it was lost

    @property
    def peer(self) -> str:
        """The node at the other end."""
        return self._peer.node

    def send(self, message: Any) -> None:
        """Into a broken connection too: then nobody hears it."""
        if self.alive:
            self._network._carry(self._peer, message)

    def close(self) -> None:
        """The peer hears `broken` when it has received all that was sent before."""
        if self.alive:
            self._network._carry(self._peer, Signal.CLOSE)
            self.alive = False


class Network:
    def __init__(
        self,
        clock: Clock,
        random: Random,
        delay: tuple[int, int] = (1, 1),
        patience: int = PATIENCE,
    ) -> None:
        self._clock = clock
        self._random = random
        self.delay = delay
        self._patience = patience
        self.ways: dict[tuple[str, str], Way] = {}
        self._listening: dict[str, Callable[[End], object]] = {}
        self._ends: dict[str, list[End]] = {}
        self.carried: list[Carried] = []  # called with each message, as it is sent

    def listen(self, node: str, accept: Callable[[End], object]) -> None:
        """The node is up, and is given its end of each connection that another opens."""
        self._listening[node] = accept

    def kill(self, node: str) -> None:
        """The node is gone and hears nothing more. Its peers hear that it is."""
        self._listening.pop(node, None)
        for end in self._ends.pop(node, ()):
            end.close()

    def connect(self, source: str, target: str) -> End:
        """To be used at once; if nobody listens there it is broken soon."""
        to, back = self.way(source, target), self.way(target, source)
        end, other = End(self, source, back, to), End(self, target, to, back)
        end._peer, other._peer = other, end
        for each in (end, other):
            others = [known for known in self._ends.get(each.node, ()) if known.alive]
            self._ends[each.node] = [*others, each]
        self._carry(other, Signal.OPEN)
        return end

    def way(self, source: str, target: str) -> Way:
        """Its delay, loss and order may be changed at any time."""
        way = self.ways.get((source, target))
        if way is None:
            way = self.ways[source, target] = Way(self.delay)
        return way

    def cut(self, one: str, other: str, *, both: bool = True) -> None:
        self.way(one, other).cut = True
        if both:
            self.way(other, one).cut = True

    def heal(self, one: str | None = None, other: str | None = None) -> None:
        """Of this pair, of all that one node has, or everywhere; what waited arrives now."""
        for pair, way in self.ways.items():
            if {one, other} - {None} <= set(pair):
                way.cut, way.delay, way.loss, way.ordered = False, self.delay, 0.0, True
                for end in way.inboxes:
                    self._clock.after(0, self._hand_over, end)
                way.inboxes.clear()

    def _carry(self, to: End, message: Any) -> None:
        way, random = to._way, self._random
        shortest, longest = way.delay
        delay = shortest
        if shortest < longest:  # as randint would, but quicker
            delay += int(random.random() * (longest - shortest + 1))
        arrival = max(self._clock.now + delay, to._last)
        lost = way.loss > 0 and random.random() < way.loss
        if way.ordered or isinstance(message, Signal):
            if to._stuck:
                return
            to._last, to._stuck = arrival, lost
            if lost:
                self._clock.after(self._patience, self._break, to)
        for tell in self.carried:
            tell(to._peer.node, to.node, message, LOST if lost else arrival)
        if not lost:
            self._clock.at(arrival, self._arrive, to, message)

    def _arrive(self, end: End, message: Any) -> None:
        end._inbox.append(message)
        self._hand_over(end)

    def _hand_over(self, end: End) -> None:
        while end._inbox and end.alive:
            if end._way.cut:
                return self._wait(end)
            message = end._inbox.popleft()
            end._taken += 1
            if message is Signal.OPEN:
                self._open(end)
            elif message is Signal.CLOSE:
                self._hang_up(end)
            else:
                end.received(message)

    def _wait(self, end: End) -> None:
        if end not in end._way.inboxes:
            end._way.inboxes.append(end)
            self._clock.after(self._patience, self._lose_patience, end, end._taken)

    def _lose_patience(self, end: End, taken: int) -> None:
        if end._taken == taken:
            self._break(end)

    def _open(self, end: End) -> None:
        accept = self._listening.get(end.node)
        if accept is None:
            end.close()
        else:
            accept(end)

    def _break(self, end: End) -> None:
        for each in (end, end._peer):
            self._hang_up(each)

    def _hang_up(self, end: End) -> None:
        if end.alive:
            end.alive = False
            end.broken()


def _nobody(*_: object) -> None:
    """A node that does not want to know."""
