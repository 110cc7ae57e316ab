"""A producer's transactions: what to ask of whom next, and what comes of the answers. KIP-98.

    begin     AddPartitionsToTxn ──> coordinator     before the first batch to a partition
      │       batches ─────────────> leaders         under our id and epoch: sender.py
      │       AddOffsetsToTxn ─────> coordinator  ┐  where a group goes on reading, if what we
      │       TxnOffsetCommit ─────> the group's  ┘  write comes from what it has read
    commit    EndTxn ──────────────> coordinator     it has a marker written everywhere

There is no queue of requests. One is on its way at a time, and which is the next follows from the
state: partitions that have batches and were not added, offsets that wait, then the end. So what
may pass is simply asked again, and always with what is true by then.

What goes wrong is judged by verdicts.py. An ABORTABLE error is over with the abort; but a log may
lack a number then (numbering.py), so if one does, the abort ends with a new epoch (KIP-360).

Invariant: a request whose connection broke may have been carried out: it is repeated as it was,
before all others, until there is an answer. So we know whether there is anything to end.
Invariant: EndTxn is sent when no batch waits or is on the wire, not even one that was given up:
it would come behind the marker, and belong to no transaction, or to the next.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from engine import errors
from engine.client.asking import UNSENT, Ask
from engine.client.finding import Finding, Kind
from engine.client.producing import requests
from engine.client.producing.accumulator import Accumulator
from engine.client.producing.batch import NOBODY, Identity
from engine.client.producing.requests import Places
from engine.client.producing.states import State, check
from engine.client.producing.verdicts import FENCED, Verdict, codes_of, judge
from engine.client.values import ConsumerGroupMetadata, KafkaError, KafkaException, error_of
from engine.client.view import View
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api

AT_ONCE = 0.02  # seconds; the last transaction is nearly over if it is in the way of the next

INIT, OFFSETS = "init_transactions", "send_offsets_to_transaction"
COMMIT, ABORT = "commit_transaction", "abort_transaction"

OPEN = frozenset({State.IN_TRANSACTION, State.COMMITTING})  # it may still be committed
ENDING = frozenset({State.COMMITTING, State.ABORTING})
LOST = frozenset({State.ABORTABLE_ERROR, State.ABORTING})  # it won't be
ASKING = OPEN | ENDING | {State.INITIALIZING}


class Operation:
    """A call of the application that takes its time; called again, it goes on with this."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self.error: KafkaError | None = None
        self.awaited = False  # by a thread, right now

    def finish(self, error: KafkaError | None = None) -> None:
        if not self.done:
            self.done, self.error = True, error


@dataclass(eq=False)
class _Offsets:
    """Offsets that are to be committed with the transaction."""

    places: Places
    group: ConsumerGroupMetadata
    operation: Operation
    is_added: bool = False  # the coordinator knows that the group takes part


