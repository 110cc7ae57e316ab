"""The committed offsets of a group.

A commit goes to the log first; while it is on its way there it is `pending`, and nobody sees it.
When the in-sync replicas have it, it is stored here, and only then acknowledged:

    commit  ──> begin   pending                   require_stable: UNSTABLE_OFFSET_COMMIT
    written ──> finish  stored, newest first      seen by OffsetFetch, and by our successor
    error   ──> finish  as if it had never been

Invariant: `stored` is what replaying the log gives, as far as its records are replicated.
"""

from collections.abc import Collection, Iterable, Mapping

from engine.coordinator.effects import KeyValue
from engine.coordinator.records import (
    UNKNOWN,
    OffsetKey,
    OffsetValue,
    encode_key,
    encode_value,
)
from engine.model import TopicPartition

Commit = Mapping[TopicPartition, OffsetValue]


class Offsets:
    def __init__(self) -> None:
        self.stored: dict[TopicPartition, OffsetValue] = {}
        self._place: dict[TopicPartition, int] = {}  # of the stored one, among all commits
        self._pending: dict[TopicPartition, set[int]] = {}  # the places of those on their way
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self.stored or self._pending)

    def is_pending(self, partition: TopicPartition) -> bool:
        return partition in self._pending

    def begin(self, commit: Commit) -> int:
        self._last += 1
        for partition in commit:
            self._pending.setdefault(partition, set()).add(self._last)
        return self._last

    def finish(self, commit: Commit, place: int, *, written: bool) -> None:
        for partition, value in commit.items():
            pending = self._pending.get(partition, set())
            if place not in pending:
                continue  # deleted meanwhile
            pending.remove(place)
            if not pending:
                del self._pending[partition]
            if written and self._place.get(partition, 0) < place:
                self.stored[partition], self._place[partition] = value, place

    def replay(self, partition: TopicPartition, value: OffsetValue | None) -> None:
        if value is None:
            self.stored.pop(partition, None)
        else:
            self.stored[partition] = value

    def known(self) -> list[TopicPartition]:
        return list(self.stored | self._pending)

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Returns those that were there."""
        removed = [each for each in partitions if each in self.stored or each in self._pending]
        for partition in removed:
            self.stored.pop(partition, None)
            self._place.pop(partition, None)
            self._pending.pop(partition, None)
        return removed

    def expired(
        self, now: int, retention: int, since: int, needed: Collection[str]
    ) -> list[TopicPartition]:
        """Those that were kept for long enough: since then, or since they were committed."""
        return [
            partition
            for partition, value in self.stored.items()
            if partition.topic not in needed
            and not self.is_pending(partition)
            and now >= _end(value, retention, since)
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
