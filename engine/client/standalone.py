"""A consumer without a group: it reads the partitions that it is assigned by hand.

    network's thread    Metadata, ListOffsets, OffsetForLeaderEpoch, Fetch
                                    |
                        fetched: | orders-0 | orders-2 |
    - - - - - - - - - - - - - - - - | - - - - - - - - - - - - - - - - - - -
    application's       poll:       +-> message, message, message

This is the half of `Consumer` (consumer.py) that has nothing to do with other consumers: messages,
positions, and what the brokers know of them. What decides is in consuming/.

What goes wrong with a partition comes out of poll as a message with an `error()`; what goes wrong
with a call is raised.

Invariant: the application's functions are called from within poll, consume and close, in its own
thread, and never under the lock.
"""

import math
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Self

from engine.client.asking import Core
from engine.client.consuming.fetching import Fetching
from engine.client.consuming.offsets import EARLIEST, LATEST, NOBODY, At, Missing, Offsets
from engine.client.consuming.positions import Fetch, Positions
from engine.client.handing import Handing
from engine.client.listing import ClusterMetadata
from engine.client.network import Network
from engine.client.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    error_of,
    exception_of,
)
from engine.client.view import View
from engine.config.consumer import ConsumerConfig
from engine.errors import KafkaError as Failure
from engine.model import Event
from engine.model import TopicPartition as Partition

CALM = 0.1  # seconds between two looks at what there is to do besides handing out messages
MOST = 1_000_000  # messages that may be asked for at once
EVENTS = 10_000  # that are kept

_numbers = count(1)


