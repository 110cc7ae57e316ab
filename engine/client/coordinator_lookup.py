"""Finds the coordinator of a group or transactional id: the leader of the partition it belongs to.

    find ─> FindCoordinator ─> any broker ─> broker 2 ─> JoinGroup, OffsetCommit, ...   (a group)
     ^                                                │  InitProducerId, EndTxn, ...    (an id)
     └─ forget <── NOT_COORDINATOR, connection gone ──┘

Groups are stored in __consumer_offsets, transactional ids in __transaction_state; both are found
in the same way. A new cluster has no coordinator: the first request makes a broker create the
topic, and the answer is COORDINATOR_NOT_AVAILABLE until it exists.

Invariant: an answer of a former coordinator does not make the client forget the present one.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest

from engine.client.core import ANY, Ask
from engine.client.metadata import MetadataView
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api

# The broker is not the coordinator.
ELSEWHERE = frozenset({ErrorCode.not_coordinator, ErrorCode.coordinator_not_available})


class CoordinatorType(IntEnum):
    """The protocol's numbers."""

    GROUP = 0
    TRANSACTION = 1


NAMES = {CoordinatorType.GROUP: "group", CoordinatorType.TRANSACTION: "transactional id"}


class CoordinatorLookup:
    """A core. It comes last, because the cores before it call `find`."""

    def __init__(self, kind: CoordinatorType, key: str, backoff: float) -> None:
        self.kind = kind
        self.key = key
        self.backoff = backoff
        self.known: int | None = None  # the coordinator; `find` looks it up
        self._needed = False
        self._asking = False
        self._not_before = 0.0
        self._error: ApiException | None = None
        self._lost = False  # the metadata may be wrong, too

    def find(self) -> int | None:
        """The coordinator, or None: then `step` looks it up.

        Raises the ApiException of a lookup that can't succeed; the next call starts another lookup.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._needed = self.known is None
        return self.known

    def forget(self, broker: int) -> None:
        if broker == self.known:
            self.known, self._lost = None, True

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        if self._lost:
            self._lost = False
            view.stale()
        if not self._needed or self._asking or now < self._not_before:
            return ()
        self._asking = True
        request = FindCoordinatorRequest(key=self.key, key_type=self.kind)
        return (Ask(ANY, Api.FIND_COORDINATOR, request),)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if response.error_code == ErrorCode.none:
            self._asking = self._needed = False
            self.known = int(response.node_id)
            return
        message = response.error_message or f"{NAMES[self.kind]} {self.key} has no coordinator"
        self.failed(ask, ApiException(response.error_code, message), now)

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self._asking = False
        self._not_before = now + self.backoff
        if not (error.code.retriable or error.code == ErrorCode.broker_not_available):
            self._needed, self._error = False, error

    def due(self) -> float | None:
        return self._not_before if self._needed and not self._asking else None
