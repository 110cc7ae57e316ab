"""All groups of a coordinator, each in its partition of __consumer_offsets.

    group id ── Java's hash ──> partition ──> led here?    NOT_COORDINATOR
                                              read yet?    COORDINATOR_LOAD_IN_PROGRESS
                                              groups[id]

The partition's leader is the coordinator of its groups. When it becomes that, it reads the
partition from end to end: what it finds is all that there is to know.
"""

from collections.abc import Callable, Iterable, Iterator

from engine.coordinator.effects import Host
from engine.coordinator.group import Group
from engine.coordinator.records import (
    LONGEST,
    GroupValue,
    OffsetKey,
    OffsetValue,
    decode_key,
    decode_value,
)
from engine.coordinator.states import State
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record


def partition_of(group_id: str, partitions: int) -> int:
    """Where the records of a group are: Java's hash of its id, as a positive number."""
    units = group_id.encode("utf-16-be", "surrogatepass")
    hash = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hash = (31 * hash + (high << 8 | low)) & 0xFFFF_FFFF
    signed = hash - (hash >> 31 << 32)
    return (0 if signed == -(2**31) else abs(signed)) % partitions


class Groups:
    def __init__(
        self, host: Host, partition_count: int, exists: Callable[[TopicPartition], bool]
    ) -> None:
        self.host = host
        self.partition_count = partition_count
        self.exists = exists  # whether there is such a partition of a topic
        self.led: dict[int, dict[str, Group]] = {}
        self.loading: dict[int, dict[str, Group]] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter([group for groups in self.led.values() for group in groups.values()])

    def find(self, group_id: str, *, nameless: bool = False) -> Group | None:
        """None if there is no such group; a KafkaError if it is not for us to say.

        The empty id may be used by who only commits offsets; this is how it was once.
        """
        if not (group_id or nameless) or len(group_id.encode()) > LONGEST:
            raise KafkaError(ErrorCode.invalid_group_id, f"{group_id[:50]!r} is no group's id")
        partition = partition_of(group_id, self.partition_count)
        if partition in self.loading:
            raise KafkaError(ErrorCode.coordinator_load_in_progress, f"{partition} is being read")
        if partition not in self.led:
            raise KafkaError(ErrorCode.not_coordinator, f"{partition} is led elsewhere")
        return self.led[partition].get(group_id)

    def require(self, group_id: str, otherwise: ErrorCode, *, nameless: bool = False) -> Group:
        group = self.find(group_id, nameless=nameless)
        if group is None:
            raise KafkaError(otherwise, f"there is no group {group_id}")
        return group

    def new(self, group_id: str) -> Group:
        """A group that is not among the others yet: it may turn out to be none."""
        return Group(group_id, partition_of(group_id, self.partition_count), self.host)

    def keep(self, group: Group) -> None:
        """Or don't, if it has died of what was done to it."""
        groups = self.led[group.partition]
        if group.state is State.DEAD:
            groups.pop(group.id, None)
        else:
            groups[group.id] = group

    # -- partitions come and go ------------------------------------------------------------

    def load(self, partition: int) -> None:
        if partition not in self.led:
            self.loading[partition] = {}

    def replay(
        self, partition: int, records: Iterable[Record], now: int, producer_id: int = NO_PRODUCER_ID
    ) -> None:
        """In the order of the log. What we can't read is no reason to forget the rest."""
        if partition not in self.loading:
            return  # given up meanwhile
        for record in records:
            try:
                self._replay(self.loading[partition], record, producer_id)
            except KafkaError as error:
                self.host.tell(
                    "group.unreadable",
                    now,
                    partition=partition,
                    offset=record.offset,
                    reason=error.message,
                )

    def _replay(self, groups: dict[str, Group], record: Record, producer_id: int) -> None:
        key = decode_key(record.key or b"")
        value = None if record.value is None else decode_value(key, record.value)
        group = groups.get(key.group) or self.new(key.group)
        groups[key.group] = group
        if isinstance(key, OffsetKey):
            assert value is None or isinstance(value, OffsetValue)
            group.offsets.replay(key.topic_partition, value, producer_id)
        else:
            assert value is None or isinstance(value, GroupValue)
            group.replay(value)

    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> None:
        """A transaction has, as a marker in the partition says. What is found in the log while it
        is being read is no news to anybody."""
        for group in self.loading.get(partition, {}).values():
            group.offsets.end(producer_id, committed=committed)
        for group in self.led.get(partition, {}).values():
            group.tell_of_commit(group.offsets.end(producer_id, committed=committed), now)

    def loaded(self, partition: int, now: int) -> None:
        if partition not in self.loading:
            return
        groups = self.loading.pop(partition).values()
        self.led[partition] = {each.id: each for each in groups if each.generation or each.offsets}
        for group in list(self.led[partition].values()):
            group.start(now)

    def unload(self, partition: int, now: int) -> None:
        self.loading.pop(partition, None)
        for group in self.led.pop(partition, {}).values():
            group.stop(now)
        self.host.give_up(partition, now)
