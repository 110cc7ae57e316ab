"""A run that a view can replay: a live cluster, a recording, or a trace of the simulator.

    states   s1     s2   s3           s4   s5          the state at each moment
    events     e1     e2 e3            e4              the events between them
    time     ──┴──────┴──┴─────────────┴───┴────>      ms since 1970

The first state after event e1 is s2; `seen` returns its time. A live run stores each state that
differs from the one before, up to a limit (then it drops every other one, but none beside an
event). Snapshots share the objects that did not change between them, so storing them is cheap.

All views of a cluster share one live run: what one has asked for a moment ago is new enough for the
others, and when it brings news (a kill, an election) they are woken to draw it. Once a view is
displayed, the run is recorded until the cluster has ended, whether a view is on the screen or not.
A time without a poll, as while the computer sleeps, is a gap. If the cluster cannot be asked for a
while, the run is `stale`: its pictures say so, and it is asked again.
"""

import threading
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, runtime_checkable
from weakref import WeakSet, WeakValueDictionary

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from engine.errors import ApiException
from widgets import background
from widgets.story import DEATHS, Story, StoryLine
from widgets.time_axis import Axis, axis

MOST = 18_000_000  # bytes kept, in all states together, about
STATE, ENTRY, CHANGED = 1_700, 40, 1_400  # bytes: of a state, for each partition, if it changed
FEWEST = 100  # states, for any number of partitions
BESIDE = 2  # states on each side of an event that are kept
EVENTS = 100_000  # kept
RECORD = 0.5  # seconds between two polls while no view is on the screen
FRESH = 0.04  # seconds: what another view has got is not asked for again
GAP = 5_000  # ms without a poll: what happened meanwhile was not watched
PASSING = (OSError, ApiException)  # errors of a poll that may be over by the next one
ROUTINE = frozenset({"request", "offset.committed", "segment.rolled"})  # events at idle times, too


