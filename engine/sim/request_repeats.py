"""Requests that the simulated network delivers a second time, later.

    till ──EndTxn──> broker-2          done and answered as always
         ╌╌EndTxn╌╌> broker-2          a copy: it comes after a time, or by `deliver`

A client that gets no answer sends its request again, on another connection; the one that it had
given up may arrive after all. The copy has its own connection; nobody waits for its answer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.broker.handlers.results import codes_in
from engine.sim.clock import Clock
from engine.sim.network import Network
from engine.sim.serving import Produced
from engine.wire.apis import Api

LATE = "late-"  # before a client's name: the machine that a copy comes from


class KeptRequest(NamedTuple):
    api: Api
    source: str
    target: str
    request: Any
    answers: list[str]  # empty until it has come a second time


class RequestRepeats:
    def __init__(self, clock: Clock, network: Network, note: Callable[..., None]) -> None:
        self._clock, self._network, self._note = clock, network, note
        self._wanted: dict[str, tuple[Api, int | None]] = {}  # by the name of a request
        self._kept: list[KeptRequest] = []  # that come by `deliver`

    def repeat(self, api: Api, after: int | None) -> None:
        """Of the next request of this API; after so many ms, or by `deliver`."""
        if self._carried not in self._network.carried:
            self._network.carried.append(self._carried)
        self._wanted[api.name.title().replace("_", "")] = api, after

    def deliver(self) -> list[KeptRequest]:
        """All that were kept come now, each when the one before it is answered, as time passes."""
        kept, self._kept = self._kept, []
        self._send_all([*kept])
        return kept

    def _send_all(self, kept: list[KeptRequest]) -> None:
        if kept:
            self._send(kept[0], lambda: self._send_all(kept[1:]))

    def _carried(self, source: str, target: str, message: Any, arrives: int) -> None:
        match message:
            case (int(), request) if wanted := self._wanted.pop(_name(request), None):
                api, after = wanted
                copy = KeptRequest(api, source, target, request, [])
                if after is None:
                    self._kept.append(copy)
                else:
                    self._clock.after(after, self._send, copy, lambda: None)

    def _send(self, copy: KeptRequest, done: Callable[[], object]) -> None:
        end = self._network.connect(LATE + copy.source, copy.target)

        def received(message: tuple[int, Any]) -> None:
            answer = message[1]
            codes = {answer.code} if isinstance(answer, Produced) else codes_in(answer)
            names = sorted(code.name.upper() for code in codes)
            answered(", ".join(names) or "NONE")

        def answered(error: str) -> None:
            copy.answers.append(error)
            self._note("request.repeated", api=copy.api.name, error=error)
            end.close()
            done()

        end.received = received
        end.broken = lambda: answered("no connection")
        end.send((0, copy.request))


def _name(request: Any) -> str:
    """EndTxn, also of an EndTxnRequest; `Produce` is a short form of its own."""
    return type(request).__name__.removesuffix("Request")
