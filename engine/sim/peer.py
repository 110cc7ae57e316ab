"""A broker's connection to another one in the simulated network. It carries messages, not bytes.

It is refused, as by a closed port, if the other broker's process has no listener of this name at
this port. `port` is the one that the caller has found in its metadata, so a broker that restarts
with other listeners cannot be reached until its peers know them.
"""

import asyncio
from typing import Any

from engine.broker.peer import Peer
from engine.links import Links
from engine.sim.network import Port
from engine.sim.process import RequestChannel, SimulatedProcess
from engine.wire.apis import ApiKey

PORT = 9091  # and one more for each broker


def listener_of(broker: int) -> str:
    """Where it listens for clients and other brokers."""
    return f"PLAINTEXT://127.0.0.1:{PORT + broker}"


def machine(broker: int) -> str:
    """Its name in the network."""
    return f"broker-{broker}"


class SimulatedPeer(Peer):
    """One request at a time; closed if there is no answer in time, as the real Peer is."""

    def __init__(
        self, process: SimulatedProcess, links: Links, peer_id: int, port: Port, timeout_s: float
    ) -> None:
        super().__init__(machine(peer_id), port.number, peer_id, links, process.name, timeout_s)
        self._channel = RequestChannel(process, machine(peer_id), round(timeout_s * 1000), port)

    def close(self) -> None:
        self._channel.close()

    async def _ask(self, api: ApiKey, message: Any) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._channel.ask(message, answer.set_result)
        if (response := await answer) is None:
            raise ConnectionError(f"{self} has not answered")
        return response
