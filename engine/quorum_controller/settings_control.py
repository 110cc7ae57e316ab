"""Configurations, quotas and access control lists: what is set, and what was set before.

An administrator's request was validated; here the records are found that lead from what is set to
what is to be set. Nothing is written where nothing changes, but for the keys of brokers: a record
with the value that is set already makes a broker read the file of a certificate again.

    ConfigurationControlManager, ClientQuotaControlManager, AclControlManager in Kafka
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import EVERY_BROKER
from engine.metadata.gateway import Entries
from engine.metadata.image import MetadataImage
from engine.metadata.image_records import acl_record, config_record, quota_record
from engine.metadata.records.security import RemoveAccessControlEntryRecord
from engine.quorum_controller.result import ControllerResult
from engine.quotas.alteration import Alteration, altered, java_text, quotas_of
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AclBinding, ResourcePattern
from engine.wire.readers import LONGEST_TEXT


def alter_config(
    image: MetadataImage, kind: str, name: str, values: Mapping[str, str]
) -> ControllerResult[None]:
    """Replace what is set for an entity. An ApiException if there is no such topic or broker (any
    more), or a value is longer than a string of a record may be: several requests can append to a
    list."""
    _check_exists(image, kind, name)
    if any(len(value.encode()) > LONGEST_TEXT for value in values.values()):
        raise ApiException(
            ErrorCode.invalid_config,
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{LONGEST_TEXT} bytes.",
        )
    before = image.configs.get((kind, name), {})
    gone = [config_record(kind, name, key, None) for key in before if key not in values]
    new = [
        config_record(kind, name, key, value)
        for key, value in values.items()
        if kind == "brokers" or before.get(key) != value
    ]
    return ControllerResult([*gone, *new], None)


def _check_exists(image: MetadataImage, kind: str, name: str) -> None:
    """The configuration of a deleted topic would be that of the next one with its name."""
    if kind == "topics" and name not in image.topics:
        raise ApiException(
            ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist."
        )
    if kind == "brokers" and name != EVERY_BROKER and int(name) not in image.brokers:
        raise ApiException(ErrorCode.broker_id_not_registered, f"No node with id {name} found.")


def alter_quotas(
    image: MetadataImage, entity: ClientQuotaEntity, changes: Iterable[Alteration]
) -> ControllerResult[None]:
    """Raises an ApiException, and changes nothing of the entity, if one change is refused."""
    before = image.quotas.get(entity, {})
    texts = {key: java_text(value) for key, value in before.items()}
    after = quotas_of(altered(texts, entity, changes))
    gone = [quota_record(entity, key, None) for key in before if key not in after]
    new = [quota_record(entity, key, it) for key, it in after.items() if before.get(key) != it]
    return ControllerResult([*gone, *new], None)


def alter_acls(
    image: MetadataImage,
    resource: ResourcePattern,
    changed: Callable[[Entries], Entries],
    new_id: Callable[[], UUID],
) -> ControllerResult[None]:
    """Replace the entries of a resource by what `changed` makes of them."""
    ids = {it.entry: id for id, it in image.acls.items() if it.resource == resource}
    wanted = changed(frozenset(ids))
    gone: list[Any] = [
        RemoveAccessControlEntryRecord(id=id) for entry, id in ids.items() if entry not in wanted
    ]
    new = [
        acl_record(new_id(), AclBinding(resource, entry)) for entry in sorted(wanted - ids.keys())
    ]
    return ControllerResult([*gone, *new], None)
