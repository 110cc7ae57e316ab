"""A small producer and consumer for the simulated cluster.

    send ──> Locate, of any broker ──> Produce, to the leader ──> Delivery
              ^                            │
              └─── retry after 100 ms ─────┘  a retriable error, until `patience` is over

One batch holds one record, and one batch of a partition is in flight at a time, so records stay in
order. An idempotent producer numbers its records, so a record that is sent twice is stored once.
When it gives up a record it cannot know whether the cluster has it, so it takes a new producer id.

Left out: the search for a broker that answers. The world names one.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.broker.metadata import PartitionInfo
from engine.client.consuming.completed_fetch import AbortedTransactions
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.log_read import ANY_EPOCH
from engine.sim.peer import machine
from engine.sim.process import RequestChannel, SimulatedProcess
from engine.sim.serving import ALL, Consume, Consumed, Locate, Produce, Produced
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.records import Record

RETRY_BACKOFF_MS = 100  # retry.backoff.ms
REQUEST_TIMEOUT_MS = 30_000  # request.timeout.ms
FINAL = frozenset(  # all other errors may pass
    {
        ErrorCode.invalid_record,
        ErrorCode.message_too_large,
        ErrorCode.out_of_order_sequence_number,
        ErrorCode.invalid_producer_epoch,
    }
)


@dataclass(eq=False)
class Delivery:
    """One record, and its result once that is known."""

    partition: TopicPartition
    value: str
    acks: int
    idempotent: bool
    sent_at: int
    until: int  # when the client gives up
    to: int | None  # this broker, instead of the leader
    batch: bytes = b""  # the bytes, the same in each attempt
    tries: int = 0
    done_at: int | None = None
    code: ErrorCode = ErrorCode.none  # of the last response
    offset: int = -1  # -1: unknown

    @property
    def done(self) -> bool:
        return self.done_at is not None

    @property
    def acknowledged(self) -> bool:
        return self.done and self.code == ErrorCode.none

    @property
    def answered_ms(self) -> int | None:
        """How long the producer has waited for its answer; None: it still waits."""
        return None if self.done_at is None else self.done_at - self.sent_at


class Row(NamedTuple):
    """A record, as a consumer gets it."""

    offset: int
    value: str
    leader_epoch: int


class Seen(NamedTuple):
    code: ErrorCode
    rows: list[Row]
    high_watermark: int = -1
    preferred: int = -1
    next_offset: int = -1  # behind the last batch; -1: there was none


class Client:
    def __init__(
        self,
        process: SimulatedProcess,
        brokers: Callable[[], list[int]],  # asked for metadata in this order
        new_id: Callable[[], int],
        timeout: int = REQUEST_TIMEOUT_MS,
    ) -> None:
        self.process = process
        self.brokers = brokers
        self._new_id = new_id
        self._timeout = timeout
        self._channels: dict[int, deque[RequestChannel]] = {}  # that are free, by broker
        self._waiting: dict[TopicPartition, deque[Delivery]] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._sequences: dict[TopicPartition, tuple[int, int]] = {}  # (producer id, next number)

    # -- producing -----------------------------------------------------------------------

    def send(
        self,
        partition: TopicPartition,
        value: str,
        *,
        acks: int = ALL,
        idempotent: bool = True,
        patience: int = 120_000,  # ms, delivery.timeout.ms
        to: int | None = None,
    ) -> Delivery:
        now, idempotent = self.process.clock.now, idempotent and acks == ALL
        delivery = Delivery(partition, value, acks, idempotent, now, now + patience, to)
        waiting = self._waiting.setdefault(partition, deque())
        waiting.append(delivery)
        if len(waiting) == 1:
            self.process.after(0, self._next, partition)
        return delivery

    def waiting(self, partition: TopicPartition) -> int:
        """How many records have no result yet."""
        return len(self._waiting.get(partition, ()))

    def _batch(self, delivery: Delivery) -> bytes:
        now, partition = self.process.clock.now, delivery.partition
        record = [Record(0, now, None, delivery.value.encode())]
        if not delivery.idempotent:
            return records.encode(record)
        producer, number = self._sequences.get(partition) or (self._new_id(), 0)
        self._sequences[partition] = producer, number + 1
        return records.encode(record, producer_id=producer, producer_epoch=0, base_sequence=number)

    def _next(self, partition: TopicPartition) -> None:
        """Send the first record that waits; look up the leader if it is not known."""
        if not self._waiting[partition]:
            return
        delivery = self._waiting[partition][0]
        delivery.batch = delivery.batch or self._batch(delivery)
        if delivery.to is not None:
            self._send(delivery, delivery.to)
        elif partition in self._leaders:
            self._send(delivery, self._leaders[partition])
        else:
            self.locate(partition, lambda info: self._found(delivery, info))

    def _found(self, delivery: Delivery, info: PartitionInfo | None) -> None:
        if info is not None and info.leader >= 0:
            self._leaders[delivery.partition] = info.leader
            self._send(delivery, info.leader)
        else:
            code = ErrorCode.unknown_topic_or_partition if info is None else None
            self._failed(delivery, code or ErrorCode.leader_not_available)

    def _send(self, delivery: Delivery, broker: int) -> None:
        request = Produce(delivery.partition, delivery.batch, delivery.acks, self._timeout)
        delivery.tries += 1
        if delivery.acks == 0:  # there is no response
            channel = RequestChannel(self.process, machine(broker), self._timeout)
            channel.ask(request, lambda answer: None)
            channel.close()
            self.process.after(0, self._settle, delivery)
        else:
            self.ask(broker, request, lambda answer: self._answered(delivery, answer))

    def _answered(self, delivery: Delivery, answer: Produced | None) -> None:
        if answer is None:
            self._failed(delivery, ErrorCode.network_exception)
        elif answer.code != ErrorCode.none:
            self._failed(delivery, answer.code)
        else:
            delivery.code, delivery.offset = ErrorCode.none, answer.offset
            self._settle(delivery)

    def _failed(self, delivery: Delivery, code: ErrorCode) -> None:
        delivery.code = code
        self._leaders.pop(delivery.partition, None)
        if code in FINAL or self.process.clock.now + RETRY_BACKOFF_MS > delivery.until:
            self._sequences.pop(delivery.partition, None)
            self._settle(delivery)
        else:
            self.process.after(RETRY_BACKOFF_MS, self._next, delivery.partition)

    def _settle(self, delivery: Delivery) -> None:
        delivery.done_at = self.process.clock.now
        self._waiting[delivery.partition].popleft()
        self._next(delivery.partition)

    # -- asking --------------------------------------------------------------------------

    def locate(
        self,
        partition: TopicPartition,
        done: Callable[[PartitionInfo | None], object],
        brokers: list[int] | None = None,  # all, if not given
    ) -> None:
        """The leader, by the first broker that knows the partition."""
        asked = self.brokers() if brokers is None else brokers
        if not asked:
            done(None)
            return

        def answered(info: PartitionInfo | None) -> None:
            if info is None:
                self.locate(partition, done, asked[1:])
            else:
                done(info)

        self.ask(asked[0], Locate(partition), answered)

    def consume(
        self,
        partition: TopicPartition,
        offset: int,
        broker: int,
        done: Callable[[Seen], object],
        *,
        leader_epoch: int = ANY_EPOCH,
        anywhere: bool = False,
        rack: str = "",
        committed: bool = False,
    ) -> None:
        """Fetch from one broker, as a consumer; `committed`: isolation.level=read_committed."""

        def answered(answer: Consumed | None) -> None:
            if answer is None:
                done(Seen(ErrorCode.network_exception, []))
                return
            data = answer.records
            rows = rows_of(data, offset, answer.aborted if committed else None)
            end = max((header.next_offset for _, header in scan(data)), default=-1)
            done(Seen(answer.code, rows, answer.high_watermark, answer.preferred, end))

        question = Consume(partition, offset, leader_epoch, anywhere, rack, committed)
        self.ask(broker, question, answered)

    def ask(
        self,
        broker: int,
        question: object,
        done: Callable[[Any], object],
        timeout: int | None = None,  # ms, if this one has its own
    ) -> None:
        """`done` gets the answer, or None if there is none."""
        free = self._channels.setdefault(broker, deque())
        channel = (
            free.popleft() if free else RequestChannel(self.process, machine(broker), self._timeout)
        )

        def answered(answer: Any) -> None:
            free.append(channel)
            done(answer)

        channel.ask(question, answered, timeout)


def rows_of(
    data: bytes, offset: int = 0, aborted: Iterable[tuple[int, int]] | None = None
) -> list[Row]:
    """The records in some batches, from an offset on; without those of aborted transactions, if
    these are given."""
    skipped = None if aborted is None else AbortedTransactions(aborted)
    rows = []
    for position, header in scan(data):
        batch = memoryview(data)[position : position + header.size]
        if (skipped and skipped.covers(header, batch)) or header.is_control:
            continue
        rows += [
            Row(record.offset, bytes(record.value or b"").decode(), header.leader_epoch)
            for record in records.decode(batch)
            if record.offset >= offset
        ]
    return rows
