"""A MetadataImage as a tree of names, as Kafka's metadata shell shows it.

    /image/topics/byName/orders/0      PartitionRegistration(replicas=[1, 2, 3], ..., leader=1, ...)
    /image/cluster/brokers/1           BrokerRegistration(id=1, epoch=2, ..., fenced=false, ...)
    /image/configs/TOPIC:orders/retention.ms

A leaf is a text, everything else has children. Secrets are not shown.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from engine.config import BrokerConfig, TopicConfig
from engine.config.key import Config, Type
from engine.config.listener_security import PROTOCOLS
from engine.metadata.delta import EVERY_BROKER, PartitionRegistration
from engine.metadata.image import BrokerImage, MetadataImage, TopicImage
from engine.model import id_text
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AclBinding

ImageTree: TypeAlias = "Mapping[str, ImageTree] | str"

# From level 1 on.
LEVELS = ["3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3"]
KINDS = {
    "topics": "TOPIC",
    "brokers": "BROKER",
    "client-metrics": "CLIENT_METRICS",
    "groups": "GROUP",
}
QUOTA_NAMES = {"client-id": "clientId", "ip": "ip", "user": "user"}
NO_DIRECTORY = "A" * 22  # of a replica whose directory no record names
REDACTED = "[redacted]"
CONFIGS: Mapping[str, type[Config]] = {"topics": TopicConfig, "brokers": BrokerConfig}


def image_tree(image: MetadataImage, last_ms: int = 0) -> Mapping[str, ImageTree]:
    """`last_ms`: the time of the last record."""
    topics = [(topic, _topic(topic)) for topic in image.topics.values()]
    levels = {f"finalized_{name}": str(level) for name, level in image.features.items()}
    level = image.features.get("metadata.version", 1)
    return {
        "acls": {"byId": {id_text(id): _acl(binding) for id, binding in image.acls.items()}},
        "clientQuotas": {
            _entity(entity): {key: str(value) for key, value in quotas.items()}
            for entity, quotas in image.quotas.items()
        },
        "cluster": {
            "brokers": {str(broker.id): _broker(broker) for broker in image.brokers.values()},
            "controllers": {},
        },
        "configs": {
            _resource(kind, name): {key: _shown(kind, key, it) for key, it in values.items()}
            for (kind, name), values in image.configs.items()
        },
        "delegationToken": {},
        "features": {
            "metadataVersion": LEVELS[level - 1] if level <= len(LEVELS) else str(level),
            "zkMigrationState": "NONE",
            **{name: value for name, value in levels.items() if "metadata.version" not in name},
        },
        "producerIds": {"nextProducerId": str(image.next_producer_id or -1)},
        "provenance": f"offset {image.offset}, epoch {image.epoch}, time {_time(last_ms)}",
        "scram": {"SCRAM-SHA-256": {}, "SCRAM-SHA-512": {}},  # level 7 has no credentials
        "topics": {
            "byId": {id_text(topic.id): node for topic, node in topics},
            "byName": {topic.name: node for topic, node in topics},
        },
    }


def _topic(topic: TopicImage) -> Mapping[str, ImageTree]:
    partitions = {str(number): _partition(it) for number, it in sorted(topic.partitions.items())}
    return {"name": topic.name, "id": id_text(topic.id), **partitions}


def _partition(partition: PartitionRegistration) -> str:
    return _named(
        "PartitionRegistration",
        replicas=_numbers(partition.replicas),
        directories=f"[{', '.join([NO_DIRECTORY] * len(partition.replicas))}]",
        isr=_numbers(partition.isr),
        removingReplicas=_numbers(partition.removing),
        addingReplicas=_numbers(partition.adding),
        elr="[]",
        lastKnownElr="[]",
        leader=partition.leader,
        leaderRecoveryState="RECOVERING" if partition.leader_recovery_state else "RECOVERED",
        leaderEpoch=partition.leader_epoch,
        partitionEpoch=partition.version,
    )


def _broker(broker: BrokerImage) -> str:
    listeners = ", ".join(
        f"Endpoint(listenerName='{it.name}', securityProtocol={PROTOCOLS[it.security_protocol]}, "
        f"host='{it.host}', port={it.port})"
        for it in sorted(broker.endpoints, key=lambda it: it.name)
    )
    features = ", ".join(
        f"{it.name}: {_range(it.min_supported_version, it.max_supported_version)}"
        for it in sorted(broker.features, key=lambda it: it.name)
    )
    return _named(
        "BrokerRegistration",
        id=broker.id,
        epoch=broker.epoch,
        incarnationId=id_text(broker.incarnation),
        listeners=f"[{listeners}]",
        supportedFeatures=f"{{{features}}}",
        rack="Optional.empty" if broker.rack is None else f"Optional[{broker.rack}]",
        fenced=_truth(broker.fenced),
        inControlledShutdown=_truth(broker.in_controlled_shutdown),
        isMigratingZkBroker="false",
        directories="[]",
    )


def _acl(binding: AclBinding) -> str:
    resource, entry = binding.resource, binding.entry
    return _named(
        "StandardAcl",
        resourceType=resource.type.name.upper(),
        resourceName=resource.name,
        patternType=resource.pattern.name.upper(),
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation.name.upper(),
        permissionType=entry.permission.name.upper(),
    )


def _entity(entity: ClientQuotaEntity) -> str:
    """A part that stands for everybody else has no name."""
    parts = sorted((kind, name or "") for kind, name in entity.parts())
    return "_".join(f"{QUOTA_NAMES[kind]}({_escaped(name)})" for kind, name in parts)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _resource(kind: str, name: str) -> str:
    return KINDS[kind] if name == EVERY_BROKER else f"{KINDS[kind]}:{name}"


def _shown(kind: str, key: str, value: str) -> str:
    """A key that is not known may have a secret, where keys are known."""
    if kind not in CONFIGS:
        return value
    known = CONFIGS[kind].known().get(key)
    return REDACTED if known is None or known.type is Type.PASSWORD else value


def _named(kind: str, **facts: object) -> str:
    return f"{kind}({', '.join(f'{name}={value}' for name, value in facts.items())})"


def _numbers(numbers: Iterable[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}-{most}"


def _truth(value: bool) -> str:
    return str(value).lower()


def _time(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}{f'.{ms % 1000:03}'.rstrip('0').rstrip('.')}Z[UTC]"
