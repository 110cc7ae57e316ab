"""Producer ids: no id is used twice in a cluster.

A broker reserves a block of a thousand, and returns the ids of the block one by one. The rest of a
block is lost when the broker stops: there are enough.
"""

import asyncio
from collections.abc import Awaitable, Callable


class ProducerIds:
    def __init__(self, allocate: Callable[[], Awaitable[range]]) -> None:
        self._allocate = allocate
        self._left = range(0)
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> int:
        async with self._one_at_a_time:
            if not self._left:
                self._left = await self._allocate()
            number, self._left = self._left[0], self._left[1:]
            return number
