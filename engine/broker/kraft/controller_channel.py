"""Requests of this broker to the active controller (NodeToControllerChannelManager).

    ask(request) ──> the leader of the quorum, as the Raft knows it ──> the answer
                ^                     │
                └── no answer, NOT_CONTROLLER, or another leader: ask again

A request is sent until it is answered; who asks sets a limit. It may be done twice: each of them
says what it expects (an epoch, a version), so that a repetition changes nothing.
"""

import asyncio
import logging
from typing import Any

from engine.broker.handlers.results import codes_in
from engine.broker.kraft.quorum_node import NodeQuorum
from engine.broker.peer import Peer, ask_until
from engine.errors import ErrorCode
from engine.wire.controller_apis import ControllerApi

RETRY_S = 0.05  # between two attempts

log = logging.getLogger(__name__)


class ControllerChannel:
    """One connection. One request is in flight, so requests are done in their order."""

    def __init__(self, node: NodeQuorum, name: str, timeout_s: float) -> None:
        self._node, self._name, self._timeout_s = node, name, timeout_s
        self._leader: int | None = None  # to whom the connection is
        self._peer: Peer | None = None
        self._moved = asyncio.Event()
        self._failed_with = ""  # the last failure: it is logged once
        node.raft.leader_changed.append(self._leader_changed)

    async def ask(self, api: ControllerApi, message: Any) -> Any:
        while True:
            response = await self._ask_once(api, message)
            if response is not None and ErrorCode.not_controller not in codes_in(response):
                self._failed_with = ""
                return response
            await asyncio.sleep(RETRY_S)

    def close(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    async def _ask_once(self, api: ControllerApi, message: Any) -> Any:
        """The active controller's answer; None: it has not answered."""
        peer, moved = self._connection(), self._moved
        if peer is None:
            self._note(f"{self._name}: no controller leads the quorum, as far as is known here")
            return None
        try:
            return await ask_until(moved.wait(), peer, api, message)
        except OSError as error:
            self._note(f"{self._name}: {error}")
            return None

    def _connection(self) -> Peer | None:
        leader = self._node.raft.client.leader
        if leader != self._leader or self._moved.is_set():  # it may be back in a newer epoch
            self.close()
            self._leader, self._moved = leader, asyncio.Event()
        if self._peer is None and leader is not None:
            host, port = self._node.voters[leader]
            self._peer = self._node.connect(host, port, leader, self._name, self._timeout_s)
        return self._peer

    def _leader_changed(self) -> None:
        if self._node.raft.client.leader != self._leader:
            self._moved.set()

    def _note(self, failure: str) -> None:
        if failure != self._failed_with:
            self._failed_with = failure
            log.info("%s: asking again", failure)
