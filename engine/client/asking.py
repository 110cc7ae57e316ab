"""How what decides speaks to what sends: cores ask, the network answers.

    core  --- step(now, view) -> Ask, Ask, Ask --->  network  --->  brokers
    core  <-- answered(ask, response, now) --------  network  <---
          <-- failed(ask, error, now) -------------

A core is a part of a client that decides: the view of the cluster, a producer's sender, a
consumer's fetcher, a group's member. It has no socket, thread or clock. The network (network.py)
is all of these, and decides nothing.

Invariant: each ask comes back exactly once, by `answered` or by `failed`, unless all is closed.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

ANY = -1  # whichever broker there is
UNSENT = ErrorCode.broker_not_available  # the error of an ask that never left this machine


class Ask(NamedTuple):
    """One request to one broker."""

    to: int  # the broker's id, or ANY
    api: Api
    request: Any  # in the newest version that `api` has; the network agrees on one with the broker
    about: Any = None  # the core's own note: it comes back with the answer
    answered: bool = True  # False if there is no answer to come: a Produce with acks=0
    timeout: float | None = None  # seconds to wait for the answer, if not request.timeout.ms
    lane: str = ""  # asks of different lanes have own connections, and never wait for one another


class Core(Protocol):
    """Every call is made under the network's lock; `now` is in seconds, of a clock that only rises.

    Whoever else changes a core holds that lock too, and wakes the network if it has to act on it.
    """

    def step(self, now: float, view: Any) -> Iterable[Ask]:
        """What to ask now. Called whenever something has happened, or is due.

        The View is a core itself, and the one that all others are shown.
        """
        ...

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        """The response, in the newest shape; None for an ask without answer, once it is sent."""
        ...

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        """There will be no answer. Unless the code is UNSENT, it may have been done or not."""
        ...

    def due(self) -> float | None:
        """When to call `step` again if nothing happens until then."""
        ...
