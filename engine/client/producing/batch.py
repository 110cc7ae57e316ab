"""Some records of one partition on their way: they are sent, stored and acknowledged together.

    open     in its queue, records are added
    closed   taken from its queue to be sent; if that fails it goes back, as it is
    done     its records are delivered, or given up

Invariant: a record is encoded once, when it is added. Its batch is sealed for each attempt, since
its number may have changed.
"""

from typing import Any, NamedTuple

from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import NO_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Codec
from engine.storage.records import Builder, Record

# What is kept of a record whose sender wants to hear of it:
# its place in the batch, whom to tell, key, value, headers, timestamp, when it was produced.
Note = tuple[int, Any, bytes | None, bytes | None, Any, int, float]


class Identity(NamedTuple):
    """Who an idempotent producer is, to a log."""

    id: int
    epoch: int  # raised to begin anew with the numbers


NOBODY = Identity(NO_PRODUCER_ID, NO_EPOCH)


class Batch:
    __slots__ = (
        "again", "attempts", "builder", "closed", "created", "done",
        "identity", "notes", "partition", "sequence", "size",
    )  # fmt: skip

    def __init__(self, partition: TopicPartition, now: float) -> None:
        self.partition = partition
        self.created = now  # its delivery time-out runs from here
        self.builder = Builder()
        self.size = 0  # bytes, before compression
        self.notes: list[Note] = []
        self.closed = False
        self.done = False
        self.attempts = 0  # how often it was sent
        self.again = now  # not to be sent before
        self.identity = NOBODY
        self.sequence = NO_SEQUENCE  # its first record's number

    @property
    def count(self) -> int:
        return self.builder.count

    @property
    def numbered(self) -> bool:
        return self.sequence != NO_SEQUENCE

    def sealed(self, codec: Codec, transactional: bool = False) -> bytes:
        return self.builder.build(
            codec,
            producer_id=self.identity.id,
            producer_epoch=self.identity.epoch,
            base_sequence=self.sequence,
            transactional=transactional,
        )

    def split(self, limit: int) -> list["Batch"]:
        """The same records in smaller batches, in order: of at most so many bytes, or halves."""
        limit = min(limit, self.size // 2 + 1)
        notes = {note[0]: note for note in self.notes}
        pieces: list[Batch] = []
        for place, record in enumerate(records.decode(self.sealed(Codec.NONE))):
            if not pieces or pieces[-1].size + _size(record) > limit:
                pieces.append(Batch(self.partition, self.created))
            piece = pieces[-1]
            if place in notes:
                piece.notes.append((piece.count, *notes[place][1:]))
            piece.size = piece.builder.append(
                record.key, record.value, record.timestamp, record.headers
            )
        for piece in pieces:
            piece.closed, piece.attempts = True, self.attempts
        return pieces


def _size(record: Record) -> int:
    return size_bound(record.key, record.value, record.headers)


def size_bound(key: bytes | None, value: bytes | None, headers: records.Headers) -> int:
    """What a record takes at most in a batch."""
    size = RECORD_OVERHEAD
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, content in headers:
        size += HEADER_OVERHEAD + len(name) * MOST_BYTES + (len(content) if content else 0)
    return size


RECORD_OVERHEAD = 36  # lengths, deltas and counts, as long as they can get
HEADER_OVERHEAD = 10
MOST_BYTES = 4  # of one character in UTF-8
