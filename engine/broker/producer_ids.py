"""Producer ids, which must never be given out twice in the life of a cluster.

A broker takes a block of a thousand from ZooKeeper, with compare-and-set so that no two brokers
get the same one, and hands them out from memory. Ids left over when it stops are lost: there are
enough.
"""

import asyncio

from kazoo.exceptions import BadVersionError

from engine.controller.znodes import PRODUCER_ID_BLOCK, ProducerIdBlock
from engine.errors import ErrorCode, KafkaError
from engine.zookeeper.client import ZookeeperClient

BLOCK = 1000


class ProducerIds:
    def __init__(self, zookeeper: ZookeeperClient, broker_id: int) -> None:
        self._zookeeper = zookeeper
        self._broker_id = broker_id
        self._left = range(0)
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> int:
        async with self._one_at_a_time:
            while not self._left:
                await self._take_block()
            number, self._left = self._left[0], self._left[1:]
            return number

    async def _take_block(self) -> None:
        data, stat = await self._zookeeper.get(PRODUCER_ID_BLOCK)
        first = ProducerIdBlock.decode(data).last + 1 if data else 0
        if first + BLOCK > 2**63:
            raise KafkaError(ErrorCode.unknown_server_error, "all producer ids have been used")
        block = ProducerIdBlock(self._broker_id, first, first + BLOCK - 1)
        try:
            await self._zookeeper.set(PRODUCER_ID_BLOCK, block.encode(), stat.version)
        except BadVersionError:
            return  # another broker took this one; the caller tries the next
        self._left = range(block.first, block.last + 1)
