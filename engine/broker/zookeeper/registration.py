"""The registration of a broker: /brokers/ids/N, an ephemeral node.

    DIR/zookeeper.session     the id of the session that registered last

After a crash an ephemeral node stays until the session times out. At the next start the node is
either our own from before the crash, which is deleted, or that of a live broker with the same id:
then this broker does not start. The session id in the file shows which.

The transaction id of the node's creation is the broker epoch: it distinguishes requests to this
session of the broker from requests to an earlier one. If a broker restarts within its session
time-out, the controller does not know it yet: it may send the broker changes only, as if the rest
were still in its memory. So a broker serves no request until it is registered, as in Kafka.
"""

import logging
from collections.abc import Mapping
from typing import Protocol

from engine.config import BrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.requests import Create, Delete, Exists, Refused

log = logging.getLogger(__name__)

SESSION_FILE = "zookeeper.session"


class TextFile(Protocol):
    """The methods of a `Path` that are used here."""

    def exists(self) -> bool: ...
    def read_text(self) -> str: ...
    def write_text(self, data: str) -> object: ...


class Registration:
    def __init__(self, config: BrokerConfig, zookeeper: ZookeeperClient, file: TextFile) -> None:
        self._config = config
        self._zookeeper = zookeeper
        self._file = file

    async def register(self, ports: Mapping[str, int], now: int) -> int:
        """Returns the broker's epoch."""
        endpoints = tuple(
            znodes.BrokerEndPoint(name, host, port or ports[name], protocol)
            for name, host, port, protocol in self._config.advertised
        )
        node = znodes.BrokerInfo(endpoints, now, self._config.broker_rack)
        path = znodes.broker_path(self._config.broker_id)
        await self._clear_own(path)
        await self._clear_own(znodes.CONTROLLER)
        # Written first: if the connection breaks, it is not known whether the node was created.
        try:
            self._file.write_text(f"{self._zookeeper.session_id}\n")
        except OSError as error:
            log.warning("after a crash this broker will not know its old session: %s", error)
        create = Create(path, node.encode(), ephemeral=True)
        (created,) = await self._zookeeper.ask([create])
        if isinstance(created, Refused):
            raise ApiException(
                ErrorCode.duplicate_broker_registration,
                f"Broker id {self._config.broker_id} is already registered at {path} by a broker "
                "that is alive. Stop it, or choose another --id.",
            )
        return int(created.czxid)

    async def _clear_own(self, path: str) -> None:
        """Delete a node of our own session from before a crash."""
        (stat,) = await self._zookeeper.ask([Exists(path)])
        if stat is not None and str(stat.owner) == self._last_session():
            await self._zookeeper.ask([Delete(path)])  # refused if its session has just ended

    def _last_session(self) -> str | None:
        """Of the process before this one; None if there is no such file, or no disk to read."""
        try:
            return self._file.read_text().strip() if self._file.exists() else None
        except OSError as error:
            log.warning("the last session of this broker is not known: %s", error)
            return None