class Transactions:
    def __init__(self, settings: ProducerConfig, accumulator: Accumulator) -> None:
        assert settings.transactional_id is not None
        self.state = State.UNINITIALIZED
        self.identity: Identity | None = None
        self.error: KafkaError | None = None  # why the transaction, or all, is at its end
        self.trouble = ""  # what is in the way, but may pass
        self._id = settings.transactional_id
        self._timeout = timedelta(milliseconds=settings.transaction_timeout_ms)
        self._backoff = settings.retry_backoff_ms / 1000
        self._accumulator = accumulator
        self._partitions: set[TopicPartition] = set()  # that were added
        self._offsets: deque[_Offsets] = deque()
        self._begun = False  # to the coordinator there is a transaction
        self._renews = False  # it has to end with a new epoch
        self._forgotten = False  # the coordinator does not know us: there is nothing to end
        self._pending: Operation | None = None
        self._is_asked = False
        self._in_doubt: Ask | None = None  # nobody knows whether it was done
        self._not_before: float | None = None
        self._coordinator = Finding(Kind.TRANSACTION, self._id, self._backoff)
        self._groups: dict[str, Finding] = {}

    # -- the application's calls -----------------------------------------------------------

    def init(self) -> Operation:
        return self._resumed(INIT) or self._enter(State.INITIALIZING, INIT, State.UNINITIALIZED)

    def begin(self) -> None:
        self._refuse_others("begin_transaction")
        self._need(State.READY)
        self._move(State.IN_TRANSACTION)

    def send_offsets(self, places: Places, group: ConsumerGroupMetadata) -> Operation:
        found = self._resumed(OFFSETS)
        for job in self._offsets:
            if job.operation is found and (job.places, job.group) == (places, group):
                return found
        self._need(State.IN_TRANSACTION)
        operation = self._pending = Operation(OFFSETS)
        self._offsets.append(_Offsets(dict(places), group, operation))
        return operation

    def commit(self) -> Operation:
        return self._resumed(COMMIT) or self._enter(State.COMMITTING, COMMIT, State.IN_TRANSACTION)

    def abort(self) -> Operation:
        if (found := self._resumed(ABORT)) is not None:
            return found
        operation = self._enter(State.ABORTING, ABORT, State.IN_TRANSACTION, State.ABORTABLE_ERROR)
        self._offsets.clear()
        return operation

    def heard(self, operation: Operation) -> None:
        """The application knows what came of it."""
        if self._pending is operation:
            self._pending = None

    def check_open(self) -> None:
        """Whether a record may be produced."""
        if self.state is not State.IN_TRANSACTION:
            why = f"Unable to produce message: not possible in state {self.state.value}"
            aborts = self.state is State.ABORTABLE_ERROR
            raise KafkaException(KafkaError(KafkaError._STATE, why, txn_requires_abort=aborts))

    def _resumed(self, name: str) -> Operation | None:
        self._refuse_others(name)
        return self._pending

    def _refuse_others(self, name: str) -> None:
        """One call after the other; only offsets that nobody waits for may be given up."""
        pending = self._pending
        if pending is not None and name == ABORT and pending.name == OFFSETS:
            self._pending = pending if pending.awaited else None
        if self._pending is not None and self._pending.name != name:
            why = f"Conflicting {self._pending.name} API call is already in progress"
            raise KafkaException(KafkaError(KafkaError._CONFLICT, why, retriable=True))

    def _enter(self, state: State, name: str, *sources: State) -> Operation:
        self._need(*sources)
        self._move(state)
        operation = self._pending = Operation(name)
        return operation

    def _need(self, *states: State) -> None:
        if self.state in states:
            return
        if self.error is not None:
            raise KafkaException(self.error)
        why = f"Operation not valid in state {self.state.value}"
        raise KafkaException(KafkaError(KafkaError._STATE, why))

    # -- the sender's ----------------------------------------------------------------------

    @property
    def is_fatal(self) -> bool:
        return self.state is State.FATAL_ERROR

    @property
    def is_lost(self) -> bool:
        """Whether what is not sent yet need not be sent any more."""
        return self.state in LOST

    def has(self, partition: TopicPartition) -> bool:
        """Whether batches may go there."""
        return partition in self._partitions

    def spoiled(self, error: KafkaError) -> None:
        """A record will not be delivered: all of them, or none."""
        if self.state in OPEN:
            self._stop(State.ABORTABLE_ERROR, error)

    def end(self, error: errors.KafkaError) -> None:
        """Nothing goes on."""
        if self.is_fatal:
            return
        told = error_of(error)
        if error.code in FENCED:
            why = f"a newer producer has the transactional id {self._id}: this one is fenced off"
            told = KafkaError(KafkaError._FENCED, why)
        self._stop(State.FATAL_ERROR, told)

    # -- as a core, after the sender -------------------------------------------------------

    def step(self, now: float, view: View) -> Iterable[Ask]:
        if self._not_before is not None and now >= self._not_before:
            self._not_before = None
        if self.state in ASKING and not self._is_asked and self._not_before is None:
            if self._has_nothing_to_end():
                self._ended()
            if (ask := self._next(now)) is not None:
                yield ask
        for finding in (self._coordinator, *self._groups.values()):
            yield from finding.step(now, view)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if ask.api is Api.FIND_COORDINATOR:
            self.trouble = response.error_message or ""
            self._whom(ask).answered(ask, response, now)
            return
        self._is_asked = False
        if self.is_fatal:
            return
        verdict, code = judge(ask.api, codes_of(ask.api, response).values())
        if verdict not in (Verdict.AGAIN, Verdict.ELSEWHERE):
            self._in_doubt = None  # what was not done this time may have been done the first time
        if verdict is Verdict.GOOD:
            self.trouble = ""
            self._done(ask, response)
        else:
            message = f"{ask.api.name}: {code.name}"
            self._not_done(verdict, ask, errors.KafkaError(code, message), now)

    def failed(self, ask: Ask, error: errors.KafkaError, now: float) -> None:
        if ask.api is Api.FIND_COORDINATOR:
            self.trouble = error.message
            self._whom(ask).failed(ask, error, now)
            return
        self._is_asked = False
        if error.code == ErrorCode.unsupported_version:
            self.end(error)
            return
        if error.code != UNSENT:
            self._in_doubt = ask
        self._not_done(Verdict.ELSEWHERE, ask, error, now)

    def due(self) -> float | None:
        dues = [each.due() for each in (self._coordinator, *self._groups.values())]
        return min((it for it in (self._not_before, *dues) if it is not None), default=None)

    # -- what comes next -------------------------------------------------------------------

    def _next(self, now: float) -> Ask | None:
        ask = self._in_doubt or self._wanted()
        if ask is None:
            return None
        try:
            coordinator = self._whom(ask).find()
        except errors.KafkaError as error:
            verdict, _ = judge(ask.api, [error.code])
            self._not_done(verdict, ask, error, now)
            return None
        if coordinator is None:
            return None
        self._is_asked = True
        return ask._replace(to=coordinator)

    def _wanted(self) -> Ask | None:
        if self.state is State.INITIALIZING:
            return requests.init(self._id, self._timeout, self.identity or NOBODY)
        assert self.identity is not None
        if partitions := self._new_partitions():
            return requests.add_partitions(self._id, self.identity, partitions)
        if self._offsets:
            return self._offsets_wanted(self._offsets[0], self.identity)
        if self.state in ENDING and self._is_quiet():
            return requests.end(self._id, self.identity, self.state is State.COMMITTING)
        return None

    def _offsets_wanted(self, job: _Offsets, identity: Identity) -> Ask:
        if not job.is_added:
            return requests.add_group(self._id, identity, job.group.group_id, job)
        return requests.commit_offsets(self._id, identity, job.group, job.places, job)

    def _new_partitions(self) -> frozenset[TopicPartition]:
        queues = self._accumulator.queues.values()
        return frozenset(it.partition for it in queues if it.batches) - self._partitions

    def _is_quiet(self) -> bool:
        on_wire = any(queue.on_wire for queue in self._accumulator.queues.values())
        return not self._accumulator.records and not on_wire

    def _has_nothing_to_end(self) -> bool:
        if self.state not in ENDING or self._in_doubt or self._offsets or not self._is_quiet():
            return False
        return self._forgotten or not self._begun

    def _whom(self, ask: Ask) -> Finding:
        """Who knows, or finds out, the coordinator that this is for, or about."""
        if ask.api is Api.FIND_COORDINATOR:
            is_group = ask.request.key_type == Kind.GROUP
            return self._groups[ask.request.key] if is_group else self._coordinator
        if ask.api is not Api.TXN_OFFSET_COMMIT:
            return self._coordinator
        group = ask.request.group_id
        if group not in self._groups:
            self._groups[group] = Finding(Kind.GROUP, group, self._backoff)
        return self._groups[group]

    # -- what comes of it ------------------------------------------------------------------

    def _done(self, ask: Ask, response: Any) -> None:
        match ask.api:
            case Api.INIT_PRODUCER_ID:
                self.identity = Identity(response.producer_id, response.producer_epoch)
                for queue in self._accumulator.queues.values():
                    assert queue.numbers is not None
                    queue.numbers.begin(self.identity)
                self._ready()
            case Api.ADD_PARTITIONS_TO_TXN:
                self._begun = True
                self._partitions |= ask.about
            case Api.ADD_OFFSETS_TO_TXN:
                self._begun = ask.about.is_added = True
            case Api.TXN_OFFSET_COMMIT:
                ask.about.operation.finish()
                if ask.about in self._offsets:  # otherwise the transaction was given up meanwhile
                    self._offsets.remove(ask.about)
            case Api.END_TXN:
                self._ended()

    def _not_done(self, verdict: Verdict, ask: Ask, error: errors.KafkaError, now: float) -> None:
        self.trouble = error.message
        match verdict:
            case Verdict.FATAL:
                self.end(error)
            case Verdict.ELSEWHERE:
                self._whom(ask).forget(ask.to)
                self._not_before = now + self._backoff
            case Verdict.AGAIN:
                is_first = error.code == ErrorCode.concurrent_transactions and not self._partitions
                pause = min(AT_ONCE, self._backoff) if is_first else self._backoff
                self._not_before = now + pause
            case Verdict.ABORT | Verdict.RENEW:
                self._renews |= verdict is Verdict.RENEW
                if verdict is Verdict.RENEW:
                    is_unknown = error.code == ErrorCode.invalid_producer_id_mapping
                    self._forgotten |= is_unknown or ask.api is Api.END_TXN
                self.spoiled(error_of(error))

    def _ended(self) -> None:
        """The transaction is over."""
        self._partitions.clear()
        self._begun = self._forgotten = False
        if self.state is State.ABORTING and (self._renews or self._lacks_numbers()):
            self._move(State.INITIALIZING)
        else:
            self._ready()

    def _lacks_numbers(self) -> bool:
        """Whether a log may have a gap where a batch of ours was to be."""
        every = [it.numbers for it in self._accumulator.queues.values() if it.numbers is not None]
        for numbers in every:
            numbers.settle()
        return any(numbers.gap for numbers in every)

    def _ready(self) -> None:
        self._renews, self.error = False, None
        self._move(State.READY)
        if self._pending is not None:
            self._pending.finish()

    def _stop(self, state: State, error: KafkaError) -> None:
        """It is to be aborted, or all is over: whoever waits is told."""
        is_fatal = state is State.FATAL_ERROR
        self._move(state)
        self.error = KafkaError(
            error.code(), error.str(), is_fatal, retriable=False, txn_requires_abort=not is_fatal
        )
        self._offsets.clear()
        self._in_doubt = None if is_fatal else self._in_doubt
        if self._pending is not None:
            self._pending.finish(self.error)

    def _move(self, to: State) -> None:
        check(self.state, to)
        self.state = to
