"""What a producer publishes of its buffer: each batch, and what happened to it, as plain data.

    created -> closed -> sent -> acknowledged
                          |  ^      given up      it is not sent again
                          v  |
                         retried                  the error, then sent once more

Pictures are drawn from it; the code that sends does not read it. It records nothing until `state`
is called for the first time. Times are those of time.monotonic(), in seconds.

Invariant: the first event of a batch is `created`, and after `acknowledged`, `given up` or `split`
there is none.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from engine.client.producing.batch import ProducerBatch
from engine.client.values import KafkaError
from engine.errors import ErrorCode
from engine.model import TopicPartition

KEPT = 1000  # batches that are done


class BatchEvent(StrEnum):
    CREATED = "created"
    CLOSED = "closed"  # no record is added any more; `why` is a Cause
    SENT = "sent"
    RETRIED = "retried"  # an attempt failed: it waits to be sent again; `why` is the error
    SPLIT = "split"  # too large for the broker: its records are in smaller batches now
    ACKNOWLEDGED = "acknowledged"
    GIVEN_UP = "given up"  # `why` is the error


class Cause(StrEnum):
    """What closed a batch."""

    SIZE = "size"  # batch.size: the next record did not fit
    LINGER = "linger"  # linger.ms had passed
    FLUSH = "flush"  # flush(), or the end of a transaction
    MEMORY = "memory"  # produce() waited for room in buffer.memory
    SPLIT = "split"  # it is a piece of a batch that was too large
    GIVEN_UP = "given up"  # it was never sent


class BatchStep(NamedTuple):
    at: float
    event: BatchEvent
    why: str = ""


class BatchState(NamedTuple):
    number: int  # in the order of this producer's batches, from 1
    partition: TopicPartition
    records: int
    bytes: int  # before compression
    steps: tuple[BatchStep, ...]
    offset: int = -1  # of its first record, once it is known


class BufferState(NamedTuple):
    at: float
    used: int  # bytes of all batches that are not done
    memory: int  # buffer.memory
    batch_size: int  # batch.size
    linger_ms: int  # linger.ms
    closed: bool  # whether the producer is closed
    batches: tuple[BatchState, ...] = ()  # by number: not done, and the last that are done


class Buffer(Protocol):
    """What is read of the accumulator."""

    used: int
    memory: int
    batch_size: int
    linger: float
    no_linger: int

    def unfinished(self) -> Iterator[tuple[object, ProducerBatch]]: ...


class BatchLog:
    def __init__(self) -> None:
        self.waiting = 0  # how many calls of produce() wait for room
        self._is_on = False
        self._count = 0  # of the batches
        # What is known of a batch that is not done: its number, and its steps.
        self._known: dict[ProducerBatch, tuple[int, list[BatchStep]]] = {}
        self._done = deque[BatchState](maxlen=KEPT)

    def began(self, batches: Sequence[ProducerBatch], now: float) -> None:
        """The last one is new: the one before it takes no more records."""
        if self._is_on:
            if len(batches) > 1:
                self._close(batches[-2], Cause.SIZE, now)
            self._steps(batches[-1])

    def sent(self, buffer: Buffer, batches: Sequence[ProducerBatch], now: float) -> None:
        """The first one of a queue is sent."""
        if self._is_on:
            self._close(batches[0], self._cause(buffer, batches), now)
            self._steps(batches[0]).append(BatchStep(now, BatchEvent.SENT))

    def retried(self, batch: ProducerBatch, code: ErrorCode, now: float) -> None:
        if self._is_on:
            self._steps(batch).append(BatchStep(now, BatchEvent.RETRIED, code.name))

    def split(self, batch: ProducerBatch, pieces: Iterable[ProducerBatch], now: float) -> None:
        if self._is_on:
            for piece in pieces:
                self._close(piece, Cause.SPLIT, now)
            self._end(batch, BatchStep(now, BatchEvent.SPLIT))

    def ended(
        self, batch: ProducerBatch, error: KafkaError | None, offset: int, now: float
    ) -> None:
        """Its records are delivered, or given up."""
        if self._is_on:
            self._close(batch, Cause.GIVEN_UP, now)
            event = BatchEvent.ACKNOWLEDGED if error is None else BatchEvent.GIVEN_UP
            self._end(batch, BatchStep(now, event, "" if error is None else error.name()), offset)

    def state(self, buffer: Buffer, now: float, closed: bool) -> BufferState:
        self._is_on = True
        waiting = [self._state(batch) for _, batch in buffer.unfinished()]
        batches = tuple(sorted((*self._done, *waiting)))
        linger = round(buffer.linger * 1000)
        return BufferState(
            now, buffer.used, buffer.memory, buffer.batch_size, linger, closed, batches
        )

    def _cause(self, buffer: Buffer, batches: Sequence[ProducerBatch]) -> Cause:
        """Why the first one of a queue is sent now."""
        if len(batches) > 1 or batches[0].size >= buffer.batch_size:
            return Cause.SIZE
        if self.waiting:
            return Cause.MEMORY
        return Cause.FLUSH if buffer.no_linger else Cause.LINGER

    def _steps(self, batch: ProducerBatch) -> list[BatchStep]:
        if batch not in self._known:
            self._count += 1
            self._known[batch] = self._count, [BatchStep(batch.created, BatchEvent.CREATED)]
        return self._known[batch][1]

    def _close(self, batch: ProducerBatch, cause: Cause, now: float) -> None:
        """Without effect on one that is closed already."""
        steps = self._steps(batch)
        if len(steps) == 1:
            steps.append(BatchStep(now, BatchEvent.CLOSED, cause))

    def _end(self, batch: ProducerBatch, step: BatchStep, offset: int = -1) -> None:
        self._steps(batch).append(step)
        self._done.append(self._state(batch, offset))
        del self._known[batch]

    def _state(self, batch: ProducerBatch, offset: int = -1) -> BatchState:
        steps = tuple(self._steps(batch))
        number, _ = self._known[batch]
        return BatchState(number, batch.partition, batch.count, batch.size, steps, offset)
