"""Clients that belong to a cluster: they know where it is, and they end with it.

    producer = cluster.producer({"acks": "all"})      engine.Producer({"bootstrap.servers": ..., ...
    consumer = cluster.consumer({"group.id": "g"})    engine.Consumer({"bootstrap.servers": ..., ...
    cluster.admin.create_topic("orders")              engine.AdminClient({...})

They are fetched from engine/client when the first of them is wanted: a cluster alone needs none,
and starts sooner.
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
PATIENCE = 2.0  # seconds for records that are still on their way when the cluster ends


class Clients:
    def __init__(self, bootstrap: Callable[[], str]) -> None:
        self._bootstrap = bootstrap
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
        self._open.callback(made.close, PATIENCE)
        return made

    def consumer(self, settings: Settings) -> "Consumer":
        made: Consumer = self._new("consumer", "Consumer", settings)
        self._open.callback(made.close)
        return made

    def close(self) -> None:
        """While there are brokers to say good-bye to; the newest first."""
        self._admin = None
        self._open.close()

    def _new(self, module: str, name: str, settings: Settings) -> Any:
        kind = getattr(import_module(f"engine.client.{module}"), name)
        return kind({"bootstrap.servers": self._bootstrap(), **settings})
