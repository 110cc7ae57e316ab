"""The producer: records in, delivery reports out. confluent-kafka's methods, Kafka's keys.

    with Producer({"bootstrap.servers": "127.0.0.1:9092", "acks": "all"}) as producer:
        producer.produce("orders", b"a value", key=b"a key", on_delivery=told)
        producer.poll(0)                   calls told(error, message) for what was delivered
        producer.flush()                   until everything is delivered or given up

    produce() --> accumulator --> sender --> network's thread --> brokers
                                                  |
    poll(), flush()  <-- reports <----------------+          callbacks run in the caller's thread

This file is the application's side: it waits where an application has to wait, and calls back.
Which queue a record goes to is found in destinations.py; what is sent when, in producing/.

With a transactional.id records are sent in transactions: transacting.py.

As Kafka's own client does, `produce` waits (up to max.block.ms) to learn about a topic, and while
the buffer is full. librdkafka would refuse the latter at once; a BufferError it is in both cases.
"""

import random
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Self

from engine import errors
from engine.client.destinations import Destinations
from engine.client.listing import ClusterMetadata
from engine.client.network import Network
from engine.client.partitioner import Own, partitioner
from engine.client.producing.accumulator import Accumulator
from engine.client.producing.batch import size_bound
from engine.client.producing.content import (
    as_bytes,
    as_headers,
    as_seconds,
    check_types,
    message_of,
)
from engine.client.producing.sender import Sender
from engine.client.producing.transactions import Transactions
from engine.client.transacting import Transacting
from engine.client.values import KafkaError, KafkaException, Message, exception_of
from engine.client.view import View
from engine.config.producer import PARTITIONERS, ProducerConfig

LISTING = 60.0  # seconds for list_topics, if not told

Delivery = Callable[[KafkaError | None, Message], Any]

_numbers = count(1)


