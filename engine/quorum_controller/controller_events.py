"""What a committed record means, for those who watch: events, as in ZooKeeper mode where the thing
is the same.

    topic.created, topic.deleted, leader.elected, reassignment.began, reassignment.done
    broker.registered, broker.unfenced, broker.fenced, broker.unregistered, feature.updated
"""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from engine.metadata.image import MetadataImage, changed_partition
from engine.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from engine.metadata.records.topics import (
    LEADER_UNCHANGED,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from engine.model import NO_BROKER

Facts = dict[str, Any]


def events_of(image: MetadataImage, record: Any) -> Iterator[tuple[str, Facts]]:
    """The events that a record means, which is applied to the image next."""
    match record:
        case RegisterBrokerRecord():
            facts = {"broker": record.broker_id, "epoch": record.broker_epoch}
            yield "broker.registered", facts
        case UnregisterBrokerRecord():
            yield "broker.unregistered", {"broker": record.broker_id}
        case BrokerRegistrationChangeRecord():
            yield from _broker_events(record)
        case TopicRecord():
            yield "topic.created", {"topic": record.name}
        case RemoveTopicRecord():
            yield "topic.deleted", {"topic": _name(image, record.topic_id)}
        case PartitionRecord():
            name = _name(image, record.topic_id)
            where = {"topic": name, "partition": record.partition_id}
            yield (
                "leader.elected",
                where
                | {
                    "leader": record.leader,
                    "was": NO_BROKER,
                    "leader_epoch": record.leader_epoch,
                    "isr": list(record.isr),
                    "reason": "new",
                    "clean": True,
                },
            )
        case PartitionChangeRecord():
            yield from _partition_events(image, record)
        case FeatureLevelRecord():
            yield "feature.updated", {"feature": record.name, "level": record.feature_level}


def _name(image: MetadataImage, id: UUID | None) -> str | None:
    topic = None if id is None else image.topic(id)
    return None if topic is None else topic.name


def _broker_events(record: BrokerRegistrationChangeRecord) -> Iterator[tuple[str, Facts]]:
    facts = {"broker": record.broker_id, "epoch": record.broker_epoch}
    if record.fenced:
        yield "broker.fenced" if record.fenced > 0 else "broker.unfenced", facts
    if record.in_controlled_shutdown > 0:
        yield "broker.shutting_down", facts


def _partition_events(
    image: MetadataImage, record: PartitionChangeRecord
) -> Iterator[tuple[str, Facts]]:
    topic = None if record.topic_id is None else image.topic(record.topic_id)
    before = None if topic is None else topic.partitions.get(record.partition_id)
    if topic is None or before is None:
        return  # `replay` refuses it
    after = changed_partition(before, record)
    where = {"topic": topic.name, "partition": record.partition_id}
    if record.leader not in (LEADER_UNCHANGED, before.leader):
        yield (
            "leader.elected",
            where
            | {
                "leader": after.leader,
                "was": before.leader,
                "leader_epoch": after.leader_epoch,
                "isr": list(after.isr),
                "reason": "preferred" if after.leader == after.replicas[0] else "offline",
                "clean": after.leader_recovery_state == 0,
            },
        )
    moved, moves = (bool(it.adding or it.removing) for it in (before, after))
    if moves != moved:
        yield (
            "reassignment.began" if moves else "reassignment.done",
            where
            | {
                "replicas": list(after.replicas),
                "adding": list(after.adding),
                "removing": list(after.removing),
            },
        )
