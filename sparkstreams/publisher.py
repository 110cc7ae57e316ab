"""The driver's part of exactly once: it decides what an epoch contains, and publishes it.

    staging   | . | a | . | b | c |        ledger   | decided 7 | ........... | published 7 |
                    |       |   |
                    v       v   v          the same records, not unpacked, with a new header:
    target    | ... | a | b | c |          producer id, sequence number, CRC

If a driver dies while it publishes, its successor finishes. Both may even publish at the same time:
the sequence numbers follow from the ledger, so the leader of a partition accepts each batch from
the first of them, and rejects the second as a duplicate (the rule of idempotent producers). The
headers in the target show how much of a share is already there.

Brokers forget a producer that is silent for a week (transactional.id.expiration.ms). After that
they would accept a batch from both of two publishers; one alone still finds what it has published.
"""

import time
import uuid
from collections.abc import Iterable

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, TopicPartition
from engine.storage import records
from engine.storage.batch import HEADER_SIZE, Codec, Header, crc_ok, seal
from engine.storage.files import Buffer
from engine.storage.records import Record
from sparkstreams.ledger import (
    Decision,
    Entry,
    EpochLedger,
    Numbered,
    NumberedDecision,
    Staged,
    shares,
)
from sparkstreams.partition_client import PartitionClient
from sparkstreams.sink_options import WriteOptions

EPOCH = 0  # of a producer without transactions: it is never raised
ROUND_BYTES = 8 << 20  # on their way at once, to different partitions

# Small segments, since the whole topic is read for each epoch, and only closed ones are compacted.
LEDGER = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
    "max.message.bytes": str(16 << 20),
}

# The leader has this batch already, or had it so long ago that it reports it as out of order.
NOT_NEW = {ErrorCode.duplicate_sequence_number, ErrorCode.out_of_order_sequence_number}


