"""Reads topics: as one of a group that shares them, or alone.

    consumer = Consumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "billing",
                         "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    while (message := consumer.poll(1.0)) is not None:
        print(message.value())
    consumer.close()

It has the methods of confluent-kafka's Consumer, and Kafka's configuration keys. What needs no
group is in standalone.py; this half brings in the others:

    network's thread    JoinGroup, SyncGroup, Heartbeat          OffsetCommit
                               |                                      |
                        orders: Revoke, Assign, Lost                  |
    - - - - - - - - - - - - - -|- - - - - - - - - - - - - - - - - - - | - - -
    application's       poll:  +-> on_revoke, on_assign, on_lost      +-> on_commit

A rebalance waits for the application: what is revoked is committed, `on_revoke` has its say, and
only then the group may give it to somebody else.

Invariant: an order is carried out to its end, whatever the application's function raises.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from engine.client.asking import Core
from engine.client.consuming.committing import Committed, Committing, Found
from engine.client.consuming.coordinating import Coordinating
from engine.client.consuming.membership import Membership
from engine.client.consuming.offsets import NEWS_TAKES, NOBODY
from engine.client.consuming.orders import Assign, Lost, Order, Revoke
from engine.client.consuming.place import Position
from engine.client.consuming.positions import Fetch
from engine.client.consuming.progress import Progress
from engine.client.consuming.rounds import NO_GENERATION, Identity
from engine.client.standalone import CALM, Standalone, keys_of
from engine.client.values import (
    OFFSET_INVALID,
    ConsumerGroupMetadata,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    error_of,
    exception_of,
)
from engine.errors import ErrorCode
from engine.errors import KafkaError as Failure
from engine.model import TopicPartition as Partition

CLOSING = 30.0  # seconds to commit and to leave the group

Listener = Callable[["Consumer", list[TopicPartition]], Any]


class Listeners(NamedTuple):
    """What the application wants to hear of its partitions."""

    on_assign: Listener | None = None
    on_revoke: Listener | None = None
    on_lost: Listener | None = None

    def of(self, order: Order) -> Listener | None:
        if isinstance(order, Assign):
            return self.on_assign
        if isinstance(order, Lost) and self.on_lost is not None:
            return self.on_lost
        return self.on_revoke


class _Group(NamedTuple):
    membership: Membership
    committing: Committing


class Consumer(Standalone):
    _in_group: _Group | None = None  # if there is a group.id
    _listeners = Listeners()
    _is_subscribed = False
    _as_assigned: Identity | None = None  # who we were then

    def _group(self, functions: Mapping[str, Any]) -> tuple[Fetch | None, list[Core]]:
        self._on_commit = functions.get("on_commit")
        if self._config.group_id is None:
            return None, []
        coordinating = Coordinating(self._config)
        membership = Membership(self._config, coordinating, self._emit)
        committing = Committing(self._config, coordinating, membership)
        self._in_group = _Group(membership, committing)
        return committing.fetch, [membership, committing, coordinating]

    def _begin(self, committed: Fetch | None, group: list[Core]) -> None:
        super()._begin(committed, group)
        committing = self._in_group.committing if self._in_group else None
        self._progress = Progress(self._config, self._positions, committing)

    def _need_group(self) -> _Group:
        if self._in_group is None:
            why = "To subscribe, and to commit offsets, a consumer needs a group.id"
            raise KafkaException(KafkaError(KafkaError.INVALID_GROUP_ID, why))
        return self._in_group

    # -- subscription ----------------------------------------------------------------------

    def subscribe(
        self,
        topics: list[str],
        on_assign: Listener | None = None,
        on_revoke: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Share these topics with the group; one that begins with ^ is a pattern of names."""
        if not isinstance(topics, list):
            raise TypeError("expected list of topic unicode strings")
        listeners = Listeners(on_assign, on_revoke, on_lost)
        for name, each in listeners._asdict().items():
            if each is not None and not callable(each):
                raise TypeError(f"{name} expects a callable")
        names, pattern = _wish([str(each) for each in topics])
        with self._at_work():
            membership = self._need_group().membership
            if not self._is_subscribed:
                self._positions.unassign(list(self._positions.places))
            self._listeners, self._is_subscribed = listeners, True
            membership.subscribe(names, pattern, time.monotonic())

    def unsubscribe(self) -> None:
        """Leave the group, once the next poll has given up what is owned."""
        with self._at_work():
            if self._is_subscribed:
                self._is_subscribed = False
                self._need_group().membership.unsubscribe(time.monotonic())

    def memberid(self) -> str | None:
        """As the coordinator calls this member."""
        with self._at_work():
            return self._in_group.membership.identity.member_id or None if self._in_group else None

    def consumer_group_metadata(self) -> ConsumerGroupMetadata | None:
        """Who this member was when it was assigned what it reads; for a producer's transaction.

        What the group has taken away since is so committed under an identity that does not count
        any more, and refused.
        """
        with self._at_work():
            if self._in_group is None:
                return None
            found = self._as_assigned or self._in_group.membership.identity
            return ConsumerGroupMetadata(*found)

    # -- what the group has to say ---------------------------------------------------------

    def _polled(self, now: float) -> None:
        if self._in_group is not None:
            self._progress.commit_if_due(now)
            self._in_group.membership.polled(now)
            self._network.wake()

    def _call(self) -> Callable[[], Any] | None:
        with self._lock:
            if self._in_group is not None and self._in_group.membership.orders:
                return partial(self._carry_out, self._in_group.membership.orders.popleft())
            while self._progress.to_tell:
                outcome = self._progress.to_tell.popleft()
                if self._on_commit is not None:
                    return partial(self._on_commit, outcome.failure(), outcome.partitions())
        return super()._call()

    def _group_trouble(self) -> Message | None:
        if self._in_group is None:
            return None
        with self._lock:
            membership = self._in_group.membership
            if membership.exceeded:
                membership.exceeded = False
                limit = self._config.max_poll_interval_ms
                why = f"poll was not called for max.poll.interval.ms ({limit}): left the group"
                return Message(error=KafkaError(KafkaError._MAX_POLL_EXCEEDED, why))
            error = membership.take_error()
        if error is None:
            return None
        is_fatal = error.code == ErrorCode.fenced_instance_id
        return Message(error=error_of(error, fatal=is_fatal))

    def _carry_out(self, order: Order) -> None:
        """The application's part in a rebalance."""
        if isinstance(order, Revoke):
            self._commit_before(order.partitions)
        if isinstance(order, Assign):
            with self._lock:
                identity = self._need_group().membership.identity
                if identity.generation != NO_GENERATION:  # it may have been lost since
                    self._as_assigned = identity
        listener = self._listeners.of(order)
        self._has_assigned = False
        try:
            if listener is not None and (order.partitions or isinstance(order, Assign)):
                listener(self, [TopicPartition(*each) for each in order.partitions])
        finally:
            with self._lock:
                if not self._has_assigned and isinstance(order, Assign):
                    self._positions.assign(dict.fromkeys(order.partitions, OFFSET_INVALID))
                elif not self._has_assigned:
                    self._positions.unassign(order.partitions)
                self._need_group().membership.done(order, time.monotonic())
                self._network.wake()

    def _commit_before(self, partitions: Iterable[Partition] | None) -> None:
        """Before they go: once others have them, it is too late."""
        with self._lock:
            outcome = self._progress.last(partitions, time.monotonic())
            if outcome is not None:
                self._wait_a_while(lambda: outcome.done)

    def _leave(self) -> None:
        if self._in_group is None:
            return
        membership = self._in_group.membership
        if not self._is_subscribed:
            self._commit_before(None)
        with self._lock:
            membership.close(time.monotonic())
        while True:
            while (call := self._call()) is not None:
                call()
            with self._lock:
                self._wait_a_while(lambda: membership.orders or membership.has_left)
                if not membership.orders:
                    return

    def _wait_a_while(self, holds: Callable[[], Any]) -> None:
        """For the group; but where there is no broker at all, there is no use in it."""
        began = time.monotonic()
        while not self._network.wait(holds, CALM):
            patience = NEWS_TAKES if self._view.trouble is not None else CLOSING
            if time.monotonic() >= began + patience:
                return

    # -- commits ---------------------------------------------------------------------------

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Up to and with a message, or these offsets, or all that was consumed.

        Asynchronous: `on_commit` is told, in a later poll. Otherwise what became of each partition
        is returned; if that is an error for any of them, and it was the only one, it is raised.
        """
        given = self._given(message, offsets)
        with self._at_work():
            self._need_group()
            wanted = self._progress.consumed() if given is None else given
            if wanted:
                now = time.monotonic()
                outcome = self._progress.commit(wanted, now, tell=asynchronous)
            elif not asynchronous:
                why = "Commit failed: nothing was consumed, or stored"
                raise KafkaException(KafkaError(KafkaError._NO_OFFSET, why))
            if asynchronous:
                return None
            self._network.wait(lambda: outcome.done, self._patience)
        if not outcome.done:
            raise self._timed_out("the answer to a commit")
        if outcome.error is not None:
            raise exception_of(outcome.error) from outcome.error
        if all(code != ErrorCode.none for code in outcome.codes.values()):
            raise KafkaException(outcome.failure())
        return outcome.partitions()

    def store_offsets(
        self, message: Message | None = None, offsets: list[TopicPartition] | None = None
    ) -> None:
        """What a commit commits, where enable.auto.offset.store is false."""
        given = self._given(message, offsets)
        if given is None:
            raise ValueError("expected either message or offsets")
        if self._config.enable_auto_offset_store:
            why = "StoreOffsets failed: enable.auto.offset.store must be false"
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
        with self._at_work():
            for key in given.keys() - self._positions.places.keys():
                why = f"StoreOffsets failed: {key} is not assigned"
                raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, why))
            for key, (offset, epoch, _) in given.items():
                self._positions.places[key].stored = Position(offset, epoch)

    def committed(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """Where the group is in each; OFFSET_INVALID where nothing was committed."""
        keys = keys_of(partitions)
        found: list[Found | Failure] = []
        with self._at_work():
            committing = self._need_group().committing
            committing.fetch([key for _, key in keys], found.append, time.monotonic())
            self._network.wait(lambda: found, self._within(timeout))
        if not found:
            raise self._timed_out("committed offsets")
        if isinstance(found[0], Failure):
            raise exception_of(found[0]) from found[0]
        for each, key in keys:
            row = found[0][key]
            each.error = error_of(row) if isinstance(row, Failure) else None
            if not isinstance(row, Failure):
                each.offset = row.offset if row.offset >= 0 else OFFSET_INVALID
                each.metadata = row.metadata
                each.leader_epoch = row.epoch if row.epoch >= 0 else None
        return partitions

    @staticmethod
    def _given(
        message: Message | None, offsets: list[TopicPartition] | None
    ) -> dict[Partition, Committed] | None:
        """The offsets that a call names."""
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        if message is not None:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            key = Partition(str(message.topic()), message._partition)
            epoch = message.leader_epoch()
            return {key: Committed(message._offset + 1, NOBODY if epoch is None else epoch)}
        if offsets is None:
            return None
        return {
            key: Committed(
                each.offset,
                NOBODY if each.leader_epoch is None else each.leader_epoch,
                each.metadata or "",
            )
            for each, key in keys_of(offsets)
            if each.offset >= 0
        }


def _wish(topics: Iterable[str]) -> tuple[list[str], re.Pattern[str] | None]:
    """The names, and the pattern that stands for all patterns."""
    names = [each for each in topics if not each.startswith("^")]
    patterns = [f"(?:{each})" for each in topics if each.startswith("^")]
    if (not names and not patterns) or not all(names):
        why = "Failed to set subscription: there is a topic without a name, or no topic at all"
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
    try:
        return names, re.compile("|".join(patterns)) if patterns else None
    except re.error as error:
        why = f"Failed to set subscription: {error}"
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why)) from error
