"""The purgatory: requests that wait for a change of a partition.

A Produce with acks=all waits until the in-sync replicas have its records, a DeleteRecords until the
followers have deleted the records. Nothing polls: a change of a partition wakes the requests that
watch it, and each of them checks its own condition again. The event loop runs the time-outs.

    ReplicaManager.changed ──> wake(partition) ──> each request that waits for the partition
    other brokers are live ──> wake_all()      ──> each request: nothing waits for a dead replica
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from engine.model import TopicPartition


class Purgatory:
    """The waiting requests of a broker, by the partition that they watch."""

    def __init__(self) -> None:
        self._watchers: defaultdict[TopicPartition, dict[asyncio.Future[bool], None]] = defaultdict(
            dict
        )

    def wake(self, partition: TopicPartition) -> None:
        """The partition has changed: its log, its high watermark, its leader."""
        for watcher in self._watchers.pop(partition, ()):
            settle(watcher, True)

    def wake_all(self) -> None:
        """A broker came or went, and may have replicas of any partition: wake all requests."""
        for partition in [*self._watchers]:
            self.wake(partition)

    async def wait(self, partition: TopicPartition, until: float) -> bool:
        """Wait until the partition changes; False once the loop's time is `until`."""
        if asyncio.get_running_loop().time() >= until:
            return False
        with waiting(until) as watcher:
            self._watchers[partition][watcher] = None
            try:
                return await watcher
            finally:
                if watchers := self._watchers.get(partition):
                    watchers.pop(watcher, None)
                    if not watchers:
                        del self._watchers[partition]


@contextmanager
def waiting(until: float) -> "Iterator[asyncio.Future[bool]]":
    """A future that is False once the loop's time is `until`; `settle` makes it True before."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bool] = loop.create_future()
    timer = loop.call_at(until, settle, future, False)
    try:
        yield future
    finally:
        timer.cancel()


def settle(watcher: "asyncio.Future[bool]", changed: bool) -> None:
    if not watcher.done():
        watcher.set_result(changed)
