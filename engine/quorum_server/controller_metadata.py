"""The committed metadata as the handlers of administrators' requests read it.

    MetadataImage and its changes ──> MetadataDelta ──> Metadata, ConfigCache, AclAuthorizer
                                  └─> quotas ──> ControllerLimits

A handler looks into Metadata and ConfigCache. On a controller they have no other purpose.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.broker.config_cache import ConfigCache
from engine.broker.metadata import Metadata
from engine.metadata.delta import MetadataDelta, PartitionChange
from engine.metadata.image import ImageChanges, MetadataImage
from engine.metadata.image_delta import ineligible_brokers, live_brokers
from engine.model import NO_BROKER, TopicPartition
from engine.quorum_server.controller_limits import ControllerLimits
from engine.security.authorizer import AclAuthorizer


@dataclass(frozen=True)
class ControllerMetadata:
    metadata: Metadata
    configs: ConfigCache
    authorizer: AclAuthorizer | None
    limits: ControllerLimits

    def apply(
        self, image: MetadataImage, changes: ImageChanges, node: int, *, active: bool
    ) -> None:
        """`node`: of this controller. Only the active one accepts changes."""
        delta = MetadataDelta(
            controller=node if active else NO_BROKER,
            brokers=live_brokers(image) if changes.brokers else None,
            ineligible=ineligible_brokers(image) if changes.brokers else None,
            partitions=[*_gone(changes), *_changed(image, changes)],
            configs={key: image.configs.get(key) for key in changes.configs},
            acls={resource: image.entries(resource) for resource in changes.acls},
        )
        self.metadata.apply(delta)
        self.configs.apply(delta)
        if changes.quotas:
            self.limits.configure(image.quotas)
        if self.authorizer is not None:
            for resource, entries in delta.acls.items():
                self.authorizer.update(resource, entries)


def _gone(changes: ImageChanges) -> Iterator[PartitionChange]:
    for topic in changes.removed_topics.values():
        for index in topic.partitions:
            yield PartitionChange(TopicPartition(topic.name, index), topic.id, None)


def _changed(image: MetadataImage, changes: ImageChanges) -> Iterator[PartitionChange]:
    for partition in changes.partitions:
        topic = image.topics[partition.topic]
        yield PartitionChange(partition, topic.id, topic.partitions[partition.partition])
