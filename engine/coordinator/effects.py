"""What a coordinator wants done elsewhere, as values, and what all in it share to say so.

    Reply     the answer to a request that was handed in, now or long ago
    Append    records for a partition of the coordinator's topic; with a token, `written` is awaited
    Mark      the end of a transaction, to be written into each partition that it wrote to

    group ── append(records, then) ──> Append(.., token 7) ──> the log, the in-sync replicas
    group <── then(error, now) ─────── written(7, error, now) <─────────────┘

Invariant: a request is answered exactly once, and what its answer promises is replicated before.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from engine.config import BrokerConfig
from engine.coordinator.timers import Timers
from engine.errors import ErrorCode
from engine.model import Event, TopicPartition
from engine.storage.records import Record

Then = Callable[[ErrorCode, int], None]  # (what came of the write, now)
KeyValue = tuple[bytes, bytes | None]  # a record as we know it; None is a tombstone


# What clients are told if a write fails; the rest differs between groups and offsets.
UNAVAILABLE: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas_after_append: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
}


class Caller(NamedTuple):
    """Who asks, and in which version of the request."""

    to: Hashable  # comes back in the Reply
    version: int
    client_id: str = ""
    host: str = ""


class Reply(NamedTuple):
    to: Hashable
    response: Any


class Writer(NamedTuple):
    """The producer in whose transaction something is written."""

    producer_id: int
    epoch: int


class Append(NamedTuple):
    partition: int
    records: tuple[Record, ...]
    token: int | None  # None: nobody waits for it to be replicated
    writer: Writer | None = None  # they count when its transaction is committed


class Mark(NamedTuple):
    """Carried out when all these partitions have it; see `marked` of the transactions' own."""

    transactional_id: str
    coordinator: int  # the partition of __transaction_state that decided it
    coordinator_epoch: int
    writer: Writer
    committed: bool  # or aborted
    partitions: tuple[TopicPartition, ...]


Effect = Reply | Append | Mark


class Host:
    """What a group, or a transaction, needs beside itself."""

    def __init__(
        self, config: BrokerConfig, new_id: Callable[[], str], emit: Callable[[Event], None]
    ) -> None:
        self.config = config
        self.new_id = new_id
        self.timers = Timers()
        self._emit = emit
        self._effects: list[Effect] = []
        self._writes: dict[int, tuple[int, Then]] = {}  # by token: the partition, what follows
        self._token = 0

    def reply(self, caller: Caller, response: Any) -> None:
        self._effects.append(Reply(caller.to, response))

    def append(
        self,
        partition: int,
        records: Iterable[KeyValue],
        now: int,
        then: Then | None = None,
        writer: Writer | None = None,
    ) -> None:
        token = None
        if then is not None:
            self._token += 1
            token = self._token
            self._writes[token] = partition, then
        rows = tuple(Record(n, now, *record) for n, record in enumerate(records))
        self._effects.append(Append(partition, rows, token, writer))

    def mark(self, mark: Mark) -> None:
        self._effects.append(mark)

    def written(self, token: int, error: ErrorCode, now: int) -> None:
        if token in self._writes:  # otherwise it was given up, when the partition was
            _, then = self._writes.pop(token)
            then(error, now)

    def give_up(self, partition: int, now: int) -> None:
        """Others lead the partition now: what becomes of our writes, we won't hear."""
        for token in [each for each, (where, _) in self._writes.items() if where == partition]:
            self.written(token, ErrorCode.not_leader_or_follower, now)

    def take(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def tell(self, kind: str, now: int, /, **data: Any) -> None:
        self._emit(Event(kind, now, data))
