"""The cores of a client in the simulated cluster: what decides in our Producer and Consumer.

    cores    step ──> requests ──> brokers        after each response, each failure, each act()
               ^                      │           and when `due` says so
               └──── answered, failed ┘

Left out: lanes. Each request has a connection of its own, and waits for no other.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Any

from engine.client.core import ANY, Ask, Core
from engine.client.metadata import MetadataView
from engine.errors import ApiException, ErrorCode
from engine.sim.client import Client
from engine.sim.clock import Timer


class SimulatedCores:
    def __init__(
        self,
        client: Client,
        view: MetadataView,
        cores: Sequence[Core],
        timeout: int,  # ms, of a request that has none of its own
        *,
        prepare: Callable[[Ask], Ask] = lambda ask: ask,  # called before it is sent
        seen: Callable[[Ask, Any], None] = lambda ask, response: None,
    ) -> None:
        self._client, self._process = client, client.process
        self._view = view
        self._cores: list[Core] = [view, *cores]
        self._timeout = timeout
        self._prepare, self._seen = prepare, seen
        self._turn = 0
        self._alarm: Timer | None = None

    @property
    def now(self) -> float:
        """Seconds, as the cores count."""
        return self._process.clock.now / 1000

    def act(self) -> None:
        for core in self._cores:
            for ask in core.step(self.now, self._view):
                self._send(core, ask)
        dues = [due for core in self._cores if (due := core.due()) is not None]
        if self._alarm is not None:
            self._alarm.cancel()
        if dues:
            left = max(1, ceil((min(dues) - self.now) * 1000))
            self._alarm = self._process.after(left, self.act)

    def _send(self, core: Core, ask: Ask) -> None:
        ask = self._prepare(ask)
        broker = self._any_broker() if ask.to == ANY else ask.to
        timeout = round(ask.timeout * 1000) if ask.timeout else self._timeout
        self._client.ask(broker, ask.request, partial(self._answered, core, ask), timeout)

    def _any_broker(self) -> int:
        """The brokers that would answer, in turn; if there are none, broker 1."""
        self._turn += 1
        brokers = self._client.brokers() or [1]
        return brokers[self._turn % len(brokers)]

    def _answered(self, core: Core, ask: Ask, response: Any) -> None:
        if response is None:
            error = ApiException(ErrorCode.network_exception, "the connection broke")
            core.failed(ask, error, self.now)
        else:
            self._seen(ask, response)
            core.answered(ask, response, self.now)
        self.act()
