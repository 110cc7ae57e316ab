"""The interface between the cores, which decide, and the network, which sends.

    core  --- step(now, view) -> Ask, Ask, Ask --->  network  --->  brokers
    core  <-- answered(ask, response, now) --------  network  <---
          <-- failed(ask, error, now) -------------

A core is a part of a client that decides: the view of the cluster, a producer's sender, a
consumer's fetcher, a group's member. It has no socket, thread or clock. The network (network.py)
has all of these, and decides nothing.

Invariant: for each ask, `answered` or `failed` is called exactly once, unless the client is closed.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from engine.client.address import Address
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api

ANY = -1  # any broker
UNSENT = ErrorCode.broker_not_available  # the error of an ask that was not sent


class Ask(NamedTuple):
    """One request to one broker."""

    to: int  # the broker's id, or ANY
    api: Api
    request: Any  # in the newest version that `api` has; the network agrees on one with the broker
    about: Any = None  # the core's own data: it comes back with the answer
    answered: bool = True  # False for a request without an answer: a Produce with acks=0
    at: Address | None = None  # instead of `to`: the broker at this address
    version: int | None = None  # instead of the newest that both sides serve
    timeout: float | None = None  # seconds to wait for the answer, if not request.timeout.ms
    lane: str = ""  # each lane has its own connection: requests of different lanes do not wait


class Core(Protocol):
    """All methods are called under the network's lock; `now` is in seconds, of a monotonic clock.

    Other code that changes a core holds that lock too, and wakes the network if it has to act.
    """

    def step(self, now: float, view: Any) -> Iterable[Ask]:
        """The requests to send now. Called after every event, and when `due` is over.

        `view` is the MetadataView, which is a core itself.
        """
        ...

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        """The response, in the newest shape; None for an ask without answer, once it is sent."""
        ...

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        """There will be no answer. Unless the code is UNSENT, it may have been carried out."""
        ...

    def due(self) -> float | None:
        """The time of the next `step` if nothing happens before."""
        ...
