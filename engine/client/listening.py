"""A listener and its ack mode: when the offsets of what it has processed are committed.

    poll -> | m m m m m m m m | -> listener(m), one after the other -> commit -> poll ...
              ^RECORD: here, after each        BATCH, TIME, COUNT, COUNT_TIME, MANUAL: here
              ^MANUAL_IMMEDIATE: here, when the listener acknowledges

    RECORD            after each record
    BATCH             after each batch that a poll brought
    TIME              after a batch, if it is so long since the last commit
    COUNT             after a batch, if so many records were processed since the last commit
    COUNT_TIME        after a batch, if either is so
    MANUAL            after a batch, what the listener has acknowledged
    MANUAL_IMMEDIATE  at once, what the listener acknowledges

    def listener(message, acknowledgment):
        ...
        acknowledgment.acknowledge()

    with Listening(consumer, listener, Ack.MANUAL) as listening:
        while busy:
            listening.poll(1.0)

The names and their meaning are Spring's, whose listener container this is in small. The consumer
is to have enable.auto.commit=false, or there are commits that no mode knows of.

Invariant: what is committed was processed, or acknowledged: a crash repeats records, and loses
none. The later the commit, the more it repeats.
Invariant: nothing is committed of a partition that has gone to somebody else meanwhile.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, Self

from engine.client.consumer import Consumer
from engine.client.values import KafkaError, KafkaException, Message, TopicPartition


class Ack(Enum):
    RECORD = "after each record"
    BATCH = "after each batch"
    TIME = "after a batch, when it is time"
    COUNT = "after a batch, when there are enough"
    COUNT_TIME = "after a batch, when it is time or there are enough"
    MANUAL = "after a batch, what is acknowledged"
    MANUAL_IMMEDIATE = "at once, what is acknowledged"


MANUAL = (Ack.MANUAL, Ack.MANUAL_IMMEDIATE)


class Acknowledgment:
    """What a listener gets with a message in the manual modes."""

    def __init__(self, message: Message, listening: "Listening") -> None:
        self._message = message
        self._listening = listening

    def acknowledge(self) -> None:
        """This message, and all before it in its partition, are done with."""
        self._listening.acknowledged(self._message)


class Listening:
    def __init__(
        self,
        consumer: Consumer,
        listener: Callable[..., Any],  # of a message; in the manual modes, of an Acknowledgment too
        ack: Ack = Ack.BATCH,
        *,
        count: int = 1,
        seconds: float = 5.0,
        batch: int = 500,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._consumer = consumer
        self._listener = listener
        self._ack = ack
        self._count = count
        self._seconds = seconds
        self._batch = batch
        self._clock = clock
        self._thread = threading.get_ident()
        self._elsewhere: deque[Message] = deque()  # acknowledged by other threads
        self._done: dict[tuple[str, int], int] = {}  # offsets to be committed
        self._processed = 0  # records since the last commit
        self._last = clock()  # when that was

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """What was processed is committed, whatever the mode is waiting for."""
        self._commit()

    def poll(self, timeout: float = 1.0) -> int:
        """One batch through the listener; how many records that were.

        What the listener raises is raised here. Its record counts as not processed, and so does
        the rest of the batch: seek back, or go on without them.
        """
        first = self._consumer.poll(timeout)
        batch = [] if first is None else [first, *self._consumer.consume(self._batch - 1, 0)]
        records = [message for message in batch if not _is_end(message)]
        for message in records:
            if self._ack in MANUAL:
                self._listener(message, Acknowledgment(message, self))
            else:
                self._listener(message)
                self._note(message)
            self._processed += 1
            if self._ack is Ack.RECORD:
                self._commit()
        while self._elsewhere:
            self._note(self._elsewhere.popleft())
        if self._is_due():
            self._commit()
        return len(records)

    def acknowledged(self, message: Message) -> None:
        """By the listener; a consumer is for one thread, so those of others wait for the batch."""
        if threading.get_ident() != self._thread:
            self._elsewhere.append(message)
            return
        self._note(message)
        if self._ack is Ack.MANUAL_IMMEDIATE:
            self._commit()

    def _is_due(self) -> bool:
        enough = self._processed >= self._count
        in_time = self._clock() - self._last >= self._seconds
        match self._ack:
            case Ack.COUNT:
                return enough
            case Ack.TIME:
                return in_time
            case Ack.COUNT_TIME:
                return enough or in_time
            case _:
                return True

    def _note(self, message: Message) -> None:
        place = (str(message.topic()), message.partition() or 0)
        self._done[place] = max(self._done.get(place, 0), (message.offset() or 0) + 1)

    def _commit(self) -> None:
        ours = {(each.topic, each.partition) for each in self._consumer.assignment()}
        offsets = [TopicPartition(*at, offset) for at, offset in self._done.items() if at in ours]
        self._done.clear()
        self._processed, self._last = 0, self._clock()
        if offsets:
            self._consumer.commit(offsets=offsets, asynchronous=False)


def _is_end(message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return True
