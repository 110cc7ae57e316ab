"""Reads topics: as a member of a group that shares them, or alone.

    consumer = Consumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "billing",
                         "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    while (message := consumer.poll(1.0)) is not None:
        print(message.value())
    consumer.close()

It has the methods of confluent-kafka's Consumer, and Kafka's configuration keys.

    network's thread    Metadata, ListOffsets, OffsetForLeaderEpoch, Fetch       JoinGroup, ...
                                    |                                                |
                        fetched: | orders-0 | orders-2 |                   rebalances, commits
    - - - - - - - - - - - - - - - - | - - - - - - - - - - - - - - - - - - - - - - - -|- - - - -
    application's       poll:       +-> message, message, message                    +-> callbacks

The deciding code is in consuming/. Callbacks and commits of a group are in consumer_coordinator.py;
without a group.id there is none, and partitions are assigned by hand. poll returns an error of a
partition as a message with an `error()`; the error of a call is raised.

Invariant: the application's functions are called within poll, consume and close, in its own
thread, and never under the lock.
"""

import math
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Self

from engine import model
from engine.client.consumer_coordinator import CALM, ConsumerCoordinator, GroupCores, Listeners
from engine.client.consuming.arguments import (
    Listener,
    committed_offsets,
    key_of,
    keys_of,
    starts_of,
    subscription_of,
)
from engine.client.consuming.assigned_partition import Position
from engine.client.consuming.fetcher import ConsumerFetcher
from engine.client.consuming.offset_commits import FetchedOffsets
from engine.client.consuming.offset_lookup import (
    EARLIEST,
    LATEST,
    FoundOffset,
    MissingPartition,
    OffsetLookups,
)
from engine.client.consuming.positions import Positions
from engine.client.delivery import MessageDelivery
from engine.client.metadata import MetadataView
from engine.client.network import NetworkClient
from engine.client.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    ClusterMetadata,
    ConsumerGroupMetadata,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    error_of,
    exception_of,
)
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, Event

MOST = 1_000_000  # messages that may be asked for at once
EVENTS = 10_000  # that are kept

_numbers = count(1)


