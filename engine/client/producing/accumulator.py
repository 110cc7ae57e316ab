"""Records that wait to be sent: a queue of batches for each partition, in one bounded buffer.

    orders-0   [full] [full] [filling ...         <- append
    orders-1   [filling ..........                <- append
    orders-2   [to be sent again] [full] [fil...  <- append

A batch may be sent when it is full, when linger.ms has passed, or at once while the application
flushes or waits for room in the buffer.

Invariant: `used` is the size of all batches that are not done, in a queue or in flight.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.client.producing.batch import ProducerBatch
from engine.client.producing.batch_log import BatchLog
from engine.client.producing.idempotence import SequenceNumbers
from engine.config.producer import ProducerConfig
from engine.model import TopicPartition
from engine.storage.records import Headers


@dataclass(slots=True, eq=False)
class PartitionQueue:
    """The batches of one partition."""

    partition: TopicPartition
    sequences: SequenceNumbers | None  # of an idempotent producer
    batches: deque[ProducerBatch] = field(default_factory=deque)
    in_flight: list[ProducerBatch] = field(default_factory=list)  # sent, without a response yet

    def put_back(self, *batches: ProducerBatch) -> None:
        """These are to be sent again, before all others. Batches with a sequence number stay in
        the order of these numbers."""
        self.batches.extendleft(reversed(batches))
        if self.sequences is not None:
            while self.batches and self.batches[0].has_sequence:
                self.batches.popleft()
            back = [each for each in self.sequences.unresolved if each not in self.in_flight]
            self.batches.extendleft(reversed(back))


class RecordAccumulator:
    """The buffer of a producer: `append` fills it, the sender empties it."""

    def __init__(self, settings: ProducerConfig) -> None:
        self.batch_size = settings.batch_size
        self.linger = settings.linger_ms / 1000
        self.memory = settings.buffer_memory
        self._idempotent = settings.enable_idempotence
        self.queues: dict[TopicPartition, PartitionQueue] = {}
        self.used = 0
        self.records = 0  # that are neither delivered nor given up
        self.log = BatchLog()
        self.no_linger = 0  # how many calls flush, or wait for room: batches are sent at once

    def queue(self, partition: TopicPartition) -> PartitionQueue:
        if partition not in self.queues:
            sequences = SequenceNumbers() if self._idempotent else None
            self.queues[partition] = PartitionQueue(partition, sequences)
        return self.queues[partition]

    # -- what an application adds ----------------------------------------------------------

    def has_room(self, size: int) -> bool:
        return self.used + size <= self.memory

    def fits(self, queue: PartitionQueue, size: int) -> bool:
        """Whether a record of this size goes into the open batch; otherwise it begins another."""
        last = queue.batches[-1] if queue.batches else None
        return last is not None and not last.closed and last.size + size <= self.batch_size

    def append(
        self,
        queue: PartitionQueue,
        size: int,  # the most that the record can take
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        now: float,
    ) -> tuple[ProducerBatch, bool]:
        """Add a record. Returns the batch that has it, and whether that batch is new."""
        fits = self.fits(queue, size)
        if not fits:
            queue.batches.append(ProducerBatch(queue.partition, now))
            self.log.began(queue.batches, now)
        batch = queue.batches[-1]
        grown = batch.builder.append(key, value, timestamp, headers)
        self.used += grown - batch.size
        self.records += 1
        batch.size = grown
        return batch, not fits

    # -- what the sender takes -------------------------------------------------------------

    def ready_at(self, queue: PartitionQueue) -> float:
        """When the first batch of a queue may be sent."""
        first = queue.batches[0]
        is_full = len(queue.batches) > 1 or first.size >= self.batch_size
        if is_full or first.closed or self.no_linger:
            return first.not_before
        return first.created + self.linger

    def release(self, batch: ProducerBatch) -> None:
        """A batch is done, so its bytes no longer count: its records are delivered, or given up."""
        batch.done = True
        self.used -= batch.size
        self.records -= batch.count

    def replace(
        self, queue: PartitionQueue, batch: ProducerBatch, pieces: list[ProducerBatch]
    ) -> None:
        """Put smaller batches with the same records in the place of one."""
        self.used += sum(piece.size for piece in pieces) - batch.size
        if queue.sequences is not None:
            queue.sequences.split(batch, pieces)
        queue.put_back(*pieces)

    def unfinished(self) -> Iterator[tuple[PartitionQueue, ProducerBatch]]:
        """All batches that are not done, in flight or in a queue."""
        for queue in self.queues.values():
            for batch in (*queue.in_flight, *queue.batches):
                if not batch.done:
                    yield queue, batch
