"""The metadata of a cluster at one offset of its log: a `MetadataImage`.

    record ── replay ──> MetadataImage: features, brokers, topics, configs, quotas, ACLs ...
                              │
                              ├── records() ──> a snapshot: the records that make it from nothing
                              └── take_changes() ──> what replay has touched since the last time

A controller's state is one, and each broker makes one from the committed records.

Invariant: an image is what the replay of its log makes. Nothing but `replay` changes it.
Invariant: the records of an image, replayed by an empty one, make an equal image.

A record that makes no sense here (the id of an unknown topic, the epoch of an earlier registration)
is an error, and never skipped. Left out are what only levels above 7 write: directories, eligible
leader replicas, delegation tokens, metadata transactions, registrations of controllers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import EVERY_BROKER, PartitionRegistration
from engine.metadata.image_records import (
    RESOURCE_TYPES,
    acl_of,
    acl_record,
    config_record,
    credential_record,
    partition_record,
    quota_record,
)
from engine.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    ProducerIdsRecord,
    RecordEndpoint,
    RecordFeature,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from engine.metadata.records.security import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from engine.metadata.records.topics import (
    LEADER_UNCHANGED,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from engine.model import TopicPartition
from engine.quotas.alteration import entity_of
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AccessControlEntry, AclBinding, ResourcePattern
from engine.security.scram import NUMBERS, ScramCredential

RESOURCES = {number: kind for kind, number in RESOURCE_TYPES.items()}  # of ConfigRecord
ConfigKey = tuple[str, str]  # ("topics", NAME), ("brokers", ID or EVERY_BROKER)


class BrokerImage(NamedTuple):
    """A broker that is registered: fenced or not, alive or not."""

    id: int
    epoch: int  # of the registration: the offset of its record
    incarnation: UUID  # of the process
    endpoints: tuple[RecordEndpoint, ...]
    features: tuple[RecordFeature, ...]  # the levels that it can work with
    rack: str | None
    fenced: bool  # it leads nothing, is in no ISR, and clients do not see it
    in_controlled_shutdown: bool  # it hands over what it leads, and gets nothing new

    @property
    def is_active(self) -> bool:
        """Whether it may lead and join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    def record(self) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=self.incarnation,
            broker_epoch=self.epoch,
            end_points=self.endpoints,
            features=self.features,
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
        )


@dataclass(slots=True)
class TopicImage:
    name: str
    id: UUID
    partitions: dict[int, PartitionRegistration] = field(default_factory=dict)


@dataclass(slots=True)
class ImageChanges:
    """The keys that `replay` has touched. What the image has for a key now, it does not say."""

    features: set[str] = field(default_factory=set)
    brokers: set[int] = field(default_factory=set)
    removed_topics: dict[UUID, TopicImage] = field(default_factory=dict)  # as they were at the end
    partitions: set[TopicPartition] = field(default_factory=set)  # of topics that exist
    configs: set[ConfigKey] = field(default_factory=set)
    quotas: set[ClientQuotaEntity] = field(default_factory=set)
    acls: set[ResourcePattern] = field(default_factory=set)
    credentials: set[str] = field(default_factory=set)


