"""Following: one conversation with each broker that leads something we have a replica of.

    follower                         leader
      OffsetForLeaderEpoch ────────>          where must my log be cut?
      Fetch from my log end ───────>          and so I tell how far I am
      <──────── batches, or nothing for 500 ms

What to ask, and what an answer means, `Fetcher` decides; here it is sent and received. A leader
that does not answer is asked again after `replica.fetch.backoff.ms`, for as long as the controller
says that it leads.
"""

import asyncio
import logging
from collections.abc import Callable

from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.list_offsets.v6.request import ListOffsetsRequest
from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest

from engine.broker.channels import Spawn
from engine.broker.metadata import Node
from engine.broker.peer import Peer
from engine.links import Links
from engine.replication.fetcher import Fetcher
from engine.replication.replicas import Replicas
from engine.wire.apis import Api

log = logging.getLogger(__name__)

APIS: dict[type, Api] = {
    FetchRequest: Api.FETCH,
    ListOffsetsRequest: Api.LIST_OFFSETS,
    OffsetForLeaderEpochRequest: Api.OFFSET_FOR_LEADER_EPOCH,
}


class Fetching:
    def __init__(
        self,
        replicas: Replicas,
        node: Callable[[int], Node | None],  # where a broker listens
        links: Links,
        timeout_s: float,
        spawn: Spawn,
    ) -> None:
        self._replicas = replicas
        self._node = node
        self._links = links
        self._timeout = timeout_s
        self._spawn = spawn
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by leader
        self._news: dict[int, asyncio.Event] = {}  # there may be something to fetch

    def look(self) -> None:
        """Roles have changed: follow whom we are to follow."""
        for leader in self._tasks.keys() - self._replicas.fetchers.keys():
            self._tasks.pop(leader).cancel()
        for leader, fetcher in self._replicas.fetchers.items():
            if leader not in self._tasks:
                self._news[leader] = asyncio.Event()
                self._tasks[leader] = self._spawn(self._follow(leader, fetcher))
            self._news[leader].set()

    async def _follow(self, leader: int, fetcher: Fetcher) -> None:
        me = f"broker-{self._replicas.broker_id}-fetcher-0"
        peer: Peer | None = None
        node: Node | None = None
        try:
            while True:
                self._news[leader].clear()
                request = fetcher.next(self._replicas.now())
                if request is None:
                    await self._rest(leader, fetcher)
                    continue
                if peer is None or node != self._node(leader):  # it may come back on another port
                    if peer is not None:
                        peer.close()
                    node = self._node(leader)
                    peer = node and Peer(
                        node.host, node.port, leader, self._links, me, self._timeout
                    )
                await self._converse(fetcher, peer, request)
        finally:
            if peer is not None:
                peer.close()

    async def _converse(self, fetcher: Fetcher, peer: Peer | None, request: object) -> None:
        try:
            if peer is None:
                raise ConnectionError(f"nobody says where broker {fetcher.leader} listens")
            response = await peer.ask(APIS[type(request)], request)
        except OSError as error:
            log.info("following broker %d: %s", fetcher.leader, error)
            fetcher.failed(self._replicas.now())
        else:
            fetcher.answered(request, response, self._replicas.now())

    async def _rest(self, leader: int, fetcher: Fetcher) -> None:
        """Until the next request is due, or the controller has spoken."""
        due = fetcher.due()
        wait = None if due is None else max(due - self._replicas.now(), 1) / 1000
        try:
            async with asyncio.timeout(wait):
                await self._news[leader].wait()
        except TimeoutError:
            return