class Standalone:
    def __init__(self, config: Mapping[str, Any] | None = None, **more: Any) -> None:
        if config is None and not more:
            raise TypeError("expected configuration dict")
        self.events: deque[Event] = deque(maxlen=EVENTS)  # what happened, for who looks on
        self._emit = _noting(self.events)
        self._calm_until = 0.0
        self._told: Failure | None = None  # what error_cb was told last
        self._has_assigned = False  # the application did so itself, in a rebalance
        self._closed = False
        try:
            taken, functions = ConsumerConfig.take({**(config or {}), **more})
            self._config = replace(taken, client_id=taken.client_id or _client_id(taken))
            self._on_error = functions.pop("error_cb", None)
            self._patience = self._config.default_api_timeout_ms / 1000
            self._begin(*self._group(functions))
        except Failure as error:
            raise exception_of(error, KafkaError._INVALID_ARG) from error

    def _group(self, functions: Mapping[str, Any]) -> tuple[Fetch | None, list[Core]]:
        """How to learn what the group has committed, and the cores that belong to it."""
        return None, []

    def _begin(self, committed: Fetch | None, group: list[Core]) -> None:
        config = self._config
        self._offsets = Offsets(config)
        self._positions = Positions(config, self._offsets, committed, self._emit)
        fetching = Fetching(config, self._positions)
        self._view = View(config, create=config.allow_auto_create_topics)
        cores: list[Core] = [self._positions, self._offsets, fetching, *group]
        self._network = Network(config, self._view, cores)
        self._lock = self._network.lock
        self._end = weakref.finalize(self, self._network.close)  # nothing below knows of `self`
        self._handing = Handing(config, self._positions, fetching, self._network)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Returns once the group, if there is one, knows. May be called again."""
        if self._closed:
            return
        try:
            if self._lock.is_ours:
                self._leave()
        finally:
            self._closed, self._calm_until = True, 0.0
            self._end()

    def _leave(self) -> None:
        """What is to be done before."""

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError("Consumer closed")
        self._network.check()

    # -- messages --------------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> Message | None:
        """The next message, or None after so many seconds; without a time-out it waits."""
        with self._lock:
            if time.monotonic() < self._calm_until:
                message = self._handing.one()
                if message is not None:  # one without a value has no length, and so is false
                    return message
        messages = self._wait(1, _deadline(timeout))
        return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """So many messages, at most max.poll.records; or what there is when the time is over."""
        if not 0 <= num_messages <= MOST:
            raise ValueError(f"num_messages must be between 0 and {MOST} (1M)")
        limit = min(num_messages, self._config.max_poll_records)
        until = _deadline(timeout)
        found: list[Message] = []
        while len(found) < limit and (more := self._wait(limit - len(found), until)):
            found += more
        return found

    def _wait(self, limit: int, until: float) -> list[Message]:
        while True:
            if news := self._serve():
                return [news]
            if messages := self._handing.take(limit):
                return messages
            with self._lock:
                left = until - time.monotonic()
                if left <= 0:
                    return []
                if not self._handing.has_news:
                    self._network.changed.wait(min(left, CALM))

    def _serve(self) -> Message | None:
        """All that is due in the application's own thread; a message if it has to hear of it."""
        with self._lock:
            self._check()
            now = time.monotonic()
            self._calm_until = now + CALM
            self._polled(now)
        while (call := self._call()) is not None:
            call()
        return self._group_trouble()

    def _polled(self, now: float) -> None:
        """The application is here. Under the lock."""

    def _group_trouble(self) -> Message | None:
        return None

    def _call(self) -> Callable[[], Any] | None:
        """The next function of the application that is to be called."""
        with self._lock:
            trouble, told = self._view.trouble, self._told
            self._told = trouble
        if trouble is not None and told is None and self._on_error is not None:
            return partial(self._on_error, error_of(trouble))
        return None

    # -- which partitions ------------------------------------------------------------------

    def assign(self, partitions: list[TopicPartition]) -> None:
        """These and no others, each from its offset, or from where the group has committed."""
        starts = _starts(partitions)
        with self._at_work():
            self._has_assigned = True
            self._positions.unassign(list(self._positions.places))
            self._positions.assign(starts)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """These, too."""
        starts = _starts(partitions)
        with self._at_work():
            for each in starts.keys() & self._positions.places.keys():
                why = f"{each} is already part of the current assignment"
                raise KafkaException(KafkaError(KafkaError._CONFLICT, why))
            self._has_assigned = True
            self._positions.assign(starts)

    def unassign(self) -> None:
        self.assign([])

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """These no more."""
        keys = _starts(partitions).keys()
        with self._at_work():
            self._has_assigned = True
            for each in keys - self._positions.places.keys():
                why = f"{each} can't be unassigned since it is not in the current assignment"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
            self._positions.unassign(keys)

    def assignment(self) -> list[TopicPartition]:
        with self._at_work():
            return [TopicPartition(*each) for each in sorted(self._positions.places)]

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """A change that the network is to act on."""
        with self._lock:
            self._check()
            yield
            self._network.wake()

    # -- positions -------------------------------------------------------------------------

    def seek(self, partition: TopicPartition) -> None:
        """Go on from its offset, which may be OFFSET_BEGINNING or OFFSET_END."""
        epoch = NOBODY if partition.leader_epoch is None else partition.leader_epoch
        with self._at_work():
            if (key := _key(partition)) not in self._positions.places:
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
        """The offset of the next message of each; OFFSET_INVALID where that is not known yet."""
        with self._at_work():
            for each, key in keys_of(partitions):
                place = self._positions.places.get(key)
                known = place is not None and place.offset >= 0
                each.offset = place.offset if place and known else OFFSET_INVALID
                each.leader_epoch = place.epoch if place and known and place.epoch >= 0 else None
        return partitions

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Keep them, and hand out nothing of them until `resume`."""
        self._pause(partitions, True)

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._pause(partitions, False)

    def _pause(self, partitions: list[TopicPartition], paused: bool) -> None:
        with self._at_work():
            for each, key in keys_of(partitions):
                if key in self._positions.places:
                    self._positions.pause(key, paused)
                else:
                    each.error = KafkaError(KafkaError._UNKNOWN_PARTITION)

    # -- what the brokers know -------------------------------------------------------------

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset, and the one after the last that can be read; `cached`: as of late."""
        key = _key(partition)
        if cached:
            with self._at_work():
                place = self._positions.places.get(key)
            if place is None or place.high_watermark < 0:
                return OFFSET_INVALID, OFFSET_INVALID
            return place.log_start, place.high_watermark
        first, last = self._find([(key, EARLIEST), (key, LATEST)], timeout)
        if isinstance(first, Missing) or isinstance(last, Missing):
            why = first if isinstance(first, Missing) else last
            raise KafkaException(KafkaError(*why))
        return first.offset, last.offset

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The first offset that is not older than the time, in milliseconds, given as `offset`."""
        keys = keys_of(partitions)
        found = self._find([(key, each.offset) for each, key in keys], timeout)
        told = []
        for (topic, number), at in zip((key for _, key in keys), found, strict=True):
            told.append(each := TopicPartition(topic, number))
            if isinstance(at, Missing):
                each.error = KafkaError(*at)
            else:
                each.offset = at.offset if at.offset >= 0 else OFFSET_END
        return told

    def _find(
        self, wanted: Sequence[tuple[Partition, int]], timeout: float | None
    ) -> list[At | Missing]:
        found: dict[int, At | Missing] = {}
        with self._at_work():
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
        except Failure as error:
            raise exception_of(error) from error

    def _within(self, timeout: float | None) -> float:
        return self._patience if timeout is None or timeout < 0 else timeout

    def _timed_out(self, what: str) -> KafkaException:
        """And why, if that is known."""
        if self._view.trouble is not None:
            return exception_of(self._view.trouble)
        return KafkaException(KafkaError(KafkaError._TIMED_OUT, f"Failed to get {what}: timed out"))


def _noting(events: deque[Event]) -> Callable[[Event], None]:
    """Cores know the seconds of a clock that only rises; who looks on wants the time of day."""
    return lambda event: events.append(event._replace(at=round(time.time() * 1000)))


def _client_id(config: ConsumerConfig) -> str:
    """As Java calls a consumer that was given no client.id."""
    return f"consumer-{config.group_id}-{config.group_instance_id or next(_numbers)}"


def _deadline(timeout: float | None) -> float:
    """None and what is negative: for ever."""
    return math.inf if timeout is None or timeout < 0 else time.monotonic() + timeout


def _key(partition: TopicPartition) -> Partition:
    if not isinstance(partition, TopicPartition):
        raise TypeError(f"expected TopicPartition, not {type(partition).__name__}")
    return Partition(partition.topic, partition.partition)


def keys_of(partitions: list[TopicPartition]) -> list[tuple[TopicPartition, Partition]]:
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    return [(each, _key(each)) for each in partitions]


def _starts(partitions: list[TopicPartition]) -> dict[Partition, int]:
    return {key: each.offset for each, key in keys_of(partitions)}
