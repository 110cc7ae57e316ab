"""Notes of changes: numbered znodes below one path, each names what every broker reads again.

    /config/changes/config_change_0000000007       "topics/orders"
    /kafka-acl-changes/acl_changes_0000000003      "TOPIC:orders"

A note is deleted after fifteen minutes, as in Kafka. A broker reads everything again after a lost
connection, because notes may have been deleted meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine.errors import MetadataError
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import Children, Delete, Get, ZnodeData

KEPT_MS = 15 * 60 * 1000  # how long a note is kept for the other brokers
RETRY_S = 0.5  # until ZooKeeper is asked again after a lost connection

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ChangeNotifications:
    _path: str
    _zookeeper: ZookeeperClient
    _decoder: Decoder
    _now: Callable[[], int]
    _read: Callable[[str, bytes], Awaitable[None]]  # gets the path and the content of a new note
    _noted: asyncio.Event = field(default_factory=asyncio.Event)  # there may be new notes
    _done: set[str] = field(default_factory=set)  # names of notes that were read, if they exist

    async def run(self) -> None:
        """Read new notes until the broker stops."""
        while True:
            self._noted.clear()
            try:
                await self._process_notifications()
            except MetadataError as error:
                log.info("the notes below %s cannot be read: %r", self._path, error)
                await asyncio.sleep(RETRY_S)
            else:
                await self._noted.wait()

    async def _process_notifications(self) -> None:
        (names,) = await self._zookeeper.ask(
            [Children(self._path, watch=True)], lambda change: self._noted.set()
        )
        if names is None:  # the path was deleted
            asyncio.get_running_loop().call_later(RETRY_S, self._noted.set)
            return
        self._done.intersection_update(names)
        notes = await self._zookeeper.ask([Get(f"{self._path}/{name}") for name in names])
        for name, note in zip(names, notes, strict=True):
            if note is not None:  # else another broker has deleted it
                await self._note(f"{self._path}/{name}", name, note)

    async def _note(self, path: str, name: str, note: ZnodeData) -> None:
        if name not in self._done:
            await self._read(path, note.data)
            self._done.add(name)
        elif self._now() - note.stat.ctime > KEPT_MS:
            self._decoder.faults.pop(path, None)
            await self._zookeeper.ask([Delete(path)])  # refused if it has children
