"""A network that carries messages between named nodes, with the faults that a test asks for.

    node 1                        way 1->2: delay, loss, cut                       node 2
    End.send ──> in flight ─────────────────────────────────> inbox ──> End.received
    End.received <── inbox <──────────────────────────────── in flight <── End.send

It behaves like TCP, which brokers use:

- The messages of a connection arrive in order and without gaps. TCP would send a lost message
  again; here the direction carries nothing after it, and `patience` later both ends get `broken`.
- A way is one direction between two nodes. On a cut way messages wait. If it is healed in time,
  they arrive, in order; otherwise both ends get `broken`, as above.
- When a node dies, its kernel closes its sockets: its peers get `broken` after one message delay.
  So does a node that connects to one that does not listen, or that refuses the port.

On a way that is not `ordered`, each message travels alone: it may overtake others, or be lost.

Invariant: an end gets `broken` at most once, and nothing after it; a closed end gets nothing.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Any, NamedTuple

from engine.sim.clock import Clock

UNACKNOWLEDGED_MS = 30_000  # until a connection breaks that cannot deliver a message
LOST = -1  # in place of a time of arrival

Carried = Callable[[str, str, Any, int], object]  # from, to, what, when it arrives


class Port(NamedTuple):
    """Where a node listens. Messages have no bytes that TLS could protect, so the listener's name
    stands for the way in which both ends must speak."""

    listener: str
    number: int


class Signal(Enum):
    """TCP's own messages."""

    OPEN = "open"
    CLOSE = "close"


class Way:
    """One direction between two nodes."""

    __slots__ = ("cut", "delay", "inboxes", "loss", "ordered")

    def __init__(self, delay: tuple[int, int]) -> None:
        self.delay = delay  # ms, shortest and longest
        self.loss = 0.0  # the probability that a message is lost
        self.ordered = True
        self.cut = False
        self.inboxes: list[End] = []  # whose messages wait until the way is healed


class End:
    """One end of a connection. Its node sets `received` and `broken`."""

    def __init__(
        self, network: "Network", node: str, way: Way, out: Way, port: Port | None = None
    ) -> None:
        self.node = node
        self.port = port  # that was called; None: whichever there is
        self.received: Callable[[Any], object] = _ignore
        self.broken: Callable[[], object] = _ignore
        self.alive = True
        self._network = network
        self._peer = self
        self._way, self._out = way, out
        self._last = 0  # when the last message so far arrives
        self._inbox: deque[Any] = deque()
        self._taken = 0  # how many messages were taken out of it
        self._stuck = False  # a message to it was lost, so nothing follows

    def send(self, message: Any) -> None:
        """Without effect if the connection is broken."""
        if self.alive:
            self._network._carry(self._peer, message)

    def close(self) -> None:
        """The peer gets `broken` after all messages that were sent before."""
        if self.alive:
            self._network._carry(self._peer, Signal.CLOSE)
            self.alive = False


class Network:
    def __init__(
        self,
        clock: Clock,
        random: Random,
        delay: tuple[int, int] = (1, 1),
        patience: int = UNACKNOWLEDGED_MS,
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
        """`accept` gets the node's end of each connection that another node opens."""
        self._listening[node] = accept

    def ignore(self, node: str) -> None:
        """The node accepts no more connections."""
        self._listening.pop(node, None)

    def kill(self, node: str) -> None:
        """Close all connections of a node; it gets nothing more, and its peers get `broken`."""
        self.ignore(node)
        for end in self._ends.pop(node, ()):
            end.close()

    def connect(self, source: str, target: str, port: Port | None = None) -> End:
        """Usable at once; if the target does not listen, it breaks after a delay."""
        to, back = self.way(source, target), self.way(target, source)
        end, other = End(self, source, back, to), End(self, target, to, back, port)
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
        """The ways of this pair, of one node, or all; messages that waited arrive now."""
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
        for note in self.carried:
            note(to._peer.node, to.node, message, LOST if lost else arrival)
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
                self._end(end)
            else:
                end.received(message)

    def _wait(self, end: End) -> None:
        if end not in end._way.inboxes:
            end._way.inboxes.append(end)
            self._clock.after(self._patience, self._break_if_stuck, end, end._taken)

    def _break_if_stuck(self, end: End, taken: int) -> None:
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
            self._end(each)

    def _end(self, end: End) -> None:
        if end.alive:
            end.alive = False
            end.broken()


def _ignore(*_: object) -> None:
    """For an end whose node has set no function."""
