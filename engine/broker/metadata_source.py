"""Where the metadata of a broker comes from: the mode of its cluster, as the broker uses it.

    start   connect -> load -> follow -> register          MetadataDelta ──> MetadataPublisher
    run     changes come down as deltas, and what the broker wants goes up through the gateway
    stop    leave

`broker_server.py` calls these in this order. The environment chooses the mode.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

from engine.broker.call import Handler
from engine.broker.config_cache import ConfigCache
from engine.broker.peer import Connect
from engine.config import BrokerConfig
from engine.metadata.gateway import ControllerGateway
from engine.metadata.lifecycle import BrokerLifecycle
from engine.security.authorizer import AclAuthorizer
from engine.storage.log import Emit
from engine.wire.apis import ApiKey

if TYPE_CHECKING:  # a controller has no broker, and need not load one
    from engine.broker.broker import Broker


class StoppedWhileStarting(Exception):
    """The broker was told to stop before its cluster knew it: there is nothing to leave."""


class SourceContext(NamedTuple):
    """What a broker gives to the source of its metadata."""

    config: BrokerConfig
    lifecycle: BrokerLifecycle
    now: Callable[[], int]
    new_uuid: Callable[[], UUID]
    connect: Connect  # to another broker
    emit: Emit
    report: Callable[..., None]  # an event: its kind, then the facts by name
    spawn: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
    every: Callable[[int, Callable[[], None]], None]  # so many milliseconds
    stopping: asyncio.Event  # set when the broker is to stop


class MetadataSource(Protocol):
    @property
    def address(self) -> str:
        """Of the store, for people."""

    async def connect(self, stack: AsyncExitStack) -> str:
        """Reach the store, until the stack is unwound. Returns the id of the cluster."""

    def claim(self, directory: Any, cluster_id: str) -> None:
        """Refuse a log directory that is not this broker's, or of another cluster."""

    def gateway(
        self, configs: ConfigCache, authorizer: AclAuthorizer | None
    ) -> ControllerGateway: ...

    def handlers(self, broker: "Broker") -> Mapping[ApiKey, Handler]:
        """Of the requests that only brokers of this mode get."""

    async def load(self, broker: "Broker", topics: Iterable[str]) -> None:
        """Read what the broker needs before it opens the logs of these topics."""

    async def follow(self, broker: "Broker") -> None:
        """Read the rest, and apply each change from now on."""

    async def register(self, broker: "Broker", ports: Mapping[str, int]) -> None:
        """It listens on these ports, by the names of the listeners. May raise
        StoppedWhileStarting."""

    @property
    def is_settled(self) -> bool:
        """Whether this broker has done all that its own controller, if it has one, told it."""

    @property
    def quorum(self) -> Mapping[str, Any] | None:
        """Of a controller in the same process: its state, for labs; None if there is none."""

    def metadata(self, topic: str | None) -> Mapping[str, Any]:
        """Brokers, topics, and the partitions of one, as the quorum has them, for labs."""

    @property
    def session_id(self) -> int | None:
        """Of a session with ZooKeeper; None while there is none."""

    async def leave(self, broker: "Broker") -> None:
        """Hand over the leaderships, before the broker stops."""

    def log_dir_failed(self) -> None:
        """Report that replicas in a log directory have stopped."""
