"""A connection to the listener of a simulated controller.

Its requests are real bytes: the tables of versions and the messages of the quorum are part of what
is simulated.
"""

import asyncio
from itertools import count
from typing import Any, NamedTuple

from engine.broker.peer import Peer
from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.links import Links
from engine.sim.network import Port
from engine.sim.peer import machine
from engine.sim.process import RequestChannel, SimulatedProcess
from engine.wire.apis import ApiKey
from engine.wire.codec import decode_response, encode_request
from engine.wire.controller_apis import ASKED_CONTROLLER_APIS
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.frame import SIZE

CONTROLLER = "CONTROLLER"  # the name of the listener


class ControllerRequest(NamedTuple):
    """On its way to a controller. The answer is bytes."""

    api: ApiKey
    frame: bytes


def controller_machine(node: int) -> str:
    """The name of a controller's machine in the network: a combined node's is the broker's."""
    if node < FIRST_CONTROLLER:
        return machine(node)
    return controller(node - FIRST_CONTROLLER + 1)


class SimulatedControllerPeer(Peer):
    """One request at a time; closed if there is no answer in time, as the real Peer is."""

    def __init__(
        self,
        process: SimulatedProcess,
        host: str,
        port: int,
        peer_id: int,
        client_id: str,
        timeout_s: float,
    ) -> None:
        super().__init__(host, port, peer_id, Links(), client_id, timeout_s)
        called = Port(CONTROLLER, port)
        self._channel = RequestChannel(
            process, controller_machine(peer_id), round(timeout_s * 1000), called
        )
        self._name, self._sent = client_id, count(1)

    def close(self) -> None:
        self._channel.close()

    async def _ask(self, api: ApiKey, message: Any) -> Any:
        newest = ASKED_CONTROLLER_APIS[api].newest
        header = RequestHeader(int(api), newest, next(self._sent), self._name)
        frame = bytes(encode_request(header, message, ASKED_CONTROLLER_APIS))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._channel.ask(ControllerRequest(api, frame[SIZE.size :]), answer.set_result)
        if (response := await answer) is None:
            raise ConnectionError(f"{self} has not answered")
        try:
            return decode_response(header, response, ASKED_CONTROLLER_APIS)
        except Malformed as error:
            raise ConnectionError(f"{self} does not speak Kafka's protocol: {error}") from error
