"""The gate in front of every connection: all clients together, and each address, may open only so
many connections.

    socket ──> AddressGate ──> it waits for its turn ──> served as its listener says
                                   ├──> too many of its address are open: closed at once
                                   └──> its address opens them too fast: nothing is read from it,
                                        and it is closed after the time to wait

So a client that connects again and again is slowed down, at little cost to the broker. See
engine/quotas/connection_quotas.py.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from engine.config import BrokerConfig
from engine.quotas.connection_quotas import UNLIMITED, ConnectionQuotas

log = logging.getLogger(__name__)


@dataclass(eq=False)
class AddressGate(asyncio.Protocol):
    """The protocol of a connection until it is let through."""

    _quotas: ConnectionQuotas
    _config: Callable[[], BrokerConfig]  # may change at run time
    _peers: Callable[[], Iterable[str]]  # the open connections: HOST:PORT
    _now: Callable[[], int]
    _behind: Callable[[], asyncio.BaseProtocol]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        limit = self._config().max_connection_creation_rate
        if wait := self._quotas.turn(limit, self._now()):
            _stop_reading(transport)
            asyncio.get_running_loop().call_later(wait / 1000, self._resume, transport)
        else:
            self._enter(transport)

    def _resume(self, transport: asyncio.Transport) -> None:
        if not transport.is_closing():
            transport.resume_reading()
            self._enter(transport)

    def _enter(self, transport: asyncio.Transport) -> None:
        if (place := transport.get_extra_info("peername")) is None:
            transport.abort()  # the client is gone again
            return
        host = place[0]
        most = self._config().most_connections(host)
        if most < UNLIMITED and most <= sum(it.startswith(f"{host}:") for it in self._peers()):
            log.info("Too many connections from %s (maximum = %d)", host, most)
            transport.abort()
            return
        wait = self._quotas.connect(host, self._now())
        if wait:
            log.info("%s opens connections too fast: this one is closed after %d ms", host, wait)
            _stop_reading(transport)
            asyncio.get_running_loop().call_later(wait / 1000, transport.abort)
            return
        behind = self._behind()
        transport.set_protocol(behind)
        behind.connection_made(transport)


def _stop_reading(transport: asyncio.Transport) -> None:
    """Before its first byte. In Python 3.11.2 (Debian 12 has it) a transport begins to read after
    `connection_made`, also if it was told to pause there, and the request would be lost. So it is
    told in the loop's next turn: then it has begun, and has read nothing yet.
    """
    asyncio.get_running_loop().call_soon(transport.pause_reading)
