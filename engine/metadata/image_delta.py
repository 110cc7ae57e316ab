"""What has changed in a MetadataImage, for one broker: a MetadataDelta.

    replay of a batch ──> ImageChanges: the keys ──┐
    MetadataImage: what they have now ─────────────┴──> MetadataDelta, one or two

    a partition, for a broker that has a replica
        a new leader epoch             its role: it leads or follows
        the same epoch                 an update: another ISR, or another assignment
        not in the replicas any more   it stops, and its log is deleted

A deleted topic comes in a delta of its own, before the others: a new topic may have its name.

Invariant: what is applied in order, delta by delta, is what the image has.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.metadata.delta import (
    BrokerEndpoint,
    BrokerRegistration,
    MetadataDelta,
    PartitionChange,
    PartitionRegistration,
    ReplicaStop,
)
from engine.metadata.image import ImageChanges, MetadataImage, TopicImage
from engine.model import NO_BROKER, TopicPartition


class ImageDelta:
    """The deltas for one broker. It knows what it has told of this broker's replicas."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._told: dict[TopicPartition, PartitionRegistration] = {}

    def first(self, image: MetadataImage) -> MetadataDelta:
        """Everything, for a broker that knows nothing yet."""
        delta = self._delta(image, everything(image), is_first=True)
        assert delta is not None, "the list of brokers is in every first delta"
        return delta

    def next(self, image: MetadataImage, changes: ImageChanges) -> Iterator[MetadataDelta]:
        """What has changed since the last delta, in order."""
        if changes.removed_topics:
            yield self._removals(changes.removed_topics.values())
        delta = self._delta(image, changes, is_first=False)
        if delta is not None:
            yield delta

    # -- topics ----------------------------------------------------------------------------

    def _removals(self, topics: Iterable[TopicImage]) -> MetadataDelta:
        gone = [
            PartitionChange(TopicPartition(topic.name, index), topic.id, None)
            for topic in topics
            for index in topic.partitions
        ]
        return MetadataDelta(
            partitions=gone,
            stops=[
                ReplicaStop(change.partition, None, delete=True)
                for change in gone
                if self._told.pop(change.partition, None) is not None
            ],
        )

    def _local(self, change: PartitionChange, *, is_first: bool) -> tuple[str, list[Any]]:
        """What this broker's replica is told, if it has one: a field of the delta, and its rows."""
        partition, now = change.partition, change.now
        assert now is not None
        before = self._told.pop(partition, None)
        if self._broker_id not in now.replicas:
            stop = ReplicaStop(partition, None, delete=True)
            return "stops", [] if before is None else [stop]
        self._told[partition] = now
        if before is not None and before.leader_epoch == now.leader_epoch:
            return "updates", [change]
        is_new = before is None and now.leader_epoch == 0 and not is_first
        return "roles", [change._replace(now=now._replace(is_new=is_new))]

    # -- everything ------------------------------------------------------------------------

    def _delta(
        self, image: MetadataImage, changes: ImageChanges, *, is_first: bool
    ) -> MetadataDelta | None:
        parts: dict[str, Any] = {}
        if changes.partitions:
            parts |= self._partitions(image, changes.partitions, is_first=is_first)
        if changes.brokers or is_first:
            live = live_brokers(image)
            parts["brokers"] = live
            parts["ineligible"] = ineligible_brokers(image)
            parts["controller"] = min((broker.id for broker in live), default=NO_BROKER)
        if changes.configs:
            parts["configs"] = {key: _copied(image.configs.get(key)) for key in changes.configs}
        if changes.quotas:
            parts["quotas"] = {entity: dict(rows) for entity, rows in image.quotas.items()}
        if changes.credentials:
            parts["credentials"] = {user: dict(rows) for user, rows in image.credentials.items()}
        if changes.acls:
            parts["acls"] = {resource: image.entries(resource) for resource in changes.acls}
        return MetadataDelta(**parts) if parts else None

    def _partitions(
        self, image: MetadataImage, named: Iterable[TopicPartition], *, is_first: bool
    ) -> dict[str, Any]:
        found: dict[str, list[Any]] = {"partitions": [], "roles": [], "updates": [], "stops": []}
        for partition in sorted(named):
            topic = image.topics[partition.topic]
            change = PartitionChange(partition, topic.id, topic.partitions[partition.partition])
            found["partitions"].append(change)
            kind, told = self._local(change, is_first=is_first)
            found[kind] += told
        return found


def everything(image: MetadataImage) -> ImageChanges:
    """As if all of it had changed."""
    return ImageChanges(
        features=set(image.features),
        brokers=set(image.brokers),
        partitions={partition for partition, _ in image.partitions()},
        configs=set(image.configs),
        quotas=set(image.quotas),
        acls={binding.resource for binding in image.acls.values()},
        credentials=set(image.credentials),
    )


def live_brokers(image: MetadataImage) -> list[BrokerRegistration]:
    """The brokers that are not fenced."""
    return [
        BrokerRegistration(
            broker.id,
            tuple(BrokerEndpoint(each.name, each.host, each.port) for each in broker.endpoints),
            broker.rack,
        )
        for broker in image.brokers.values()
        if not broker.fenced
    ]


def ineligible_brokers(image: MetadataImage) -> frozenset[int]:
    """The brokers that are fenced or stopping."""
    return frozenset(broker.id for broker in image.brokers.values() if not broker.is_active)


def _copied(values: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if values is None else dict(values)
