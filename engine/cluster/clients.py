"""Clients that belong to a cluster: they know its address, and are closed with it.

    producer = cluster.producer({"acks": "all"})      engine.Producer({"bootstrap.servers": ..., ...
    consumer = cluster.consumer({"group.id": "g"})    engine.Consumer({"bootstrap.servers": ..., ...
    cluster.admin.create_topic("orders")              engine.AdminClient({...})
    cluster.znode("/controller")                      a KazooClient, as an administrator has one

engine/client is imported when the first client is made: a cluster without clients starts sooner.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import ZnodeStat

from engine.errors import ApiException, ErrorCode
from engine.zookeeper import znodes

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer

Settings = Mapping[str, Any]
NONE: Settings = {}
CLOSE_WAIT_S = 2.0  # for records that are still on their way when the cluster ends
ZOOKEEPER_WAIT_S = 15.0  # for an answer; without a limit kazoo waits until there is a server

QUIET = logging.getLogger("engine.cluster.clients")  # kazoo logs each connection that ends
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class Clients:
    def __init__(
        self, bootstrap: Callable[[], str], hosts: Callable[[], str], security: Settings = NONE
    ) -> None:
        """`hosts` is the address of ZooKeeper; `security`: of clients that choose none."""
        self._bootstrap = bootstrap
        self._security = security
        self._hosts = hosts
        self._kazoo: KazooClient | None = None
        self._open = ExitStack()
        self._admin: AdminClient | None = None

    @property
    def admin(self) -> "AdminClient":
        if self._admin is None:
            made: AdminClient = self._new("admin.client", "AdminClient", NONE)
            self._open.callback(made.close)
            self._admin = made
        return self._admin

    def producer(self, settings: Settings) -> "Producer":
        made: Producer = self._new("producer", "Producer", settings)
        self._open.callback(made.close, CLOSE_WAIT_S)
        return made

    def consumer(self, settings: Settings) -> "Consumer":
        made: Consumer = self._new("consumer", "Consumer", settings)
        self._open.callback(made.close)
        return made

    def ask(self, read: Callable[[KazooClient], IAsyncResult]) -> Any:
        """Read from ZooKeeper. If our session has ended, read again in a new one."""
        try:
            try:
                return read(self._session()).get(timeout=ZOOKEEPER_WAIT_S)
            except (SessionExpiredError, ConnectionLoss, ConnectionClosedError):
                self._kazoo = None
                return read(self._session()).get(timeout=ZOOKEEPER_WAIT_S)
        except (ConnectionLoss, KazooTimeoutError):
            raise ApiException(
                ErrorCode.broker_not_available,
                f"no answer from ZooKeeper at {self._hosts()} in {ZOOKEEPER_WAIT_S:g} s: is it "
                "running, with more than half of its servers?",
            ) from None

    def znode(self, path: str) -> tuple[bytes, ZnodeStat] | None:
        """The data and the stat of a znode; None: there is no such znode."""
        try:
            found: tuple[bytes, ZnodeStat] = self.ask(lambda kazoo: kazoo.get_async(path))
        except NoNodeError:
            return None
        return found

    def children(self, path: str) -> list[str]:
        try:
            return sorted(self.ask(lambda kazoo: kazoo.get_children_async(path)))
        except NoNodeError:
            return []

    def owner(self, broker: int) -> int | None:
        """The session to which a broker's registration belongs."""
        found = self.znode(znodes.broker_path(broker))
        return found and int(found[1].ephemeralOwner)

    def _session(self) -> KazooClient:
        if self._kazoo is None:
            made = KazooClient(self._hosts(), logger=QUIET)
            self._open.callback(made.close)
            self._open.callback(made.stop)
            made.start(ZOOKEEPER_WAIT_S)
            self._kazoo = made
        return self._kazoo

    def close(self) -> None:
        """Close them while the brokers still run; the newest first."""
        self._admin = self._kazoo = None
        self._open.close()

    def _new(self, module: str, name: str, settings: Settings) -> Any:
        kind = getattr(import_module(f"engine.client.{module}"), name)
        security = NONE if "security.protocol" in settings else self._security
        return kind({"bootstrap.servers": self._bootstrap(), **security, **settings})
