"""Compaction in a running broker: in small steps, between the requests.

The cleaner is a generator that works for a few milliseconds between two yields. At each yield the
event loop runs other tasks. Every `log.cleaner.backoff.ms` the dirtiest log that is due is cleaned.
"""

import asyncio
from typing import Any

from engine.config import BrokerConfig
from engine.errors import KafkaError
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
        self._cleaners = [
            (directory, Cleaner(directory.path, memory, replicas.now(), emit))
            for directory in replicas.logs.directories
        ]
        for directory, cleaner in self._cleaners:
            for log in directory.logs.values():
                cleaner.truncated(log)  # recovery may have removed what the last cleaner saw
        replicas.deleted.append(self._forget)
        replicas.truncated.append(self._truncated)

    def _forget(self, partition: TopicPartition) -> None:
        for directory, cleaner in self._cleaners:
            if directory.offline is None:
                cleaner.forget(partition)

    def _truncated(self, log: Any) -> None:
        for directory, cleaner in self._cleaners:
            if directory.logs.get(log.partition) is log:
                cleaner.truncated(log)

    async def run(self) -> None:
        while True:
            found = [await self._clean(*each) for each in self._cleaners]
            if not any(found):
                await asyncio.sleep(self._backoff)

    async def _clean(self, directory: LogDirectory, cleaner: Cleaner) -> bool:
        """One round over one directory; False if nothing was due."""
        if directory.offline is not None:
            return False
        work = cleaner.choose(self._replicas.committed(directory), self._replicas.now())
        if work is None:
            return False
        steps = cleaner.clean(work, self._replicas.now())
        try:
            while True:
                with directory.guard(self._replicas.now()):
                    if next(steps, DONE) is DONE:
                        return True
                await asyncio.sleep(0)
        except KafkaError:
            return False  # the guard took the directory offline, and reported it
        finally:
            steps.close()
