"""The records of a snapshot: those that make an image from nothing, and no others.

    FeatureLevel, RegisterBroker, Topic, Partition, Config, ClientQuota, ProducerIds,
    AccessControlEntry, UserScramCredential

The features come first: who reads on knows the level then. A partition comes as it is now, with its
epochs, and not as it has changed.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from engine.metadata.delta import EVERY_BROKER, PartitionRegistration
from engine.metadata.records.brokers import (
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
)
from engine.metadata.records.security import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    QuotaEntityData,
    UserScramCredentialRecord,
)
from engine.metadata.records.topics import (
    PartitionRecord,
    TopicRecord,
)
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AclBinding
from engine.security.scram import NUMBERS, ScramCredential

if TYPE_CHECKING:
    from engine.metadata.image import BrokerImage, MetadataImage

RESOURCE_TYPES = {"topics": 2, "brokers": 4}
MECHANISMS = {name: number for number, name in NUMBERS.items()}


def image_records(image: "MetadataImage") -> Iterator[Any]:
    for feature, level in image.features.items():
        yield FeatureLevelRecord(name=feature, feature_level=level)
    for broker in image.brokers.values():
        yield register_record(broker)
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield partition_record(topic.id, index, partition)
    for (kind, name), values in image.configs.items():
        for key, value in values.items():
            yield config_record(kind, name, key, value)
    for entity, quotas in image.quotas.items():
        for key, quota in quotas.items():
            yield quota_record(entity, key, quota)
    if image.next_producer_id > 0:
        yield ProducerIdsRecord(broker_id=-1, next_producer_id=image.next_producer_id)
    for id, binding in image.acls.items():
        yield acl_record(id, binding)
    for user, texts in image.credentials.items():
        for mechanism, text in texts.items():
            yield _credential_record(user, mechanism, ScramCredential.parse(text))


def register_record(broker: "BrokerImage") -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation,
        broker_epoch=broker.epoch,
        end_points=broker.endpoints,
        features=broker.features,
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
    )


def partition_record(
    topic_id: UUID, index: int, partition: PartitionRegistration
) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing,
        adding_replicas=partition.adding,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.version,
    )


def config_record(kind: str, name: str, key: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=RESOURCE_TYPES[kind],
        resource_name="" if name == EVERY_BROKER else name,
        name=key,
        value=value,
    )


def quota_record(entity: ClientQuotaEntity, key: str, value: float | None) -> ClientQuotaRecord:
    """None: the quota is removed."""
    return ClientQuotaRecord(
        entity=tuple(
            QuotaEntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts()
        ),
        key=key,
        value=0.0 if value is None else value,
        remove=value is None,
    )


def acl_record(id: UUID, binding: AclBinding) -> AccessControlEntryRecord:
    resource, entry = binding
    return AccessControlEntryRecord(
        id=id,
        resource_type=resource.type,
        resource_name=resource.name,
        pattern_type=resource.pattern,
        **entry.fields(),
    )


def acl_of(record: AccessControlEntryRecord) -> AclBinding:
    return AclBinding.of(record.resource_type, record.resource_name, record.pattern_type, record)


def _credential_record(
    user: str, mechanism: str, credential: ScramCredential
) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=user,
        mechanism=MECHANISMS[mechanism],
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
