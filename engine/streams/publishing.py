"""The driver's part in exactly once: decide what an epoch is, once, and publish it.

    staging   | . | a | . | b | c |        ledger   | decided 7 | ........... | published 7 |
                    |       |   |
                    v       v   v          the same records, not unpacked, with a new header:
    target    | ... | a | b | c |          producer id, sequence number, CRC

What may be half done when a driver dies, its successor finishes. Both may even be at it together:
the sequence numbers are given by the ledger, so the leader of a partition takes each batch from
whoever is first, and refuses it to the other (the rule of idempotent producers). How far a share
has come stands in the target itself, in the headers of our producer's batches.

A producer that is silent for a week (transactional.id.expiration.ms) is forgotten by the brokers.
Then of two publishers they would take both; but one alone still finds out what it has published.
"""

import time
import uuid
from collections.abc import Iterable

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import HEADER_SIZE, NO_EPOCH, Codec, Header, crc_ok, seal
from engine.storage.files import Buffer
from engine.storage.records import Record
from engine.streams.ledger import Decision, Entry, Ledger, Numbered, Plan, Staged, shares
from engine.streams.remote import Remote
from engine.streams.settings import WriteOptions

EPOCH = 0  # of a producer without transactions: it is never raised
ROUND_BYTES = 8 << 20  # on their way at once, to different partitions

# Small segments, since all of it is read for each epoch, and only whole ones are compacted.
LEDGER = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
    "max.message.bytes": str(16 << 20),
}

# A batch that the leader has already, or had so long ago that it only knows it as out of order.
NOT_NEW = {ErrorCode.duplicate_sequence_number, ErrorCode.out_of_order_sequence_number}


class Publisher:
    def __init__(self, remote: Remote, options: WriteOptions, query: str) -> None:
        self._remote = remote
        self._options = options
        self._ledger = Ledger(query)
        self._place = TopicPartition(options.ledger_topic, 0)
        self._read_to = 0
        remote.ensure(options.ledger_topic, 1, LEDGER)

    def commit(self, epoch: int, staged: Iterable[tuple[TopicPartition, Staged]]) -> None:
        """Have an epoch's rows in their topics once, whatever was tried before."""
        self._read_to, end = self._remote.bounds(self._place)
        self._read(end)
        staged = list(staged)
        if epoch <= self._ledger.published:
            return
        if self._ledger.plan(epoch) is None:
            if not staged:
                return
            self._decide(epoch, staged)
        plan = self._ledger.plan(epoch)
        if plan is not None:  # else another one has published it in this moment
            self._publish(plan)
            self._write(self._ledger.conclude(plan))

    # -- the ledger ----------------------------------------------------------------------

    def _decide(self, epoch: int, staged: list[tuple[TopicPartition, Staged]]) -> None:
        """What the ledger says afterwards is decided, and it need not be this."""
        producer = self._ledger.producer
        if producer is None:
            producer = self._remote.producer_id()
        targets = {target for target, _ in staged}
        ends = {target: self._remote.bounds(target)[1] for target in targets}
        decision = Decision(epoch, producer, self._options.staging, shares(staged, ends))
        offset = self._write([self._ledger.decide(decision, uuid.uuid4().hex)])
        self._read(offset + 1)

    def _read(self, end: int) -> None:
        found = self._remote.batches(self._place, self._read_to, end)
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
        return self._remote.append_one(self._place, batch)

    # -- what is decided -----------------------------------------------------------------

    def _publish(self, plan: Plan) -> None:
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
        plan: Plan,
        together: dict[TopicPartition, tuple[Numbered, bytes]],
        done: dict[TopicPartition, int],
    ) -> None:
        places = self._remote.append({it: copy for it, (_, copy) in together.items()})
        for target, place in places.items():
            each, _ = together[target]
            if not isinstance(place, KafkaError):
                done[target] = each.place + each.staged.records
                continue
            if place.code in NOT_NEW:
                done[target] = self._done(plan, target)
            if done[target] <= each.place:
                why = f"epoch {plan.decision.epoch} is decided, and {target} refuses its rows"
                raise KafkaError(place.code, f"{why}: {place.message}") from place

    def _done(self, plan: Plan, target: TopicPartition) -> int:
        """How many records of a share are in the target, whoever put them there."""
        first, end = self._remote.bounds(target)
        start = plan.decision.shares[target].start
        if not first <= start <= end:
            start = first  # swept by retention, or another topic of that name
        found = self._remote.batches(target, start, end)
        ours = (header for header, _ in found if header.producer_id == plan.decision.producer)
        return max((plan.place(target, header.last_sequence) for header in ours), default=0)

    def _staged(self, plan: Plan, wanted: list[Numbered]) -> Iterable[tuple[Numbered, memoryview]]:
        """Each of these batches, from one staging partition after the other."""
        by_partition: dict[int, dict[int, Numbered]] = {}
        for each in wanted:
            by_partition.setdefault(each.staged.partition, {})[each.staged.offset] = each
        for number, those in by_partition.items():
            place = TopicPartition(plan.decision.staging, number)
            first, _ = self._remote.bounds(place)
            if first > min(those):
                raise _swept(plan, place, min(those), first)
            for header, batch in self._remote.batches(place, min(those), max(those) + 1):
                if header.base_offset in those:
                    yield those.pop(header.base_offset), _intact(place, header, batch)
            if those:
                raise _swept(plan, place, min(those), max(those) + 1)


def stamped(batch: Buffer, producer: int, sequence: int) -> bytes:
    """The same records as a batch of this producer, as yet without a place in a log."""
    header = Header.parse(batch)._replace(
        base_offset=0,
        leader_epoch=NO_EPOCH,
        producer_id=producer,
        producer_epoch=EPOCH,
        base_sequence=sequence,
    )
    return seal(header, memoryview(batch)[HEADER_SIZE:])


def _intact(place: TopicPartition, header: Header, batch: memoryview) -> memoryview:
    """A new CRC must not make good what the old one tells is broken."""
    if not crc_ok(batch, 0, header):
        raise KafkaError(
            ErrorCode.corrupt_message,
            f"{place}: the batch at offset {header.base_offset} does not match its CRC",
        )
    return batch


def _swept(plan: Plan, place: TopicPartition, offset: int, first: int) -> KafkaError:
    return KafkaError(
        ErrorCode.offset_out_of_range,
        f"epoch {plan.decision.epoch} is decided and not published, and its rows are gone: "
        f"{place} has nothing from offset {offset} to {first} any more (stagingHours is how long "
        "they are kept). Begin anew with another checkpoint, at the offsets of this one",
    )
