"""Requests on their way: at most one to each node.

    send ──> in flight ── response ──> free
                       ── failed, or no response for request.timeout.ms ──> backoff ──> free

A response that comes later, or a second time, belongs to no request in flight, and is ignored.
"""

from collections.abc import Iterable
from typing import NamedTuple

from engine.raft.messages import RaftEffect, RaftMessage, RaftRequest
from engine.raft.model import QuorumConfig


class InFlight(NamedTuple):
    id: int
    body: RaftRequest
    deadline: int


class RaftRequests:
    def __init__(self, config: QuorumConfig, outbox: list[RaftEffect]) -> None:
        self._config = config
        self._outbox = outbox
        self._last_id = 0
        self._in_flight: dict[int, InFlight] = {}  # by the receiver
        self._backoff: dict[int, int] = {}  # until when nothing is sent to it

    def tick(self, now: int) -> None:
        for node, sent in list(self._in_flight.items()):
            if now >= sent.deadline:
                self._fail(node, now)
        self._backoff = {node: end for node, end in self._backoff.items() if end > now}

    def is_ready(self, node: int) -> bool:
        return node not in self._in_flight and node not in self._backoff

    @property
    def are_idle(self) -> bool:
        return not self._in_flight

    def send(self, node: int, body: RaftRequest, now: int) -> None:
        """Without effect while another request to the node is in flight, or after a failure."""
        if self.is_ready(node):
            self._last_id += 1
            deadline = now + self._config.request_timeout_ms
            self._in_flight[node] = InFlight(self._last_id, body, deadline)
            self._outbox.append(RaftMessage(node, self._last_id, body))

    def answered(self, node: int, id: int) -> RaftRequest | None:
        """The request that a response belongs to; None: it is not awaited any more."""
        sent = self._in_flight.get(node)
        if sent is None or sent.id != id:
            return None
        del self._in_flight[node]
        return sent.body

    def failed(self, node: int, id: int, now: int) -> None:
        """The connection broke before a response."""
        if self.answered(node, id) is not None:
            self._fail(node, now)

    def back_off(self, node: int, now: int) -> None:
        self._backoff[node] = now + self._config.retry_backoff_ms

    def reset(self) -> None:
        """After a change of the state: what was asked is of no interest any more."""
        self._in_flight.clear()
        self._backoff.clear()

    def deadlines(self) -> Iterable[int]:
        yield from (sent.deadline for sent in self._in_flight.values())
        yield from self._backoff.values()

    def _fail(self, node: int, now: int) -> None:
        self._in_flight.pop(node, None)
        self.back_off(node, now)
