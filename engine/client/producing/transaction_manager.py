"""A producer's transactions: which request is next, and what its response changes. KIP-98.

                  init_transactions                       begin_transaction
    UNINITIALIZED ────────────────> INITIALIZING ──> READY ─────────────> IN_TRANSACTION
                                         ^          ^  ^                   │     │     │
                            a new epoch  │          │  └── COMMITTING <────┘     │     │
                                         │          │         │   commit         │     │
                                         └─────── ABORTING <──│── abort ─────────┘     │
                                                      ^       v                        │
                                                      └──── ABORTABLE_ERROR <──────────┘
                                                      abort         a record was refused, ...

    UNINITIALIZED    the cluster does not know this producer yet
    INITIALIZING     InitProducerId is sent; the last producer with this transactional id is fenced
    READY            between two transactions
    IN_TRANSACTION   records and offsets may be sent
    COMMITTING       nothing new is accepted; what was sent is delivered first, then EndTxn
    ABORTING         the same, but what was never sent is given up
    ABORTABLE_ERROR  this transaction can't be committed; after an abort another can begin
    FATAL_ERROR      final, from any state: for example, a newer producer has the transactional id

What is sent, and to whom:

    begin     AddPartitionsToTxn ──> coordinator     before the first batch to a partition
      │       batches ─────────────> leaders         with producer id and epoch: sender.py
      │       AddOffsetsToTxn ─────> coordinator  ┐  the offsets of a group, if the records were
      │       TxnOffsetCommit ─────> the group's  ┘  made from what the group has read
    commit    EndTxn ──────────────> coordinator     it has a marker written to each partition

There is no queue of requests. One is in flight at a time, and the state says which is next:
partitions that have batches and were not added, offsets that wait, then the end. After a retriable
error the next request follows from the state as it is then.

After an ABORTABLE_ERROR a log may lack a sequence number (idempotence.py). If one does, the abort
ends with a new epoch (KIP-360).

Invariant: a request whose connection broke may have been carried out. It is repeated unchanged,
before all others, until there is a response. So it is known whether there is a transaction to end.
Invariant: EndTxn is sent when no batch waits or is in flight, not even one that was given up: it
would arrive after the marker, and belong to no transaction or to the next one.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from engine import errors
from engine.client.coordinator_lookup import CoordinatorLookup, CoordinatorType
from engine.client.core import UNSENT, Ask
from engine.client.metadata import MetadataView
from engine.client.offset_and_metadata import Offsets
from engine.client.producing import transaction_requests
from engine.client.producing.accumulator import RecordAccumulator
from engine.client.producing.batch import NO_PRODUCER, ProducerIdAndEpoch
from engine.client.producing.transaction_requests import ErrorAction, TransactionIdentity
from engine.client.values import ConsumerGroupMetadata, KafkaError, KafkaException, error_of
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api

SHORT_RETRY_S = 0.02  # the last transaction is nearly over if it delays this one

INIT, SEND_OFFSETS = "init_transactions", "send_offsets_to_transaction"
COMMIT, ABORT = "commit_transaction", "abort_transaction"


class ProducerState(Enum):
    """The states of a transactional producer, under Kafka's names."""

    UNINITIALIZED = "Uninitialized"
    INITIALIZING = "Initializing"
    READY = "Ready"
    IN_TRANSACTION = "InTransaction"
    COMMITTING = "CommittingTransaction"
    ABORTING = "AbortingTransaction"
    ABORTABLE_ERROR = "AbortableError"
    FATAL_ERROR = "FatalError"


# For each state, those from which it may be reached.
BEFORE: Mapping[ProducerState, frozenset[ProducerState]] = {
    ProducerState.UNINITIALIZED: frozenset(),
    ProducerState.INITIALIZING: frozenset({ProducerState.UNINITIALIZED, ProducerState.ABORTING}),
    ProducerState.READY: frozenset(
        {ProducerState.INITIALIZING, ProducerState.COMMITTING, ProducerState.ABORTING}
    ),
    ProducerState.IN_TRANSACTION: frozenset({ProducerState.READY}),
    ProducerState.COMMITTING: frozenset({ProducerState.IN_TRANSACTION}),
    ProducerState.ABORTING: frozenset(
        {ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR}
    ),
    ProducerState.ABORTABLE_ERROR: frozenset(
        {ProducerState.IN_TRANSACTION, ProducerState.COMMITTING}
    ),
    ProducerState.FATAL_ERROR: frozenset(ProducerState) - {ProducerState.FATAL_ERROR},
}

