"""Configurations that change while brokers run: /config/changes names what to read again.

    /config/topics/orders                     what was set
    /config/changes/config_change_0000000007  "topics/orders": a note to every broker

The notes are numbered, and deleted after fifteen minutes, as in Kafka. A broker reads everything
again after a lost connection, because notes may have been deleted meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable

from kazoo.exceptions import KazooException

from engine.broker.admin import DYNAMIC_DEFAULT, Admin
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import Children, Delete, Get, ZnodeData

KEPT_MS = 15 * 60 * 1000  # how long a note is kept for the other brokers
PAUSE = 0.5  # seconds until ZooKeeper is asked again after a lost connection

log = logging.getLogger(__name__)


class ConfigWatcher:
    def __init__(
        self,
        admin: Admin,
        zookeeper: ZookeeperClient,
        decoder: Decoder,
        now: Callable[[], int],
        changed: Callable[[str, str], None],
    ) -> None:
        self._admin = admin
        self._zookeeper = zookeeper
        self._decoder = decoder
        self._now = now
        self._changed = changed  # called with the kind and name of an entity
        self._noted = asyncio.Event()  # there may be new notes
        self._done: set[str] = set()  # the names of notes that were read, if they still exist

    async def run(self) -> None:
        """Read new notes until the broker stops."""
        while True:
            self._noted.clear()
            try:
                await self._look()
            except KazooException as error:
                log.info("notes of changed configurations cannot be read: %r", error)
                await asyncio.sleep(PAUSE)
            else:
                await self._noted.wait()

    async def _look(self) -> None:
        (names,) = await self._zookeeper.ask(
            [Children(znodes.CONFIG_CHANGES, watch=True)], lambda change: self._noted.set()
        )
        if names is None:  # the path was deleted
            asyncio.get_running_loop().call_later(PAUSE, self._noted.set)
            return
        self._done.intersection_update(names)
        notes = await self._zookeeper.ask(
            [Get(f"{znodes.CONFIG_CHANGES}/{name}") for name in names]
        )
        for name, note in zip(names, notes, strict=True):
            if note is not None:  # else another broker has deleted it
                await self._read(f"{znodes.CONFIG_CHANGES}/{name}", name, note)

    async def _read(self, path: str, name: str, note: ZnodeData) -> None:
        if name not in self._done:
            entity = self._decoder.read(
                znodes.decode_config_change, path, note.data, "no configuration is read again"
            )
            if entity is not None:
                await self._admin.reload(*entity)
                self._changed(*entity)
            self._done.add(name)
        elif self._now() - note.stat.ctime > KEPT_MS:
            self._decoder.faults.pop(path, None)
            await self._zookeeper.ask([Delete(path)])  # refused if it has children

    async def reread(self) -> None:
        """Read everything: notes may have been deleted meanwhile."""
        for entity in (DYNAMIC_DEFAULT, str(self._admin.static.broker_id)):
            await self._admin.reload("brokers", entity)
        await self._admin.reload_topics(self._admin.topics())
        self._changed("brokers", DYNAMIC_DEFAULT)
