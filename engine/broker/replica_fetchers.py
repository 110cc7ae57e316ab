"""Replica fetchers: one task for each broker that leads a partition that we follow.

    follower                         leader
      OffsetForLeaderEpoch ────────>          where does my log differ from yours? (below 2.7)
      Fetch from my log end ───────>          its offset is my log end
      <──────── batches, nothing for 500 ms, or where my log differs (from 2.7 on)

`Fetcher` decides what to send, and handles the answers; this module sends and receives. A leader
that does not answer is asked again after `replica.fetch.backoff.ms`, while it is the leader.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.list_offsets.v6.request import ListOffsetsRequest
from kio.schema.offset_for_leader_epoch.v4.request import OffsetForLeaderEpochRequest

from engine.broker.controller_channels import Spawn
from engine.broker.metadata import AliveBroker
from engine.broker.peer import Connect, Peer
from engine.replication.fetcher import Fetcher
from engine.replication.replica_manager import ReplicaManager
from engine.wire.apis import Api

log = logging.getLogger(__name__)

APIS: dict[type, Api] = {
    FetchRequest: Api.FETCH,
    ListOffsetsRequest: Api.LIST_OFFSETS,
    OffsetForLeaderEpochRequest: Api.OFFSET_FOR_LEADER_EPOCH,
}


@dataclass(eq=False)
class ReplicaFetchers:
    _replicas: ReplicaManager
    _node: Callable[[int], AliveBroker | None]  # where a broker listens
    _connect: Connect
    _timeout: float  # seconds
    _spawn: Spawn
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)  # by leader
    # By leader: there may be something to fetch.
    _changes: dict[int, asyncio.Event] = field(default_factory=dict)

    def update(self) -> None:
        """Roles have changed: start and cancel tasks."""
        for leader in self._tasks.keys() - self._replicas.fetchers.keys():
            self._tasks.pop(leader).cancel()
        for leader, fetcher in self._replicas.fetchers.items():
            if leader not in self._tasks:
                self._changes[leader] = asyncio.Event()
                self._tasks[leader] = self._spawn(self._follow(leader, fetcher))
            self._changes[leader].set()

    async def _follow(self, leader: int, fetcher: Fetcher) -> None:
        me = f"broker-{self._replicas.broker_id}-fetcher-0"
        peer: Peer | None = None
        node: AliveBroker | None = None
        try:
            while True:
                self._changes[leader].clear()
                request = fetcher.next(self._replicas.now())
                if request is None:
                    await self._rest(leader, fetcher)
                    continue
                if peer is None or node != self._node(leader):  # it may restart on another port
                    if peer is not None:
                        peer.close()
                    node = self._node(leader)
                    peer = node and self._connect(node.host, node.port, leader, me, self._timeout)
                await self._exchange(fetcher, peer, request)
        finally:
            if peer is not None:
                peer.close()

    async def _exchange(self, fetcher: Fetcher, peer: Peer | None, request: object) -> None:
        try:
            if peer is None:
                raise ConnectionError(f"the address of broker {fetcher.leader} is not known")
            response = await peer.ask(APIS[type(request)], request)
        except OSError as error:
            log.info("fetching from broker %d: %s", fetcher.leader, error)
            fetcher.failed(self._replicas.now())
        else:
            fetcher.answered(request, response, self._replicas.now())

    async def _rest(self, leader: int, fetcher: Fetcher) -> None:
        """Wait until the next request is due, or until the controller has changed our roles."""
        due = fetcher.due()
        wait = None if due is None else max(due - self._replicas.now(), 1) / 1000
        try:
            async with asyncio.timeout(wait):
                await self._changes[leader].wait()
        except TimeoutError:
            return
