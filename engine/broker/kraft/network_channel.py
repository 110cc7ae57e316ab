"""The connections of a node to the voters: one request at a time to each.

    send(request) ──> Peer ── bytes ──> voter 102
    answered      <──      <── bytes ──           the response
    failed        <──                             no connection, a time-out, no valid response

A request that is sent to a voter while another one waits for its answer takes its place: the node
has changed its state since, and does not wait for the older one. Its connection is closed.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from engine.broker.kraft.wire_messages import (
    APIS_OF_RAFT,
    request_to_wire,
    response_from_wire,
)
from engine.broker.peer import Connect
from engine.config.quorum import VoterAddress
from engine.raft.messages import RaftMessage, RaftRequest, RaftResponse
from engine.wire.errors import Malformed

Answered = Callable[[RaftMessage], None]
Failed = Callable[[RaftMessage, OSError], None]


class NetworkChannel:
    def __init__(
        self,
        node_id: int,
        voters: Mapping[int, VoterAddress],
        connect: Connect,
        request_timeout_ms: int,
        answered: Answered,
        failed: Failed,
    ) -> None:
        name, timeout_s = f"raft-client-{node_id}", request_timeout_ms / 1000
        self._peers = {
            voter: connect(address.host, address.port, voter, name, timeout_s)
            for voter, address in voters.items()
            if voter != node_id
        }
        self._answered, self._failed = answered, failed
        self._asking: dict[int, asyncio.Task[None]] = {}

    def send(self, message: RaftMessage) -> None:
        if (older := self._asking.get(message.peer)) is not None:
            older.cancel()
        loop = asyncio.get_running_loop()
        self._asking[message.peer] = loop.create_task(self._ask(message))

    async def _ask(self, message: RaftMessage) -> None:
        try:
            response = await self._response(message)
        except OSError as error:
            self._failed(message, error)
        else:
            self._answered(message._replace(body=response))

    async def _response(self, message: RaftMessage) -> RaftResponse:
        request = cast(RaftRequest, message.body)
        api = APIS_OF_RAFT[type(request)]
        wire = await self._peers[message.peer].ask(api, request_to_wire(request))
        try:
            return response_from_wire(api, wire)
        except Malformed as error:
            raise ConnectionError(f"voter {message.peer}: {error}") from error

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        for peer in self._peers.values():
            peer.close()
