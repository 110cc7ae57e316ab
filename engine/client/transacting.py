"""Transactions, as an application calls for them: all that a producer sends, or nothing of it.

    producer.init_transactions()           once; whoever had our transactional id is fenced off
    producer.begin_transaction()
    producer.produce("out", ...)           as many as one likes, to any partitions
    producer.send_offsets_to_transaction(  what was read for it counts as read, if it is committed
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
    producer.commit_transaction()          or abort_transaction()

This is the half of `Producer` (producer.py) that waits for what producing/transactions.py does.
A KafkaError that is raised tells what to do about it:

    txn_requires_abort()    abort_transaction(), and do it all once more
    retriable()             the same call again goes on with what this one began; _TIMED_OUT
    fatal()                 nothing; somebody newer may have our transactional id: _FENCED

A transaction that is open when a producer is closed is aborted by its coordinator, after
transaction.timeout.ms or when the next producer of that transactional id starts.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from engine.client.network import Lock, Network
from engine.client.producing.content import as_seconds
from engine.client.producing.requests import Place
from engine.client.producing.transactions import Operation, Transactions
from engine.client.values import (
    ConsumerGroupMetadata,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from engine.config.producer import ProducerConfig
from engine.model import TopicPartition as Partition

NO_EPOCH = -1  # of a leader, where it is not known


class Transacting(ABC):
    _settings: ProducerConfig
    _network: Network
    _lock: Lock
    _transactions: Transactions | None  # if there is a transactional.id

    @abstractmethod
    def flush(self, timeout: float | None = -1) -> int:
        """Deliver what was produced; returns how much is left."""

    @abstractmethod
    def _check(self) -> None:
        """Whether the producer can be used at all."""

    def init_transactions(self, timeout: float | None = -1) -> None:
        """Learn who we are, once, before all else. What our predecessor left open is ended."""
        self._carry_out(lambda core: core.init(), timeout)

    def begin_transaction(self) -> None:
        with self._lock:
            self._need_transactions().begin()

    def send_offsets_to_transaction(
        self,
        positions: list[TopicPartition],
        group_metadata: ConsumerGroupMetadata,
        timeout: float | None = -1,
    ) -> None:
        """Commit how far a group has read together with what is written.

        Waits no longer than transaction.timeout.ms: by then there is nothing to add to.
        """
        _check_metadata(group_metadata)
        places = _places(positions)
        seconds, limit = as_seconds(timeout), self._settings.transaction_timeout_ms / 1000
        within = limit if seconds is None else min(seconds, limit)
        if places:
            self._carry_out(lambda core: core.send_offsets(places, group_metadata), within)

    def commit_transaction(self, timeout: float | None = -1) -> None:
        """Deliver all that was produced, then make it count."""
        self._carry_out(lambda core: core.commit(), timeout, flushes=True)

    def abort_transaction(self, timeout: float | None = -1) -> None:
        """Nothing of it counts; what was not sent yet never will be."""
        self._carry_out(lambda core: core.abort(), timeout, flushes=True)

    # -- how they wait ---------------------------------------------------------------------

    def _need_transactions(self) -> Transactions:
        self._check()
        if self._transactions is None:
            why = "The Transactional API requires transactional.id to be configured"
            raise KafkaException(KafkaError(KafkaError._NOT_CONFIGURED, why))
        return self._transactions

    def _carry_out(
        self,
        call: Callable[[Transactions], Operation],
        timeout: float | None,
        flushes: bool = False,
    ) -> None:
        """`flushes`: what was produced comes to its end before, and the application hears of it."""
        seconds = as_seconds(timeout)
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            core = self._need_transactions()
            operation = call(core)
            if operation.awaited:
                why = f"Simultaneous {operation.name} API calls not allowed"
                raise KafkaException(KafkaError(KafkaError._PREV_IN_PROGRESS, why, retriable=True))
            operation.awaited = True
            self._network.wake()
        try:
            left = self.flush(_left(until)) if flushes else 0
            with self._lock:
                self._network.wait(lambda: operation.done, _left(until))
        finally:
            operation.awaited = False
        if not operation.done:
            raise _timed_out(left, core.trouble)
        with self._lock:
            core.heard(operation)
        if operation.error is not None:
            raise KafkaException(operation.error)


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0)


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


def _check_metadata(given: Any) -> None:
    if not isinstance(given, ConsumerGroupMetadata):
        raise TypeError(f"expected ConsumerGroupMetadata, {type(given).__name__} found")


def _places(positions: Any) -> dict[Partition, Place]:
    """What is worth committing; a position that nobody has come to yet is passed over."""
    if not isinstance(positions, list):
        raise TypeError("requires list of TopicPartition")
    for each in positions:
        if not isinstance(each, TopicPartition):
            raise TypeError(f"expected TopicPartition, not {type(each).__name__}")
    return {
        Partition(each.topic, each.partition): Place(
            each.offset,
            NO_EPOCH if each.leader_epoch is None else each.leader_epoch,
            each.metadata or "",
        )
        for each in positions
        if each.offset >= 0
    }