@dataclass(slots=True)
class MetadataImage:
    features: dict[str, int] = field(default_factory=dict)  # level 0: not in here
    brokers: dict[int, BrokerImage] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    configs: dict[ConfigKey, dict[str, str]] = field(default_factory=dict)
    quotas: dict[ClientQuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: dict[UUID, AclBinding] = field(default_factory=dict)
    credentials: dict[str, dict[str, str]] = field(default_factory=dict)  # by user, mechanism
    next_producer_id: int = 0
    offset: int = field(default=-1, compare=False)  # of the last record; set by who feeds it
    epoch: int = field(default=-1, compare=False)  # of that record
    changed: ImageChanges = field(default_factory=ImageChanges, compare=False, repr=False)

    # -- reading ---------------------------------------------------------------------------

    def topic(self, id: UUID) -> TopicImage | None:
        name = self.topic_names.get(id)
        return None if name is None else self.topics[name]

    def partition(self, partition: TopicPartition) -> PartitionRegistration | None:
        topic = self.topics.get(partition.topic)
        return None if topic is None else topic.partitions.get(partition.partition)

    def partitions(self) -> Iterator[tuple[TopicPartition, PartitionRegistration]]:
        for topic in self.topics.values():
            for index, partition in topic.partitions.items():
                yield TopicPartition(topic.name, index), partition

    def entries(self, resource: ResourcePattern) -> frozenset[AccessControlEntry]:
        """The access control list of a resource."""
        found = (binding.entry for binding in self.acls.values() if binding.resource == resource)
        return frozenset(found)

    def records(self) -> Iterator[Any]:
        """A snapshot: an empty image becomes an equal one by them. The features come first: who
        reads on knows the level then."""
        for feature, level in self.features.items():
            yield FeatureLevelRecord(name=feature, feature_level=level)
        for broker in self.brokers.values():
            yield broker.record()
        for topic in self.topics.values():
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            for index, partition in topic.partitions.items():
                yield partition_record(topic.id, index, partition)
        for (kind, name), values in self.configs.items():
            for key, value in values.items():
                yield config_record(kind, name, key, value)
        for entity, quotas in self.quotas.items():
            for key, quota in quotas.items():
                yield quota_record(entity, key, quota)
        if self.next_producer_id > 0:
            yield ProducerIdsRecord(broker_id=-1, next_producer_id=self.next_producer_id)
        for id, binding in self.acls.items():
            yield acl_record(id, binding)
        for user, texts in self.credentials.items():
            for mechanism, text in texts.items():
                yield credential_record(user, mechanism, text)

    def copy(self) -> "MetadataImage":
        """An image of its own, at the same offset, with no changes to take."""
        return MetadataImage(
            dict(self.features),
            dict(self.brokers),
            {name: TopicImage(name, topic.id, dict(topic.partitions))
             for name, topic in self.topics.items()},
            dict(self.topic_names),
            {key: dict(values) for key, values in self.configs.items()},
            {entity: dict(values) for entity, values in self.quotas.items()},
            dict(self.acls),
            {user: dict(texts) for user, texts in self.credentials.items()},
            self.next_producer_id,
            self.offset,
            self.epoch,
        )  # fmt: skip

    def take_changes(self) -> ImageChanges:
        """What was touched since the last call."""
        taken, self.changed = self.changed, ImageChanges()
        return taken

    def succeed(self, before: "MetadataImage") -> None:
        """Take the place of an earlier image: what that one had counts as changed."""
        changed = self.changed
        changed.features |= before.features.keys() | before.changed.features
        changed.brokers |= before.brokers.keys() | before.changed.brokers
        changed.configs |= before.configs.keys() | before.changed.configs
        changed.quotas |= before.quotas.keys() | before.changed.quotas
        changed.credentials |= before.credentials.keys() | before.changed.credentials
        changed.acls |= {it.resource for it in before.acls.values()} | before.changed.acls
        gone = {it.id: it for it in before.topics.values() if it.id not in self.topic_names}
        changed.removed_topics |= before.changed.removed_topics | gone

    # -- replay ----------------------------------------------------------------------------

    def replay(self, record: Any) -> None:
        """Apply a record. Raises an ApiException, and changes nothing, if it makes no sense."""
        apply = _REPLAYS.get(type(record))
        if apply is None:
            name = type(record).__name__
            raise ApiException(
                ErrorCode.unsupported_version, f"{name} is written above metadata.version 7 only"
            )
        apply(self, record)

    def _feature(self, record: FeatureLevelRecord) -> None:
        self.changed.features.add(record.name)
        _set_or_remove(self.features, record.name, record.feature_level or None)

    def _register(self, record: RegisterBrokerRecord) -> None:
        self._put_broker(
            BrokerImage(
                record.broker_id,
                record.broker_epoch,
                _present(record.incarnation_id),
                record.end_points,
                record.features,
                record.rack,
                record.fenced,
                record.in_controlled_shutdown,
            )
        )

    def _put_broker(self, broker: BrokerImage) -> None:
        self.brokers[broker.id] = broker
        self.changed.brokers.add(broker.id)

    def _unregister(self, record: UnregisterBrokerRecord) -> None:
        broker = self._registered(record.broker_id, record.broker_epoch)
        del self.brokers[broker.id]
        self.changed.brokers.add(broker.id)

    def _fence(self, record: FenceBrokerRecord) -> None:
        self._put_broker(self._registered(record.id, record.epoch)._replace(fenced=True))

    def _unfence(self, record: UnfenceBrokerRecord) -> None:
        self._put_broker(self._registered(record.id, record.epoch)._replace(fenced=False))

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._registered(record.broker_id, record.broker_epoch)
        if record.fenced:
            broker = broker._replace(fenced=record.fenced > 0)
        if record.in_controlled_shutdown:
            broker = broker._replace(in_controlled_shutdown=record.in_controlled_shutdown > 0)
        self._put_broker(broker)

    def _registered(self, id: int, epoch: int) -> BrokerImage:
        broker = self.brokers.get(id)
        if broker is None:
            raise _senseless(f"broker {id} is not registered")
        if broker.epoch != epoch:
            raise _senseless(f"broker {id} is registered with epoch {broker.epoch}, not {epoch}")
        return broker

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        if record.next_producer_id < self.next_producer_id:
            raise _senseless(f"producer ids from {record.next_producer_id} are in use")
        self.next_producer_id = record.next_producer_id

    def _nothing(self, record: NoOpRecord) -> None:
        pass

    # -- topics

    def _topic(self, record: TopicRecord) -> None:
        id = _present(record.topic_id)
        if record.name in self.topics or id in self.topic_names:
            raise _senseless(f"topic {record.name} ({id}) exists")
        self.topics[record.name] = TopicImage(record.name, id)
        self.topic_names[id] = record.name

    def _known_topic(self, id: UUID) -> TopicImage:
        topic = self.topic(id)
        if topic is None:
            raise _senseless(f"there is no topic with the id {id}")
        return topic

    def _partition(self, record: PartitionRecord) -> None:
        registration = PartitionRegistration(
            record.leader,
            record.leader_epoch,
            record.isr,
            record.replicas,
            record.partition_epoch,
            adding=record.adding_replicas,
            removing=record.removing_replicas,
            leader_recovery_state=record.leader_recovery_state,
        )
        self._put_partition(
            self._known_topic(_present(record.topic_id)), record.partition_id, registration
        )

    def _put_partition(self, topic: TopicImage, id: int, partition: PartitionRegistration) -> None:
        topic.partitions[id] = partition
        self.changed.partitions.add(TopicPartition(topic.name, id))

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        topic, id = self._known_topic(_present(record.topic_id)), record.partition_id
        before = topic.partitions.get(id)
        if before is None:
            raise _senseless(f"topic {topic.name} has no partition {id}")
        self._put_partition(topic, id, changed_partition(before, record))

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._known_topic(_present(record.topic_id))
        del self.topics[topic.name], self.topic_names[topic.id]
        if self.configs.pop(("topics", topic.name), None) is not None:
            self.changed.configs.add(("topics", topic.name))
        self.changed.removed_topics[topic.id] = topic
        gone = {TopicPartition(topic.name, index) for index in topic.partitions}
        self.changed.partitions -= gone

    # -- configurations, quotas, credentials, access control lists

    def _config(self, record: ConfigRecord) -> None:
        kind = RESOURCES.get(record.resource_type)
        if kind is None:
            raise _senseless(f"resources of type {record.resource_type} have no configuration")
        name = record.resource_name
        key = kind, EVERY_BROKER if kind == "brokers" and name == "" else name
        self.changed.configs.add(key)
        _set_or_remove_in(self.configs, key, record.name, record.value)

    def _quota(self, record: ClientQuotaRecord) -> None:
        entity = entity_of((part.entity_type, part.entity_name) for part in record.entity)
        self.changed.quotas.add(entity)
        _set_or_remove_in(self.quotas, entity, record.key, None if record.remove else record.value)

    def _acl(self, record: AccessControlEntryRecord) -> None:
        id = _present(record.id)
        if id in self.acls:
            raise _senseless(f"the access control entry {id} exists")
        binding = self.acls[id] = acl_of(record)
        self.changed.acls.add(binding.resource)

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        binding = self.acls.pop(_present(record.id), None)
        if binding is None:
            raise _senseless(f"there is no access control entry {record.id}")
        self.changed.acls.add(binding.resource)

    def _credential(self, record: UserScramCredentialRecord) -> None:
        text = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        ).text()
        self.changed.credentials.add(record.name)
        _set_or_remove_in(self.credentials, record.name, NUMBERS[record.mechanism], text)

    def _remove_credential(self, record: RemoveUserScramCredentialRecord) -> None:
        self.changed.credentials.add(record.name)
        _set_or_remove_in(self.credentials, record.name, NUMBERS[record.mechanism], None)


