"""Records on topics and partitions.

    TopicRecord, then a PartitionRecord for each partition ──> PartitionChangeRecord ──> RemoveTopic

The leader epoch is in no PartitionChangeRecord: whoever applies it adds one for a new leader, and
below level 12 (3.6-IV0) also for a smaller ISR.
"""

from dataclasses import dataclass, field

from engine.wire.messages.versions import (
    Brokers,
    Int8,
    Int32,
    NullableBrokers,
    NullableUuids,
    String,
    Uuid,
    Uuids,
    since,
    tagged,
)

LEADER_UNCHANGED = -2  # in a PartitionChangeRecord; -1: there is none any more


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    name: String
    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord:
    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    partition_id: Int32 = -1
    topic_id: Uuid
    replicas: Brokers
    isr: Brokers
    removing_replicas: Brokers
    adding_replicas: Brokers
    leader: Int32 = -1
    leader_recovery_state: Int8 = field(default=0, metadata=tagged(0))  # 1: was elected uncleanly
    leader_epoch: Int32 = -1
    partition_epoch: Int32 = -1  # of the changes: each adds one
    directories: Uuids = field(default=(), metadata=since(1))
    eligible_leader_replicas: NullableBrokers = field(default=None, metadata=tagged(1, 2))
    last_known_elr: NullableBrokers = field(default=None, metadata=tagged(2, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord:
    """What has its default has not changed."""

    partition_id: Int32 = -1
    topic_id: Uuid
    isr: NullableBrokers = field(default=None, metadata=tagged(0))
    leader: Int32 = field(default=LEADER_UNCHANGED, metadata=tagged(1))
    replicas: NullableBrokers = field(default=None, metadata=tagged(2))
    removing_replicas: NullableBrokers = field(default=None, metadata=tagged(3))
    adding_replicas: NullableBrokers = field(default=None, metadata=tagged(4))
    leader_recovery_state: Int8 = field(default=-1, metadata=tagged(5))
    eligible_leader_replicas: NullableBrokers = field(default=None, metadata=tagged(6, 2))
    last_known_elr: NullableBrokers = field(default=None, metadata=tagged(7, 2))
    directories: NullableUuids = field(default=None, metadata=tagged(8, 1))