class Producer(Transacting):
    def __init__(self, config: Mapping[str, Any] | None = None, **more: Any) -> None:
        try:
            settings, functions = ProducerConfig.take({**(config or {}), **more})
            if not settings.client_id:
                name = settings.transactional_id or next(_numbers)
                settings = replace(settings, client_id=f"producer-{name}")
            self._settings = settings
            self._view = View(settings, create=True)
            self._accumulator = Accumulator(settings)
            self._transactions = None
            if settings.transactional_id is not None:
                self._transactions = Transactions(settings, self._accumulator)
            self._sender = Sender(settings, self._accumulator, self._transactions)
            cores = [each for each in (self._sender, self._transactions) if each is not None]
            self._network = Network(settings, self._view, cores)
        except errors.KafkaError as error:
            raise exception_of(error, KafkaError._INVALID_ARG) from error
        self._lock = self._network.lock
        self._told: Delivery | None = functions.get("on_delivery") or functions.get("dr_cb")
        self._troubled = functions.get("error_cb")
        self._heard: KafkaError | None = None  # the trouble that error_cb was told of last
        own = functions.get("partitioner")
        name = PARTITIONERS[settings.partitioner_class]
        self._destinations = Destinations(
            settings,
            self._network,
            self._accumulator,
            Own(own) if own else partitioner(name, random.randrange),
        )
        self._end = weakref.finalize(self, self._network.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many records are not delivered yet, or not reported."""
        with self._lock:
            unreported = sum(len(report.batch.notes) for report in self._sender.reports)
            return self._accumulator.records + unreported if self._end.alive else 0

    def __bool__(self) -> bool:
        return True

    # -- records -------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        value: bytes | str | None = None,
        key: bytes | str | None = None,
        partition: int = -1,
        on_delivery: Delivery | None = None,
        timestamp: int = 0,
        headers: Any = None,
        *,
        callback: Delivery | None = None,
    ) -> None:
        """Put a record on its way; returns before it is sent. -1: the partitioner chooses."""
        if type(value) is not bytes:
            value = as_bytes("value", value)
        if type(key) is not bytes:
            key = as_bytes("key", key)
        told = on_delivery or callback or self._told
        if type(timestamp) is not int or type(partition) is not int or type(topic) is not str:
            check_types(topic, partition, timestamp)
        named = as_headers(headers) if headers else ()
        size = size_bound(key, value, named)
        if size > self._settings.max_request_size or size > self._settings.buffer_memory:
            raise self._too_large(size)
        stamp = timestamp or time.time_ns() // 1_000_000
        with self._lock:
            self._check()
            if self._sender.fatal is not None:
                raise KafkaException(self._sender.fatal)
            if self._transactions is not None:
                self._transactions.check_open()
            queue = self._destinations.queue(topic, key, partition, size)
            if not self._accumulator.has_room(size):
                self._await_room(size)
            if self._transactions is not None:
                self._transactions.check_open()  # it may have ended while we waited
            now = time.monotonic()
            batch, new = self._accumulator.append(queue, size, key, value, stamp, named, now)
            if told is not None:
                batch.notes.append((batch.count - 1, told, key, value, named, stamp, now))
            if new:
                self._network.wake()

    def poll(self, timeout: float | None = -1) -> int:
        """Call back for what has been delivered; returns how often. Waits for a first one."""
        seconds = as_seconds(timeout)
        with self._lock:
            self._check()
            if seconds != 0:
                self._network.wait(self._has_news, seconds)
        return self._serve()

    def flush(self, timeout: float | None = -1) -> int:
        """Send all, and wait until it is delivered or given up; returns how many are left."""
        seconds = as_seconds(timeout)
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            self._check()
            self._accumulator.hurry += 1
        try:
            while True:
                self._serve()
                with self._lock:
                    left = None if until is None else until - time.monotonic()
                    if not self._network.wait(self._has_news_or_nothing, left) or not len(self):
                        return len(self)
        finally:
            with self._lock:
                self._accumulator.hurry -= 1

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Give up what is not delivered; poll() or flush() report it."""
        with self._lock:
            self._check()
            self._sender.purge(in_queue, in_flight, time.monotonic())

    def close(self, timeout: float | None = -1) -> bool:
        """Flush, then hang up; what is not delivered by then is not delivered at all.

        In a forked child there is nothing to flush.
        """
        if self._end.alive:
            try:
                if self._lock.is_ours:
                    self.flush(timeout)
            finally:
                self._end()
        return True

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Brokers, and this topic or all."""
        with self._lock:
            self._check()
        seconds = as_seconds(timeout)
        try:
            found = self._network.metadata(
                None if topic is None else [topic], LISTING if seconds is None else seconds
            )
        except errors.KafkaError as error:
            raise exception_of(error, KafkaError._TRANSPORT) from error
        return ClusterMetadata.of(found)

    # -- what an application waits for

    def _await_room(self, size: int) -> None:
        """Until the buffer takes the record."""
        patience = self._settings.max_block_ms / 1000
        self._accumulator.hurry += 1
        try:
            has_room = self._network.wait(lambda: self._accumulator.has_room(size), patience)
        finally:
            self._accumulator.hurry -= 1
        self._check()
        if not has_room:
            raise BufferError(
                f"the buffer is full: {self._accumulator.records} records wait to be delivered, "
                f"and there was no room for {size} bytes more within {patience:g} s "
                "(buffer.memory, max.block.ms)"
            )

    def _too_large(self, size: int) -> KafkaException:
        settings = self._settings
        limits = {
            "max.request.size": settings.max_request_size,
            "buffer.memory": settings.buffer_memory,
        }
        name = min(limits, key=lambda each: limits[each])
        text = f"the record takes up to {size} bytes, more than {name} ({limits[name]}) allows"
        return KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, text))

    # -- what the application is told ------------------------------------------------------

    def _check(self) -> None:
        """Whether the producer can be used at all."""
        if not self._end.alive:
            raise RuntimeError("Producer has been closed")
        self._network.check()

    def _has_news(self) -> bool:
        return bool(self._sender.reports) or self._new_trouble() is not None

    def _has_news_or_nothing(self) -> bool:
        return self._has_news() or not self._accumulator.records

    def _serve(self) -> int:
        """Call back, one after the other. If one raises, the others come the next time."""
        served = 0
        while (call := self._next_call()) is not None:
            call()
            served += 1
        return served

    def _next_call(self) -> Callable[[], Any] | None:
        with self._lock:
            if (trouble := self._new_trouble()) is not None and self._troubled is not None:
                self._heard = trouble
                return partial(self._troubled, trouble)
            reports = self._sender.reports
            while reports and not reports[0].batch.notes:
                reports.popleft()
            if not reports:
                return None
            place, told, *rest = reports[0].batch.notes.pop()
            message = message_of(reports[0], place, *rest)
            return partial(told, message.error(), message)

    def _new_trouble(self) -> KafkaError | None:
        """What error_cb has yet to hear: no broker can be reached, or all is over."""
        trouble = self._sender.fatal
        if trouble is None and self._view.trouble is not None:
            trouble = KafkaError(KafkaError._ALL_BROKERS_DOWN, self._view.trouble.message)
        if trouble is None:
            self._heard = None  # it is over, and may come again
        return None if self._troubled is None or trouble == self._heard else trouble
