"""Configurations that change while brokers run: /config/changes says where to look again.

    /config/topics/orders                     what was set
    /config/changes/config_change_0000000007  "topics/orders": a note to every broker

The notes are numbered, and cleared away after a quarter of an hour, as Kafka does it. A broker that
was away for longer reads everything anew: on coming back it can't know what it has missed.
"""

import asyncio
import logging
from collections.abc import Callable

from kazoo.exceptions import KazooException, NoNodeError

from engine.broker.admin import DYNAMIC_DEFAULT, Admin
from engine.controller import znodes
from engine.zookeeper.client import ZookeeperClient

KEPT_MS = 15 * 60 * 1000  # how long a note stays for those who have not read it
PAUSE = 0.5  # seconds until ZooKeeper is asked again after it did not answer

log = logging.getLogger(__name__)


class Configuring:
    def __init__(
        self,
        admin: Admin,
        zookeeper: ZookeeperClient,
        now: Callable[[], int],
        changed: Callable[[str, str], None],
    ) -> None:
        self._admin = admin
        self._zookeeper = zookeeper
        self._now = now
        self._changed = changed  # told the kind and name of what has another configuration now
        self._noted = asyncio.Event()  # there may be notes that we have not read
        self._newest = -1  # the number of the last note that was read

    async def run(self) -> None:
        """Read the notes as they come, for as long as the broker lives."""
        while True:
            self._noted.clear()
            try:
                await self._look()
            except KazooException as error:
                log.info("notes of changed configurations can't be read: %r", error)
                await asyncio.sleep(PAUSE)
            else:
                await self._noted.wait()

    async def _look(self) -> None:
        names = await self._zookeeper.children(
            znodes.CONFIG_CHANGES, lambda event: self._noted.set()
        )
        for name in sorted(names, key=znodes.sequence_number):
            await self._read(f"{znodes.CONFIG_CHANGES}/{name}", znodes.sequence_number(name))

    async def _read(self, path: str, number: int) -> None:
        try:
            data, stat = await self._zookeeper.get(path)
            if number > self._newest:
                entity = znodes.decode_config_change(data)
                await self._admin.reload(*entity)
                self._newest = number
                self._changed(*entity)
            elif self._now() - stat.ctime > KEPT_MS:
                await self._zookeeper.delete(path)
        except NoNodeError:
            return  # another broker cleared it away

    async def reread(self) -> None:
        """Everything, whatever the notes say: they may have been cleared away meanwhile."""
        for entity in (DYNAMIC_DEFAULT, str(self._admin.static.broker_id)):
            await self._admin.reload("brokers", entity)
        await self._admin.reload_topics(self._admin.topics())
        self._changed("brokers", DYNAMIC_DEFAULT)
