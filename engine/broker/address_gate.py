"""In front of every connection: does its address open too many of them?

    socket ──> AddressGate ──> served as its listener says
                     └──> too many: kept for the time of the quota, unread, and closed

So a client that connects again and again costs little, and is slowed down. See
engine/quotas/connection_quotas.py.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from engine.quotas.connection_quotas import ConnectionQuotas

log = logging.getLogger(__name__)


class AddressGate(asyncio.Protocol):
    """The protocol of a connection until it is let through."""

    def __init__(
        self,
        quotas: ConnectionQuotas,
        now: Callable[[], int],
        behind: Callable[[], asyncio.BaseProtocol],
    ) -> None:
        self._quotas = quotas
        self._now = now
        self._behind = behind

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        host, *_ = transport.get_extra_info("peername")
        wait = self._quotas.connect(host, self._now())
        if wait:
            log.info("%s opens connections too fast: this one is closed after %d ms", host, wait)
            transport.pause_reading()
            asyncio.get_running_loop().call_later(wait / 1000, transport.abort)
            return
        behind = self._behind()
        transport.set_protocol(behind)
        behind.connection_made(transport)
