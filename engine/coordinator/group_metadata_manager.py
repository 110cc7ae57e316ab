"""All groups of this coordinator, each in its partition of __consumer_offsets."""

from collections.abc import Callable

from engine.coordinator import records
from engine.coordinator.effects import CoordinatorContext
from engine.coordinator.group import ClassicGroupState, Group
from engine.coordinator.owned_partitions import OwnedPartitions
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.records import Record


class GroupMetadataManager(OwnedPartitions[Group]):
    unreadable = "group.unreadable"

    def __init__(
        self,
        context: CoordinatorContext,
        partition_count: int,
        exists: Callable[[TopicPartition], bool],
    ) -> None:
        super().__init__(context, partition_count)
        self.exists = exists  # whether a topic has such a partition

    def find(self, id: str, *, may_be_empty: bool = False) -> Group | None:
        """The empty id is allowed for clients that only commit offsets, as in early versions."""
        if not (id or may_be_empty) or len(id.encode()) > records.MAX_STRING_BYTES:
            raise ApiException(ErrorCode.invalid_group_id, f"{id[:50]!r} is not a valid group id")
        return super().find(id)

    def require(self, id: str, otherwise: ErrorCode, *, may_be_empty: bool = False) -> Group:
        group = self.find(id, may_be_empty=may_be_empty)
        if group is None:
            raise ApiException(otherwise, f"there is no group {id}")
        return group

    def new(self, id: str) -> Group:
        """A group that is not stored here before `keep`: the request may still be refused."""
        return self._create(id, self.partition_of(id))

    def _create(self, id: str, partition: int) -> Group:
        return Group(id, partition, self.context)

    def keep(self, group: Group) -> None:
        """Store a group that was changed, or remove it if it has died."""
        groups = self.owned[group.partition]
        if group.state is ClassicGroupState.DEAD:
            groups.pop(group.id, None)
        else:
            groups[group.id] = group

    def _replay_record(self, partition: int, record: Record, producer_id: int) -> None:
        key = records.decode_key(record.key or b"")
        value = None if record.value is None else records.decode_value(key, record.value)
        groups = self.loading[partition]
        group = groups[key.group] = groups.get(key.group) or self._create(key.group, partition)
        if isinstance(key, records.OffsetKey):
            assert value is None or isinstance(value, records.OffsetValue)
            group.offsets.replay(key.topic_partition, value, producer_id)
        else:
            assert value is None or isinstance(value, records.GroupValue)
            group.replay(value)

    def end_transaction(self, partition: int, producer_id: int, committed: bool, now: int) -> None:
        """The partition has the marker of a transaction. While it is being loaded, nothing is
        reported: the marker is an old one."""
        for group in self.loading.get(partition, {}).values():
            group.offsets.end(producer_id, committed=committed)
        for group in self.owned.get(partition, {}).values():
            if group.offsets.in_transaction(producer_id):
                result = "committed" if committed else "aborted"
                facts = {"group": group.id, "result": result, "producer": producer_id}
                group.context.report("offset.transaction", now, **facts)
            group.report_commit(group.offsets.end(producer_id, committed=committed), now)

    def loaded(self, partition: int) -> list[Group]:
        """Groups of which only tombstones were found are left out."""
        found = self.loading.get(partition, {})
        for id in [id for id, each in found.items() if not (each.generation or each.offsets)]:
            del found[id]
        return super().loaded(partition)
