"""Records waiting to be sent: for each partition a queue of batches, in one bounded buffer.

    orders-0   [full] [full] [filling ...         <- append
    orders-1   [filling ..........                <- append
    orders-2   [to be sent again] [full] [fil...  <- append

A batch is ready to go when it is full, or has lingered for linger.ms, or when there is a hurry:
a flush, or somebody who waits for room in the buffer.

Invariant: `used` is the size of all batches that are not done, in a queue or on the wire.
"""

from collections import deque
from collections.abc import Iterator

from engine.client.producing.batch import Batch
from engine.client.producing.numbering import Numbers
from engine.config.producer import ProducerConfig
from engine.model import TopicPartition
from engine.storage.records import Headers


class Queue:
    """One partition's batches."""

    __slots__ = ("batches", "numbers", "on_wire", "partition")

    def __init__(self, partition: TopicPartition, numbers: Numbers | None) -> None:
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self.on_wire: list[Batch] = []  # sent, not answered
        self.numbers = numbers  # of an idempotent producer

    def put_back(self, batch: Batch) -> None:
        """To be sent again, before all others; numbered ones in the order of their numbers."""
        self.batches.appendleft(batch)
        if self.numbers is not None:
            while self.batches and self.batches[0].numbered:
                self.batches.popleft()
            back = [each for each in self.numbers.sent if each not in self.on_wire]
            self.batches.extendleft(reversed(back))


class Accumulator:
    def __init__(self, settings: ProducerConfig) -> None:
        self._batch_size = settings.batch_size
        self._linger = settings.linger_ms / 1000
        self._memory = settings.buffer_memory
        self._numbered = settings.enable_idempotence
        self.queues: dict[TopicPartition, Queue] = {}
        self.used = 0
        self.records = 0  # that are not delivered or given up yet
        self.hurry = 0  # how many flush, or wait for room

    def queue(self, partition: TopicPartition) -> Queue:
        found = self.queues.get(partition)
        if found is None:
            numbers = Numbers() if self._numbered else None
            found = self.queues[partition] = Queue(partition, numbers)
        return found

    # -- what an application adds ----------------------------------------------------------

    def has_room(self, size: int) -> bool:
        """Whether the buffer takes a record of so many bytes; one alone it always takes."""
        return self.used + size <= self._memory

    def fits(self, queue: Queue, size: int) -> bool:
        """Whether it would be added to the batch that is being filled, or begin a new one."""
        if not queue.batches:
            return False
        last = queue.batches[-1]
        return not last.closed and last.size + size <= self._batch_size

    def append(
        self,
        queue: Queue,
        size: int,  # what the record takes at most
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        now: float,
    ) -> tuple[Batch, bool]:
        """The batch that the record is in now, and whether that one is new."""
        fits = self.fits(queue, size)
        if not fits:
            queue.batches.append(Batch(queue.partition, now))
        batch = queue.batches[-1]
        grown = batch.builder.append(key, value, timestamp, headers)
        self.used += grown - batch.size
        self.records += 1
        batch.size = grown
        return batch, not fits

    # -- what the sender takes -------------------------------------------------------------

    def ready_at(self, queue: Queue) -> float:
        """When the first batch of a queue may be sent."""
        first = queue.batches[0]
        is_full = len(queue.batches) > 1 or first.size >= self._batch_size
        if is_full or first.closed or self.hurry:
            return first.again
        return first.created + self._linger

    def release(self, batch: Batch) -> None:
        """Its records are delivered, or given up."""
        batch.done = True
        self.used -= batch.size
        self.records -= batch.count

    def replace(self, queue: Queue, batch: Batch, pieces: list[Batch]) -> None:
        """A batch by smaller ones with the same records."""
        self.used += sum(piece.size for piece in pieces) - batch.size
        if queue.numbers is not None:
            queue.numbers.split(batch, pieces)
        queue.batches.extendleft(reversed(pieces))

    def waiting(self) -> Iterator[tuple[Queue, Batch]]:
        """All that is in a queue, or was sent, and is not done."""
        for queue in self.queues.values():
            for batch in (*queue.on_wire, *queue.batches):
                if not batch.done:
                    yield queue, batch
