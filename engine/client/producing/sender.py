"""Which batches go to which leader now, and what an answer means for them.

    queues --ready?--> by leader --one batch a partition--> Produce, 5 on the way to a broker
       ^                                                       |
       |  again, after retry.backoff.ms                        v
       +---- it may pass: the leader moved,   <----   error?  none: stored, tell the application
             the connection broke, ...                  |
                                    too large: split    +-- will not pass: tell the application

Invariant: each batch is `finish`ed once: stored, refused, or given up after delivery.timeout.ms,
also if its answer is still to come.
Invariant: with acks=all and numbers, a record is stored once and in order. Without numbers a batch
whose answer was lost may be stored twice, and one that was refused at first may come behind others
that were sent after it: that is the price, and Kafka's.
Invariant: of a transaction (transactions.py), a batch goes only to a partition that was added to
it. A failed batch spoils the transaction, and no epoch is raised before that is aborted. This
holds for INVALID_PRODUCER_EPOCH, too: it may have been aborted already, by its coordinator
(KIP-588).
"""

from collections import Counter, deque
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine import errors
from engine.client.asking import UNSENT, Ask
from engine.client.metadata import NO_BROKER
from engine.client.producing.accumulator import Accumulator, Queue
from engine.client.producing.batch import Batch, Identity
from engine.client.producing.identifying import Identifying
from engine.client.producing.transactions import Transactions
from engine.client.values import KafkaError, error_of
from engine.client.view import View
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.storage.batch import Codec
from engine.wire.apis import Api

ACKS = {"all": -1, "0": 0, "1": 1}

# What we know of leaders may be out of date.
MOVED = frozenset(
    {
        UNSENT,
        ErrorCode.network_exception,
        ErrorCode.request_timed_out,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.leader_not_available,
        ErrorCode.not_leader_or_follower,
        ErrorCode.kafka_storage_error,
    }
)
FATAL = frozenset(  # to an idempotent producer
    {
        ErrorCode.cluster_authorization_failed,
        ErrorCode.unsupported_version,
        ErrorCode.producer_fenced,
        ErrorCode.transactional_id_authorization_failed,
    }
)
STORED = frozenset({ErrorCode.none, ErrorCode.duplicate_sequence_number})


class Report(NamedTuple):
    """What became of the records of a batch whose application wants to hear of it."""

    batch: Batch
    error: KafkaError | None
    offset: int  # of the first record, or -1
    append_time: int  # milliseconds, if the broker stamped the records; or -1
    at: float


