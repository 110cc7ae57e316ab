"""The controller's hands: its questions put to ZooKeeper, its requests sent to the brokers.

    events ──> queue ──> Controller.handle ──> questions ──> ZooKeeper
                 ^             │    ^              │            │
                 │          outbox  └── answers ───│────────────┤
                 │             v                   │            │
                 └───────── Channels ──> brokers   └── watches ─┘

Every broker has one, for every broker may become the controller. One event is carried out to its
end before the next is begun. A question that ZooKeeper could not be asked is asked again when it
is back; only when the session is over is all that was begun given up, for somebody else may be
the controller by then.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.exceptions import ConnectionLoss, SessionExpiredError

from engine.broker.channels import Channels, Spawn
from engine.controller.asks import Ask, Changed
from engine.controller.controller import Controller
from engine.controller.events import Began, Event
from engine.errors import ErrorCode, KafkaError
from engine.links import Links
from engine.zookeeper.client import ZookeeperClient

log = logging.getLogger(__name__)


class SessionOver(Exception):
    """What was begun in a session with ZooKeeper can't be ended in another."""


class Controlling:
    def __init__(
        self, controller: Controller, zookeeper: ZookeeperClient, links: Links, spawn: Spawn
    ) -> None:
        self.controller = controller
        self._zookeeper = zookeeper
        self._channels = Channels(controller, links, self.note, spawn)
        self._events: asyncio.Queue[tuple[Event, asyncio.Future[Any] | None]] = asyncio.Queue()
        self.handled: list[Callable[[], None]] = []  # called when an event was carried out
        self._busy = True  # until the first event has been handled
        self._session = 0  # grows with each that ended
        self._connected = asyncio.Event()

    @property
    def is_settled(self) -> bool:
        """Nothing is left to be decided, nor to be told to ourselves."""
        told = self._channels.has_told(self.controller.broker_id)
        return told and not self._busy and self._events.empty()

    def note(self, event: Event) -> None:
        """To be handled after what was noted before."""
        self._events.put_nowait((event, None))

    async def ask(self, event: Event) -> Any:
        """Have an event handled, and wait for what comes of it. Only the controller does that."""
        if not self.controller.active:
            raise KafkaError(
                ErrorCode.not_controller, f"the controller is broker {self.controller.leader_id}"
            )
        result = asyncio.get_running_loop().create_future()
        self._events.put_nowait((event, result))
        return await result

    # -- the session with ZooKeeper ------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        return self._connected.is_set()

    def connected(self) -> None:
        self._connected.set()

    def suspended(self) -> None:
        self._connected.clear()

    def began(self) -> None:
        """This broker is registered, in a session of which nothing is known here yet."""
        self.note(Began())

    def expired(self) -> None:
        """Our session is over, and with it whatever we were."""
        self._session += 1
        self._connected.clear()
        self.controller.expired()
        self._channels.close()
        while not self._events.empty():
            _, result = self._events.get_nowait()
            _give_up(result)

    # -- one event after the other -------------------------------------------------------

    async def run(self) -> None:
        while True:
            event, result = await self._events.get()
            self._busy = True
            try:
                outcome = await self._carry_out(event)
            except SessionOver:
                log.info("given up with the session: %s", type(event).__name__)
                _give_up(result)
                self._busy = False
            else:
                if result is not None and not result.done():
                    result.set_result(outcome)
                self._busy = False
                for tell in self.handled:
                    tell()

    async def _carry_out(self, event: Event) -> Any:
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
                answers = await self._zookeeper.answer(asks, self._changed)
            except (ConnectionLoss, SessionExpiredError) as error:
                log.info("ZooKeeper did not answer (%r): asking again", error)
                await self._connected.wait()
                answers = None
            if self._session != session:
                raise SessionOver
            if answers is not None:
                return answers

    def _changed(self, change: Changed) -> None:
        self.note(change)


def _give_up(result: "asyncio.Future[Any] | None") -> None:
    if result is not None and not result.done():
        result.set_exception(
            KafkaError(ErrorCode.not_controller, "this broker has just lost its office")
        )
