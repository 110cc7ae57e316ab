"""AdminClient: manages topics, configurations, partitions and groups, as confluent-kafka's does.

    admin = AdminClient({"bootstrap.servers": "127.0.0.1:9092"})
    admin.create_topics([NewTopic("orders", 3)])["orders"].result()     a future for each topic
    admin.create_topic("orders", partitions=3)                          waits for all brokers
    admin.describe_consumer_groups(["g"])["g"].result()                 ConsumerGroupDescription

A method returns futures at once; one thread completes them in order (executor.py), with the
functions of operations.py. Wrong types and values are refused before any request is sent. In
addition to confluent-kafka's methods there are Kafka's own for reassignments, log directories,
quotas and the deletion of offsets, and two that wait until every broker knows about a topic.

Left out: `poll`, as there are no callbacks, and `include_authorized_operations`.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from engine.client.address import Address
from engine.client.admin import (
    acl_requests,
    group_requests,
    operations,
    quota_requests,
    requests,
    scram_requests,
)
from engine.client.admin.arguments import groups_of, listed, operation, places, some, unique
from engine.client.admin.executor import LONGEST, UNSET, AdminExecutor
from engine.client.admin.scram_requests import Descriptions
from engine.client.admin.security_values import (
    AclBinding,
    AclBindingFilter,
    UserScramCredentialAlteration,
    UserScramCredentialsDescription,
    checked,
)
from engine.client.admin.values import (
    ConfigEntry,
    ConfigResource,
    ConsumerGroupDescription,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    DeletedRecords,
    DescribeClusterResult,
    ElectionType,
    IsolationLevel,
    ListConsumerGroupsResult,
    ListOffsetsResultInfo,
    LogDirDescription,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PartitionReassignment,
    TopicCollection,
    TopicDescription,
)
from engine.client.cluster import ClusterClient
from engine.client.values import (
    OFFSET_INVALID,
    ClusterMetadata,
    GroupMetadata,
    KafkaError,
    TopicPartition,
    exception_of,
)
from engine.config.admin import AdminConfig
from engine.errors import ApiException
from engine.quotas.alteration import FilterComponent
from engine.quotas.entity import ClientQuotaEntity

T = TypeVar("T")
Futures = dict[T, "Future[Any]"]


class AdminClient:
    def __init__(self, conf: Mapping[str, Any], **more: Any) -> None:
        try:
            config, _ = AdminConfig.take({**conf, **more} if isinstance(conf, Mapping) else conf)
            addresses = [Address.parse(text) for text in config.bootstrap_servers]
        except ApiException as error:
            raise exception_of(error, KafkaError._INVALID_ARG) from error
        once = config.request_timeout_ms / 1000
        name = config.client_id or "brokerlab"
        security = config.security_texts()

        def opened(seconds: float) -> ClusterClient:
            return ClusterClient(
                addresses, name, once, patience=LONGEST, within=seconds, security=security
            )

        patience = config.default_api_timeout_ms / 1000
        self._executor = AdminExecutor(opened, patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """No more calls are possible; those that wait in the queue fail."""
        self._executor.close()

    # -- topics --------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: Sequence[NewTopic],
        validate_only: bool = False,
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        """`operation_timeout`: how long the controller waits for leaders of the new partitions."""
        wanted, timeout = some(new_topics, NewTopic), operation(operation_timeout)
        futures = self._executor.each(
            wanted, requests.create_topic, request_timeout, validate_only, timeout
        )
        return {new.topic: future for new, future in futures.items()}

    def delete_topics(
        self,
        topics: Sequence[str],
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        names, timeout = some(topics, str), operation(operation_timeout)
        return self._executor.each(names, requests.delete_topic, request_timeout, timeout)

    def create_partitions(
        self,
        new_partitions: Sequence[NewPartitions],
        validate_only: bool = False,
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        wanted, timeout = some(new_partitions, NewPartitions), operation(operation_timeout)
        futures = self._executor.each(
            wanted, requests.create_partitions, request_timeout, validate_only, timeout
        )
        return {new.topic: future for new, future in futures.items()}

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        config: Mapping[str, Any] | None = None,
        timeout: float = UNSET,
    ) -> None:
        """Create a topic, and wait until every broker knows it; -1: the broker's default."""
        topic = NewTopic(name, partitions, replication, config=config)
        self._executor.one(operations.create_everywhere, timeout, topic).result()

    def delete_topic(self, name: str, timeout: float = UNSET) -> None:
        """Delete a topic, and wait until no broker knows it any more."""
        self._executor.one(operations.delete_everywhere, timeout, name).result()

    def describe_topics(
        self, topics: TopicCollection, request_timeout: float = UNSET
    ) -> "dict[str, Future[TopicDescription]]":
        if not isinstance(topics, TopicCollection):
            raise TypeError("Expected input to be instance of TopicCollection")
        names = listed(topics.topic_names, str)
        return self._executor.each(names, operations.describe_topic, request_timeout)

    def list_topics(self, topic: str | None = None, timeout: float = UNSET) -> ClusterMetadata:
        """Brokers and topics, all or one; it waits for the answer."""
        return self._executor.one(operations.list_topics, timeout, topic).result()

    # -- the cluster ---------------------------------------------------------------------

    def describe_cluster(self, request_timeout: float = UNSET) -> "Future[DescribeClusterResult]":
        return self._executor.one(operations.describe_cluster, request_timeout)

    def cluster_id(self, timeout: float = UNSET) -> str | None:
        return self.describe_cluster(timeout).result().cluster_id

    def describe_log_dirs(
        self, brokers: Collection[int], request_timeout: float = UNSET
    ) -> "dict[int, Future[dict[str, LogDirDescription]]]":
        """For each broker, its log directories by path."""
        return self._executor.each(brokers, operations.describe_log_dirs, request_timeout)

    # -- configurations ------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], request_timeout: float = UNSET
    ) -> "dict[ConfigResource, Future[dict[str, ConfigEntry]]]":
        wanted = some(resources, ConfigResource)
        return self._executor.each(wanted, operations.describe_config, request_timeout)

    def alter_configs(
        self,
        resources: Sequence[ConfigResource],
        validate_only: bool = False,
        request_timeout: float = UNSET,
    ) -> Futures[ConfigResource]:
        """Set the keys of each resource, and delete all other keys that were set for it."""
        wanted = some(resources, ConfigResource)
        return self._executor.each(wanted, requests.replace_config, request_timeout, validate_only)

    def incremental_alter_configs(
        self,
        resources: Sequence[ConfigResource],
        validate_only: bool = False,
        request_timeout: float = UNSET,
    ) -> Futures[ConfigResource]:
        wanted = some(resources, ConfigResource)
        return self._executor.each(wanted, requests.change_config, request_timeout, validate_only)

    # -- partitions ----------------------------------------------------------------------

    def list_offsets(
        self,
        topic_partition_offsets: Mapping[TopicPartition, OffsetSpec],
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        request_timeout: float = UNSET,
    ) -> "dict[TopicPartition, Future[ListOffsetsResultInfo]]":
        if not isinstance(topic_partition_offsets, Mapping):
            raise TypeError("Expected a dict of TopicPartition and OffsetSpec")
        listed(list(topic_partition_offsets.values()), OffsetSpec)
        wanted = [
            TopicPartition(place.topic, place.partition, spec.value)
            for place, spec in topic_partition_offsets.items()
        ]
        return self._executor.each(
            places(wanted), operations.list_offset, request_timeout, isolation_level.value
        )

    def delete_records(
        self,
        topic_partition_offsets: Sequence[TopicPartition],
        request_timeout: float = UNSET,
        operation_timeout: float = UNSET,
    ) -> "dict[TopicPartition, Future[DeletedRecords]]":
        """All records below the offset of each partition; OFFSET_END: all records."""
        timeout = operation(operation_timeout)
        wanted = places(topic_partition_offsets)
        return self._executor.each(wanted, operations.delete_records, request_timeout, timeout)

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Sequence[TopicPartition] | None = None,
        request_timeout: float = UNSET,
    ) -> "Future[dict[TopicPartition, KafkaError | None]]":
        """For these partitions, or for all that need an election."""
        if not isinstance(election_type, ElectionType):
            raise TypeError("Expected 'election_type' to be of type 'ElectionType'")
        wanted = None if partitions is None else places(partitions)
        unclean = election_type is ElectionType.UNCLEAN
        return self._executor.one(operations.elect_leaders, request_timeout, wanted, unclean)

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        request_timeout: float = UNSET,
    ) -> Futures[TopicPartition]:
        """Begin to move partitions to these brokers; None cancels a move in progress."""
        wanted = places(list(reassignments))
        return self._executor.each(wanted, operations.reassign, request_timeout, reassignments)

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None, request_timeout: float = UNSET
    ) -> "Future[dict[TopicPartition, PartitionReassignment]]":
        """The moves in progress, of these partitions or of all."""
        wanted = None if partitions is None else places(partitions)
        return self._executor.one(operations.list_reassignments, request_timeout, wanted)

    # -- quotas --------------------------------------------------------------------------

    def describe_client_quotas(
        self,
        components: Sequence[FilterComponent] = (),
        strict: bool = False,
        request_timeout: float = UNSET,
    ) -> "Future[dict[ClientQuotaEntity, dict[str, float]]]":
        """Of all users, client ids and addresses that these match. Named as in Kafka's Java client,
        as is the next one: confluent-kafka has none."""
        wanted = listed(components, FilterComponent)
        return self._executor.one(
            quota_requests.describe_client_quotas, request_timeout, wanted, strict
        )

    def alter_client_quotas(
        self,
        alterations: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
        validate_only: bool = False,
        request_timeout: float = UNSET,
    ) -> Futures[ClientQuotaEntity]:
        """Set these quotas, by their keys; None removes one."""
        return self._executor.each(
            some(list(alterations), ClientQuotaEntity),
            lambda cluster, entity: quota_requests.alter_client_quotas(
                cluster, entity, alterations[entity], validate_only
            ),
            request_timeout,
        )

    # -- who may do what -----------------------------------------------------------------

    def create_acls(
        self, acls: Sequence[AclBinding], request_timeout: float = UNSET
    ) -> Futures[AclBinding]:
        """A binding that is there already is no error."""
        return self._executor.each(
            unique(some(acls, AclBinding)),
            lambda cluster, acl: acl_requests.create_acls(cluster, [acl.binding()]),
            request_timeout,
        )

    def describe_acls(
        self, acl_binding_filter: AclBindingFilter, request_timeout: float = UNSET
    ) -> "Future[list[AclBinding]]":
        (wanted,) = listed([acl_binding_filter], AclBindingFilter)

        def work(cluster: ClusterClient) -> list[AclBinding]:
            return [*map(AclBinding.of, acl_requests.describe_acls(cluster, wanted.filter()))]

        return self._executor.one(work, request_timeout)

    def delete_acls(
        self, acl_binding_filters: Sequence[AclBindingFilter], request_timeout: float = UNSET
    ) -> "dict[AclBindingFilter, Future[list[AclBinding]]]":
        """The result of each is what it has deleted."""
        return self._executor.each(
            unique(some(acl_binding_filters, AclBindingFilter)),
            lambda cluster, wanted: [
                *map(AclBinding.of, acl_requests.delete_acls(cluster, [wanted.filter()]))
            ],
            request_timeout,
        )

    def describe_user_scram_credentials(
        self, users: Sequence[str] | None = None, request_timeout: float = UNSET
    ) -> "dict[str, Future[UserScramCredentialsDescription]] | Future[Descriptions]":
        """Of these users, or (one future) of all that have credentials."""
        if users is None:
            return self._executor.one(scram_requests.describe_users, request_timeout)
        names = unique(listed(users, str))
        if "" in names:
            raise ValueError("'user' cannot be empty")
        return self._executor.each(names, scram_requests.describe_user, request_timeout)

    def alter_user_scram_credentials(
        self, alterations: Sequence[UserScramCredentialAlteration], request_timeout: float = UNSET
    ) -> Futures[str]:
        """All of a user's, or none. A password does not leave this process."""
        by_user: dict[str, list[UserScramCredentialAlteration]] = {}
        for alteration in map(checked, some(alterations, UserScramCredentialAlteration)):
            by_user.setdefault(alteration.user, []).append(alteration)
        return self._executor.each(
            by_user,
            lambda cluster, user: scram_requests.alter_user(cluster, by_user[user]),
            request_timeout,
        )

    # -- groups --------------------------------------------------------------------------

    def list_consumer_groups(
        self,
        states: set[ConsumerGroupState] | None = None,
        types: set[ConsumerGroupType] | None = None,
        request_timeout: float = UNSET,
    ) -> "Future[ListConsumerGroupsResult]":
        """All of them, or those in these states; brokers of Kafka 2.8 report no types."""
        for name, those, kind in (
            ("states", states, ConsumerGroupState),
            ("types", types, ConsumerGroupType),
        ):
            if those is not None and not isinstance(those, set):
                raise TypeError(f"'{name}' must be a set")
            if not all(isinstance(member, kind) for member in those or ()):
                raise TypeError(f"All elements of {name} must be of type {kind.__name__}")
        return self._executor.one(operations.list_groups, request_timeout, sorted(states or ()))

    def list_groups(self, group: str | None = None, timeout: float = UNSET) -> list[GroupMetadata]:
        """With their members, all or one; it waits for the answer."""
        return self._executor.one(operations.group_metadata, timeout, group).result()

    def describe_consumer_groups(
        self, group_ids: list[str], request_timeout: float = UNSET
    ) -> "dict[str, Future[ConsumerGroupDescription]]":
        names = some(group_ids, str)
        return self._executor.each(names, operations.describe_group, request_timeout)

    def delete_consumer_groups(
        self, group_ids: list[str], request_timeout: float = UNSET
    ) -> "dict[str, Future[None]]":
        names = some(group_ids, str)
        return self._executor.each(names, group_requests.delete, request_timeout)

    # -- their offsets -------------------------------------------------------------------

    def list_consumer_group_offsets(
        self,
        list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        require_stable: bool = False,
        request_timeout: float = UNSET,
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Without partitions: all offsets that the group has committed."""
        wanted = groups_of(list_consumer_group_offsets_request)
        for group in wanted.values():
            if group.topic_partitions is not None:
                for place in places(group.topic_partitions):
                    if place.offset != OFFSET_INVALID:
                        raise ValueError(f"{place}: the offset is what is asked for")
        return self._executor.each(
            wanted, operations.committed, request_timeout, wanted, require_stable
        )

    def alter_consumer_group_offsets(
        self,
        alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        request_timeout: float = UNSET,
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Of a group without members. Each partition of the result has its own error, or none."""
        wanted = groups_of(alter_consumer_group_offsets_request)
        for group in wanted.values():
            if group.topic_partitions is None:
                raise ValueError("'topic_partitions' cannot be null")
            for place in places(group.topic_partitions):
                if place.offset < 0:
                    raise ValueError(f"{place}: the offset must be 0 or more")
        return self._executor.each(wanted, operations.commit, request_timeout, wanted)

    def delete_consumer_group_offsets(
        self, group_id: str, partitions: list[TopicPartition], request_timeout: float = UNSET
    ) -> "dict[TopicPartition, Future[None]]":
        """Named as in Kafka's Java client: confluent-kafka has none."""
        wanted = places(partitions)
        return self._executor.each(wanted, operations.delete_offset, request_timeout, group_id)
