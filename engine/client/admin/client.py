"""AdminClient: whatever can be done to a cluster, with the methods of confluent-kafka's.

    admin = AdminClient({"bootstrap.servers": "127.0.0.1:9092"})
    changes.create_topics([NewTopic("orders", 3)])["orders"].result()     a future for each topic
    changes.create_topic("orders", partitions=3)                          returns when it is there

A method returns at once, with futures that one thread completes, in turn (errands.py), by what
is in work.py. Beyond confluent-kafka's methods there are Kafka's own for reassignments, log
directories and the deletion of offsets, and two shorthands that wait until every broker knows.

Left out: access control and SCRAM, which our brokers don't have, and `poll`, as nothing is told by
callback. `include_authorized_operations` is not known for the same reason.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from engine.client import changes
from engine.client.admin import work
from engine.client.admin.grouping import UNSET, GroupAdmin, listed, operation, places, some
from engine.client.admin.values import (
    ConfigEntry,
    ConfigResource,
    DeletedRecords,
    DescribeClusterResult,
    ElectionType,
    IsolationLevel,
    ListOffsetsResultInfo,
    LogDirDescription,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PartitionReassignment,
    TopicCollection,
    TopicDescription,
)
from engine.client.cluster import ClusterView
from engine.client.listing import ClusterMetadata
from engine.client.values import KafkaError, TopicPartition

T = TypeVar("T")
Futures = dict[T, "Future[Any]"]


class AdminClient(GroupAdmin):
    # -- topics --------------------------------------------------------------------------

    def create_topics(
        self,
        new_topics: Sequence[NewTopic],
        validate_only: bool = False,
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        """`operation_timeout`: how long the controller waits for leaders of the new partitions."""
        topics = {each.topic: each for each in some(new_topics, NewTopic)}
        timeout = operation(operation_timeout)
        return self._errands.each(
            topics,
            lambda view, name: work.create_topic(view, topics[name], validate_only, timeout),
            self._seconds(request_timeout),
        )

    def delete_topics(
        self,
        topics: Sequence[str],
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        timeout = operation(operation_timeout)
        return self._errands.each(
            some(topics, str),
            lambda view, name: changes.delete_topic(view, name, timeout),
            self._seconds(request_timeout),
        )

    def create_partitions(
        self,
        new_partitions: Sequence[NewPartitions],
        validate_only: bool = False,
        operation_timeout: float = UNSET,
        request_timeout: float = UNSET,
    ) -> Futures[str]:
        topics = {each.topic: each for each in some(new_partitions, NewPartitions)}
        timeout = operation(operation_timeout)
        return self._errands.each(
            topics,
            lambda view, name: work.create_partitions(view, topics[name], validate_only, timeout),
            self._seconds(request_timeout),
        )

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        config: Mapping[str, Any] | None = None,
        timeout: float = UNSET,
    ) -> None:
        """Create a topic, and wait until every broker knows it; -1 leaves a number to them."""

        def create(view: ClusterView) -> None:
            work.create_topic(view, NewTopic(name, partitions, replication, config=config))
            work.await_topic(view, name)

        self._errands.one(create, self._seconds(timeout)).result()

    def delete_topic(self, name: str, timeout: float = UNSET) -> None:
        """Delete a topic, and wait until no broker knows it any more."""

        def delete(view: ClusterView) -> None:
            changes.delete_topic(view, name)
            work.await_no_topic(view, name)

        self._errands.one(delete, self._seconds(timeout)).result()

    def describe_topics(
        self, topics: TopicCollection, request_timeout: float = UNSET
    ) -> "dict[str, Future[TopicDescription]]":
        if not isinstance(topics, TopicCollection):
            raise TypeError("Expected input to be instance of TopicCollection")
        names = listed(topics.topic_names, str)
        return self._errands.each(names, work.describe_topic, self._seconds(request_timeout))

    def list_topics(self, topic: str | None = None, timeout: float = UNSET) -> ClusterMetadata:
        """Brokers and topics, all or one; it waits for the answer."""

        def listed(view: ClusterView) -> ClusterMetadata:
            wanted = None if topic is None else [topic]
            return ClusterMetadata.of(view.retry(lambda: view.describe(wanted)))

        return self._errands.one(listed, self._seconds(timeout)).result()

    # -- the cluster ---------------------------------------------------------------------

    def describe_cluster(self, request_timeout: float = UNSET) -> "Future[DescribeClusterResult]":
        return self._errands.one(work.describe_cluster, self._seconds(request_timeout))

    def cluster_id(self, timeout: float = UNSET) -> str | None:
        return self.describe_cluster(timeout).result().cluster_id

    def describe_log_dirs(
        self, brokers: Collection[int], request_timeout: float = UNSET
    ) -> "dict[int, Future[dict[str, LogDirDescription]]]":
        """By path: what is in each directory of each of the brokers."""
        seconds = self._seconds(request_timeout)
        return self._errands.each(brokers, work.describe_log_dirs, seconds)

    # -- configurations ------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], request_timeout: float = UNSET
    ) -> "dict[ConfigResource, Future[dict[str, ConfigEntry]]]":
        found = some(resources, ConfigResource)
        return self._errands.each(found, work.describe_config, self._seconds(request_timeout))

    def alter_configs(
        self,
        resources: Sequence[ConfigResource],
        validate_only: bool = False,
        request_timeout: float = UNSET,
    ) -> Futures[ConfigResource]:
        """Set what each resource says, and let go of all else that was set for it."""
        return self._errands.each(
            some(resources, ConfigResource),
            lambda view, it: work.replace_config(view, it, validate_only),
            self._seconds(request_timeout),
        )

    def incremental_alter_configs(
        self,
        resources: Sequence[ConfigResource],
        validate_only: bool = False,
        request_timeout: float = UNSET,
    ) -> Futures[ConfigResource]:
        return self._errands.each(
            some(resources, ConfigResource),
            lambda view, it: work.change_config(view, it, validate_only),
            self._seconds(request_timeout),
        )

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
            TopicPartition(each.topic, each.partition, spec.value)
            for each, spec in topic_partition_offsets.items()
        ]
        return self._errands.each(
            places(wanted),
            lambda view, it: work.list_offset(view, it, it.offset, isolation_level.value),
            self._seconds(request_timeout),
        )

    def delete_records(
        self,
        topic_partition_offsets: Sequence[TopicPartition],
        request_timeout: float = UNSET,
        operation_timeout: float = UNSET,
    ) -> "dict[TopicPartition, Future[DeletedRecords]]":
        """All below the offset of each; OFFSET_END: all there are."""
        timeout = operation(operation_timeout)
        return self._errands.each(
            places(topic_partition_offsets),
            lambda view, it: work.delete_records(view, it, timeout),
            self._seconds(request_timeout),
        )

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Sequence[TopicPartition] | None = None,
        request_timeout: float = UNSET,
    ) -> "Future[dict[TopicPartition, KafkaError | None]]":
        """Of these partitions, or of all that need it."""
        if not isinstance(election_type, ElectionType):
            raise TypeError("Expected 'election_type' to be of type 'ElectionType'")
        wanted = None if partitions is None else places(partitions)
        unclean = election_type is ElectionType.UNCLEAN
        return self._errands.one(
            lambda view: work.elect_leaders(view, wanted, unclean), self._seconds(request_timeout)
        )

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        request_timeout: float = UNSET,
    ) -> Futures[TopicPartition]:
        """Begin to move partitions to these brokers; None calls off what is under way."""
        return self._errands.each(
            places(list(reassignments)),
            lambda view, it: work.reassign(view, it, reassignments[it]),
            self._seconds(request_timeout),
        )

    def list_partition_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None, request_timeout: float = UNSET
    ) -> "Future[dict[TopicPartition, PartitionReassignment]]":
        """What is under way, of these partitions or of all."""
        wanted = None
        if partitions is not None:
            wanted = [work.partition_of(each) for each in places(partitions)]
        return self._errands.one(
            lambda view: {
                work.told(partition): PartitionReassignment(*move)
                for partition, move in changes.list_reassignments(view, wanted).items()
            },
            self._seconds(request_timeout),
        )
