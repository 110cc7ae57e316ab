"""Which batches go to which leader now, and what a response means for them.

    queues --ready?--> by leader --one batch a partition--> Produce, up to 5 in flight to a broker
       ^                                                       |
       |  again, after retry.backoff.ms                        v
       +---- retriable: the leader moved,    <----   error?  none: stored, report it
             the connection broke, ...                 |
                                   too large: split    +-- not retriable: report it

Invariant: each batch is finished once: stored, refused, or given up after delivery.timeout.ms, even
if a response may still come.
Invariant: with acks=all and sequence numbers, a record is stored once and in order. Without them a
batch whose response was lost may be stored twice, and a batch that is sent again may be stored
behind later ones. Kafka promises no more than that either.
Invariant: in a transaction, a batch is sent only to a partition that was added to it. A batch that
failed makes the transaction abortable, and the epoch is not raised before the abort. That is so
for INVALID_PRODUCER_EPOCH too: the coordinator may have aborted the transaction (KIP-588).
"""

from collections import Counter, deque
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine import errors
from engine.client.core import UNSENT, Ask
from engine.client.metadata import MetadataView
from engine.client.producing.accumulator import PartitionQueue, RecordAccumulator
from engine.client.producing.batch import ProducerBatch, ProducerIdAndEpoch
from engine.client.producing.idempotence import ProducerId
from engine.client.producing.transaction_manager import TransactionManager
from engine.client.values import KafkaError, error_of, refusal
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import NO_BROKER
from engine.storage.batch import Codec
from engine.wire.apis import Api
from engine.wire.by_topic import topics_of

ACKS = {"all": -1, "0": 0, "1": 1}

# After these the metadata may be out of date.
STALE_METADATA = (
    UNSENT,
    ErrorCode.network_exception,
    ErrorCode.request_timed_out,
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.leader_not_available,
    ErrorCode.not_leader_or_follower,
    ErrorCode.kafka_storage_error,
)
FATAL = (  # for an idempotent producer
    ErrorCode.cluster_authorization_failed,
    ErrorCode.unsupported_version,
    ErrorCode.producer_fenced,
    ErrorCode.transactional_id_authorization_failed,
)
# Only brokers before Kafka 1.1 report a duplicate: newer ones acknowledge it again.
STORED = frozenset({ErrorCode.none, ErrorCode.duplicate_sequence_number})

Batches = list[tuple[PartitionQueue, ProducerBatch]]


class DeliveryReport(NamedTuple):
    """The result of a batch, for the application."""

    batch: ProducerBatch
    error: KafkaError | None
    offset: int  # of the first record, or -1
    append_time: int  # milliseconds, if the broker stamped the records; or -1
    at: float


