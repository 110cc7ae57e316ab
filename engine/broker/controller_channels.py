"""The controller's requests to the brokers: one queue for each broker.

    outbox ──> broker 1: LeaderAndIsr, UpdateMetadata ...      one in flight, the rest waits
          └──> broker 2: UpdateMetadata ...

A request that was not delivered is sent again until the broker's session ends: a slow broker still
gets it, and a broker that has registered anew gets new requests instead. The answer of a broker is
an event for the controller.

Invariant: a broker gets the requests of one controller in the order in which they were decided.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from engine.broker.peer import Connect, Peer
from engine.controller.controller import Controller, Request
from engine.controller.events import Answered
from engine.errors import ErrorCode
from engine.metadata.delta import endpoint_of
from engine.wire.apis import Api
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest

log = logging.getLogger(__name__)

RESEND_S = 0.1  # until a request that was not delivered is sent again
APIS: dict[type, Api] = {
    LeaderAndIsrRequest: Api.LEADER_AND_ISR,
    UpdateMetadataRequest: Api.UPDATE_METADATA,
    StopReplicaRequest: Api.STOP_REPLICA,
}

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


@dataclass(eq=False)
class ControllerChannels:
    _controller: Controller
    _connect: Connect
    _answered: Callable[[Answered], None]
    _spawn: Spawn
    _timeout_s: float  # for an answer: controller.socket.timeout.ms
    # By the session of a broker: its id and its epoch.
    _channels: dict[tuple[int, int], asyncio.Queue[Request]] = field(default_factory=dict)
    _tasks: dict[tuple[int, int], asyncio.Task[None]] = field(default_factory=dict)
    _unanswered: Counter[tuple[int, int]] = field(default_factory=Counter)  # how many requests

    def post(self) -> None:
        """Send what the controller has decided; close the channels of sessions that have ended."""
        requests = list(self._controller.outbox)
        self._controller.outbox.clear()
        for request in requests:
            session = (request.broker, request.broker_epoch)
            if session not in self._channels:
                self._channels[session] = asyncio.Queue()
                self._tasks[session] = self._spawn(self._send_all(session, self._channels[session]))
            self._channels[session].put_nowait(request)
            self._unanswered[session] += 1
        live = {(number, each.epoch) for number, each in self._controller.brokers.items()}
        for session in self._channels.keys() - live:
            self._close(session)

    def close(self) -> None:
        """This broker is no longer the controller: drop the requests that wait."""
        for session in list(self._channels):
            self._close(session)

    def is_idle(self, broker: int) -> bool:
        """Whether a broker has answered every request so far."""
        return not any(count for (number, _), count in self._unanswered.items() if number == broker)

    def _close(self, session: tuple[int, int]) -> None:
        del self._channels[session]
        del self._unanswered[session]
        self._tasks.pop(session).cancel()

    async def _send_all(self, session: tuple[int, int], queue: "asyncio.Queue[Request]") -> None:
        broker, epoch = session
        endpoints = self._controller.brokers[broker].registration.endpoints
        endpoint = endpoint_of(endpoints, self._controller.listener)
        me = str(self._controller.broker_id)
        peer = self._connect(endpoint.host, endpoint.port, broker, me, self._timeout_s)
        try:
            while True:
                request = await queue.get()
                response = await self._send(peer, request)
                self._unanswered[session] -= 1
                if response.error_code != ErrorCode.none:
                    name = response.error_code.name
                    log.warning("broker %d refused %s: %s", broker, type(request.message), name)
                if not isinstance(request.message, UpdateMetadataRequest):
                    self._answered(Answered(broker, epoch, request.message, response))
        finally:
            peer.close()

    async def _send(self, peer: Peer, request: Request) -> Any:
        while True:
            try:
                return await peer.ask(APIS[type(request.message)], request.message)
            except OSError as error:
                log.info("%s: sending it again", error)
                await asyncio.sleep(RESEND_S)
