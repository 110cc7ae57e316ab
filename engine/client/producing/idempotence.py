"""What makes a producer idempotent: its producer id, and a sequence number for each record.

    producer id 7, epoch 0    | 0 1 2 | 3 4 | 5 6 7 8 | ...       batches of one partition, in order
                                stored   ?       ?

Any broker gives a producer id (InitProducerId). A log accepts a batch only if its sequence number
is the next one. It does not store a batch again that it has already, and after a gap it answers
OUT_OF_ORDER_SEQUENCE_NUMBER. So the records of a partition are stored once and in order, as long as
the producer sends the same batch with the same number until it knows the result. KIP-98, KIP-360.

A batch may be given up before its result is known (`unsure`), because its time is over. Then
nothing new is sent until the batches behind it have a result, since these show whether it was
stored. If the log lacks a number that will never be sent again (`gap`), the producer raises its
epoch and numbers the remaining records from 0.

A log knows the last five batches of a producer. An older one that is sent again looks like a
reordered one, and is refused. So until the result of a batch is known, at most four are sent behind
it, also while it waits to be sent again.

A log that does not know a producer accepts any first number. If the second batch arrived before
the first, the first would be refused. So the first batch is sent alone.

With a transactional.id the producer id comes from the coordinator: transaction_manager.py.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.client.core import ANY, UNSENT, Ask
from engine.client.metadata import MetadataView
from engine.client.producing.batch import NO_PRODUCER, ProducerBatch, ProducerIdAndEpoch
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api

MAX_SEQUENCE = 2**31 - 1  # 0 follows
MAX_EPOCH = 2**15 - 1
LOG_KNOWS = 5  # batches of a producer in one partition
NO_TIMEOUT = timedelta(milliseconds=2**31 - 1)  # there is no transaction that could time out


class SequenceNumbers:
    """The sequence numbers of one partition.

    Invariant: `unresolved` has, in order, the batches with a number whose result is not known. All
    batches before the first of them are stored or given up.
    Invariant: numbers change only while no batch of the partition is in flight.
    """

    def __init__(self) -> None:
        self.unresolved: list[ProducerBatch] = []
        self.gap = self.unsure = False
        self._newest = deque[ProducerBatch](maxlen=LOG_KNOWS)  # that have numbers
        self._producer, self._next = NO_PRODUCER, 0
        self._stored = -1  # the last number that is known to be stored

    def may_send(self, batch: ProducerBatch) -> bool:
        """Whether a batch may be sent now. One that is sent again goes alone, the first one first:
        its result decides what to do with the others. A new batch may follow those in flight."""
        if self.gap:
            return False
        if batch.has_sequence:
            return self.unresolved[0] is batch
        log_knows_us = self._stored >= 0 or not self.unresolved
        full = len(self._newest) == LOG_KNOWS and self._newest[0] in self.unresolved
        return log_knows_us and not self.unsure and not full

    def assign(self, batch: ProducerBatch, producer: ProducerIdAndEpoch) -> None:
        """Give a batch its number, before it is sent for the first time."""
        if producer != self._producer and not self.unresolved:
            self.restart(producer)
        batch.producer, batch.sequence = self._producer, self._next
        self._next = (self._next + batch.count) & MAX_SEQUENCE
        self.unresolved.append(batch)
        self._newest.append(batch)

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        """Number the remaining batches from 0, in a new epoch."""
        left, self.unresolved = self.unresolved, []
        self._producer, self._next, self._stored = producer, 0, -1
        self.gap = self.unsure = False
        for batch in left:
            self.assign(batch, producer)

    def stored(self, batch: ProducerBatch) -> None:
        last = (batch.sequence + batch.count - 1) & MAX_SEQUENCE
        if (last - self._stored) & MAX_SEQUENCE < MAX_SEQUENCE // 2:
            self._stored = last
        self._resolve(batch)

    def refused(self, batch: ProducerBatch) -> None:
        """The batch is not stored, and never will be."""
        self._resolve(batch)
        self.gap = True

    def given_up(self, batch: ProducerBatch) -> None:
        """The batch is not sent again, and may be stored or not."""
        if batch in self.unresolved:
            self._resolve(batch)
            self.unsure = True

    def out_of_order(self, batch: ProducerBatch) -> None:
        """The log expects another number. This is an error only for the first batch: a later one
        may have overtaken a batch that failed, and is sent again after it."""
        if self.unresolved and self.unresolved[0] is batch:
            self.gap = True

    def settle(self) -> None:
        """With nothing in flight it is known whether a batch that was given up is stored."""
        if self.unsure and not self.unresolved:
            self.unsure = False
            self.gap |= (self._stored + 1) & MAX_SEQUENCE != self._next

    def split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """The pieces take the numbers of the whole batch."""
        sequence, place = batch.sequence, self.unresolved.index(batch)
        for piece in pieces:
            piece.producer, piece.sequence = batch.producer, sequence
            sequence = (sequence + piece.count) & MAX_SEQUENCE
        self.unresolved[place : place + 1] = pieces
        self._newest.extend(pieces)

    def _resolve(self, batch: ProducerBatch) -> None:
        if batch in self.unresolved:
            self.unresolved.remove(batch)


class ProducerId:
    """A core that gets the producer id, when the sender needs one.

    Invariant: one request at a time, and none after an error that cannot pass.
    """

    def __init__(self, backoff: float) -> None:
        self.producer: ProducerIdAndEpoch | None = None
        self.error: ApiException | None = None  # why there is none, and never will be
        self._backoff = backoff
        self._needed = self._is_asked = False
        self._has_failed = False  # the brokers may have changed
        self._not_before = 0.0

    def need(self) -> ProducerIdAndEpoch | None:
        """The producer id, or None: then the next `step` asks for it."""
        self._needed = self.producer is None and self.error is None
        return self.producer

    def raise_epoch(self) -> None:
        """Sequence numbers begin at 0 again; after the last epoch under another id."""
        assert self.producer is not None
        epoch = self.producer.epoch + 1
        self.producer = None if epoch > MAX_EPOCH else self.producer._replace(epoch=epoch)

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        if self._has_failed:
            self._has_failed = False
            view.stale()
        if self._needed and not self._is_asked and now >= self._not_before:
            self._is_asked = True
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout=NO_TIMEOUT)
            yield Ask(ANY, Api.INIT_PRODUCER_ID, request)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if response.error_code != ErrorCode.none:
            self.failed(ask, ApiException(response.error_code, "no producer id was given"), now)
        else:
            self._needed = self._is_asked = False
            self.producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)

    def failed(self, ask: Ask, error: ApiException, now: float) -> None:
        self._is_asked, self._has_failed = False, True
        if error.code == UNSENT or error.code.retriable:
            self._not_before = now + self._backoff
        else:
            self._needed, self.error = False, error

    def due(self) -> float | None:
        return self._not_before if self._needed and not self._is_asked else None
