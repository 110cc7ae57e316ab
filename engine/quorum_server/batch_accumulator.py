"""Records that were decided, until they are appended (BatchAccumulator).

    decided in one turn of the event loop     one batch: one append, one flush, one round trip
    a result that does not fit any more       begins the next batch; none is split

A request with 200 topics is 200 decisions, and so are requests that come at the same time. An
append for each would be a flush of the disk for each.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.storage import records
from engine.storage.records import Record

BATCH_MAX_BYTES = 8 * 2**20  # KafkaRaftClient.MAX_BATCH_SIZE_BYTES


class UnwrittenBatch(NamedTuple):
    base: int  # the offset that its first record will have
    values: list[bytes]


class BatchAccumulator:
    def __init__(self, append: Callable[[int, bytes], None], now: Callable[[], int]) -> None:
        """`append` gets the offset of a batch, and the batch."""
        self._append, self._now = append, now
        self._batches: list[UnwrittenBatch] = []
        self._room = 0  # bytes, in the last of them
        self._loop = asyncio.get_running_loop()

    def add(self, base: int, values: Sequence[bytes]) -> None:
        """Take the records of one decision, the first at this offset: all are appended, or none."""
        if not self._batches:
            self._loop.call_soon(self._drain)
        size = sum(map(len, values))
        if not self._batches or size > self._room:
            self._batches.append(UnwrittenBatch(base, []))
            self._room = BATCH_MAX_BYTES
        self._batches[-1].values.extend(values)
        self._room -= size

    def clear(self) -> None:
        """Drop the records that were not appended: the node leads no more."""
        self._batches = []

    def _drain(self) -> None:
        batches, now = self._batches, self._now()
        self.clear()
        for base, values in batches:
            rows = [Record(n, now, None, value) for n, value in enumerate(values)]
            self._append(base, records.encode(rows))
