"""Records made of the parts of an image: for a snapshot, and for what a controller decides.

A partition's record says how it is now, with its epochs, and not how it has changed.
"""

from uuid import UUID

from engine.metadata.delta import EVERY_BROKER, PartitionRegistration
from engine.metadata.records.security import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    QuotaEntityData,
    UserScramCredentialRecord,
)
from engine.metadata.records.topics import (
    PartitionRecord,
)
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AclBinding
from engine.security.scram import NUMBERS, ScramCredential

# The last two are of later releases of Kafka: nothing here uses them, and they are kept.
RESOURCE_TYPES = {"topics": 2, "brokers": 4, "client-metrics": 16, "groups": 32}
MECHANISMS = {name: number for number, name in NUMBERS.items()}


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


def credential_record(user: str, mechanism: str, text: str) -> UserScramCredentialRecord:
    credential = ScramCredential.parse(text)
    return UserScramCredentialRecord(
        name=user,
        mechanism=MECHANISMS[mechanism],
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
