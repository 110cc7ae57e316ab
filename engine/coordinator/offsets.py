"""The committed offsets of a group.

A commit goes to the log first; while it is on its way there it is `pending`, and nobody sees it.
When the in-sync replicas have it, it is stored here, and only then acknowledged. A commit within a
transaction stays pending for longer, until the transaction has ended in this log, too:

                                                 plain        of a transaction
    commit           ──> begin                   pending      pending
    written          ──> finish(written=True)    stored       acknowledged, and pending still
    error            ──> finish(written=False)   as if it had never been
    COMMIT, a marker ──> end(committed=True)                  stored
    ABORT, a marker  ──> end(committed=False)                 as if it had never been

Who insists on what is stable is told UNSTABLE_OFFSET_COMMIT while something is pending; others get
what is stored. Of two commits that count, the one that stands later in the log wins, whenever each
came to count: this is also the one that compaction leaves in the log.

Invariant: `stored` is what replaying the log gives, as far as its records are replicated. A marker
that is replicated says the same of all that stands before it, so what is still on its way when its
transaction ends has arrived, or was aborted.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from engine.coordinator.effects import KeyValue
from engine.coordinator.records import (
    UNKNOWN,
    OffsetKey,
    OffsetValue,
    encode_key,
    encode_value,
)
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID

Commit = Mapping[TopicPartition, OffsetValue]


@dataclass(slots=True)
class Pending:
    """A commit that does not count yet."""

    offsets: dict[TopicPartition, OffsetValue]  # never empty
    producer_id: int  # whose transaction it belongs to; NO_PRODUCER_ID: it is a plain one


class Offsets:
    def __init__(self) -> None:
        self.stored: dict[TopicPartition, OffsetValue] = {}
        self._place: dict[TopicPartition, int] = {}  # of the stored one, among all commits
        self._pending: dict[int, Pending] = {}  # by its place: the order of the log
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self.stored or self._pending)

    def is_pending(self, partition: TopicPartition) -> bool:
        return any(partition in each.offsets for each in self._pending.values())

    def begin(self, commit: Commit, producer_id: int = NO_PRODUCER_ID) -> int:
        """Returns its place, for `finish`."""
        self._last += 1
        self._pending[self._last] = Pending(dict(commit), producer_id)
        return self._last

    def finish(self, place: int, *, written: bool) -> Commit:
        """Returns what has come to be stored; so does `end`."""
        pending = self._pending.get(place)
        if pending is None:  # deleted meanwhile, or its transaction has ended
            return {}
        if not written:
            del self._pending[place]
        elif pending.producer_id == NO_PRODUCER_ID:
            return self._store(place)
        return {}

    def end(self, producer_id: int, *, committed: bool) -> Commit:
        """The transaction of a producer."""
        stored: dict[TopicPartition, OffsetValue] = {}
        for place, each in list(self._pending.items()):
            if each.producer_id == NO_PRODUCER_ID or each.producer_id != producer_id:
                continue
            if committed:
                stored |= self._store(place)
            else:
                del self._pending[place]
        return stored

    def _store(self, place: int) -> Commit:
        offsets = self._pending.pop(place).offsets
        newest = {each: it for each, it in offsets.items() if self._place.get(each, 0) < place}
        self.stored |= newest
        self._place |= dict.fromkeys(newest, place)
        return newest

    def replay(
        self,
        partition: TopicPartition,
        value: OffsetValue | None,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        if value is not None:
            self.finish(self.begin({partition: value}, producer_id), written=True)
        elif producer_id == NO_PRODUCER_ID:
            self.remove([partition])
        else:
            raise KafkaError(ErrorCode.invalid_record, "no transaction deletes an offset")

    def known(self) -> list[TopicPartition]:
        pending = (each for it in self._pending.values() for each in it.offsets)
        return list(dict.fromkeys([*self.stored, *pending]))

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """What is pending, too: no transaction that ends later brings it back. Returns those that
        were there."""
        removed = [each for each in partitions if each in self.stored or self.is_pending(each)]
        for partition in removed:
            self.stored.pop(partition, None)
            self._place.pop(partition, None)
            for pending in self._pending.values():
                pending.offsets.pop(partition, None)
        self._pending = {place: each for place, each in self._pending.items() if each.offsets}
        return removed

    def expired(
        self, now: int, retention: int, since: int, needed: Collection[str]
    ) -> list[TopicPartition]:
        """Those that were kept for long enough: since then, or since they were committed."""
        return [
            partition
            for partition, value in self.stored.items()
            if partition.topic not in needed
            and now >= _end(value, retention, since)
            and not self.is_pending(partition)
        ]


def _end(value: OffsetValue, retention: int, since: int) -> int:
    if value.expires_at != UNKNOWN:
        return value.expires_at
    return (value.committed_at if since == UNKNOWN else since) + retention


def commit_records(group: str, commit: Commit) -> list[KeyValue]:
    return [
        (encode_key(OffsetKey(group, *partition)), encode_value(value))
        for partition, value in commit.items()
    ]


def tombstones(group: str, partitions: Iterable[TopicPartition]) -> list[KeyValue]:
    return [(encode_key(OffsetKey(group, *partition)), None) for partition in partitions]
