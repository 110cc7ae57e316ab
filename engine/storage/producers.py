"""The state of each idempotent producer, so that a batch that was sent twice is stored once.

A producer numbers its records per partition. The log keeps, for every producer id, the last
five batches (a producer has at most five requests in flight), and compares:

    the next sequence             append
    one of the last five again    the same response again, nothing is written
    any other: a gap, or older    OUT_OF_ORDER_SEQUENCE_NUMBER
    an epoch that was replaced    INVALID_PRODUCER_EPOCH

A transaction is open in a partition from its producer's first transactional batch there to the
marker that ends it. Meanwhile other batches of the producer are refused (INVALID_TXN_STATE), and so
is a marker from a replaced coordinator (TRANSACTION_COORDINATOR_FENCED). For readers the
transaction ends when the marker is replicated: a new leader may not have it before.

    open ── marker ──> unreplicated ── high watermark above the marker ──> removed here

The state is a function of the log. So that a restart does not read the whole log, the state is
written at every roll and at shutdown to a snapshot, named by its offset:

    00000000000000368769.snapshot   | version i16 = 1 | crc u32 | count i32 | entry | entry | ...
    entry  | producer id i64 | epoch i16 | last sequence i32 | last offset i64 | offset delta i32 |
           | timestamp i64 | coordinator epoch i32 | first offset of its open transaction i64 |

Invariant: check() changes nothing; apply() is only called with batches that are in the log.
"""

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from engine.browser import crc32c
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage import files
from engine.storage.aborted import Aborted
from engine.storage.batch import NO_PRODUCER_ID, NO_SEQUENCE, Header
from engine.storage.control import ControlType, Marker

REMEMBERED = 5  # batches of each producer; also the most requests that it may have in flight
NO_TRANSACTION = -1
SEQUENCES = 2**31  # a sequence number after 2^31 - 1 is 0

_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_FROM = 6  # the checksum covers what follows it
_VERSION = 1


class ProducerEntry(NamedTuple):
    """One entry of a snapshot file, field by field."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_start: int  # or NO_TRANSACTION


class BatchMetadata(NamedTuple):
    """One batch that a producer has stored."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % SEQUENCES

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class Ended(NamedTuple):
    """A transaction whose marker the log has."""

    first_offset: int
    last_offset: int  # of the marker


