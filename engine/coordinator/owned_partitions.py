"""The partitions of a coordinator's topic that this broker leads, with their decoded records.

    id of a group, or ── Java's hash ──> partition ──> led here?   or NOT_COORDINATOR
    a transactional id                                 loaded?     or COORDINATOR_LOAD_IN_PROGRESS
                                                       owned[partition][id]

    load(7) ──> loading[7] ── replay(7, records) ... ──> loaded(7) ──> owned[7] ──> unload(7)

The leader of a partition is the coordinator of all ids in it. When a broker becomes leader, it
reads the partition from the first record to the last; it needs no other source.

Invariant: a partition is in `loading`, in `owned`, or in neither.
Invariant: what was loaded from a partition belongs to it, also if partitions were added to the
topic later, and the id would have another one now.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from engine.coordinator.effects import CoordinatorContext
from engine.errors import ApiException, ErrorCode
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record

T = TypeVar("T")  # a group, or a transaction


def partition_of(id: str, partitions: int) -> int:
    """Where the records of an id are: Java's hash of it, as a positive number."""
    units = id.encode("utf-16-be", "surrogatepass")
    hash = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hash = (31 * hash + (high << 8 | low)) & 0xFFFF_FFFF
    signed = hash - (hash >> 31 << 32)
    return (0 if signed == -(2**31) else abs(signed)) % partitions


class OwnedPartitions(ABC, Generic[T]):
    unreadable: str  # the event that reports a record which cannot be decoded

    def __init__(self, context: CoordinatorContext, partition_count: int) -> None:
        self.context = context
        self.partition_count = partition_count  # of the topic
        self.owned: dict[int, dict[str, T]] = {}
        self.loading: dict[int, dict[str, T]] = {}
        self.leader_since: dict[int, int] = {}  # by partition: since which epoch this broker leads

    def __iter__(self) -> Iterator[T]:
        return iter([each for by_id in self.owned.values() for each in by_id.values()])

    def partition_of(self, id: str) -> int:
        return partition_of(id, self.partition_count)

    def find(self, id: str) -> T | None:
        """None if there is no such id; an ApiException if this broker is not its coordinator."""
        partition = self.partition_of(id)
        if partition in self.loading:
            message = f"partition {partition} is being loaded"
            raise ApiException(ErrorCode.coordinator_load_in_progress, message)
        if partition not in self.owned:
            message = f"another broker leads partition {partition}"
            raise ApiException(ErrorCode.not_coordinator, message)
        return self.owned[partition].get(id)

    def load(self, partition: int, leader_since: int) -> None:
        assert partition not in self.owned, f"partition {partition} was not unloaded"
        self.leader_since[partition] = leader_since
        self.loading[partition] = {}

    def replay(
        self, partition: int, records: Iterable[Record], now: int, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        """Replay records in the order of the log. A record that is not valid is skipped."""
        if partition not in self.loading:
            return  # it was unloaded meanwhile
        for record in records:
            try:
                self._replay_record(partition, record, producer_id)
            except ApiException as error:
                self.context.report(
                    self.unreadable,
                    now,
                    partition=partition,
                    offset=record.offset,
                    reason=error.message,
                )

    @abstractmethod
    def _replay_record(self, partition: int, record: Record, producer_id: int) -> None:
        """Change `loading[partition]`. The producer is given if it was part of a transaction."""

    def loaded(self, partition: int) -> list[T]:
        """The log has been read to its end. Returns its groups or transactions."""
        if partition not in self.loading:
            return []
        self.owned[partition] = self.loading.pop(partition)
        return list(self.owned[partition].values())

    def unload(self, partition: int) -> list[T]:
        """Another broker leads the partition. Returns its groups or transactions."""
        self.loading.pop(partition, None)
        return list(self.owned.pop(partition, {}).values())