class Film(Protocol):
    """The common interface of a recording and a trace."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def at(self, time: int) -> ClusterState: ...
    def events(self, after: int = 0) -> list[ClusterEvent]: ...


class Woken(Protocol):
    def wake(self) -> None: ...


@runtime_checkable
class Stepwise(Protocol):
    """A film with steps of its own, and more information than events."""

    steps: list[int]

    def lines(self) -> list[StoryLine]: ...


class RunSource:
    """A finished or simulated run."""

    live = False
    gaps: Sequence[tuple[int, int]] = ()  # from, until: not recorded
    stale = ""  # why nothing newer is known; "": the last poll was answered

    def __init__(self, film: Film) -> None:
        self.film = film
        self.story = Story()
        self.story.add(film.events())
        if isinstance(film, Stepwise):
            told = [*self.story.lines, *film.lines()]
            self.story.lines = sorted(told, key=lambda line: line.at)
        states: Iterable[ClusterState] = film if isinstance(film, Iterable) else ()
        self._times = [state.at for state in states] or [line.at for line in self.story.lines]
        own = film.steps if isinstance(film, Stepwise) else []
        self._busy = sorted([*busy(film.events()), *own])

    @property
    def start(self) -> int:
        return self.film.start

    @property
    def end(self) -> int:
        return self.film.end

    def at(self, time: int) -> ClusterState:
        return self.film.at(time)

    def axis(self, x: float = 0, width: float = 1) -> Axis:
        """All of its time, on a line."""
        return axis(self.start, self.end, self.live, x, width, self._busy)

    def poll(self, by: object = None) -> bool:
        """Record what is new; returns whether more may come later. `by`: the view that asks."""
        return False

    def listen(self, view: "Woken") -> None:
        """Wake this view at news that another one has brought."""

    def events(self, after: int) -> list[ClusterEvent]:
        """The events behind the one with this number, as far as they were recorded."""
        return []

    def is_gap(self, time: int) -> bool:
        return any(began < time < ended for began, ended in self.gaps)

    def between(self, after: int, until: int) -> list[ClusterState]:
        """The states between two times, and the one before."""
        times = self._times[bisect_right(self._times, after) : bisect_right(self._times, until)]
        return [self.at(time) for time in (after, *times)]

    def seen(self, time: int) -> int:
        """The time of the first state after an event."""
        place = bisect_left(self._times, time)
        return max(self._times[place], time) if place < len(self._times) else time

    def moments(self) -> list[int]:
        """The times of events; in a simulated run, also of messages."""
        if isinstance(self.film, Stepwise):
            return self.film.steps
        return sorted({self.seen(line.at) for line in self.story.lines} | {self.start, self.end})


class LiveRun(RunSource):
    """The run of a live cluster."""

    live = True
    _shared: ClassVar[WeakValueDictionary[int, "LiveRun"]] = WeakValueDictionary()

    @classmethod
    def of(cls, cluster: Any) -> "LiveRun":
        """The one that all views of a cluster share."""
        found = cls._shared.get(id(cluster))  # which lives as long as its run
        if found is None:
            found = cls._shared[id(cluster)] = cls(cluster)
        return found

    def __init__(self, cluster: Any) -> None:
        self.cluster = self.film = cluster
        self.story = Story()
        self.gaps: list[tuple[int, int]] = []
        self.lock = threading.RLock()
        self._events: list[ClusterEvent] = []
        self._states: list[ClusterState] = []
        self._times: list[int] = []
        self._bytes = 0  # of the states, about
        self._busy: list[int] = []
        self._now = 0
        self._over = self._ended = False
        self._records = False
        self._views: WeakSet[Woken] = WeakSet()
        self._polling = threading.Lock()
        self._asked: tuple[float, object] = 0.0, None  # when a view asked, and which
        self._ask()

    def record(self) -> None:
        """Poll from time to time, until the cluster has ended."""
        with self.lock:
            if not self._records:
                self._records = True
                background.keep(self._keep_polling(), threading.Event(), "recorder of a cluster")

    def _keep_polling(self) -> background.Looks:
        try:
            while self.poll():
                yield RECORD
        except Exception as error:  # a bug of ours: the pictures say so, and the thread prints it
            self.stale = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._records = False

    @property
    def start(self) -> int:
        """When the view was opened: earlier events have no picture."""
        return self._times[0]

    @property
    def end(self) -> int:
        return self._now

    def at(self, time: int) -> ClusterState:
        return self._states[max(bisect_right(self._times, time) - 1, 0)]

    def events(self, after: int) -> list[ClusterEvent]:
        place = bisect_right(self._events, after, key=lambda event: event.number)
        return self._events[place:]

    def listen(self, view: Woken) -> None:
        self._views.add(view)

    def poll(self, by: object = None) -> bool:
        with self._polling:  # not the lock of the views: a broker that hangs delays no click
            if self._has_just_told(by):
                return not self._ended
            try:
                news = self._ask()
            except PASSING as error:  # a connection, or a time-out: the next poll may do better
                news, self.stale = False, str(error) or type(error).__name__
            else:
                self.stale = ""
            self._asked = time.monotonic(), by
        for view in list(self._views) if news else ():
            if view is not by:
                view.wake()
        return not self._ended

    def _ask(self) -> bool:
        """Whether there was news: more than offsets that move."""
        number = self._events[-1].number if self._events else 0
        state, events = self.cluster.state(), self.cluster.events(number)
        with self.lock:
            self._take(state, events)
        return bool(busy(events))

    def _has_just_told(self, by: object) -> bool:
        asked, who = self._asked
        return who is not by and time.monotonic() - asked < FRESH

    def _take(self, state: ClusterState, new: list[ClusterEvent]) -> None:
        self.story.add(new)
        self._events += new
        del self._events[:-EVENTS]
        for at in busy(new):
            insort(self._busy, at)
        if self._now and state.at - self._now > GAP:
            self.gaps.append((self._now, state.at))
            for at in self.gaps[-1]:
                insort(self._busy, at)
        self._now = max(state.at, self._now)
        if not self._states or not same(self._states[-1], state):
            self._bytes += size(state, self._states[-1] if self._states else None)
            self._states.append(state)
            self._times.append(state.at)
            if self._bytes > MOST and len(self._states) > FEWEST:
                self._thin()
        was, self._over = self._over, over(state, self.story)
        self._ended = was and self._over  # two polls, since the event of a kill follows the kill

    def _thin(self) -> None:
        """Drop every other state, but first of those in which only offsets have moved."""
        last = len(self._states) - 1
        kept = {0, last}
        for at in self._busy:
            place = bisect_left(self._times, at)
            kept.update(range(place - BESIDE, place + BESIDE))
        others = [place for place in range(last) if place not in kept]
        if len(others) < last // 2:  # there is an event almost everywhere
            others = list(range(1, last))
        dropped = set(others[::2])
        left = [place for place in range(last + 1) if place not in dropped]
        self._states = [self._states[place] for place in left]
        self._times = [self._times[place] for place in left]
        before = [None, *self._states[:-1]]
        self._bytes = sum(map(size, self._states, before))


def busy(events: Iterable[ClusterEvent]) -> list[int]:
    """The times at which something happened."""
    return [event.at for event in events if event.kind not in ROUTINE]


def size(state: ClusterState, before: ClusterState | None) -> int:
    """Bytes of a state, about: it shares the partitions that have not changed since the one
    before. bench/views.py measures them."""
    was = before.partitions if before else {}
    if state.partitions is was:
        return STATE
    changed = sum(each is not was.get(it) for it, each in state.partitions.items())
    return STATE + ENTRY * len(state.partitions) + CHANGED * changed


def same(one: ClusterState, other: ClusterState) -> bool:
    """Whether only the clocks have changed."""
    return (
        one.partitions is other.partitions
        and one.groups is other.groups
        and one.transactions is other.transactions
        and (one.controller, one.links, one.zookeepers, one.controllers)
        == (other.controller, other.links, other.zookeepers, other.controllers)
        and _timeless(one) == _timeless(other)
    )


def _timeless(state: ClusterState) -> list[Any]:
    return [
        (number, replace(broker, at=0, connections=0)) for number, broker in state.brokers.items()
    ]


def over(state: ClusterState, story: Story) -> bool:
    """The cluster was stopped: no broker is up, and for some broker there is no event of its
    end."""
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