class Sender:
    def __init__(
        self,
        settings: ProducerConfig,
        accumulator: Accumulator,
        transactions: Transactions | None = None,
    ) -> None:
        self.fatal: KafkaError | None = None  # why nothing can be sent any more
        self.reports: deque[Report] = deque()
        self._settings = settings
        self._accumulator = accumulator
        self._transactions = transactions
        self._codec = Codec[settings.compression_type.upper()]
        self._most = settings.max_in_flight_requests_per_connection
        self._patience = settings.delivery_timeout_ms / 1000
        self._backoff = settings.retry_backoff_ms / 1000
        self._on_the_way: Counter[int] = Counter()  # requests, by broker
        self._moved = False
        self._turn = 0
        self._due: float | None = None
        self._identifying = Identifying(self._backoff)

    # -- as a core -----------------------------------------------------------------------

    def step(self, now: float, view: View) -> Iterable[Ask]:
        self._due = None
        self._expire(now)
        if self._transactions is not None:
            self._follow(self._transactions, now)
        elif self._settings.enable_idempotence:
            self._renumber()
            if self._identity is None:
                yield from self._ask_identity(now)
                return
        if self._moved:
            view.stale()
            self._moved = False
        for leader, queues in self._ready(now, view).items():
            while self._on_the_way[leader] < self._most and (batches := self._take(queues, now)):
                self._on_the_way[leader] += 1
                yield self._produce(leader, batches)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        if ask.api is Api.INIT_PRODUCER_ID:
            self._identifying.answered(response, now)
            self._end_if_nobody(now)
            return
        self._on_the_way[ask.to] -= 1
        if response is None:  # acks=0: who knows
            for queue, batch in ask.about.values():
                queue.on_wire.remove(batch)
                self._finish(batch, None, now)
            return
        for topic in response.responses:
            for told in topic.partition_responses:
                queue, batch = ask.about[topic.name, told.index]
                queue.on_wire.remove(batch)
                if told.error_code in STORED:
                    self._stored(queue, batch, told, now)
                else:
                    error = errors.KafkaError(told.error_code, told.error_message or "")
                    self._not_stored(queue, batch, error, now)

    def failed(self, ask: Ask, error: errors.KafkaError, now: float) -> None:
        self._moved = True
        if ask.api is Api.INIT_PRODUCER_ID:
            self._identifying.failed(error, now)
            self._end_if_nobody(now)
            return
        self._on_the_way[ask.to] -= 1
        for queue, batch in ask.about.values():
            queue.on_wire.remove(batch)
            if error.code == UNSENT:
                batch.attempts -= 1  # it was none
            self._not_stored(queue, batch, error, now)

    def due(self) -> float | None:
        return self._due

    def purge(self, queued: bool, on_wire: bool, now: float) -> None:
        """Give up what waits in queues, and what is on the wire: its fate is not known then."""
        for queue, batch in list(self._accumulator.waiting()):
            sent = batch in queue.on_wire
            if on_wire if sent else queued:
                code = KafkaError._PURGE_INFLIGHT if sent else KafkaError._PURGE_QUEUE
                self._give_up(queue, batch, KafkaError(code), now)

    # -- what to send --------------------------------------------------------------------

    def _ready(self, now: float, view: View) -> dict[int, list[Queue]]:
        """The queues whose first batch may go now, by leader. Notes when others may."""
        found: dict[int, list[Queue]] = {}
        for queue in self._accumulator.queues.values():
            if not queue.batches:
                continue
            at = self._accumulator.ready_at(queue)
            if at > now:
                self._remember(at)
                continue
            leader = view.leader(queue.partition)
            if leader != NO_BROKER:
                found.setdefault(leader, []).append(queue)
            else:
                view.stale()
        return found

    def _take(self, queues: list[Queue], now: float) -> list[tuple[Queue, Batch]]:
        """One batch of each, up to max.request.size; every time another queue begins."""
        taken: list[tuple[Queue, Batch]] = []
        size = 0
        start = self._turn % len(queues)
        for queue in queues[start:] + queues[:start]:
            if not queue.batches or not self._may_go(queue, queue.batches[0], now):
                continue
            batch = queue.batches[0]
            if taken and size + batch.size > self._settings.max_request_size:
                break
            size += batch.size
            queue.batches.popleft()
            queue.on_wire.append(batch)
            batch.closed = True
            batch.attempts += 1
            if queue.numbers is not None and not batch.numbered:
                assert self._identity is not None
                queue.numbers.number(batch, self._identity)
            taken.append((queue, batch))
        self._turn += len(taken)
        return taken

    def _may_go(self, queue: Queue, batch: Batch, now: float) -> bool:
        if self._accumulator.ready_at(queue) > now:
            self._remember(self._accumulator.ready_at(queue))
            return False
        if self._most == 1 and queue.on_wire:
            return False  # perhaps to another broker, if the leader moved
        if self._transactions is not None and not self._transactions.has(queue.partition):
            return False
        return queue.numbers is None or queue.numbers.may_go(batch)

    def _produce(self, leader: int, batches: list[tuple[Queue, Batch]]) -> Ask:
        topics: dict[str, list[PartitionProduceData]] = {}
        transactional = self._transactions is not None
        for queue, batch in batches:
            sealed = batch.sealed(self._codec, transactional)
            data = PartitionProduceData(index=queue.partition.partition, records=sealed)
            topics.setdefault(queue.partition.topic, []).append(data)
        request = ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=ACKS[self._settings.acks],
            timeout=timedelta(milliseconds=self._settings.request_timeout_ms),
            topic_data=tuple(
                TopicProduceData(name=name, partition_data=tuple(data))
                for name, data in topics.items()
            ),
        )
        about = {queue.partition: (queue, batch) for queue, batch in batches}
        return Ask(leader, Api.PRODUCE, request, about, answered=self._settings.acks != "0")

    # -- what an answer means ------------------------------------------------------------

    def _stored(self, queue: Queue, batch: Batch, told: Any, now: float) -> None:
        if queue.numbers is not None:
            queue.numbers.stored(batch)
        stamped = told.log_append_time
        append_time = -1 if stamped is None else round(stamped.timestamp() * 1000)
        self._finish(batch, None, now, told.base_offset, append_time)

    def _not_stored(self, queue: Queue, batch: Batch, error: errors.KafkaError, now: float) -> None:
        if error.code in MOVED:
            self._moved = True
        if batch.done:
            return  # given up before
        if error.code == ErrorCode.message_too_large and batch.count > 1:
            pieces = batch.split(self._settings.batch_size)
            self._accumulator.replace(queue, batch, pieces)
        elif self._may_pass(queue, batch, error.code):
            if batch.attempts > self._settings.retries:
                self._give_up(queue, batch, error_of(error), now)
            else:
                batch.again = now + self._backoff
                queue.put_back(batch)
        else:
            if queue.numbers is not None:
                queue.numbers.refused(batch)
                if error.code in FATAL:
                    self._end(error, now)
            self._finish(batch, error_of(error), now)

    def _may_pass(self, queue: Queue, batch: Batch, code: ErrorCode) -> bool:
        if queue.numbers is not None:
            if code == ErrorCode.out_of_order_sequence_number:
                queue.numbers.out_of_order(batch)
                return self._transactions is None or not queue.numbers.gap
            if code == ErrorCode.unknown_producer_id:
                queue.numbers.gap = True
                return self._transactions is None
        return code == UNSENT or bool(code.retriable)

    def _expire(self, now: float) -> None:
        for queue in self._accumulator.queues.values():
            for batch in [each for each in queue.on_wire if not each.done]:
                self._give_up_if_late(queue, batch, now)
            while queue.batches and self._give_up_if_late(queue, queue.batches[0], now):
                pass  # the first one is the oldest

    def _give_up_if_late(self, queue: Queue, batch: Batch, now: float) -> bool:
        deadline = batch.created + self._patience
        if now < deadline:
            self._remember(deadline)
            return False
        text = (
            f"{batch.count} record(s) for {queue.partition} given up: "
            f"not delivered within {self._patience:g} s"
        )
        self._give_up(queue, batch, KafkaError(KafkaError._MSG_TIMED_OUT, text), now)
        return True

    def _give_up(self, queue: Queue, batch: Batch, error: KafkaError, now: float) -> None:
        """It is not sent again. If it ever was, nobody knows whether it is stored."""
        if batch in queue.batches:
            queue.batches.remove(batch)
        if queue.numbers is not None:
            queue.numbers.abandoned(batch)
        self._finish(batch, error, now)

    def _finish(
        self,
        batch: Batch,
        error: KafkaError | None,
        now: float,
        offset: int = -1,
        append_time: int = -1,
    ) -> None:
        if not batch.done:
            if error is not None and self._transactions is not None:
                self._transactions.spoiled(error)
            self._accumulator.release(batch)
            if batch.notes:
                batch.notes.reverse()  # they are taken from the end, the first one first
                self.reports.append(Report(batch, error, offset, append_time, now))

    def _remember(self, at: float) -> None:
        self._due = at if self._due is None else min(self._due, at)

    # -- who we are ----------------------------------------------------------------------

    @property
    def _identity(self) -> Identity | None:
        return (self._transactions or self._identifying).identity

    def _ask_identity(self, now: float) -> Iterable[Ask]:
        """Once something is to be sent."""
        if self.fatal or not self._accumulator.records:
            return ()
        if (ask := self._identifying.ask(now)) is not None:
            return (ask,)
        if (at := self._identifying.due()) is not None:
            self._remember(at)
        return ()

    def _end_if_nobody(self, now: float) -> None:
        if self._identifying.error is not None:
            self._end(self._identifying.error, now)

    def _renumber(self) -> None:
        """Raise the epoch for partitions whose logs lack something; see numbering.py."""
        behind = []
        for queue in self._accumulator.queues.values():
            assert queue.numbers is not None
            if not queue.on_wire:
                queue.numbers.settle()
                if queue.numbers.gap:
                    behind.append(queue.numbers)
        if behind and self._identity is not None:
            self._identifying.raise_epoch()
            if self._identity is not None:
                for numbers in behind:
                    numbers.begin(self._identity)

    def _follow(self, transactions: Transactions, now: float) -> None:
        """A transaction says who we are, and that what was never sent need not be sent any more.

        What was sent and has a number is sent on until we know what became of it, unless a number
        before it is missing.
        """
        if transactions.is_fatal and self.fatal is None:
            assert transactions.error is not None
            self._give_up_all(transactions.error.str(), now)
        if not transactions.is_lost:
            return
        error = transactions.error or KafkaError(KafkaError._PURGE_QUEUE)
        for queue in self._accumulator.queues.values():
            assert queue.numbers is not None
            for batch in list(queue.batches):
                if queue.numbers.gap or not batch.numbered:
                    self._give_up(queue, batch, error, now)

    def _end(self, error: errors.KafkaError, now: float) -> None:
        if self._transactions is not None:
            self._transactions.end(error)
        self._give_up_all(error.message, now)

    def _give_up_all(self, why: str, now: float) -> None:
        """Nothing more can be sent; all that waits is given up."""
        self.fatal = KafkaError(KafkaError._FATAL, why, fatal=True)
        for queue, batch in list(self._accumulator.waiting()):
            self._give_up(queue, batch, self.fatal, now)
