"""Records of one partition that are sent, stored and acknowledged together.

    open     in its queue; records are added
    closed   taken from its queue to be sent; after a failure it goes back with the same records,
             or in pieces, if the broker has refused it as too large
    done     its records are delivered, or given up

Invariant: a record is encoded once, when it is added. The header is built for each attempt,
because the sequence number may have changed.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.model import NO_EPOCH, TopicPartition
from engine.storage import records
from engine.storage.batch import NO_PRODUCER_ID, NO_SEQUENCE, Codec
from engine.storage.records import Builder

# What is kept of a record whose application wants a delivery report:
# its index in the batch, the function to call, key, value, headers, timestamp, time of produce().
PendingReport = tuple[int, Any, bytes | None, bytes | None, Any, int, float]

RECORD_OVERHEAD = 36  # lengths, deltas and counts, at their longest
HEADER_OVERHEAD = 10
MAX_BYTES_PER_CHARACTER = 4  # in UTF-8


class ProducerIdAndEpoch(NamedTuple):
    """How a log knows an idempotent producer."""

    id: int
    epoch: int  # a higher one starts the sequence numbers again from 0


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_EPOCH)


@dataclass(slots=True, eq=False)
class ProducerBatch:
    partition: TopicPartition
    created: float  # delivery.timeout.ms counts from here
    builder: Builder = field(default_factory=Builder)
    size: int = 0  # bytes, before compression
    pending_reports: list[PendingReport] = field(default_factory=list)
    closed: bool = False
    done: bool = False
    attempts: int = 0  # how often it was sent
    not_before: float = 0.0  # the earliest time of the next attempt, after one that failed
    producer: ProducerIdAndEpoch = NO_PRODUCER
    sequence: int = NO_SEQUENCE  # of its first record

    @property
    def count(self) -> int:
        return self.builder.count

    @property
    def has_sequence(self) -> bool:
        return self.sequence != NO_SEQUENCE

    def build(self, codec: Codec, transactional: bool = False) -> bytes:
        """The batch as it is sent: the header, and the compressed records."""
        return self.builder.build(
            codec,
            producer_id=self.producer.id,
            producer_epoch=self.producer.epoch,
            base_sequence=self.sequence,
            transactional=transactional,
        )

    def split(self, limit: int) -> list["ProducerBatch"]:
        """The same records in smaller batches: of at most `limit` bytes, or half the size."""
        limit = min(limit, self.size // 2 + 1)
        reports = {report[0]: report for report in self.pending_reports}
        pieces: list[ProducerBatch] = []
        for index, record in enumerate(records.decode(self.build(Codec.NONE))):
            size = max_size(record.key, record.value, record.headers)
            if not pieces or pieces[-1].size + size > limit:
                pieces.append(ProducerBatch(self.partition, self.created))
            piece = pieces[-1]
            if index in reports:
                piece.pending_reports.append((piece.count, *reports[index][1:]))
            piece.size = piece.builder.append(
                record.key, record.value, record.timestamp, record.headers
            )
        for piece in pieces:
            piece.closed, piece.attempts = True, self.attempts
        return pieces


def max_size(key: bytes | None, value: bytes | None, headers: records.Headers) -> int:
    """The most bytes that a record can take in a batch."""
    size = RECORD_OVERHEAD
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, content in headers:
        size += HEADER_OVERHEAD + len(name) * MAX_BYTES_PER_CHARACTER + len(content or b"")
    return size
