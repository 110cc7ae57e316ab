"""One transactional id: its metadata, the one change of it that is being written, and its end.

    change ──> pending ──> Append ──> written: none     the metadata is replaced
                                      written: error    it stays as it was

    EndTxn ──> PrepareCommit is written ──> the producer gets its response
                                        ──> TxnMarkers, for all partitions that it wrote to
    marked ──> some partitions have the marker; when all have it,
               CompleteCommit is written ──> the next transaction may begin

A transaction is decided when PrepareCommit or PrepareAbort is written. Then only markers are left
to write: each is sent until it succeeds, by the next coordinator if this one fails. So a
transaction is atomic over all its partitions, though many brokers lead them.

While a change is pending, and while a transaction is ending, requests get
CONCURRENT_TRANSACTIONS. No client waits for CompleteCommit, so if it cannot be written, the
coordinator tries again while it leads.

Invariant: one change at a time; the records of a transactional id are in the order of its changes.
Invariant: replaying the replicated records gives the same `metadata`.
Invariant: markers are sent only after the decision is replicated, and there is one decision for
each epoch of a producer, up to its next transaction.

Kafka 2.8 first increments the epoch of a fenced producer in memory. Here no change takes
effect, and no response reports it, before it is replicated.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from engine.coordinator.effects import (
    UNAVAILABLE,
    CoordinatorContext,
    OnWritten,
    TransactionalProducer,
    TxnMarkers,
)
from engine.coordinator.timers import Alarm, AlarmKind
from engine.coordinator.transactions.metadata import BEFORE, ENDING, TransactionMetadata, TxnState
from engine.coordinator.transactions.records import encode_key, encode_value
from engine.errors import ErrorCode
from engine.model import TopicPartition

RETRY_MS = 100  # until a completion that could not be written is tried again
# The errors for a producer if a change could not be written.
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}


class Transaction:
    def __init__(
        self,
        id: str,
        partition: int,
        leader_since: int,
        context: CoordinatorContext,
        metadata: TransactionMetadata,
    ) -> None:
        self.id = id
        self.partition = partition  # of __transaction_state
        self.leader_since = leader_since  # the epoch since which this broker leads it
        self.context = context
        self.metadata = metadata
        self.pending: TxnState | None = None  # the state that is being written
        # Partitions without the marker. Invariant: none, unless the state is in ENDING.
        self.unmarked: frozenset[TopicPartition] = frozenset()

    @property
    def is_busy(self) -> bool:
        return self.pending is not None or self.metadata.state in ENDING

    @property
    def producer(self) -> TransactionalProducer:
        return self.metadata.producer

    def change(
        self, to: TransactionMetadata, now: int, then: OnWritten, *, by: TxnState | None = None
    ) -> None:
        """`then` gets the result, as an error for clients; `by` is a state on the way."""
        assert self.pending is None, f"{self.id} is changing to {self.pending}"
        steps = [self.metadata.state, *([by] if by else []), to.state]
        for was, next in pairwise(steps):
            assert was in BEFORE[next], f"a transaction cannot go from {was} to {next}"
        self.pending = steps[1]

        def written(error: ErrorCode, now: int) -> None:
            self.pending = None
            if error == ErrorCode.none:
                self._apply(to, now)
            then(WRITE_ERRORS.get(error, error), now)

        record = encode_key(self.id), encode_value(to)
        self.context.append(self.partition, [record], now, written)

    def _apply(self, to: TransactionMetadata, now: int) -> None:
        was, self.metadata = self.metadata, to
        self.context.report(
            "transaction.changed",
            now,
            id=self.id,
            was=was.state.value,
            state=to.state.value,
            producer=to.producer.producer_id,
            epoch=to.producer.epoch,
            partitions=[str(each) for each in sorted(to.partitions)],
        )

    # -- the end of a transaction --------------------------------------------------------------

    def end(self, committed: bool, now: int, then: OnWritten) -> None:
        self._decide(self.metadata.prepared(committed, now), now, then)

    def fence(self, now: int, then: OnWritten) -> None:
        """Abort it, and fence the producers that have written in it."""
        self._decide(self.metadata.fenced(now), now, then, by=TxnState.PREPARE_EPOCH_FENCE)

    def _decide(
        self, to: TransactionMetadata, now: int, then: OnWritten, by: TxnState | None = None
    ) -> None:
        def decided(error: ErrorCode, now: int) -> None:
            then(error, now)
            if error == ErrorCode.none:
                self.send_markers(now)

        self.change(to, now, decided, by=by)

    def send_markers(self, now: int) -> None:
        """To all partitions. A new coordinator sends them once more."""
        metadata = self.metadata
        assert metadata.state in ENDING, f"{self.id} is {metadata.state.value}"
        self.unmarked = metadata.partitions
        if not metadata.partitions:
            self.complete(now)
            return
        self.context.write_markers(
            TxnMarkers(
                self.id,
                self.partition,
                self.leader_since,
                metadata.producer,
                metadata.state is TxnState.PREPARE_COMMIT,
                tuple(sorted(metadata.partitions)),
            )
        )

    def marked(self, partitions: Iterable[TopicPartition], now: int) -> None:
        """These have the marker, or were deleted. Each partition is reported once for each
        TxnMarkers, since the next transaction may have the same producer and epoch."""
        known = self.unmarked
        self.unmarked = known.difference(partitions)
        if known and not self.unmarked:
            self.complete(now)

    def start(self, now: int) -> None:
        """This broker is its coordinator now. The markers of a decided transaction are sent again:
        some may not have been written."""
        if self.metadata.state in ENDING:
            self.send_markers(now)

    def on_alarm(self, alarm: Alarm, now: int) -> None:
        """The last record could not be written."""
        assert alarm.kind is AlarmKind.COMPLETION
        self.complete(now)

    @property
    def completion_alarm(self) -> Alarm:
        return Alarm(AlarmKind.COMPLETION, self.id, partition=self.partition)

    def complete(self, now: int) -> None:
        """All partitions have the marker."""

        def written(error: ErrorCode, now: int) -> None:
            if error != ErrorCode.none:
                self.context.timers.set(self.completion_alarm, now + RETRY_MS)

        self.change(self.metadata.completed(now), now, written)
