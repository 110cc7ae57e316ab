"""The controller in a broker: its requests are sent to ZooKeeper and to the brokers.

    events ──> queue ──> Controller.handle ──> requests ──> ZooKeeper
                 ^             │    ^              │            │
                 │          outbox  └── answers ───│────────────┤
                 │             v                   │            │
                 └───────── Channels ──> brokers   └── watches ─┘

Every broker has one, because every broker may become the controller. One event is handled to its
end before the next one begins. After a lost connection to ZooKeeper a request is sent again. When
the session is over, the event is abandoned: another broker may be the controller by then.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from engine.broker.controller_channels import ControllerChannels, Spawn
from engine.broker.peer import Connect
from engine.controller.controller import Controller
from engine.controller.events import ControllerEvent
from engine.errors import ApiException, ErrorCode, MetadataUnavailable
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.requests import Ask

log = logging.getLogger(__name__)


class SessionOver(Exception):
    """The session with ZooKeeper in which an event was begun is over."""


class ControllerService:
    def __init__(
        self,
        controller: Controller,
        zookeeper: ZookeeperClient,
        connect: Connect,
        spawn: Spawn,
        timeout_s: float,
    ) -> None:
        self.controller = controller
        self._zookeeper = zookeeper
        self._channels = ControllerChannels(controller, connect, self.note, spawn, timeout_s)
        self._events: asyncio.Queue[tuple[ControllerEvent, asyncio.Future[Any] | None]] = (
            asyncio.Queue()
        )
        self.handled: list[Callable[[], None]] = []  # called after each event
        self._busy = True  # until the first event has been handled
        self._session = 0  # how many have ended
        self.connected = asyncio.Event()  # to ZooKeeper
        self.disconnected = asyncio.Event()  # the opposite
        self.disconnected.set()

    @property
    def is_settled(self) -> bool:
        """No event waits, and this broker has answered all of its own controller's requests."""
        idle = self._channels.is_idle(self.controller.broker_id)
        return idle and not self._busy and self._events.empty()

    def note(self, event: ControllerEvent) -> None:
        """Handle an event after those that wait."""
        self._events.put_nowait((event, None))

    async def ask(self, event: ControllerEvent) -> Any:
        """Handle an event, and return the result. Only the active controller does that."""
        if not self.controller.active:
            raise ApiException(
                ErrorCode.not_controller, f"the controller is broker {self.controller.leader_id}"
            )
        result = asyncio.get_running_loop().create_future()
        self._events.put_nowait((event, result))
        return await result

    def set_connected(self, is_connected: bool) -> None:
        """To ZooKeeper."""
        now, before = self.connected, self.disconnected
        if not is_connected:
            now, before = before, now
        before.clear()
        now.set()

    def expired(self) -> None:
        """The session with ZooKeeper is over, and with it the role of controller."""
        self._session += 1
        self.set_connected(False)
        self.controller.expired()
        self._channels.close()
        while not self._events.empty():
            _, result = self._events.get_nowait()
            _fail(result)

    # -- events, one after the other -----------------------------------------------------

    async def run(self) -> None:
        while True:
            event, result = await self._events.get()
            self._busy = True
            try:
                outcome = await self._carry_out(event)
            except SessionOver:
                log.info("the session is over; abandoned: %s", type(event).__name__)
                _fail(result)
                self._busy = False
            else:
                if result is not None and not result.done():
                    result.set_result(outcome)
                self._busy = False
                for listener in self.handled:
                    listener()

    async def _carry_out(self, event: ControllerEvent) -> Any:
        work = self.controller.handle(event)
        answers: Sequence[Any] | None = None
        try:
            while True:
                asks = work.send(answers)  # type: ignore[arg-type]  # the first time it is None
                self._post()
                answers = await self._answers(asks)
        except StopIteration as end:
            self._post()
            return end.value
        finally:
            work.close()

    def _post(self) -> None:
        if self.controller.active:
            self._channels.post()
        else:
            self._channels.close()

    async def _answers(self, asks: Sequence[Ask]) -> Sequence[Any]:
        session = self._session
        while True:
            try:
                answers = await self._zookeeper.ask(asks, self.note)
            except MetadataUnavailable as error:
                log.info("ZooKeeper did not answer (%r): sending again", error)
                await self.connected.wait()
                answers = None
            if self._session != session:
                raise SessionOver
            if answers is not None:
                return answers


def _fail(result: "asyncio.Future[Any] | None") -> None:
    if result is not None and not result.done():
        result.set_exception(
            ApiException(
                ErrorCode.not_controller, "this broker has just stopped being the controller"
            )
        )
