"""One stream of events, merged from those of the brokers and the cluster's own.

    broker 1:   1 2 3 | 4 5        a broker numbers its events, from 1 after each start;
    broker 2:   1 2 | 3            the stream has its own numbers, which only grow
    cluster:    killed 2
    ────────────────────────────
    stream:     1 2 3 4 5 6 7 ...

Events that are collected together are sorted by their time, each by its broker's own clock; a wrong
clock never changes the order within a broker.

Invariant: no event is twice in the stream. If a broker has dropped events before they were
collected, an event of kind "events.lost" says how many.
"""

import heapq
from collections import deque
from itertools import islice
from typing import Any, NamedTuple

from engine.broker.frames import IN_A_LAB, NAMES, Frames

KEPT = 100_000


class ClusterEvent(NamedTuple):
    kind: str  # as in engine.model.Event
    at: int  # by the clock of the process that reports it, ms since 1970
    broker: int | None  # the broker that reports it; None: the cluster itself
    data: dict[str, Any]
    number: int = 0  # its place in the stream; the first is 1


class EventStream:
    def __init__(self) -> None:
        self.total = 0
        self._kept: deque[ClusterEvent] = deque(maxlen=KEPT)
        self._last: dict[tuple[int, int], int] = {}  # (broker, start) -> its last event we have
        self._collected: list[list[ClusterEvent]] = []
        self._frames = Frames(IN_A_LAB)

    def last_of(self, broker: int, start: int) -> int:
        """The broker's own number of the last of its events that we have."""
        return self._last.get((broker, start), 0)

    def update(self, broker: int, start: int, answer: dict[str, Any]) -> None:
        """Take a broker's response to `events`; `start` counts its starts."""
        run = [ClusterEvent(kind, at, broker, data) for kind, at, data in answer["events"]]
        if answer["lost"]:
            at = run[0].at if run else 0
            run.insert(0, ClusterEvent("events.lost", at, broker, {"count": answer["lost"]}))
        self._last[broker, start] = answer["last"]
        self._collected.append(run)

    def note(self, happened: ClusterEvent) -> None:
        """Add an event of the cluster itself."""
        self._collected.append([happened])

    def merge(self) -> None:
        """Number what was collected since the last merge."""
        runs, self._collected = self._collected, []
        for happened in heapq.merge(*runs, key=lambda each: each.at):
            self.total += 1
            if NAMES[0] in happened.data:
                self._frames.keep(happened.data)
            self._kept.append(happened._replace(number=self.total))

    def after(self, number: int) -> list[ClusterEvent]:
        """The events after that number, as far as they are still kept; 0: from the first."""
        forgotten = self.total - len(self._kept)
        return list(islice(self._kept, max(number - forgotten, 0), None))