class Sender:
    """The core that sends batches. The producer id comes from `producer_id` or `transactions`."""

    def __init__(
        self,
        settings: ProducerConfig,
        accumulator: RecordAccumulator,
        producer_id: ProducerId | None,  # of an idempotent producer
        transactions: TransactionManager | None,
    ) -> None:
        self.fatal: KafkaError | None = None  # why nothing can be sent any more
        self.reports: deque[DeliveryReport] = deque()
        self._settings = settings
        self._accumulator = accumulator
        self._producer_id = producer_id
        self._transactions = transactions
        self._codec = Codec[settings.compression_type.upper()]
        self._max_in_flight = settings.max_in_flight_requests_per_connection
        self._delivery_timeout = settings.delivery_timeout_ms / 1000
        self._backoff = settings.retry_backoff_ms / 1000
        self._in_flight: Counter[int] = Counter()  # requests, by broker
        self._is_stale = False  # the metadata
        self._next_queue = 0
        self._due: float | None = None

    def step(self, now: float, view: MetadataView) -> Iterable[Ask]:
        self._due = None
        self._expire(now)
        if self._transactions is not None:
            self._follow(self._transactions, now)
        elif self._producer_id is not None:
            self._renumber(self._producer_id)
            if self._producer_id.error is not None and self.fatal is None:
                self._give_up_all(self._producer_id.error.message, now)
            if self._accumulator.records and self._producer_id.need() is None:
                return
        if self._is_stale:
            view.stale()
            self._is_stale = False
        for leader, queues in self._ready(now, view).items():
            while self._in_flight[leader] < self._max_in_flight and (
                batches := self._take(queues, now)
            ):
                self._in_flight[leader] += 1
                yield self._produce(leader, batches)

    def answered(self, ask: Ask, response: Any, now: float) -> None:
        self._in_flight[ask.to] -= 1
        if response is None:  # acks=0: the result will never be known
            for queue, batch in ask.about.values():
                queue.in_flight.remove(batch)
                self._finish(batch, None, now)
            return
        for topic in response.responses:
            for row in topic.partition_responses:
                queue, batch = ask.about[topic.name, row.index]
                queue.in_flight.remove(batch)
                if row.error_code in STORED:
                    self._stored(queue, batch, row, now)
                else:
                    self._not_stored(queue, batch, refusal(row), now)

    def failed(self, ask: Ask, error: errors.ApiException, now: float) -> None:
        self._is_stale = True
        self._in_flight[ask.to] -= 1
        for queue, batch in ask.about.values():
            queue.in_flight.remove(batch)
            if error.code == UNSENT:
                batch.attempts -= 1  # it was not sent
            self._not_stored(queue, batch, error, now)

    def due(self) -> float | None:
        return self._due

    def purge(self, queued: bool, in_flight: bool, now: float) -> None:
        """Give up the batches in queues, or in flight: their result is not known then."""
        for queue, batch in list(self._accumulator.unfinished()):
            sent = batch in queue.in_flight
            if in_flight if sent else queued:
                code = KafkaError._PURGE_INFLIGHT if sent else KafkaError._PURGE_QUEUE
                self._give_up(queue, batch, KafkaError(code), now)

    # -- what to send --------------------------------------------------------------------

    def _ready(self, now: float, view: MetadataView) -> dict[int, list[PartitionQueue]]:
        """The queues whose first batch may be sent now, by leader. Notes when others may."""
        found: dict[int, list[PartitionQueue]] = {}
        for queue in self._accumulator.queues.values():
            if queue.batches and self._is_time(self._accumulator.ready_at(queue), now):
                leader = view.metadata.leader(queue.partition)
                if leader != NO_BROKER:
                    found.setdefault(leader, []).append(queue)
                else:
                    view.stale()
        return found

    def _take(self, queues: list[PartitionQueue], now: float) -> Batches:
        """One batch of each queue, up to max.request.size; each time another queue is the first."""
        taken: Batches = []
        size = 0
        start = self._next_queue % len(queues)
        for queue in queues[start:] + queues[:start]:
            if not queue.batches or not self._may_send(queue, queue.batches[0], now):
                continue
            batch = queue.batches[0]
            if taken and size + batch.size > self._settings.max_request_size:
                break
            size += batch.size
            self._accumulator.log.sent(self._accumulator, queue.batches, now)
            queue.in_flight.append(queue.batches.popleft())
            batch.closed = True
            batch.attempts += 1
            if queue.sequences is not None and not batch.has_sequence:
                queue.sequences.assign(batch, self._producer)
            taken.append((queue, batch))
        self._next_queue += len(taken)
        return taken

    def _may_send(self, queue: PartitionQueue, batch: ProducerBatch, now: float) -> bool:
        if not self._is_time(self._accumulator.ready_at(queue), now):
            return False
        if self._max_in_flight == 1 and queue.in_flight:
            return False  # perhaps to another broker, if the leader moved
        if self._transactions is not None and not self._transactions.has(queue.partition):
            return False
        return queue.sequences is None or queue.sequences.may_send(batch)

    @property
    def _producer(self) -> ProducerIdAndEpoch:
        source = self._transactions or self._producer_id
        assert source is not None and source.producer is not None
        return source.producer

    def _produce(self, leader: int, batches: Batches) -> Ask:
        rows = (
            (
                queue.partition,
                PartitionProduceData(
                    index=queue.partition.partition,
                    records=batch.build(self._codec, self._transactions is not None),
                ),
            )
            for queue, batch in batches
        )
        request = ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=ACKS[self._settings.acks],
            timeout=timedelta(milliseconds=self._settings.request_timeout_ms),
            topic_data=topics_of(TopicProduceData, rows, listed="partition_data"),
        )
        about = {queue.partition: (queue, batch) for queue, batch in batches}
        return Ask(leader, Api.PRODUCE, request, about, answered=self._settings.acks != "0")

    # -- what a response means -----------------------------------------------------------

    def _stored(self, queue: PartitionQueue, batch: ProducerBatch, row: Any, now: float) -> None:
        if queue.sequences is not None:
            queue.sequences.stored(batch)
        stamped = row.log_append_time
        append_time = -1 if stamped is None else round(stamped.timestamp() * 1000)
        self._finish(batch, None, now, row.base_offset, append_time)

    def _not_stored(
        self, queue: PartitionQueue, batch: ProducerBatch, error: errors.ApiException, now: float
    ) -> None:
        self._is_stale |= error.code in STALE_METADATA
        if batch.done:
            return  # given up before
        if error.code == ErrorCode.message_too_large and batch.count > 1:
            pieces = batch.split(self._settings.batch_size)
            self._accumulator.log.split(batch, pieces, now)
            self._accumulator.replace(queue, batch, pieces)
        elif not self._is_retriable(queue, batch, error.code):
            if queue.sequences is not None:
                queue.sequences.refused(batch)
                if error.code in FATAL:
                    self._end(error, now)
            self._finish(batch, error_of(error), now)
        elif batch.attempts > self._settings.retries:
            self._give_up(queue, batch, error_of(error), now)
        else:
            batch.not_before = now + self._backoff
            self._accumulator.log.retried(batch, error.code, now)
            queue.put_back(batch)

    def _is_retriable(self, queue: PartitionQueue, batch: ProducerBatch, code: ErrorCode) -> bool:
        if queue.sequences is not None:
            if code == ErrorCode.out_of_order_sequence_number:
                queue.sequences.out_of_order(batch)
                return self._transactions is None or not queue.sequences.gap
            if code == ErrorCode.unknown_producer_id:
                queue.sequences.gap = True
                return self._transactions is None
        return code == UNSENT or bool(code.retriable)

    def _expire(self, now: float) -> None:
        for queue in self._accumulator.queues.values():
            for batch in [each for each in queue.in_flight if not each.done]:
                self._give_up_if_late(queue, batch, now)
            while queue.batches and self._give_up_if_late(queue, queue.batches[0], now):
                pass  # the first one is the oldest

    def _give_up_if_late(self, queue: PartitionQueue, batch: ProducerBatch, now: float) -> bool:
        if not self._is_time(batch.created + self._delivery_timeout, now):
            return False
        late = f"not delivered within {self._delivery_timeout:g} s"
        text = f"{batch.count} record(s) for {queue.partition} given up: {late}"
        self._give_up(queue, batch, KafkaError(KafkaError._MSG_TIMED_OUT, text), now)
        return True

    def _give_up(
        self, queue: PartitionQueue, batch: ProducerBatch, error: KafkaError, now: float
    ) -> None:
        """Finish a batch that is not sent again. If it was ever sent, it may be stored or not."""
        if batch in queue.batches:
            queue.batches.remove(batch)
        if queue.sequences is not None:
            queue.sequences.given_up(batch)
        self._finish(batch, error, now)

    def _finish(
        self,
        batch: ProducerBatch,
        error: KafkaError | None,
        now: float,
        offset: int = -1,
        append_time: int = -1,
    ) -> None:
        if not batch.done:
            if error is not None and self._transactions is not None:
                self._transactions.record_failed(error)
            self._accumulator.log.ended(batch, error, offset, now)
            self._accumulator.release(batch)
            if batch.pending_reports:
                batch.pending_reports.reverse()  # they are taken from the end
                self.reports.append(DeliveryReport(batch, error, offset, append_time, now))

    def _is_time(self, at: float, now: float) -> bool:
        """Whether a time has come. If not, `due` returns that time, or an earlier one."""
        if now < at:
            self._due = at if self._due is None else min(self._due, at)
        return now >= at

    # -- producer id and transactions ----------------------------------------------------

    def _renumber(self, producer_id: ProducerId) -> None:
        """Raise the epoch if a log lacks a number that will not be sent again."""
        with_gap = []
        for queue in self._accumulator.queues.values():
            assert queue.sequences is not None
            if not queue.in_flight:
                queue.sequences.settle()
                if queue.sequences.gap:
                    with_gap.append(queue.sequences)
        if with_gap and producer_id.producer is not None:
            producer_id.raise_epoch()
            if producer_id.producer is not None:
                for sequences in with_gap:
                    sequences.restart(producer_id.producer)

    def _follow(self, transactions: TransactionManager, now: float) -> None:
        """Once a transaction can't be committed, give up what was never sent. What was sent has a
        sequence number, and is sent until its result is known, unless a number before it is
        missing.
        """
        if transactions.is_fatal and self.fatal is None:
            assert transactions.error is not None
            self._give_up_all(transactions.error.str(), now)
        if not transactions.is_aborting:
            return
        error = transactions.error or KafkaError(KafkaError._PURGE_QUEUE)
        for queue in self._accumulator.queues.values():
            assert queue.sequences is not None
            for batch in list(queue.batches):
                if queue.sequences.gap or not batch.has_sequence:
                    self._give_up(queue, batch, error, now)

    def _end(self, error: errors.ApiException, now: float) -> None:
        if self._transactions is not None:
            self._transactions.end(error)
        self._give_up_all(error.message, now)

    def _give_up_all(self, why: str, now: float) -> None:
        """Nothing can be sent any more."""
        self.fatal = KafkaError(KafkaError._FATAL, why, fatal=True)
        for queue, batch in list(self._accumulator.unfinished()):
            self._give_up(queue, batch, self.fatal, now)
