"""The application's side of a consumer's group: callbacks, and commits before a revocation.

    network's thread    JoinGroup, SyncGroup, Heartbeat          OffsetCommit
                               |                                      |
              callbacks: OnRevoke, OnAssign, OnLost                   |
    - - - - - - - - - - - - - -|- - - - - - - - - - - - - - - - - - - | - - -
    application's       poll:  +-> on_revoke, on_assign, on_lost      +-> on_commit

A rebalance waits for the application: it commits the offsets of revoked partitions and calls
`on_revoke`; only then the group may assign them to another member. Java's client has a class of
this name.

Invariant: a callback is done when the application's function returns or raises.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

from engine.client import values
from engine.client.consuming.arguments import Listener
from engine.client.consuming.membership import NO_GENERATION, Membership
from engine.client.consuming.offset_commits import CommitPolicy, CommitResult, OffsetManager
from engine.client.consuming.offset_lookup import NEWS_TAKES
from engine.client.consuming.positions import Positions
from engine.client.consuming.rebalance_callbacks import (
    OnAssign,
    OnLost,
    OnRevoke,
    RebalanceCallback,
)
from engine.client.coordinator_lookup import CoordinatorLookup, CoordinatorType
from engine.client.network import NetworkClient
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.client.values import (
    OFFSET_INVALID,
    ConsumerGroupMetadata,
    KafkaError,
    Message,
    error_of,
)
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition

CALM = 0.1  # seconds between two checks for work while poll waits
CLOSING = 30.0  # seconds to commit and to leave the group


class GroupCores(NamedTuple):
    """The cores of a member, in the order of their steps."""

    membership: Membership
    offsets: OffsetManager
    coordinator: CoordinatorLookup

    @classmethod
    def of(cls, config: ConsumerConfig, emit: Callable[[Event], None]) -> Self:
        assert config.group_id is not None
        backoff = config.retry_backoff_ms / 1000
        coordinator = CoordinatorLookup(CoordinatorType.GROUP, config.group_id, backoff)
        membership = Membership(config, coordinator, emit)
        return cls(membership, OffsetManager(config, coordinator, membership), coordinator)


class Listeners(NamedTuple):
    """The application's callbacks for its partitions."""

    on_assign: Listener | None = None
    on_revoke: Listener | None = None
    on_lost: Listener | None = None

    def check(self) -> None:
        for name, each in self._asdict().items():
            if each is not None and not callable(each):
                raise TypeError(f"{name} expects a callable")

    def of(self, callback: RebalanceCallback) -> Listener | None:
        if isinstance(callback, OnAssign):
            return self.on_assign
        if isinstance(callback, OnLost) and self.on_lost is not None:
            return self.on_lost
        return self.on_revoke


