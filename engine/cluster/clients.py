"""Clients that belong to a cluster: they know its address, and are closed with it.

    producer = cluster.producer({"acks": "all"})      engine.Producer({"bootstrap.servers": ..., ...
    consumer = cluster.consumer({"group.id": "g"})    engine.Consumer({"bootstrap.servers": ..., ...
    cluster.admin.create_topic("orders")              engine.AdminClient({...})

engine/client is imported when the first client is made: a cluster without clients starts sooner.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer

Settings = Mapping[str, Any]
NONE: Settings = {}
CLOSE_WAIT_S = 2.0  # for records that are still on their way when the cluster ends


class Clients:
    def __init__(self, bootstrap: Callable[[], str], security: Settings = NONE) -> None:
        """`security`: of clients that choose none."""
        self._bootstrap = bootstrap
        self._security = security
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

    def close(self) -> None:
        """Close them while the brokers still run; the newest first."""
        self._admin = None
        self._open.close()

    def _new(self, module: str, name: str, settings: Settings) -> Any:
        kind = getattr(import_module(f"engine.client.{module}"), name)
        security = NONE if "security.protocol" in settings else self._security
        return kind({"bootstrap.servers": self._bootstrap(), **security, **settings})
