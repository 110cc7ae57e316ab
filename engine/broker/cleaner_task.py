"""Compaction in a running broker: in small steps, between the requests.

The cleaner is a generator that works for a few milliseconds between two yields. At each yield the
event loop runs other tasks. Every `log.cleaner.backoff.ms` the dirtiest log that is due is cleaned.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

from engine.config import BrokerConfig
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.cleaner import Cleaner
from engine.storage.directory import LogDirectory
from engine.storage.log import Emit

DONE = object()


class CleanerTask:
    def __init__(self, config: BrokerConfig, replicas: ReplicaManager, emit: Emit) -> None:
        memory = config.log_cleaner_dedupe_buffer_size
        self._replicas = replicas
        self._backoff = config.log_cleaner_backoff_ms / 1000
        self._cleaners: list[tuple[LogDirectory, Cleaner]] = []
        for directory in replicas.logs.directories:
            directory.attempt(replicas.now(), partial(self._add, directory, memory, emit))
        replicas.deleted.append(self._forget)
        replicas.truncated.append(self._truncated)

    def _add(self, directory: LogDirectory, memory: int, emit: Emit) -> None:
        cleaner = Cleaner(directory.path, memory, self._replicas.now(), emit)
        for log in directory.logs.values():
            cleaner.truncated(log)  # recovery may have removed what the last cleaner saw
        self._cleaners.append((directory, cleaner))

    def _forget(self, partition: TopicPartition) -> None:
        for directory, cleaner in self._cleaners:
            directory.attempt(self._replicas.now(), partial(cleaner.forget, partition))

    def _truncated(self, log: Any) -> None:
        for directory, cleaner in self._cleaners:
            if log in directory.logs.values():
                directory.attempt(self._replicas.now(), partial(cleaner.truncated, log))

    async def run(self) -> None:
        while True:
            found = [await self._clean(*each) for each in self._cleaners]
            if not any(found):
                await asyncio.sleep(self._backoff)

    async def _clean(self, directory: LogDirectory, cleaner: Cleaner) -> bool:
        """One round over one directory; False if nothing was due, or if the disk fails."""
        replicas = self._replicas
        choose = partial(cleaner.choose, replicas.committed(directory), replicas.now())
        work = directory.attempt(replicas.now(), choose)
        if work is None:
            return False
        steps = cleaner.clean(work, replicas.now())
        try:
            while directory.attempt(replicas.now(), partial(next, steps, DONE)) is not DONE:
                if directory.offline is not None:
                    return False
                await asyncio.sleep(0)
        finally:
            with suppress(OSError):  # of a disk that has failed: what is half done stays there
                steps.close()
        return True