def changed_partition(
    before: PartitionRegistration, record: PartitionChangeRecord
) -> PartitionRegistration:
    """The partition after a change. A record that names a leader begins a leader epoch, also if it
    is the leader that there was."""
    after = before._replace(
        version=before.version + 1,
        replicas=_or_before(record.replicas, before.replicas),
        isr=_or_before(record.isr, before.isr),
        adding=_or_before(record.adding_replicas, before.adding),
        removing=_or_before(record.removing_replicas, before.removing),
    )
    if record.leader != LEADER_UNCHANGED:
        after = after._replace(leader=record.leader, leader_epoch=before.leader_epoch + 1)
    if record.leader_recovery_state >= 0:
        after = after._replace(leader_recovery_state=record.leader_recovery_state)
    return after


def _or_before(now: tuple[int, ...] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if now is None else now


_REPLAYS: Mapping[type, Callable[[MetadataImage, Any], None]] = {
    FeatureLevelRecord: MetadataImage._feature,
    RegisterBrokerRecord: MetadataImage._register,
    UnregisterBrokerRecord: MetadataImage._unregister,
    FenceBrokerRecord: MetadataImage._fence,
    UnfenceBrokerRecord: MetadataImage._unfence,
    BrokerRegistrationChangeRecord: MetadataImage._change_broker,
    ProducerIdsRecord: MetadataImage._producer_ids,
    NoOpRecord: MetadataImage._nothing,
    TopicRecord: MetadataImage._topic,
    PartitionRecord: MetadataImage._partition,
    PartitionChangeRecord: MetadataImage._change_partition,
    RemoveTopicRecord: MetadataImage._remove_topic,
    ConfigRecord: MetadataImage._config,
    ClientQuotaRecord: MetadataImage._quota,
    AccessControlEntryRecord: MetadataImage._acl,
    RemoveAccessControlEntryRecord: MetadataImage._remove_acl,
    UserScramCredentialRecord: MetadataImage._credential,
    RemoveUserScramCredentialRecord: MetadataImage._remove_credential,
}


def _set_or_remove(values: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value


def _set_or_remove_in(groups: dict[Any, Any], key: Any, name: str, value: Any) -> None:
    """A group without values is in no image."""
    group = groups.setdefault(key, {})
    _set_or_remove(group, name, value)
    if not group:
        del groups[key]


def _present(id: UUID | None) -> UUID:
    if id is None:
        raise _senseless("an id is missing")
    return id


def _senseless(why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, why)