ENDING = frozenset({ProducerState.COMMITTING, ProducerState.ABORTING})
HAS_REQUESTS = ENDING | {ProducerState.INITIALIZING, ProducerState.IN_TRANSACTION}


@dataclass(eq=False)
class TransactionCall:
    """A call of the application that waits for the coordinator. If its time is over, the same call
    again continues it."""

    name: str
    done: bool = False
    error: KafkaError | None = None
    awaited: bool = False  # a thread waits for it now

    def finish(self, error: KafkaError | None = None) -> None:
        if not self.done:
            self.done, self.error = True, error


@dataclass(eq=False)
class TxnGroupOffsets:
    """Offsets to commit with the transaction."""

    offsets: Offsets
    group: ConsumerGroupMetadata
    call: TransactionCall
    is_added: bool = False  # the coordinator knows that the group takes part


class TransactionManager:
    """A core; its `step` comes after the sender's."""

    def __init__(self, settings: ProducerConfig, accumulator: RecordAccumulator) -> None:
        assert settings.transactional_id is not None
        self.state = ProducerState.UNINITIALIZED
        self.producer: ProducerIdAndEpoch | None = None
        self.error: KafkaError | None = None  # of the state ABORTABLE_ERROR or FATAL_ERROR
        self.trouble = ""  # the last retriable error
        self._id = settings.transactional_id
        self._timeout = timedelta(milliseconds=settings.transaction_timeout_ms)
        self._backoff = settings.retry_backoff_ms / 1000
        self._accumulator = accumulator
        self._partitions: set[TopicPartition] = set()  # that were added
        self._offsets: deque[TxnGroupOffsets] = deque()
        self._is_begun = False  # for the coordinator there is a transaction
        self._needs_epoch = False  # it has to end with a new epoch
        self._is_unknown = False  # the coordinator does not know the producer id: nothing to end
        self._call: TransactionCall | None = None
        self._is_asked = False
        self._in_doubt: Ask | None = None  # nobody knows whether it was carried out
        self._not_before: float | None = None
        self._coordinator = CoordinatorLookup(CoordinatorType.TRANSACTION, self._id, self._backoff)
        self._groups: dict[str, CoordinatorLookup] = {}

    # -- the application's calls -----------------------------------------------------------

    def init(self) -> TransactionCall:
        found = self._resumed(INIT)
        return found or self._enter(ProducerState.INITIALIZING, INIT, ProducerState.UNINITIALIZED)

    def begin(self) -> None:
        self._resumed("begin_transaction")
        self._need(ProducerState.READY)
        self._move(ProducerState.IN_TRANSACTION)

    def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata) -> TransactionCall:
        found = self._resumed(SEND_OFFSETS)
        for each in self._offsets:
            if each.call is found and (each.offsets, each.group) == (offsets, group):
                return found
        self._need(ProducerState.IN_TRANSACTION)
        call = self._call = TransactionCall(SEND_OFFSETS)
        self._offsets.append(TxnGroupOffsets(dict(offsets), group, call))
        return call

    def commit(self) -> TransactionCall:
        found = self._resumed(COMMIT)
        return found or self._enter(ProducerState.COMMITTING, COMMIT, ProducerState.IN_TRANSACTION)

    def abort(self) -> TransactionCall:
        if (found := self._resumed(ABORT)) is not None:
            return found
        sources = (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR)
        call = self._enter(ProducerState.ABORTING, ABORT, *sources)
        self._offsets.clear()
        return call

    def returned(self, call: TransactionCall) -> None:
        """The application has the result."""
        if self._call is call:
            self._call = None

    def check_open(self) -> None:
        """Whether a record may be produced."""
        if self.state is not ProducerState.IN_TRANSACTION:
            why = f"Unable to produce message: not possible in state {self.state.value}"
            aborts = self.state is ProducerState.ABORTABLE_ERROR
            raise KafkaException(KafkaError(KafkaError._STATE, why, txn_requires_abort=aborts))

    def _resumed(self, name: str) -> TransactionCall | None:
        """The call of this name that is not finished. Any other call in progress is an error, but
        an abort may follow offsets that no thread waits for."""
        call = self._call
        if call is not None and name == ABORT and call.name == SEND_OFFSETS and not call.awaited:
            call = self._call = None
        if call is not None and call.name != name:
            why = f"Conflicting {call.name} API call is already in progress"
            raise KafkaException(KafkaError(KafkaError._CONFLICT, why, retriable=True))
        return call

    def _enter(self, state: ProducerState, name: str, *sources: ProducerState) -> TransactionCall:
        self._need(*sources)
        self._move(state)
        call = self._call = TransactionCall(name)
        return call

    def _need(self, *states: ProducerState) -> None:
        if self.state in states:
            return
        if self.error is not None:
            raise KafkaException(self.error)
        why = f"Operation not valid in state {self.state.value}"
        raise KafkaException(KafkaError(KafkaError._STATE, why))

    # -- for the sender --------------------------------------------------------------------

    @property
    def is_fatal(self) -> bool:
        return self.state is ProducerState.FATAL_ERROR

    @property
    def is_aborting(self) -> bool:
        """What was not sent yet need not be sent any more."""
        return self.state in (ProducerState.ABORTABLE_ERROR, ProducerState.ABORTING)

    def has(self, partition: TopicPartition) -> bool:
        """Whether batches may be sent to it."""
        return partition in self._partitions

    def record_failed(self, error: KafkaError) -> None:
        """A record will not be delivered, so the transaction can't be committed."""
        if self.state in (ProducerState.IN_TRANSACTION, ProducerState.COMMITTING):
            self._stop(ProducerState.ABORTABLE_ERROR, error)

    def end(self, error: errors.ApiException) -> None:
        """This producer can't go on."""
        if self.is_fatal:
            return
        reported = error_of(error)
        if error.code in transaction_requests.FENCED:
            why = f"a newer producer has the transactional id {self._id}: this one is fenced"
            reported = KafkaError(KafkaError._FENCED, why)
        self._stop(ProducerState.FATAL_ERROR, reported)

    # -- as a core -------------------------------------------------------------------------

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        if self._not_before is not None and now >= self._not_before:
            self._not_before = None
        if self.state in HAS_REQUESTS and not self._is_asked and self._not_before is None:
            if self._has_nothing_to_end():
                self._ended()
            if (ask := self._next(now)) is not None:
                yield ask
        for finding in (self._coordinator, *self._groups.values()):
            yield from finding.step(now, view)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if ask.api is Api.FIND_COORDINATOR:
            self.trouble = response.error_message or ""
            self._finding(ask).answered(ask, response, now)
            return
        self._is_asked = False
        if self.is_fatal:
            return
        action, code = transaction_requests.action_for(
            ask.api, transaction_requests.codes_of(ask.api, response)
        )
        if action not in (ErrorAction.RETRY, ErrorAction.FIND):
            self._in_doubt = None  # if it is refused now, it may have been done the first time
        if action is ErrorAction.NONE:
            self.trouble = ""
            self._done(ask, response)
        else:
            error = errors.ApiException(code, f"{ask.api.name}: {code.name}")
            self._not_done(action, ask, error, now)

    def failed(self, ask: Ask, error: errors.ApiException, now: float) -> None:
        if ask.api is Api.FIND_COORDINATOR:
            self.trouble = error.message
            self._finding(ask).failed(ask, error, now)
            return
        self._is_asked = False
        if error.code == ErrorCode.unsupported_version:
            self.end(error)
            return
        if error.code != UNSENT:
            self._in_doubt = ask
        self._not_done(ErrorAction.FIND, ask, error, now)

    def due(self) -> float | None:
        dues = [each.due() for each in (self._coordinator, *self._groups.values())]
        return min((it for it in (self._not_before, *dues) if it is not None), default=None)

    # -- the next request ------------------------------------------------------------------

    def _next(self, now: float) -> Ask | None:
        ask = self._in_doubt or self._wanted()
        if ask is None:
            return None
        try:
            coordinator = self._finding(ask).find()
        except errors.ApiException as error:
            action, _ = transaction_requests.action_for(ask.api, [error.code])
            self._not_done(action, ask, error, now)
            return None
        if coordinator is None:
            return None
        self._is_asked = True
        return ask._replace(to=coordinator)

    def _wanted(self) -> Ask | None:
        who = TransactionIdentity(self._id, *(self.producer or NO_PRODUCER))
        if self.state is ProducerState.INITIALIZING:
            return transaction_requests.init(who, self._timeout)
        assert self.producer is not None
        queues = self._accumulator.queues.values()
        if new := frozenset(it.partition for it in queues if it.batches) - self._partitions:
            return transaction_requests.add_partitions(who, new)
        if self._offsets:
            first = self._offsets[0]
            if not first.is_added:
                return transaction_requests.add_group(who, first.group.group_id, first)
            return transaction_requests.commit_offsets(who, first.group, first.offsets, first)
        if self.state in ENDING and self._is_quiet():
            return transaction_requests.end(who, self.state is ProducerState.COMMITTING)
        return None

    def _is_quiet(self) -> bool:
        in_flight = any(queue.in_flight for queue in self._accumulator.queues.values())
        return not self._accumulator.records and not in_flight

    def _has_nothing_to_end(self) -> bool:
        if self.state not in ENDING or self._in_doubt or self._offsets or not self._is_quiet():
            return False
        return self._is_unknown or not self._is_begun

    def _finding(self, ask: Ask) -> CoordinatorLookup:
        """The lookup of the coordinator that this request is for, or that it asks about."""
        if ask.api is Api.FIND_COORDINATOR:
            is_group = ask.request.key_type == CoordinatorType.GROUP
            return self._groups[ask.request.key] if is_group else self._coordinator
        if ask.api is not Api.TXN_OFFSET_COMMIT:
            return self._coordinator
        group = ask.request.group_id
        if group not in self._groups:
            self._groups[group] = CoordinatorLookup(CoordinatorType.GROUP, group, self._backoff)
        return self._groups[group]

    # -- what a response changes -----------------------------------------------------------

    def _done(self, ask: Ask, response: Any) -> None:
        match ask.api:
            case Api.INIT_PRODUCER_ID:
                self.producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
                for queue in self._accumulator.queues.values():
                    assert queue.sequences is not None
                    queue.sequences.restart(self.producer)
                self._ready()
            case Api.ADD_PARTITIONS_TO_TXN:
                self._is_begun = True
                self._partitions |= ask.about
            case Api.ADD_OFFSETS_TO_TXN:
                self._is_begun = ask.about.is_added = True
            case Api.TXN_OFFSET_COMMIT:
                ask.about.call.finish()
                if ask.about in self._offsets:  # else the transaction was aborted meanwhile
                    self._offsets.remove(ask.about)
            case Api.END_TXN:
                self._ended()

    def _not_done(
        self, action: ErrorAction, ask: Ask, error: errors.ApiException, now: float
    ) -> None:
        self.trouble = error.message
        match action:
            case ErrorAction.FATAL:
                self.end(error)
            case ErrorAction.FIND:
                self._finding(ask).forget(ask.to)
                self._not_before = now + self._backoff
            case ErrorAction.RETRY:
                is_first = error.code == ErrorCode.concurrent_transactions and not self._partitions
                pause = min(SHORT_RETRY_S, self._backoff) if is_first else self._backoff
                self._not_before = now + pause
            case ErrorAction.NEW_EPOCH:
                self._needs_epoch = True
                no_mapping = error.code == ErrorCode.invalid_producer_id_mapping
                self._is_unknown |= no_mapping or ask.api is Api.END_TXN
                self.record_failed(error_of(error))
            case ErrorAction.ABORT:
                self.record_failed(error_of(error))

    def _ended(self) -> None:
        """The transaction is over."""
        self._partitions.clear()
        self._is_begun = self._is_unknown = False
        has_gap = False  # whether a log may lack a sequence number
        for queue in self._accumulator.queues.values():
            assert queue.sequences is not None
            queue.sequences.settle()
            has_gap |= queue.sequences.gap
        if self.state is ProducerState.ABORTING and (self._needs_epoch or has_gap):
            self._move(ProducerState.INITIALIZING)
        else:
            self._ready()

    def _ready(self) -> None:
        self._needs_epoch, self.error = False, None
        self._move(ProducerState.READY)
        if self._call is not None:
            self._call.finish()

    def _stop(self, state: ProducerState, error: KafkaError) -> None:
        """Only an abort is possible now, or nothing; a call that waits gets the error."""
        is_fatal = state is ProducerState.FATAL_ERROR
        self._move(state)
        self.error = KafkaError(
            error.code(), error.str(), is_fatal, retriable=False, txn_requires_abort=not is_fatal
        )
        self._offsets.clear()
        self._in_doubt = None if is_fatal else self._in_doubt
        if self._call is not None:
            self._call.finish(self.error)

    def _move(self, to: ProducerState) -> None:
        assert self.state in BEFORE[to], f"no producer goes from {self.state} to {to}"
        self.state = to
