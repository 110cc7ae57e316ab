"""Clients that belong to a cluster: they know its address, and are closed with it.

A client that was closed before is forgotten: a notebook makes a new one at each look into a topic.

    producer = cluster.producer({"acks": "all"})      engine.Producer({"bootstrap.servers": ..., ...
    consumer = cluster.consumer({"group.id": "g"})    engine.Consumer({"bootstrap.servers": ..., ...
    cluster.admin.create_topic("orders")              engine.AdminClient({...})

engine/client is imported when the first client is made: a cluster without clients starts sooner.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
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
        self._open: list[tuple[Producer | Consumer, Callable[[], object]]] = []  # how each closes
        self._lock = threading.Lock()  # a cell and a thread of its own may make one at a time
        self._admin: AdminClient | None = None

    @property
    def admin(self) -> "AdminClient":
        if self._admin is None:
            self._admin = self._new("admin.client", "AdminClient", NONE)
        return self._admin

    def producer(self, settings: Settings) -> "Producer":
        made: Producer = self._new("producer", "Producer", settings)
        self._keep(made, partial(made.close, CLOSE_WAIT_S))
        return made

    def consumer(self, settings: Settings) -> "Consumer":
        made: Consumer = self._new("consumer", "Consumer", settings)
        self._keep(made, made.close)
        return made

    def close(self) -> None:
        """Close them while the brokers still run; the newest first, and all, also if one fails."""
        admin, self._admin = self._admin, None
        with ExitStack() as closing:
            if admin is not None:
                closing.callback(admin.close)
            with self._lock:
                while self._open:
                    closing.callback(self._open.pop(0)[1])

    def _keep(self, made: "Producer | Consumer", close: Callable[[], object]) -> None:
        with self._lock:
            self._open = [each for each in self._open if not each[0].closed]
            self._open.append((made, close))

    def _new(self, module: str, name: str, settings: Settings) -> Any:
        kind = getattr(import_module(f"engine.client.{module}"), name)
        security = NONE if "security.protocol" in settings else self._security
        return kind({"bootstrap.servers": self._bootstrap(), **security, **settings})
