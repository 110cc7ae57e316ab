"""A log directory has failed: its replicas stop here, and the controller elects others.

    an I/O error ── directory.offline ──> the replicas there stop: they lead and follow no more
                                     ├──> /log_dir_event_notification/log_dir_event_# in ZooKeeper
                                     └──> the broker ends, if no directory is left

The note in ZooKeeper has only the id of this broker. The controller sends the broker its roles
again, and learns from the errors in the answer which partitions are offline here (KIP-112).

Before the broker is registered no note is needed: it gets all of its roles then.
"""

import asyncio
import logging

from engine.errors import MetadataUnavailable
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.requests import Create

log = logging.getLogger(__name__)

RETRY_S = 0.1  # between two attempts to write the note


class LogDirFailureHandler:
    def __init__(self, broker_id: int, zookeeper: ZookeeperClient) -> None:
        self._broker_id = broker_id
        self._zookeeper = zookeeper
        self._failed = asyncio.Event()

    def directory_failed(self) -> None:
        self._failed.set()

    async def run(self) -> None:
        """Tell the controller about failures until the broker stops."""
        note = znodes.encode_log_dir_failure(self._broker_id)
        while True:
            await self._failed.wait()
            self._failed.clear()
            try:
                await self._zookeeper.ask([Create(znodes.LOG_DIR_EVENT, note, sequence=True)])
            except MetadataUnavailable as error:
                log.info("the failure of a log directory is reported again: %r", error)
                self._failed.set()
                await asyncio.sleep(RETRY_S)
