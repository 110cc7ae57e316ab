"""One stream of what happened, out of those of the brokers and our own.

    broker 1:   1 2 3 | 4 5        a broker numbers its events, from 1 in each of its lives;
    broker 2:   1 2 | 3            the stream has numbers of its own, which only grow
    ourselves:  killed 2
    ────────────────────────────
    stream:     1 2 3 4 5 6 7 ...

What is collected at one time is ordered by the time at which it happened, by each broker's own
clock; a clock that goes wrong never changes the order within a broker.

Invariant: no event is twice in the stream. Of those that a broker has forgotten before they were
collected it is told how many they were (kind "events.lost").
"""

import heapq
from collections import deque
from itertools import islice
from typing import Any, NamedTuple

from engine.broker.frames import IN_A_LAB, NAMES, Frames

KEPT = 100_000


class Happened(NamedTuple):
    kind: str  # as in engine.model.Event
    at: int  # by the clock of who tells it, ms since 1970
    broker: int | None  # who tells it; None: the cluster itself, that is, we
    data: dict[str, Any]
    number: int = 0  # its place in the stream; the first is 1


class Stream:
    def __init__(self) -> None:
        self.total = 0
        self._kept: deque[Happened] = deque(maxlen=KEPT)
        self._next: dict[tuple[int, int], int] = {}  # (broker, life) -> its last that we have
        self._collected: list[list[Happened]] = []
        self._frames = Frames(IN_A_LAB)

    def last_of(self, broker: int, life: int) -> int:
        """The number, by the broker's own count, of the last of its events that are here."""
        return self._next.get((broker, life), 0)

    def told(self, broker: int, life: int, answer: dict[str, Any]) -> None:
        """A broker's answer to `events`."""
        run = [Happened(kind, at, broker, data) for kind, at, data in answer["events"]]
        if answer["lost"]:
            at = run[0].at if run else 0
            run.insert(0, Happened("events.lost", at, broker, {"count": answer["lost"]}))
        self._next[broker, life] = answer["last"]
        self._collected.append(run)

    def note(self, happened: Happened) -> None:
        """An event of our own."""
        self._collected.append([happened])

    def merge(self) -> None:
        """What was collected since the last time takes its place in the stream."""
        runs, self._collected = self._collected, []
        for happened in heapq.merge(*runs, key=lambda each: each.at):
            self.total += 1
            if NAMES[0] in happened.data:
                self._frames.keep(happened.data)
            self._kept.append(happened._replace(number=self.total))

    def after(self, number: int) -> list[Happened]:
        """What follows one, as far as it is still kept; 0 comes before the first."""
        forgotten = self.total - len(self._kept)
        return list(islice(self._kept, max(number - forgotten, 0), None))
