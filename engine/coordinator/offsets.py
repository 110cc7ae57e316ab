"""The committed offsets of a group.

A commit is written to the log first. Until the in-sync replicas have it, it is pending, and no
client sees it. Then it is stored here and acknowledged. A commit in a transaction stays pending
for longer, until this log has the marker that ends the transaction:

                                                 plain        in a transaction
    commit           ──> begin                   pending      pending
    written          ──> finish(written=True)    stored       acknowledged, still pending
    error            ──> finish(written=False)   removed      removed
    COMMIT, a marker ──> end(committed=True)                  stored
    ABORT, a marker  ──> end(committed=False)                 removed

A client that requires stable offsets gets UNSTABLE_OFFSET_COMMIT while something is pending;
others get the stored offset. Of two commits, the later one in the log is valid, even if it was
stored first. Compaction keeps the same one.

Invariant: replaying the replicated records gives the same `stored`. If a marker is replicated, so
are all records before it. So a commit that is still being written when its transaction ends is
replicated, or was aborted.
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
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID

Commit = Mapping[TopicPartition, OffsetValue]


@dataclass(slots=True)
class PendingCommit:
    """A commit that no client sees yet."""

    offsets: dict[TopicPartition, OffsetValue]  # never empty
    producer_id: int  # of its transaction; NO_PRODUCER_ID: none


class GroupOffsets:
    """The committed offsets of one group, and those that are pending."""

    def __init__(self) -> None:
        self.stored: dict[TopicPartition, OffsetValue] = {}
        self._number: dict[TopicPartition, int] = {}  # of the stored commit
        self._pending: dict[int, PendingCommit] = {}  # by number: in the order of the log
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self.stored or self._pending)

    def is_pending(self, partition: TopicPartition) -> bool:
        return any(partition in each.offsets for each in self._pending.values())

    def begin(self, commit: Commit, producer_id: int = NO_PRODUCER_ID) -> int:
        """A commit is to be written to the log. Returns its number, for `finish`."""
        self._last += 1
        self._pending[self._last] = PendingCommit(dict(commit), producer_id)
        return self._last

    def finish(self, number: int, *, written: bool) -> Commit:
        """A commit was written, or could not be. Returns the offsets that are newly stored."""
        pending = self._pending.get(number)
        if pending is None:  # it was deleted, or its transaction has ended
            return {}
        if not written:
            del self._pending[number]
        elif pending.producer_id == NO_PRODUCER_ID:
            return self._store(number)
        return {}

    def in_transaction(self, id: int) -> list[int]:
        """The pending commits of this producer, if it has an id."""
        return [n for n, it in self._pending.items() if it.producer_id == id != NO_PRODUCER_ID]

    def end(self, producer_id: int, *, committed: bool) -> Commit:
        """A producer's transaction has ended. Returns the offsets that are newly stored."""
        stored: dict[TopicPartition, OffsetValue] = {}
        for number in self.in_transaction(producer_id):
            if committed:
                stored |= self._store(number)
            else:
                del self._pending[number]
        return stored

    def _store(self, number: int) -> Commit:
        offsets = self._pending.pop(number).offsets
        newest = {each: it for each, it in offsets.items() if self._number.get(each, 0) < number}
        self.stored |= newest
        self._number |= dict.fromkeys(newest, number)
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
            raise ApiException(ErrorCode.invalid_record, "a tombstone in a transaction")

    def known(self) -> list[TopicPartition]:
        pending = (each for it in self._pending.values() for each in it.offsets)
        return list(dict.fromkeys([*self.stored, *pending]))

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove offsets; pending ones too, so that a transaction that ends later does not restore
        them. Returns the partitions that had any."""
        removed = [each for each in partitions if each in self.stored or self.is_pending(each)]
        for partition in removed:
            self.stored.pop(partition, None)
            self._number.pop(partition, None)
            for pending in self._pending.values():
                pending.offsets.pop(partition, None)
        self._pending = {number: each for number, each in self._pending.items() if each.offsets}
        return removed

    def expired(
        self, now: int, retention: int, since: int, needed: Collection[str]
    ) -> list[TopicPartition]:
        """The offsets whose retention is over: it begins at `since`, or if that is UNKNOWN, at the
        commit. Topics that are `needed` are left out."""
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
