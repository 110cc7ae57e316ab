"""What the client needs of each state, and the times that states draw at random."""

from collections.abc import Callable, Iterable
from typing import Protocol

from engine.raft.states import RaftEvent, RaftState

RandRange = Callable[[int], int]  # a random number from 0 up to this one, without it

BACKOFF_BASE_MS = 100  # of the backoff between two elections, which doubles each time
MOST_DOUBLINGS = 20


class RaftRole(Protocol):
    @property
    def state(self) -> RaftState: ...

    def tick(self, now: int) -> RaftEvent | None:
        """Send what is due. Returns the reason for another state, if there is one."""

    def deadlines(self) -> Iterable[int]:
        """When `tick` has something to do."""


def election_timeout(shortest_ms: int, randrange: RandRange) -> int:
    """Random, so that two voters rarely stand for election at the same time."""
    return shortest_ms + randrange(shortest_ms)


def election_backoff(retries: int, longest_ms: int, randrange: RandRange) -> int:
    """Before the next election of a candidate that was not elected `retries` times."""
    return min(BACKOFF_BASE_MS * randrange(2 << min(MOST_DOUBLINGS, retries - 1)), longest_ms)


def successor_backoff(position: int, count: int, longest_ms: int) -> int:
    """Before the election of a preferred successor: none for the first, double for the next."""
    if position == 0:
        return 0
    if position >= count:
        return longest_ms
    return min(longest_ms, (longest_ms >> (count - 1)) << (position - 1))
