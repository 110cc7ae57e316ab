"""The effects of a coordinator, as values that the broker carries out.

    Reply        the response to a request, this one or an earlier one
    Append       records for a partition of the coordinator's topic; if it has a token, the
                 coordinator waits for `written`
    TxnMarkers   the end of a transaction, to be written to each partition that it wrote to

    group ── append(records, then) ──> Append(.., token 7) ──> the log, the in-sync replicas
    group <── then(error, now) ─────── written(7, error, now) <─────────────┘

Invariant: a request is answered exactly once, after the records behind the response are replicated.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from engine.config import BrokerConfig
from engine.coordinator.timers import Timers
from engine.errors import ErrorCode
from engine.model import Event, TopicPartition
from engine.storage.records import Record

OnWritten = Callable[[ErrorCode, int], None]  # (the result of the write, now)
KeyValue = tuple[bytes, bytes | None]  # of a record; the value None is a tombstone


# The errors for clients if a write fails; the others differ between groups and offsets.
UNAVAILABLE: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas_after_append: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
}


class Caller(NamedTuple):
    """The sender of a request, and its version."""

    to: Hashable  # is returned in the Reply
    version: int
    client_id: str = ""
    host: str = ""


class Reply(NamedTuple):
    to: Hashable
    response: Any


class TransactionalProducer(NamedTuple):
    """The producer in whose transaction something is written."""

    producer_id: int
    epoch: int


class Append(NamedTuple):
    partition: int
    records: tuple[Record, ...]
    token: int | None  # None: no result is expected
    producer: TransactionalProducer | None = None  # the records count when its transaction commits


class TxnMarkers(NamedTuple):
    """Done when all these partitions have the marker; see TransactionCoordinator.marked."""

    transactional_id: str
    coordinator: int  # the partition of __transaction_state that has the decision
    coordinator_epoch: int
    producer: TransactionalProducer
    committed: bool  # or aborted
    partitions: tuple[TopicPartition, ...]


Effect = Reply | Append | TxnMarkers


class CoordinatorContext:
    """Shared by all groups, or all transactions, of a coordinator."""

    def __init__(
        self, config: BrokerConfig, new_id: Callable[[], str], emit: Callable[[Event], None]
    ) -> None:
        self.config = config
        self.new_id = new_id
        self.timers = Timers()
        self._emit = emit
        self._effects: list[Effect] = []
        self._writes: dict[int, tuple[int, OnWritten]] = {}  # by token: partition and callback
        self._token = 0

    def reply(self, caller: Caller, response: Any) -> None:
        self._effects.append(Reply(caller.to, response))

    def append(
        self,
        partition: int,
        records: Iterable[KeyValue],
        now: int,
        then: OnWritten | None = None,
        producer: TransactionalProducer | None = None,
    ) -> None:
        token = None
        if then is not None:
            self._token += 1
            token = self._token
            self._writes[token] = partition, then
        rows = tuple(Record(n, now, *record) for n, record in enumerate(records))
        self._effects.append(Append(partition, rows, token, producer))

    def write_markers(self, markers: TxnMarkers) -> None:
        self._effects.append(markers)

    def written(self, token: int, error: ErrorCode, now: int) -> None:
        if token in self._writes:  # otherwise `fail_writes` was called for its partition
            _, then = self._writes.pop(token)
            then(error, now)

    def fail_writes(self, partition: int, now: int) -> None:
        """Another broker leads the partition, so the results of our writes will never arrive."""
        for token in [each for each, (where, _) in self._writes.items() if where == partition]:
            self.written(token, ErrorCode.not_leader_or_follower, now)

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def report(self, kind: str, now: int, /, **data: Any) -> None:
        self._emit(Event(kind, now, data))
