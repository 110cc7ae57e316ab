"""Records that were decided, until they are appended (BatchAccumulator).

    decided in one turn of the event loop     one batch: one append, one flush, one round trip
    a result that does not fit any more       begins the next batch; none is split
    one that is too large for any batch       RECORD_LIST_TOO_LARGE for whoever has asked

A request with 200 topics is 200 decisions, and so are requests that come at the same time. An
append for each would be a flush of the disk for each.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.storage import records
from engine.storage.batch import HEADER_SIZE
from engine.storage.records import Record

BATCH_MAX_BYTES = 8 * 2**20  # KafkaRaftClient.MAX_BATCH_SIZE_BYTES
FRAME_MAX_BYTES = 20  # of a record, around its value


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
        """Take the records of one decision, the first at this offset: all are appended, or none.
        Raises an ApiException, and takes nothing, if no batch has room for them."""
        room, size = BATCH_MAX_BYTES - HEADER_SIZE, sum(map(len, values))
        size += FRAME_MAX_BYTES * len(values)
        if size > room:
            raise ApiException(
                ErrorCode.record_list_too_large,
                f"The total record(s) size of {size} exceeds the maximum allowed batch size of "
                f"{room}",
            )
        if not self._batches:
            self._loop.call_soon(self._drain)
        if not self._batches or size > self._room:
            self._batches.append(UnwrittenBatch(base, []))
            self._room = room
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
