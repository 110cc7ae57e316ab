"""Configurations that change while brokers run: /config/changes names what to read again.

/config/topics/orders                     what was set
/config/changes/config_change_0000000007  "topics/orders": a note to every broker
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.zookeeper.change_notifications import ChangeNotifications
from engine.broker.zookeeper.config_znodes import CLIENT_NAMES, ConfigZnodes
from engine.metadata.delta import EVERY_BROKER
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder


@dataclass(eq=False)
class ConfigWatcher:
    _configs: ConfigZnodes
    _own: str  # the id of this broker
    _decoder: Decoder
    _now: Callable[[], int]
    _changed: Callable[[str, str], None]  # called with the kind and name of an entity

    def __post_init__(self) -> None:
        self.notes = ChangeNotifications(
            znodes.CONFIG_CHANGES, self._configs.zookeeper, self._decoder, self._now, self._read
        )

    async def _read(self, path: str, data: bytes) -> None:
        harm = "no configuration is read again"
        entity = self._decoder.read(znodes.decode_config_change, path, data, harm)
        if entity is not None:
            await self._configs.reload(*entity)
            self._changed(*entity)

    async def reread(self) -> None:
        """Read everything: notes may have been deleted meanwhile."""
        await self._configs.reload("brokers", EVERY_BROKER)
        clients = await self._configs.reload("brokers", self._own, *CLIENT_NAMES)
        await self._configs.reload_topics(self._configs.topics())
        await self._configs.reload_clients(clients)
        self._changed("brokers", EVERY_BROKER)
