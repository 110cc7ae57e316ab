"""Where requests wait for something to happen to a partition.

A Fetch waits until enough bytes are there, a Produce with acks=all until the in-sync replicas
have its records. Neither is polled: whoever changes a partition wakes those who watch it, and
each looks again for itself. Time-outs are the event loop's.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection

from engine.model import TopicPartition


class Purgatory:
    def __init__(self) -> None:
        self._watchers: defaultdict[TopicPartition, set[asyncio.Future[bool]]] = defaultdict(set)

    def wake(self, partition: TopicPartition) -> None:
        """Something changed: the log has grown, the high watermark moved, the leader is another."""
        for watcher in self._watchers.pop(partition, ()):
            _settle(watcher, True)

    async def wait(self, partitions: Collection[TopicPartition], until: float) -> bool:
        """Wait for a change to any of them; False once the loop's time is `until`."""
        loop, partitions = asyncio.get_running_loop(), tuple(partitions)  # who asks may change them
        if loop.time() >= until:
            return False
        watcher: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_at(until, _settle, watcher, False)
        for partition in partitions:
            self._watchers[partition].add(watcher)
        try:
            return await watcher
        finally:
            timer.cancel()
            for partition in partitions:
                self._forget(partition, watcher)

    def _forget(self, partition: TopicPartition, watcher: "asyncio.Future[bool]") -> None:
        watchers = self._watchers.get(partition)
        if watchers is not None:
            watchers.discard(watcher)
            if not watchers:
                del self._watchers[partition]


def _settle(watcher: "asyncio.Future[bool]", changed: bool) -> None:
    if not watcher.done():
        watcher.set_result(changed)