class Consumer:
    def __init__(self, config: Mapping[str, Any] | None = None, **more: Any) -> None:
        if config is None and not more:
            raise TypeError("expected configuration dict")
        self.events: deque[Event] = deque(maxlen=EVENTS)  # the latest, for observers
        self._calm_until = 0.0
        self._reported: ApiException | None = None  # the error that error_cb was called with last
        self._closed = False
        try:
            taken, functions = ConsumerConfig.take({**(config or {}), **more})
            self._config = replace(taken, client_id=taken.client_id or _client_id(taken))
            self._on_error = functions.pop("error_cb", None)
            self._patience = self._config.default_api_timeout_ms / 1000
            self._start(functions.get("on_commit"))
        except ApiException as error:
            raise exception_of(error, KafkaError._INVALID_ARG) from error

    def _start(self, on_commit: Callable[..., Any] | None) -> None:
        config, emit = self._config, _noting(self.events)
        group = GroupCores.of(config, emit) if config.group_id is not None else None
        self._offsets = OffsetLookups(config)
        committed = group.offsets.fetch if group else None
        self._positions = Positions(config, self._offsets, committed, emit)
        fetching = ConsumerFetcher(config, self._positions)
        self._view = MetadataView(config, create=config.allow_auto_create_topics)
        cores = [self._positions, self._offsets, fetching, *(group or ())]
        self._network = NetworkClient(config, self._view, cores)
        self._end = weakref.finalize(self, self._network.close)  # nothing below refers to `self`
        self._delivery = MessageDelivery(config, self._positions, fetching, self._network)
        self._group: ConsumerCoordinator | None = None
        if group is not None:
            self._group = ConsumerCoordinator(
                config, group, self._positions, self._network, on_commit
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Leave the group, if there is one, and close. May be called again."""
        if self._closed:
            return
        try:
            if not self._network.is_forked and self._group is not None:
                self._group.close(self)
        finally:
            self.kill()

    def kill(self) -> None:
        """Close as if the process had died: nothing is committed, and the group is not told."""
        self._closed, self._calm_until = True, 0.0
        self._end()

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError("Consumer closed")
        self._network.check()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """A change under the lock, after which the network acts."""
        with self._network.lock:
            self._check()
            yield
            self._network.wake()

    # -- messages --------------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next message, or None after `timeout` seconds; without a time-out it waits."""
        with self._network.lock:
            if time.monotonic() < self._calm_until:
                message = self._delivery.one()
                if message is not None:  # a message without a value is false
                    return message
        messages = self._wait(1, _deadline(timeout))
        return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to `num_messages`, and at most max.poll.records. Fewer when the time is over, or when
        a rebalance begins: what was read before it must be processed before it, or other members
        read it again."""
        if not 0 <= num_messages <= MOST:
            raise ValueError(f"num_messages must be between 0 and {MOST} (1M)")
        until = _deadline(timeout)
        return self._gather(min(num_messages, self._config.max_poll_records), until, until)

    def available(self, most: int, timeout: float) -> list[Message]:
        """What is there when the first message is, up to `most`: as one poll of Java's client."""
        return self._gather(most, _deadline(timeout), 0.0)

    def _gather(self, limit: int, until: float, until_last: float) -> list[Message]:
        """Wait for the first message until one time, for the others until another."""
        found: list[Message] = []
        try:
            while len(found) < limit:
                more = self._wait(limit - len(found), until_last if found else until, bool(found))
                if not more:
                    break
                found += more
        except BaseException:  # the application does not get them: they are read again
            self._go_back_to(found)
            raise
        return found

    def _go_back_to(self, messages: Iterable[Message]) -> None:
        with self._network.lock:
            for message in reversed([it for it in messages if it.error() is None]):
                key = model.TopicPartition(str(message.topic()), message._partition)
                if key in self._positions.places:
                    self._positions.seek(key, message._offset)

    def _wait(self, limit: int, until: float, holding: bool = False) -> list[Message]:
        """`holding`: the caller has messages that the application has not seen yet."""
        while True:
            if holding and self._group is not None and self._group.has_callbacks:
                return []
            if news := self._serve(call_back=not holding):
                return [news]
            if messages := self._delivery.take(limit):
                return messages
            with self._network.lock:
                left = until - time.monotonic()
                if left <= 0:
                    return []
                if not self._delivery.has_news:
                    self._network.changed.wait(min(left, CALM))

    def _serve(self, call_back: bool = True) -> Message | None:
        """Call back, and do all else that is due in the application's thread. Returns a message if
        there is an error to report."""
        with self._network.lock:
            self._check()
            now = time.monotonic()
            self._calm_until = now + CALM
            if self._group is not None:
                self._group.polled(now, commits=call_back)
        if self._group is not None and call_back:
            self._group.call_back(self)
        self._report_trouble()
        return self._group.trouble() if self._group is not None else None

    def _report_trouble(self) -> None:
        with self._network.lock:
            trouble, reported = self._view.trouble, self._reported
            self._reported = trouble
        if trouble is not None and reported is None and self._on_error is not None:
            self._on_error(error_of(trouble))

    # -- as a member of a group ------------------------------------------------------------

    def subscribe(
        self,
        topics: list[str],
        on_assign: Listener | None = None,
        on_revoke: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Read these topics together with the group; ^ begins a pattern of names."""
        names, pattern = subscription_of(topics)
        listeners = Listeners(on_assign, on_revoke, on_lost)
        listeners.check()
        with self._changing():
            self._need_group().subscribe(names, pattern, listeners)

    def unsubscribe(self) -> None:
        """Leave the group, after the next poll has given up the partitions."""
        with self._changing():
            if self._group is not None:
                self._group.unsubscribe()

    def memberid(self) -> str | None:
        """The id that the coordinator gave this member."""
        with self._changing():
            return self._group.identity.member_id or None if self._group else None

    def consumer_group_metadata(self) -> ConsumerGroupMetadata | None:
        """This member's identity at its last assignment; for a producer's transaction.

        If the group has revoked partitions since, a commit under this identity is refused.
        """
        with self._changing():
            if self._group is None:
                return None
            return ConsumerGroupMetadata(*(self._group.as_assigned or self._group.identity))

    def _need_group(self) -> ConsumerCoordinator:
        if self._group is None:
            why = "To subscribe, and to commit offsets, a consumer needs a group.id"
            raise KafkaException(KafkaError(KafkaError.INVALID_GROUP_ID, why))
        return self._group

    # -- commits ---------------------------------------------------------------------------

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit up to this message, including it, or these offsets, or all that was consumed.

        Asynchronous: a later poll calls `on_commit`. Otherwise it returns the result of each
        partition; if all of them failed, it raises the first error.
        """
        given = committed_offsets(message, offsets)
        with self._changing():
            outcome = self._need_group().commit(given, report=asynchronous)
            if outcome is None and not asynchronous:
                why = "Commit failed: nothing was consumed, or stored"
                raise KafkaException(KafkaError(KafkaError._NO_OFFSET, why))
            if outcome is None or asynchronous:
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
        """Set the offsets of the next commit; only if enable.auto.offset.store is false."""
        given = committed_offsets(message, offsets)
        if given is None:
            raise ValueError("expected either message or offsets")
        if self._config.enable_auto_offset_store:
            why = "StoreOffsets failed: enable.auto.offset.store must be false"
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
        with self._changing():
            for key in given.keys() - self._positions.places.keys():
                why = f"StoreOffsets failed: {key} is not assigned"
                raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, why))
            for key, (offset, epoch, _) in given.items():
                self._positions.places[key].stored = Position(offset, epoch)

    def committed(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The committed offset of each partition; OFFSET_INVALID if there is none."""
        keys = keys_of(partitions)
        found: list[FetchedOffsets | ApiException] = []
        with self._changing():
            fetch = self._need_group().fetch_committed
            fetch([key for _, key in keys], found.append, time.monotonic())
            self._network.wait(lambda: found, self._within(timeout))
        if not found:
            raise self._timed_out("committed offsets")
        if isinstance(found[0], ApiException):
            raise exception_of(found[0]) from found[0]
        for each, key in keys:
            row = found[0][key]
            each.error = error_of(row) if isinstance(row, ApiException) else None
            if not isinstance(row, ApiException):
                each.offset = row.offset if row.offset >= 0 else OFFSET_INVALID
                each.metadata = row.metadata
                each.leader_epoch = row.epoch if row.epoch >= 0 else None
        return partitions

    # -- assignment ------------------------------------------------------------------------

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read only these partitions, each from its offset, or from the committed one."""
        starts = starts_of(partitions)
        with self._assigning():
            self._positions.unassign(list(self._positions.places))
            self._positions.assign(starts)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions, too."""
        starts = starts_of(partitions)
        with self._assigning():
            for each in starts.keys() & self._positions.places.keys():
                why = f"{each} is already part of the current assignment"
                raise KafkaException(KafkaError(KafkaError._CONFLICT, why))
            self._positions.assign(starts)

    def unassign(self) -> None:
        self.assign([])

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Stop reading these partitions."""
        keys = starts_of(partitions).keys()
        with self._assigning():
            for each in keys - self._positions.places.keys():
                why = f"{each} can't be unassigned since it is not in the current assignment"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
            self._positions.unassign(keys)

    @contextmanager
    def _assigning(self) -> Iterator[None]:
        """If the application assigns partitions in a callback, poll does not assign them again."""
        with self._changing():
            yield
            if self._group is not None:
                self._group.has_assigned = True

    def assignment(self) -> list[TopicPartition]:
        with self._changing():
            return [TopicPartition(*each) for each in sorted(self._positions.places)]

    # -- positions -------------------------------------------------------------------------

    def seek(self, partition: TopicPartition) -> None:
        """Continue at its offset, which may be OFFSET_BEGINNING or OFFSET_END."""
        epoch = NO_EPOCH if partition.leader_epoch is None else partition.leader_epoch
        with self._changing():
            if (key := key_of(partition)) not in self._positions.places:
                why = f"Failed to seek to offset {partition.offset}: {key} is not assigned"
                raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, why))
            if partition.offset < 0 and partition.offset not in (OFFSET_BEGINNING, OFFSET_END):
                why = f"Failed to seek: {partition.offset} is no offset"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
            self._positions.seek(key, partition.offset, epoch)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Without partitions: all that are assigned."""
        for each in partitions or self.assignment():
            self.seek(TopicPartition(each.topic, each.partition, OFFSET_BEGINNING))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        for each in partitions or self.assignment():
            self.seek(TopicPartition(each.topic, each.partition, OFFSET_END))

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """The offset of the next message of each; OFFSET_INVALID if it is not known yet."""
        with self._changing():
            for each, key in keys_of(partitions):
                place = self._positions.places.get(key)
                known = place is not None and place.offset >= 0
                each.offset = place.offset if place and known else OFFSET_INVALID
                each.leader_epoch = place.epoch if place and known and place.epoch >= 0 else None
        return partitions

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Keep the partitions, but deliver no messages of them until `resume`."""
        self._pause(partitions, True)

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._pause(partitions, False)

    def _pause(self, partitions: list[TopicPartition], paused: bool) -> None:
        with self._changing():
            for each, key in keys_of(partitions):
                if key in self._positions.places:
                    self._positions.pause(key, paused)
                else:
                    each.error = KafkaError(KafkaError._UNKNOWN_PARTITION)

    # -- requests to brokers ---------------------------------------------------------------

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset, and the one after the last readable; `cached`: by the last fetch."""
        key = key_of(partition)
        if cached:
            with self._changing():
                place = self._positions.places.get(key)
            if place is None or place.high_watermark < 0:
                return OFFSET_INVALID, OFFSET_INVALID
            return place.log_start, place.high_watermark
        first, last = self._find([(key, EARLIEST), (key, LATEST)], timeout)
        if isinstance(first, MissingPartition) or isinstance(last, MissingPartition):
            why = first if isinstance(first, MissingPartition) else last
            raise KafkaException(KafkaError(*why))
        return first.offset, last.offset

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The first offset from a time on; `offset` has the time, in milliseconds."""
        keys = keys_of(partitions)
        found = self._find([(key, each.offset) for each, key in keys], timeout)
        results = []
        for (_, key), at in zip(keys, found, strict=True):
            results.append(each := TopicPartition(*key))
            if isinstance(at, MissingPartition):
                each.error = KafkaError(*at)
            else:
                each.offset = at.offset if at.offset >= 0 else OFFSET_END
        return results

    def _find(
        self, wanted: Sequence[tuple[model.TopicPartition, int]], timeout: float | None
    ) -> list[FoundOffset | MissingPartition]:
        found: dict[int, FoundOffset | MissingPartition] = {}
        with self._changing():
            lookups = [
                self._offsets.find(partition, at, partial(found.__setitem__, number))
                for number, (partition, at) in enumerate(wanted)
            ]
            self._network.wait(lambda: len(found) == len(wanted), self._within(timeout))
            self._offsets.forget(lookups)
        if len(found) < len(wanted):
            raise self._timed_out("offsets")
        return [found[number] for number in range(len(wanted))]

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """All topics or one, and all brokers."""
        self._check()
        wanted = None if topic is None else [topic]
        try:
            return ClusterMetadata.of(self._network.metadata(wanted, self._within(timeout)))
        except ApiException as error:
            raise exception_of(error) from error

    def _within(self, timeout: float | None) -> float:
        return self._patience if timeout is None or timeout < 0 else timeout

    def _timed_out(self, what: str) -> KafkaException:
        """With the reason, if it is known."""
        if self._view.trouble is not None:
            return exception_of(self._view.trouble)
        return KafkaException(KafkaError(KafkaError._TIMED_OUT, f"Failed to get {what}: timed out"))


def _noting(events: deque[Event]) -> Callable[[Event], None]:
    """Events of cores have the time of a monotonic clock; observers need the time of day."""
    return lambda event: events.append(event._replace(at=round(time.time() * 1000)))


def _client_id(config: ConsumerConfig) -> str:
    """Java's name for a consumer without a client.id."""
    return f"consumer-{config.group_id}-{config.group_instance_id or next(_numbers)}"


def _deadline(timeout: float | None) -> float:
    """None or a negative number: no time-out."""
    return math.inf if timeout is None or timeout < 0 else time.monotonic() + timeout