@dataclass(slots=True)
class ProducerStateEntry:
    """One producer id, in this partition."""

    epoch: int = NO_EPOCH
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    coordinator_epoch: int = -1  # of the coordinator that wrote its newest marker
    timestamp: int = -1  # of its newest batch: unused ids are removed

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class Producers:
    """All producers of one partition."""

    def __init__(self) -> None:
        self.known: dict[int, ProducerStateEntry] = {}
        self.open: dict[int, int] = {}  # producer -> start of its open transaction; oldest first
        self.unreplicated: deque[Ended] = deque()  # in the order of their markers

    # -- decide --------------------------------------------------------------------------

    def check(self, header: Header, marker: Marker | None = None) -> BatchMetadata | None:
        """Raise an error if a leader must not append this batch or marker. Returns the stored batch
        if this is a duplicate."""
        if header.producer_id == NO_PRODUCER_ID:
            return None
        producer = self.known.get(header.producer_id)
        if producer is None:
            return None  # new, or removed with its records: any sequence is valid
        if header.producer_epoch < producer.epoch:
            raise ApiException(
                ErrorCode.invalid_producer_epoch,
                f"producer {header.producer_id} has epoch {header.producer_epoch}, "
                f"but {producer.epoch} is known",
            )
        if marker is not None:
            _expect_coordinator(header, marker, producer)
            return None
        if header.base_sequence != NO_SEQUENCE:  # without one: the broker's own offset commits
            stored = self._follow_on(header, producer)
            if stored is not None:
                return stored
        if header.producer_id in self.open and not header.is_transactional:
            raise ApiException(
                ErrorCode.invalid_txn_state,
                f"producer {header.producer_id} has a transaction open since offset "
                f"{self.open[header.producer_id]}, and this batch is not part of it",
            )
        return None

    @staticmethod
    def _follow_on(header: Header, producer: ProducerStateEntry) -> BatchMetadata | None:
        """The stored batch, if this is a duplicate; if it is new, its sequence must be the next."""
        if header.producer_epoch > producer.epoch:
            _expect(header, 0)
            return None
        for batch in producer.batches:
            first, last = batch.first_sequence, batch.last_sequence
            if (first, last) == (header.base_sequence, header.last_sequence):
                return batch
        _expect(header, (producer.last_sequence + 1) % SEQUENCES)
        return None

    # -- apply ---------------------------------------------------------------------------

    def apply(self, header: Header, marker: Marker | None = None) -> Aborted | None:
        """Add a batch that is in the log. Returns the transaction that it aborts, if it does."""
        if header.producer_id == NO_PRODUCER_ID or (header.is_control and marker is None):
            return None
        producer = self.known.setdefault(header.producer_id, ProducerStateEntry())
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.timestamp = header.max_timestamp
        if marker is not None:
            producer.coordinator_epoch = marker.coordinator_epoch
            return self._end(header, marker)
        delta = header.last_offset_delta
        batch = BatchMetadata(header.last_sequence, header.last_offset, delta, header.max_timestamp)
        producer.batches.append(batch)
        if header.is_transactional:
            self.open.setdefault(header.producer_id, header.base_offset)
        return None

    def _end(self, header: Header, marker: Marker) -> Aborted | None:
        """A marker ends a transaction. Without records in this log there is nothing to end."""
        first, last = self.open.pop(header.producer_id, NO_TRANSACTION), header.last_offset
        if first == NO_TRANSACTION:
            return None
        self.unreplicated.append(Ended(first, last))
        if marker.type is ControlType.COMMIT:
            return None
        return Aborted(header.producer_id, first, last, next(iter(self.open.values()), last + 1))

    def expire(self, older_than: int) -> None:
        """Remove unused producers, but never one with an open transaction."""
        for producer_id, producer in list(self.known.items()):
            if producer.timestamp < older_than and producer_id not in self.open:
                del self.known[producer_id]

    def first_unstable(self, high_watermark: int) -> int | None:
        """The start of the oldest transaction that is open, or whose end is not replicated yet.

        Ends below the high watermark are removed: they stay below it.
        """
        if not self.open and not self.unreplicated:  # as nearly always, and each Fetch asks
            return None
        while self.unreplicated and self.unreplicated[0].last_offset < high_watermark:
            self.unreplicated.popleft()
        begun = [*islice(self.open.values(), 1), *(it.first_offset for it in self.unreplicated)]
        return min(begun, default=None)

    def last_batches(self) -> set[int]:
        """Last offsets that compaction must keep a batch for, or a sequence would be forgotten."""
        return {
            producer.batches[-1].last_offset for producer in self.known.values() if producer.batches
        }

    # -- snapshots -----------------------------------------------------------------------

    def entries(self) -> Iterator[ProducerEntry]:
        """An entry for each producer."""
        for number, it in self.known.items():
            last = it.batches[-1] if it.batches else BatchMetadata(NO_SEQUENCE, -1, 0, it.timestamp)
            last = last._replace(timestamp=it.timestamp)
            begun = self.open.get(number, NO_TRANSACTION)
            yield ProducerEntry(number, it.epoch, *last, it.coordinator_epoch, begun)

    def save(self, path: Path) -> None:
        body = b"".join(_ENTRY.pack(*entry) for entry in self.entries())
        checked = struct.pack(">i", len(self.known)) + body
        files.replace(path, struct.pack(">hI", _VERSION, crc32c(checked)) + checked)

    def load(self, path: Path) -> None:
        """Take over the state in a snapshot, which has the last batch of each producer."""
        entries = read_snapshot(path)
        begun = sorted((it.transaction_start, it.producer_id) for it in entries)
        self.open = {number: start for start, number in begun if start != NO_TRANSACTION}
        self.unreplicated.clear()
        self.known.clear()
        for entry in entries:
            producer = ProducerStateEntry(entry.epoch, coordinator_epoch=entry.coordinator_epoch)
            producer.timestamp = entry.timestamp
            if entry.last_offset >= 0:
                producer.batches.append(BatchMetadata(*entry[2:6]))
            self.known[entry.producer_id] = producer


def _expect_coordinator(header: Header, marker: Marker, producer: ProducerStateEntry) -> None:
    """A marker must come from the newest known coordinator, or a newer one."""
    if marker.coordinator_epoch < producer.coordinator_epoch:
        raise ApiException(
            ErrorCode.transaction_coordinator_fenced,
            f"a coordinator of epoch {marker.coordinator_epoch} would end a transaction of "
            f"producer {header.producer_id}, but {producer.coordinator_epoch} is known",
        )


def _expect(header: Header, sequence: int) -> None:
    """A batch must begin at this sequence number."""
    if header.base_sequence != sequence:
        raise ApiException(
            ErrorCode.out_of_order_sequence_number,
            f"producer {header.producer_id} sent sequence {header.base_sequence}, not {sequence}",
        )


def read_snapshot(path: Path) -> list[ProducerEntry]:
    """The entries of a .snapshot file, if it is valid."""
    data = path.read_bytes()
    if len(data) < _HEAD.size:
        raise _corrupt(path, f"{len(data)} bytes are too few")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise _corrupt(path, f"version {version} is not known")
    if crc32c(data[_CRC_FROM:]) != crc:
        raise _corrupt(path, "the checksum does not match")
    if len(data) != _HEAD.size + count * _ENTRY.size:
        raise _corrupt(path, f"{count} entries do not fit {len(data)} bytes")
    return [ProducerEntry(*fields) for fields in _ENTRY.iter_unpack(data[_HEAD.size :])]


def _corrupt(path: Path, what: str) -> ApiException:
    return ApiException(ErrorCode.corrupt_message, f"corrupt snapshot {path}: {what}")
