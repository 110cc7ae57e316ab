"""The producer: records in, delivery reports out. confluent-kafka's methods, Kafka's keys.

    with Producer({"bootstrap.servers": "127.0.0.1:9092", "acks": "all"}) as producer:
        producer.produce("orders", b"a value", key=b"a key", on_delivery=report)
        producer.poll(0)                   calls report(error, message) for what was delivered
        producer.flush()                   waits until everything is delivered or given up

    produce() --> accumulator --> sender --> network's thread --> brokers
                                                  |
    poll(), flush()  <-- reports <----------------+          callbacks run in the caller's thread

This file is the application's side: calls that wait, and callbacks. destinations.py finds the queue
of a record; producing/ decides what is sent when.

As in Kafka's own client, `produce` waits (up to max.block.ms) until it knows the topic, and while
the buffer is full. librdkafka does not wait for room; both raise a BufferError.

With a transactional.id, all that is sent is committed together, or nothing of it:

    producer.init_transactions()           once; the last producer with this transactional id is
                                           fenced, and its open transaction aborted
    producer.begin_transaction()
    producer.produce("out", ...)           any number of records, to any partitions
    producer.send_offsets_to_transaction(  what was read for it; committed only with the records
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
    producer.commit_transaction()          or abort_transaction()

The KafkaError that is raised says what to do:

    txn_requires_abort()    abort_transaction(), then start the transaction again
    retriable()             call the same method again, for example after _TIMED_OUT: it continues
    fatal()                 nothing can be done; _FENCED: a newer producer has the transactional id

A transaction that is open when its producer is closed is aborted by the coordinator, after
transaction.timeout.ms or when the next producer with that transactional id starts.
"""

import math
import random
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Self

from engine import errors
from engine.client.core import Core
from engine.client.destinations import Destinations
from engine.client.metadata import MetadataView
from engine.client.network import NetworkClient
from engine.client.offset_and_metadata import offsets_of
from engine.client.partitioner import CustomPartitioner, partitioner
from engine.client.producing.accumulator import RecordAccumulator
from engine.client.producing.arguments import (
    as_bytes,
    as_headers,
    as_seconds,
    check_group_metadata,
    check_types,
    message_of,
)
from engine.client.producing.batch import max_size
from engine.client.producing.batch_log import BufferState
from engine.client.producing.idempotence import ProducerId
from engine.client.producing.sender import Sender
from engine.client.producing.transaction_manager import TransactionCall, TransactionManager
from engine.client.values import (
    ClusterMetadata,
    ConsumerGroupMetadata,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    exception_of,
)
from engine.config.producer import PARTITIONERS, ProducerConfig

LIST_TOPICS_TIMEOUT_S = 60.0  # by default

DeliveryCallback = Callable[[KafkaError | None, Message], Any]

_client_numbers = count(1)


