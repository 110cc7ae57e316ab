"""A run that can be looked at again: a live cluster, a recording, or a simulator's trace.

    states   s1     s2   s3           s4   s5          the picture of each moment
    events     e1     e2 e3            e4              what happened between them
    time     ──┴──────┴──┴─────────────┴───┴────>      ms since 1970

What happened at e1 is seen first in s2: `seen` says when. A live run remembers as it is watched:
each state that differs from the one before, at most so many (then every other one is forgotten).
Snapshots share what did not change between them, so remembering is cheap.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from engine.cluster.state import ClusterState, Status
from engine.cluster.stream import Happened
from widgets.story import DEATHS, Line, Story

MOST = 240_000  # partitions remembered, all states taken together
FEWEST = 100  # states, however many partitions


class Film(Protocol):
    """What a recording and a trace have in common."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def at(self, time: int) -> ClusterState: ...
    def events(self, after: int = 0) -> list[Happened]: ...


@runtime_checkable
class Stepwise(Protocol):
    """A film that is gone through in steps of its own, and tells more than events can."""

    steps: list[int]

    def lines(self) -> list[Line]: ...


class Reel:
    """A run that is over, or made up."""

    live = False

    def __init__(self, film: Film) -> None:
        self.film = film
        self.story = Story()
        self.story.add(film.events())
        if isinstance(film, Stepwise):
            told = [*self.story.lines, *film.lines()]
            self.story.lines = sorted(told, key=lambda line: line.at)
        states: Iterable[ClusterState] = film if isinstance(film, Iterable) else ()
        self._times = [state.at for state in states] or [line.at for line in self.story.lines]

    @property
    def start(self) -> int:
        return self.film.start

    @property
    def end(self) -> int:
        return self.film.end

    def at(self, time: int) -> ClusterState:
        return self.film.at(time)

    def look(self) -> bool:
        """Whether there may be something new the next time."""
        return self.take(self.ask())

    def ask(self) -> "News | None":
        """What is new. It may take its time, and changes nothing."""
        return None

    def take(self, news: "News | None") -> bool:
        """Remember it."""
        return False

    def between(self, after: int, until: int) -> list[ClusterState]:
        """The states of a while, and the one that it began with."""
        times = self._times[bisect_right(self._times, after) : bisect_right(self._times, until)]
        return [self.at(time) for time in (after, *times)]

    def seen(self, time: int) -> int:
        """When what happened at a time is in the picture."""
        place = bisect_left(self._times, time)
        return max(self._times[place], time) if place < len(self._times) else time

    def moments(self) -> list[int]:
        """Where something happened; in a simulator's run, each message that was sent is that."""
        if isinstance(self.film, Stepwise):
            return self.film.steps
        return sorted({self.seen(line.at) for line in self.story.lines} | {self.start, self.end})


class News(NamedTuple):
    state: ClusterState
    events: list[Happened]


class Live(Reel):
    """A cluster that goes on."""

    live = True

    def __init__(self, cluster: Any) -> None:
        self.cluster = self.film = cluster
        self.story = Story()
        self._number = 0  # of the last event that is told
        self._states: list[ClusterState] = []
        self._times: list[int] = []
        self._now = 0
        self._over = False
        self.look()

    @property
    def start(self) -> int:
        """When we began to look: of earlier days there are words, but no picture."""
        return self._times[0]

    @property
    def end(self) -> int:
        return self._now

    def at(self, time: int) -> ClusterState:
        return self._states[max(bisect_right(self._times, time) - 1, 0)]

    def ask(self) -> "News":
        return News(self.cluster.state(), self.cluster.events(self._number))

    def take(self, news: "News | None") -> bool:
        assert news is not None
        state, events = news
        if events:
            self._number = events[-1].number
            self.story.add(events)
        self._now = max(state.at, self._now)
        if not self._states or not same(self._states[-1], state):
            self._states.append(state)
            self._times.append(state.at)
            if len(self._states) > max(MOST // (len(state.partitions) + 1), FEWEST):
                del self._states[1:-1:2], self._times[1:-1:2]
        was, self._over = self._over, over(state, self.story)
        return not (was and self._over)  # twice: the event of a kill follows the kill


def same(one: ClusterState, other: ClusterState) -> bool:
    """But for the clocks."""
    return (
        one.partitions is other.partitions
        and one.groups is other.groups
        and one.transactions is other.transactions
        and (one.controller, one.links) == (other.controller, other.links)
        and _timeless(one) == _timeless(other)
    )


def _timeless(state: ClusterState) -> list[Any]:
    return [
        (number, replace(broker, at=0, connections=0)) for number, broker in state.brokers.items()
    ]


def over(state: ClusterState, story: Story) -> bool:
    """The cluster was stopped: nobody is up, and of somebody no event tells why."""
    if any(broker.status is not Status.DOWN for broker in state.brokers.values()):
        return False
    fates = [story.last_word(number, state.at) for number in state.brokers]
    return any(fate is None or fate.kind not in DEATHS for fate in fates)


def alive(state: ClusterState) -> list[int]:
    return [
        number
        for number, broker in state.brokers.items()
        if broker.status is Status.UP and broker.answers
    ]
