"""The controller's voice: its requests to the brokers, each broker's in order, none forgotten.

    outbox ──> broker 1: LeaderAndIsr, UpdateMetadata ...      one on the way, the rest behind it
          └──> broker 2: UpdateMetadata ...

A request that could not be delivered is sent again, for as long as the life of the broker that
it was meant for lasts: a broker that is slow to answer is still to be told, one whose session
has ended is not. What a broker answers is the controller's next event.

Invariant: a broker gets the requests of one controller in the order in which they were decided.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from engine.broker.peer import Peer
from engine.controller.controller import Controller, Request
from engine.controller.events import Answered
from engine.errors import ErrorCode
from engine.links import Links
from engine.wire.apis import Api
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest

log = logging.getLogger(__name__)

TIMEOUT = 30.0  # seconds for an answer, Kafka's controller.socket.timeout.ms
PAUSE = 0.1  # seconds until a request that was not delivered is sent again
APIS: dict[type, Api] = {
    LeaderAndIsrRequest: Api.LEADER_AND_ISR,
    UpdateMetadataRequest: Api.UPDATE_METADATA,
    StopReplicaRequest: Api.STOP_REPLICA,
}

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Channels:
    def __init__(
        self, controller: Controller, links: Links, told: Callable[[Answered], None], spawn: Spawn
    ) -> None:
        self._controller = controller
        self._links = links
        self._told = told
        self._spawn = spawn
        self._channels: dict[tuple[int, int], asyncio.Queue[Request]] = {}  # (broker, epoch)
        self._tasks: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._unsaid: Counter[tuple[int, int]] = Counter()  # requests without an answer yet

    def post(self) -> None:
        """Take what the controller has decided, and let go of those that are gone."""
        requests = list(self._controller.outbox)
        self._controller.outbox.clear()
        for request in requests:
            life = (request.broker, request.broker_epoch)
            if life not in self._channels:
                self._channels[life] = asyncio.Queue()
                self._tasks[life] = self._spawn(self._talk(life, self._channels[life]))
            self._channels[life].put_nowait(request)
            self._unsaid[life] += 1
        for life in self._channels.keys() - self._lives():
            self._hang_up(life)

    def close(self) -> None:
        """This broker is the controller no longer: what it has not said yet stays unsaid."""
        for life in list(self._channels):
            self._hang_up(life)

    def has_told(self, broker: int) -> bool:
        """Whether a broker has heard all that was decided so far."""
        return not any(count for life, count in self._unsaid.items() if life[0] == broker)

    def _lives(self) -> set[tuple[int, int]]:
        return {(number, each.epoch) for number, each in self._controller.brokers.items()}

    def _hang_up(self, life: tuple[int, int]) -> None:
        del self._channels[life]
        del self._unsaid[life]
        self._tasks.pop(life).cancel()

    async def _talk(self, life: tuple[int, int], queue: "asyncio.Queue[Request]") -> None:
        broker, epoch = life
        endpoint = self._controller.brokers[broker].registration.endpoints[0]
        me = str(self._controller.broker_id)
        peer = Peer(endpoint.host, endpoint.port, broker, self._links, me, TIMEOUT)
        try:
            while True:
                request = await queue.get()
                response = await self._deliver(peer, request)
                self._unsaid[life] -= 1
                if response.error_code != ErrorCode.none:
                    name = response.error_code.name
                    log.warning("broker %d refused %s: %s", broker, type(request.message), name)
                if not isinstance(request.message, UpdateMetadataRequest):
                    self._told(Answered(broker, epoch, request.message, response))
        finally:
            peer.close()

    async def _deliver(self, peer: Peer, request: Request) -> Any:
        while True:
            try:
                return await peer.ask(APIS[type(request.message)], request.message)
            except OSError as error:
                log.info("%s: sending it again", error)
                await asyncio.sleep(PAUSE)
