"""Producer ids: no id is used twice in a cluster.

A broker reserves a block of a thousand in ZooKeeper, by compare-and-set, so that no two brokers get
the same block, and returns the ids of the block one by one. The rest of a block is lost when the
broker stops: there are enough.
"""

import asyncio

from engine.errors import ErrorCode, KafkaError
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.json_fields import LONG_MAX
from engine.zookeeper.requests import Get, Refused, Set
from engine.zookeeper.znodes import PRODUCER_ID_BLOCK, ProducerIdBlock

BLOCK = 1000


class ProducerIds:
    def __init__(self, zookeeper: ZookeeperClient, decoder: Decoder, broker_id: int) -> None:
        self._zookeeper = zookeeper
        self._decoder = decoder
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
        (node,) = await self._zookeeper.ask([Get(PRODUCER_ID_BLOCK)])
        if node is None:
            raise KafkaError(ErrorCode.coordinator_not_available, f"{PRODUCER_ID_BLOCK} is missing")
        harm, first = "no broker gets a new block of producer ids", 0
        if node.data:
            last = self._decoder.read(ProducerIdBlock.decode, PRODUCER_ID_BLOCK, node.data, harm)
            if last is None or last.last + BLOCK > LONG_MAX:  # else an id could be given out twice
                raise KafkaError(
                    ErrorCode.coordinator_not_available,
                    f"{PRODUCER_ID_BLOCK} leaves no producer ids",
                )
            first = last.last + 1
        block = ProducerIdBlock(self._broker_id, first, first + BLOCK - 1)
        write = Set(PRODUCER_ID_BLOCK, block.encode(), node.stat.version)
        (written,) = await self._zookeeper.ask([write])
        if isinstance(written, Refused):
            return  # another broker took this one; the caller tries the next
        self._left = range(block.first, block.last + 1)