class Producer:
    def __init__(self, config: Mapping[str, Any] | None = None, **more: Any) -> None:
        try:
            settings, functions = ProducerConfig.take({**(config or {}), **more})
            if not settings.client_id:
                name = settings.transactional_id or next(_client_numbers)
                settings = replace(settings, client_id=f"producer-{name}")
            self._settings = settings
            self._view = MetadataView(settings, create=True)
            self._accumulator = RecordAccumulator(settings)
            self._network = NetworkClient(settings, self._view, self._cores())
        except errors.ApiException as error:
            raise exception_of(error, KafkaError._INVALID_ARG) from error
        self._max_block = settings.max_block_ms / 1000
        self._on_delivery = functions.get("on_delivery") or functions.get("dr_cb")
        self._on_error = functions.get("error_cb")
        self._reported: KafkaError | None = None  # the last error that error_cb was called with
        function = functions.get("partitioner")
        name = PARTITIONERS[settings.partitioner_class]
        self._destinations = Destinations(
            settings,
            self._network,
            self._accumulator,
            CustomPartitioner(function) if function else partitioner(name, random.randrange),
        )
        self._end = weakref.finalize(self, self._network.close)

    def _cores(self) -> list[Core]:
        settings, accumulator = self._settings, self._accumulator
        producer_id: ProducerId | None = None
        self._transactions: TransactionManager | None = None
        if settings.transactional_id is not None:
            self._transactions = TransactionManager(settings, accumulator)
        elif settings.enable_idempotence:
            producer_id = ProducerId(settings.retry_backoff_ms / 1000)
        self._sender = Sender(settings, accumulator, producer_id, self._transactions)
        others = (producer_id, self._transactions)
        return [self._sender, *(each for each in others if each is not None)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many records are not delivered or given up yet, or not reported."""
        with self._network.lock:
            unreported = sum(len(report.batch.pending_reports) for report in self._sender.reports)
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
        on_delivery: DeliveryCallback | None = None,
        timestamp: int = 0,
        headers: Any = None,
        *,
        callback: DeliveryCallback | None = None,
    ) -> None:
        """Add a record to those to send. The partitioner chooses a partition for -1."""
        if type(value) is not bytes:
            value = as_bytes("value", value)
        if type(key) is not bytes:
            key = as_bytes("key", key)
        on_delivery = on_delivery or callback or self._on_delivery
        if type(timestamp) is not int or type(partition) is not int or type(topic) is not str:
            check_types(topic, partition, timestamp)
        named = as_headers(headers) if headers else ()
        size = max_size(key, value, named)
        if size > self._settings.max_request_size or size > self._settings.buffer_memory:
            raise self._too_large(size)
        stamp = timestamp or time.time_ns() // 1_000_000
        with self._network.lock:
            self._check_open()
            until = time.monotonic() + self._max_block
            queue = self._destinations.queue(topic, key, partition, size, until)
            if not self._accumulator.has_room(size):
                self._await_room(size, until)
            self._check_open()  # all may have ended while this call waited
            now = time.monotonic()
            batch, new = self._accumulator.append(queue, size, key, value, stamp, named, now)
            if on_delivery is not None:
                index = batch.count - 1
                report = (index, on_delivery, key, value, named, stamp, now)
                batch.pending_reports.append(report)
            if new:
                self._network.wake()

    def poll(self, timeout: float | None = -1) -> int:
        """Wait for a first delivery report, then call back for all there are; returns how many."""
        seconds = as_seconds(timeout)
        with self._network.lock:
            self._check()
            if seconds != 0:
                self._network.wait(self._has_reports, seconds)
        return self._serve()

    def flush(self, timeout: float | None = -1) -> int:
        """Send all, and wait until it is delivered or given up; returns how many are left."""
        until = time.monotonic() + as_seconds(timeout)
        with self._network.lock:
            self._check()
            self._accumulator.no_linger += 1
        try:
            while True:
                self._serve()
                with self._network.lock:
                    left = until - time.monotonic()
                    if not self._network.wait(self._has_reports_or_is_empty, left) or not len(self):
                        return len(self)
        finally:
            with self._network.lock:
                self._accumulator.no_linger -= 1

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Give up what is not delivered; poll() or flush() report it."""
        with self._network.lock:
            self._check()
            self._sender.purge(in_queue, in_flight, time.monotonic())

    @property
    def closed(self) -> bool:
        return not self._end.alive

    def close(self, timeout: float | None = -1) -> bool:
        """Flush, then close the connections. Records that are not delivered by then are lost.

        In a forked child there is nothing to flush.
        """
        if self._end.alive:
            try:
                if not self._network.is_forked:
                    self.flush(timeout)
            finally:
                self._end()
        return True

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Brokers, and this topic or all."""
        with self._network.lock:
            self._check()
        seconds = as_seconds(timeout)
        try:
            found = self._network.metadata(
                None if topic is None else [topic],
                LIST_TOPICS_TIMEOUT_S if seconds == math.inf else seconds,
            )
        except errors.ApiException as error:
            raise exception_of(error, KafkaError._TRANSPORT) from error
        return ClusterMetadata.of(found)

    def buffer_state(self) -> BufferState:
        """The batches that wait or are in flight, and those that are done since the first call, as
        plain data; also of a closed producer. AccumulatorView draws it."""
        with self._network.lock:
            log = self._accumulator.log
            return log.state(self._accumulator, time.monotonic(), not self._end.alive)

    def _check_open(self) -> None:
        """Raises an error if no record can be sent."""
        self._check()
        if self._sender.fatal is not None:
            raise KafkaException(self._sender.fatal)
        if self._transactions is not None:
            self._transactions.check_open()

    def _await_room(self, size: int, until: float) -> None:
        """Until the buffer takes the record."""
        self._accumulator.no_linger += 1
        self._accumulator.log.waiting += 1
        try:
            left = until - time.monotonic()
            has_room = self._network.wait(lambda: self._accumulator.has_room(size), left)
        finally:
            self._accumulator.no_linger -= 1
            self._accumulator.log.waiting -= 1
        self._check_open()
        if not has_room:
            raise BufferError(
                f"the buffer is full: {self._accumulator.records} records wait to be delivered, "
                f"and there was no room for {size} bytes more within {self._max_block:g} s "
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

    # -- transactions ----------------------------------------------------------------------

    def init_transactions(self, timeout: float | None = -1) -> None:
        """Get the producer id, once, before all else. An open transaction of the last producer with
        this transactional id is ended."""
        self._wait_for(TransactionManager.init, timeout)

    def begin_transaction(self) -> None:
        with self._network.lock:
            self._need_transactions().begin()

    def send_offsets_to_transaction(
        self,
        positions: list[TopicPartition],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | None = -1,
    ) -> None:
        """Commit these offsets of a group together with the records.

        Waits no longer than transaction.timeout.ms, since the transaction is over then.
        """
        check_group_metadata(group_metadata)
        offsets = offsets_of(positions)
        within = min(as_seconds(timeout), self._settings.transaction_timeout_ms / 1000)
        if offsets:
            self._wait_for(lambda it: it.send_offsets(offsets, group_metadata), within)

    def commit_transaction(self, timeout: float | None = -1) -> None:
        """Deliver all that was produced, then commit it."""
        self._wait_for(TransactionManager.commit, timeout, flushes=True)

    def abort_transaction(self, timeout: float | None = -1) -> None:
        """Readers with isolation.level=read_committed get none of it; what was not sent is given
        up."""
        self._wait_for(TransactionManager.abort, timeout, flushes=True)

    def _need_transactions(self) -> TransactionManager:
        self._check()
        if self._transactions is None:
            why = "The Transactional API requires transactional.id to be configured"
            raise KafkaException(KafkaError(KafkaError._NOT_CONFIGURED, why))
        return self._transactions

    def _wait_for(
        self,
        begin: Callable[[TransactionManager], TransactionCall],
        timeout: float | None,
        flushes: bool = False,
    ) -> None:
        """`flushes`: records are delivered or given up, and reported, before."""
        until = time.monotonic() + as_seconds(timeout)
        with self._network.lock:
            manager = self._need_transactions()
            call = begin(manager)
            if call.awaited:
                why = f"Simultaneous {call.name} API calls not allowed"
                raise KafkaException(KafkaError(KafkaError._PREV_IN_PROGRESS, why, retriable=True))
            call.awaited = True
            self._network.wake()
        try:
            undelivered = self.flush(_seconds_until(until)) if flushes else 0
            with self._network.lock:
                self._network.wait(lambda: call.done, _seconds_until(until))
        finally:
            call.awaited = False
        if not call.done:
            raise _timed_out(undelivered, manager.trouble)
        with self._network.lock:
            manager.returned(call)
        if call.error is not None:
            raise KafkaException(call.error)

    # -- callbacks -------------------------------------------------------------------------

    def _check(self) -> None:
        """Whether the producer can be used at all."""
        if not self._end.alive:
            raise RuntimeError("Producer has been closed")
        self._network.check()

    def _has_reports(self) -> bool:
        return bool(self._sender.reports) or self._new_error() is not None

    def _has_reports_or_is_empty(self) -> bool:
        return self._has_reports() or not self._accumulator.records

    def _serve(self) -> int:
        """Call back, one after the other. If one raises, the next call does the others."""
        served = 0
        while (call := self._next_call()) is not None:
            call()
            served += 1
        return served

    def _next_call(self) -> Callable[[], Any] | None:
        with self._network.lock:
            if (error := self._new_error()) is not None and self._on_error is not None:
                self._reported = error
                return partial(self._on_error, error)
            reports = self._sender.reports
            while reports and not reports[0].batch.pending_reports:
                reports.popleft()
            if not reports:
                return None
            index, on_delivery, *rest = reports[0].batch.pending_reports.pop()
            message = message_of(reports[0], index, *rest)
            return partial(on_delivery, message.error(), message)

    def _new_error(self) -> KafkaError | None:
        """What error_cb was not called with yet: no broker can be reached, or a fatal error."""
        error = self._sender.fatal
        if error is None and self._view.trouble is not None:
            error = KafkaError(KafkaError._ALL_BROKERS_DOWN, self._view.trouble.message)
        if error is None:
            self._reported = None  # it has passed; the next one is reported again
        return None if self._on_error is None or error == self._reported else error


def _seconds_until(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0)


def _timed_out(undelivered: int, trouble: str) -> KafkaException:
    why = "Timed out waiting for operation to finish, retry call to resume"
    if undelivered:
        why = (
            "Failed to flush all outstanding messages within the API timeout: "
            f"{undelivered} message(s) remaining"
        )
    if trouble:
        why = f"{why}: {trouble}"
    return KafkaException(KafkaError(KafkaError._TIMED_OUT, why, retriable=True))
