"""The base of the group coordinator and the transaction coordinator.

    load(7, epoch); replay(7, records, now) ...; loaded(7, now)    this broker leads partition 7
    ended(7, producer_id, committed, now)    the log has a transaction marker: found between the
                                             records that are replayed, or newly replicated
    unload(7, now)                           another broker leads it
    handle(request, caller, now)             a client's request
    written(token, error, now)               the result of an Append
    tick(now), not later than due()          time has passed

Most return effects (effects.py): responses, to this request or to earlier ones, and records for a
partition of the coordinator's topic, to be appended in this order.

Invariant: every request is answered once, by some call.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from engine.config import BrokerConfig
from engine.coordinator.effects import Caller, CoordinatorContext, Effect
from engine.coordinator.owned_partitions import OwnedPartitions
from engine.coordinator.timers import Alarm, AlarmKind
from engine.errors import ApiException, ErrorCode
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record

Interval = Callable[[BrokerConfig], int]  # of a regular check, in ms


class Handler(NamedTuple):
    # Takes the owned partitions, the request, the caller and the time. Returns the response, or
    # None if it is sent later.
    handle: Callable[[Any, Any, Caller, int], Any]
    # The response if the whole request is refused; other APIs report an error for each part.
    refuse: Callable[[Any, Caller, ErrorCode], Any] | None = None


class Coordinator(ABC):
    handlers: Mapping[str, Handler]  # by the API's name: "JoinGroup", in any version
    # The regular checks of all groups or transactions, each with its interval in ms.
    checks: Mapping[AlarmKind, Interval]

    def __init__(self, context: CoordinatorContext, partitions: OwnedPartitions[Any]) -> None:
        self._context = context
        self._partitions = partitions

    def configure(self, config: BrokerConfig) -> None:
        self._context.config = config

    def set_partition_count(self, count: int) -> None:
        """Of the coordinator's topic."""
        self._partitions.partition_count = count

    # -- partitions are loaded and unloaded --------------------------------------------------

    def is_loading(self, partition: int) -> bool:
        return partition in self._partitions.loading

    def load(self, partition: int, leader_since: int) -> None:
        self._partitions.load(partition, leader_since)

    def replay(
        self, partition: int, records: Iterable[Record], now: int, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        """The producer is given if the records were written in a transaction."""
        self._partitions.replay(partition, records, now, producer_id)

    @abstractmethod
    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> list[Effect]:
        """Of a partition that is being loaded, only in its place between the records."""

    def loaded(self, partition: int, now: int) -> list[Effect]:
        """The log has been read to its end: this broker coordinates what is in it."""
        if not self._partitions.owned:
            for kind in self.checks:
                self._schedule(kind, now)
        for each in self._partitions.loaded(partition):
            each.start(now)
        return self._context.take_effects()

    @abstractmethod
    def unload(self, partition: int, now: int) -> list[Effect]: ...

    # -- requests, results and time ----------------------------------------------------------

    def handle(self, request: Any, caller: Caller, now: int) -> list[Effect]:
        names = (each.__name__.removesuffix("Request") for each in type(request).__mro__)
        handler = next(self.handlers[each] for each in names if each in self.handlers)
        try:
            response = handler.handle(self._partitions, request, caller, now)
        except ApiException as error:
            assert handler.refuse is not None, f"{type(request)} reports errors part by part"
            response = handler.refuse(request, caller, error.code)
        if response is not None:
            self._context.reply(caller, response)
        return self.tick(now)

    def written(self, token: int, error: ErrorCode, now: int) -> list[Effect]:
        self._context.written(token, error, now)
        return self.tick(now)

    def due(self) -> int | None:
        return self._context.timers.due()

    def move_deadlines(self, milliseconds: int) -> None:
        self._context.timers.move(milliseconds)

    def tick(self, now: int) -> list[Effect]:
        for alarm in self._context.timers.expired(now):
            self._on_alarm(alarm, now)
        return self._context.take_effects()

    def _on_alarm(self, alarm: Alarm, now: int) -> None:
        if alarm.kind in self.checks:
            self._check(alarm.kind, now)
            if self._partitions.owned:
                self._schedule(alarm.kind, now)
            return
        owner = self._partitions.owned[alarm.partition].get(alarm.owner)
        assert owner is not None, f"{alarm.owner} is gone, but its alarm is set"
        owner.on_alarm(alarm, now)

    def _schedule(self, kind: AlarmKind, now: int) -> None:
        self._context.timers.set(Alarm(kind), now + self.checks[kind](self._context.config))

    @abstractmethod
    def _check(self, kind: AlarmKind, now: int) -> None: ...

    @abstractmethod
    def snapshot(self) -> list[dict[str, Any]]:
        """Each group or transaction, in values that JSON has."""