class ConsumerCoordinator:
    def __init__(
        self,
        config: ConsumerConfig,
        cores: GroupCores,
        positions: Positions,
        network: NetworkClient,
        on_commit: Callable[..., Any] | None,
    ) -> None:
        self.has_assigned = False  # the application called assign or unassign in a callback
        self.as_assigned: ConsumerGroupMetadata | None = None  # the identity at the last assignment
        self._max_poll_interval_ms = config.max_poll_interval_ms
        self._membership, offsets, _ = cores
        self.fetch_committed = offsets.fetch
        self._has_commits = offsets.has_commits
        self._positions = positions
        self._network = network
        self._on_commit = on_commit
        self._listeners = Listeners()
        self._is_subscribed = False
        self._commits = CommitPolicy(config, positions.places, offsets)

    # -- under the lock --------------------------------------------------------------------

    @property
    def identity(self) -> ConsumerGroupMetadata:
        return self._membership.identity

    def subscribe(
        self, names: list[str], pattern: re.Pattern[str] | None, listeners: Listeners
    ) -> None:
        if not self._is_subscribed:
            self._positions.unassign(list(self._positions.places))
        self._listeners, self._is_subscribed = listeners, True
        self._membership.subscribe(names, pattern, time.monotonic())

    def unsubscribe(self) -> None:
        if self._is_subscribed:
            self._is_subscribed = False
            self._membership.unsubscribe(time.monotonic())

    def polled(self, now: float, *, commits: bool = True) -> None:
        """The application has called poll. `commits`: it has seen all that was delivered."""
        if commits:
            self._commits.commit_if_due(now)
        self._membership.polled(now)
        self._network.wake()

    def commit(
        self, given: Mapping[TopicPartition, OffsetAndMetadata] | None, *, report: bool
    ) -> CommitResult | None:
        """These offsets, or all that was consumed; None if there is nothing to commit."""
        wanted = self._commits.consumed() if given is None else given
        return self._commits.commit(wanted, time.monotonic(), report=report) if wanted else None

    # -- by the application's thread -------------------------------------------------------

    @property
    def has_callbacks(self) -> bool:
        """Whether a rebalance waits for the application."""
        with self._network.lock:
            return bool(self._membership.callbacks.waiting)

    def call_back(self, consumer: Any) -> None:
        """Call all functions of the application that are due."""
        while True:
            with self._network.lock:
                callbacks, results = self._membership.callbacks, self._commits.unreported
                callback = callbacks.take() if callbacks.waiting else None
                outcome = results.popleft() if results and callback is None else None
            if callback is not None:
                self._carry_out(callback, consumer)
            elif outcome is None:
                return
            elif self._on_commit is not None:
                self._on_commit(outcome.failure(), outcome.partitions())

    def trouble(self) -> Message | None:
        """An error of the group for the application, as a message."""
        with self._network.lock:
            if self._membership.exceeded:
                self._membership.exceeded = False
                limit = self._max_poll_interval_ms
                why = f"poll was not called for max.poll.interval.ms ({limit}): left the group"
                return Message(error=KafkaError(KafkaError._MAX_POLL_EXCEEDED, why))
            error = self._membership.take_error()
        return None if error is None else Message(error=_reported(error))

    def close(self, consumer: Any) -> None:
        """Commit, give up the partitions, and leave. What was committed without waiting is waited
        for: a member that has left may not commit."""
        began, callbacks = time.monotonic(), self._membership.callbacks
        if not self._is_subscribed:
            self._commit_before(None)
        with self._network.lock:
            self._wait(lambda: not self._has_commits(), began)
            self._membership.unsubscribe(time.monotonic())
        while True:
            self.call_back(consumer)
            with self._network.lock:
                self._wait(lambda: callbacks.waiting or self._membership.has_left, began)
                if not callbacks.waiting:
                    break
        self.call_back(consumer)

    def _carry_out(self, callback: RebalanceCallback, consumer: Any) -> None:
        """The application's part in a rebalance. It is done also if it is interrupted."""
        listener = self._listeners.of(callback)
        self.has_assigned = False
        try:
            if isinstance(callback, OnRevoke):
                self._commit_before(callback.partitions)
            if isinstance(callback, OnAssign):
                with self._network.lock:
                    identity = self._membership.identity
                    if identity.generation_id != NO_GENERATION:  # it may have been lost since
                        self.as_assigned = identity
            if listener is not None and (callback.partitions or isinstance(callback, OnAssign)):
                listener(consumer, [values.TopicPartition(*each) for each in callback.partitions])
        finally:
            with self._network.lock:
                if not self.has_assigned and isinstance(callback, OnAssign):
                    self._positions.assign(dict.fromkeys(callback.partitions, OFFSET_INVALID))
                elif not self.has_assigned:
                    self._positions.unassign(callback.partitions)
                self._membership.done(callback, time.monotonic())
                self._network.wake()

    def _commit_before(self, partitions: Iterable[TopicPartition] | None) -> None:
        """Commit before they are revoked: when other members have them, it is too late."""
        with self._network.lock:
            outcome = self._commits.commit_before_revoke(partitions, time.monotonic())
            if outcome is not None:
                self._wait(lambda: outcome.done, time.monotonic())

    def _wait(self, holds: Callable[[], Any], began: float) -> None:
        """Wait for the group; if no broker answers, only for a short time."""
        while not self._network.wait(holds, CALM) and not self._network.is_over:
            patience = NEWS_TAKES if self._network.view.trouble is not None else CLOSING
            if time.monotonic() >= began + patience:
                return


def _reported(error: ApiException) -> KafkaError:
    return error_of(error, fatal=error.code == ErrorCode.fenced_instance_id)
