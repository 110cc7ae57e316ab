"""Producer ids: no id is used twice in a cluster.

A broker reserves a block of a thousand, and returns the ids of the block one by one. The rest of a
block is lost when the broker stops: there are enough.

Who asks while no block can be reserved is told COORDINATOR_LOAD_IN_PROGRESS, as by Kafka 3: every
client asks again, and older ones take REQUEST_TIMED_OUT here for the end of the producer.
"""

import asyncio
from collections.abc import Awaitable, Callable

from engine.errors import ApiException, ErrorCode, MetadataError


class ProducerIds:
    def __init__(self, allocate: Callable[[], Awaitable[range]]) -> None:
        self._allocate = allocate
        self._left = range(0)
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> int:
        async with self._one_at_a_time:
            if not self._left:
                self._left = await self._reserve()
            number, self._left = self._left[0], self._left[1:]
            return number

    async def _reserve(self) -> range:
        try:
            return await self._allocate()
        except (ApiException, MetadataError) as error:
            code = ErrorCode.coordinator_load_in_progress
            raise ApiException(code, f"no producer ids now: {error}") from error