class Publisher:
    def __init__(self, client: PartitionClient, options: WriteOptions, query: str) -> None:
        self._client = client
        self._options = options
        self._ledger = EpochLedger(query)
        self._place = TopicPartition(options.ledger_topic, 0)
        self._read_to = 0
        client.ensure(options.ledger_topic, 1, LEDGER)

    def commit(self, epoch: int, staged: Iterable[tuple[TopicPartition, Staged]]) -> None:
        """Store an epoch's rows in their topics once, whatever was tried before."""
        self._read_to, end = self._client.bounds(self._place)
        self._read(end)
        staged = list(staged)
        if epoch <= self._ledger.published:
            return
        if self._ledger.plan(epoch) is None:
            if not staged:
                return
            self._decide(epoch, staged)
        plan = self._ledger.plan(epoch)
        if plan is not None:  # else another driver has just published it
            self._publish(plan)
            self._write(self._ledger.conclude(plan))

    # -- the ledger ----------------------------------------------------------------------

    def _decide(self, epoch: int, staged: list[tuple[TopicPartition, Staged]]) -> None:
        """Append a decision. The first one in the ledger counts, which may be another's."""
        producer = self._ledger.producer
        if producer is None:
            producer = self._client.producer_id()
        targets = {target for target, _ in staged}
        ends = {target: self._client.bounds(target)[1] for target in targets}
        decision = Decision(epoch, producer, self._options.staging, shares(staged, ends))
        offset = self._write([self._ledger.decide(decision, uuid.uuid4().hex)])
        self._read(offset + 1)

    def _read(self, end: int) -> None:
        found = self._client.batches(self._place, self._read_to, end)
        for header, batch in found:
            if not header.is_control:
                for record in records.decode(_intact(self._place, header, batch)):
                    self._ledger.apply(record.key, record.value)
            self._read_to = header.next_offset

    def _write(self, entries: list[Entry]) -> int:
        """All of them in one batch, so all or none; the offset of the first."""
        now = time.time_ns() // 1_000_000
        those = [Record(n, now, key, value) for n, (key, value) in enumerate(entries)]
        batch = records.encode(those, codec=Codec.GZIP)
        return self._client.append_one(self._place, batch)

    # -- what is decided -----------------------------------------------------------------

    def _publish(self, plan: NumberedDecision) -> None:
        done = {target: self._done(plan, target) for target in plan.decision.shares}
        together: dict[TopicPartition, tuple[Numbered, bytes]] = {}
        size = 0
        for each, batch in self._staged(plan, list(plan.batches(done))):
            if each.target in together or size > ROUND_BYTES:
                self._send(plan, together, done)
                together, size = {}, 0
            if each.place >= done[each.target]:
                copy = stamped(batch, plan.decision.producer, each.sequence)
                together[each.target] = each, copy
                size += len(copy)
        self._send(plan, together, done)

    def _send(
        self,
        plan: NumberedDecision,
        together: dict[TopicPartition, tuple[Numbered, bytes]],
        done: dict[TopicPartition, int],
    ) -> None:
        places = self._client.append({it: copy for it, (_, copy) in together.items()})
        for target, place in places.items():
            each, _ = together[target]
            if not isinstance(place, ApiException):
                done[target] = each.place + each.staged.records
                continue
            if place.code in NOT_NEW:
                done[target] = self._done(plan, target)
            if done[target] <= each.place:
                why = f"epoch {plan.decision.epoch} is decided, and {target} refuses its rows"
                raise ApiException(place.code, f"{why}: {place.message}") from place

    def _done(self, plan: NumberedDecision, target: TopicPartition) -> int:
        """How many records of a share are in the target, from this driver or another."""
        first, end = self._client.bounds(target)
        start = plan.decision.shares[target].start
        if not first <= start <= end:
            start = first  # deleted by retention, or the topic was made again
        found = self._client.batches(target, start, end)
        ours = (header for header, _ in found if header.producer_id == plan.decision.producer)
        return max((plan.place(target, header.last_sequence) for header in ours), default=0)

    def _staged(
        self, plan: NumberedDecision, wanted: list[Numbered]
    ) -> Iterable[tuple[Numbered, memoryview]]:
        """Each of these batches, from one staging partition after the other."""
        by_partition: dict[int, dict[int, Numbered]] = {}
        for each in wanted:
            by_partition.setdefault(each.staged.partition, {})[each.staged.offset] = each
        for number, those in by_partition.items():
            place = TopicPartition(plan.decision.staging, number)
            first, _ = self._client.bounds(place)
            if first > min(those):
                raise _swept(plan, place, min(those), first)
            for header, batch in self._client.batches(place, min(those), max(those) + 1):
                if header.base_offset in those:
                    yield those.pop(header.base_offset), _intact(place, header, batch)
            if those:
                raise _swept(plan, place, min(those), max(those) + 1)


def stamped(batch: Buffer, producer: int, sequence: int) -> bytes:
    """The same records as a batch of this producer, without an offset yet."""
    header = Header.parse(batch)._replace(
        base_offset=0,
        leader_epoch=NO_EPOCH,
        producer_id=producer,
        producer_epoch=EPOCH,
        base_sequence=sequence,
    )
    return seal(header, memoryview(batch)[HEADER_SIZE:])


def _intact(place: TopicPartition, header: Header, batch: memoryview) -> memoryview:
    """Check the old CRC before a new one is computed, which would hide the damage."""
    if not crc_ok(batch, 0, header):
        raise ApiException(
            ErrorCode.corrupt_message,
            f"{place}: the batch at offset {header.base_offset} does not match its CRC",
        )
    return batch


def _swept(plan: NumberedDecision, place: TopicPartition, offset: int, first: int) -> ApiException:
    return ApiException(
        ErrorCode.offset_out_of_range,
        f"epoch {plan.decision.epoch} is decided and not published, and its rows are gone: "
        f"{place} has nothing from offset {offset} to {first} any more (stagingHours is how long "
        "they are kept). Begin anew with another checkpoint, at the offsets of this one",
    )
