"""Who an idempotent producer is: a producer id, which any broker gives, once there is a record.

A producer with a transactional id is told by its coordinator instead: transactions.py.

Invariant: it is asked for once at a time, and no more after an error that will not pass.
"""

from datetime import timedelta
from typing import Any

from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.client.asking import ANY, UNSENT, Ask
from engine.client.producing.batch import Identity
from engine.errors import ErrorCode, KafkaError
from engine.wire.apis import Api

LAST_EPOCH = 2**15 - 1
FOREVER = timedelta(milliseconds=2**31 - 1)  # there is no transaction to have a time-out


class Identifying:
    def __init__(self, backoff: float) -> None:
        self.identity: Identity | None = None
        self.error: KafkaError | None = None  # why there is none, and never will be
        self._backoff = backoff
        self._asks_at: float | None = float("-inf")  # None: it is asked for

    def raise_epoch(self) -> None:
        """The same id, and numbers from 0 on; after the last epoch another id."""
        assert self.identity is not None
        if self.identity.epoch == LAST_EPOCH:
            self.identity, self._asks_at = None, float("-inf")
        else:
            self.identity = self.identity._replace(epoch=self.identity.epoch + 1)

    def ask(self, now: float) -> Ask | None:
        if self._asks_at is None or now < self._asks_at or self.error is not None:
            return None
        self._asks_at = None
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout=FOREVER)
        return Ask(ANY, Api.INIT_PRODUCER_ID, request)

    def answered(self, response: Any, now: float) -> None:
        if response.error_code != ErrorCode.none:
            self.failed(KafkaError(response.error_code, "no producer id was given"), now)
        else:
            self.identity = Identity(response.producer_id, response.producer_epoch)

    def failed(self, error: KafkaError, now: float) -> None:
        if error.code == UNSENT or error.code.retriable:
            self._asks_at = now + self._backoff
        else:
            self.error = error

    def due(self) -> float | None:
        return None if self.error is not None else self._asks_at
