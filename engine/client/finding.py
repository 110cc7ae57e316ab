"""Who coordinates a group, or a transactional id: the leader of the partition it belongs to.

    find ─> FindCoordinator ─> any broker ─> broker 2 ─> JoinGroup, OffsetCommit, ...   (a group)
     ^                                                │  InitProducerId, EndTxn, ...    (an id)
     └─ forget <── NOT_COORDINATOR, connection gone ──┘

Groups live in __consumer_offsets, transactional ids in __transaction_state; both are found alike.
In the first seconds of a cluster there is nobody: the first question has the topic made, and is
answered COORDINATOR_NOT_AVAILABLE until it is there.

Invariant: what one coordinator answers makes nobody forget another, who was found since.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest

from engine.client.asking import ANY, Ask
from engine.client.view import View
from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

# "It is not me", in whatever words.
ELSEWHERE = frozenset({ErrorCode.not_coordinator, ErrorCode.coordinator_not_available})


class Kind(IntEnum):
    """What is coordinated, in the numbers of the protocol."""

    GROUP = 0
    TRANSACTION = 1


NAMES = {Kind.GROUP: "group", Kind.TRANSACTION: "transactional id"}


class Finding:
    """As a core it comes last: those before it say that they need a coordinator."""

    def __init__(self, kind: Kind, key: str, backoff: float) -> None:
        self.kind = kind
        self.key = key
        self.backoff = backoff
        self._found: int | None = None
        self._needed = False
        self._asking = False
        self._not_before = 0.0
        self._error: KafkaError | None = None
        self._lost = False  # what the metadata say of it may be wrong, too

    def find(self) -> int | None:
        """The coordinator, or None: it is looked for, and there will be a next step.

        A KafkaError if there can't be one; whoever asks again has it looked for again.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._needed = self._found is None
        return self._found

    @property
    def known(self) -> int | None:
        """The coordinator, if it is known, for what is not worth a search."""
        return self._found

    def forget(self, broker: int) -> None:
        if broker == self._found:
            self._found, self._lost = None, True

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: View) -> Iterable[Ask]:
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
            self._found = int(response.node_id)
            return
        message = response.error_message or f"{NAMES[self.kind]} {self.key} has no coordinator"
        self.failed(ask, KafkaError(response.error_code, message), now)

    def failed(self, ask: Ask, error: KafkaError, now: float) -> None:
        self._asking = False
        self._not_before = now + self.backoff
        if not (error.code.retriable or error.code == ErrorCode.broker_not_available):
            self._needed, self._error = False, error

    def due(self) -> float | None:
        return self._not_before if self._needed and not self._asking else None
