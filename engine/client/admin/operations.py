"""The operations of an AdminClient: from confluent-kafka's values to requests, and back.

    client.py -> function(cluster, key) -> requests.py, group_requests.py -> a broker
       confluent's values           |      the engine's values

Each function blocks, and returns the result of its future. It raises an ApiException; if a
response has an error for each partition, each is returned with its partition.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from engine.client import values
from engine.client.admin import group_requests, requests
from engine.client.admin.operation import only_outcome
from engine.client.admin.values import (
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    DeletedRecords,
    DescribeClusterResult,
    ListConsumerGroupsResult,
    ListOffsetsResultInfo,
    LogDirDescription,
    MemberAssignment,
    MemberDescription,
    NewTopic,
    Node,
    PartitionReassignment,
    ReplicaInfo,
    TopicDescription,
    TopicPartitionInfo,
    Uuid,
)
from engine.client.cluster import ClusterClient, check
from engine.client.metadata import MetadataSnapshot, TopicSnapshot
from engine.client.offset_and_metadata import OffsetAndMetadata, offsets_of
from engine.client.values import (
    OFFSET_INVALID,
    BrokerMetadata,
    ClusterMetadata,
    GroupMember,
    GroupMetadata,
    KafkaError,
    KafkaException,
    error_of,
    exception_of,
)
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.by_topic import by_partition

UNKNOWN_EPOCH = -1


def partition_of(place: values.TopicPartition) -> TopicPartition:
    return TopicPartition(place.topic, place.partition)


def partitions_of(places: Iterable[values.TopicPartition] | None) -> list[TopicPartition] | None:
    """None: all of them."""
    return None if places is None else [partition_of(place) for place in places]


def client_partition(partition: TopicPartition) -> values.TopicPartition:
    return values.TopicPartition(*partition)


def failed(partition: TopicPartition, error: ApiException | None) -> values.TopicPartition:
    """A partition in a list where each has its own error, or none."""
    place = client_partition(partition)
    place.error = None if error is None else error_of(error)
    return place


# -- topics ------------------------------------------------------------------------------------


def create_everywhere(cluster: ClusterClient, topic: NewTopic) -> None:
    requests.create_topic(cluster, topic)
    await_topic(cluster, topic.topic)


def delete_everywhere(cluster: ClusterClient, name: str) -> None:
    """Delete a topic, and wait until no live broker knows it."""

    def is_gone(topic: TopicSnapshot) -> bool:
        return topic.error == ErrorCode.unknown_topic_or_partition

    requests.delete_topic(cluster, name)
    _everywhere(cluster, name, is_gone, "still knows it")


def await_topic(cluster: ClusterClient, name: str) -> None:
    """Wait until every live broker knows the topic and the leaders of its partitions."""

    def is_known(topic: TopicSnapshot) -> bool:
        leaders = {partition.leader for partition in topic.partitions.values()}
        return topic.error == ErrorCode.none and leaders <= cluster.metadata.brokers.keys()

    _everywhere(cluster, name, is_known, "does not know all of it yet")


def _everywhere(
    cluster: ClusterClient, name: str, is_so: Callable[[TopicSnapshot], bool], otherwise: str
) -> None:
    def attempt() -> None:
        cluster.refresh()
        for broker in cluster.metadata.brokers:
            if not is_so(cluster.describe([name], broker=broker).topics[name]):
                why = f"topic {name}: broker {broker} {otherwise}"
                raise ApiException(ErrorCode.leader_not_available, why)

    cluster.retry(attempt)


def list_topics(cluster: ClusterClient, name: str | None) -> ClusterMetadata:
    wanted = None if name is None else [name]
    return ClusterMetadata.of(cluster.retry(lambda: cluster.describe(wanted)))


def describe_topic(cluster: ClusterClient, name: str) -> TopicDescription:
    metadata = cluster.retry(lambda: cluster.describe([name]))
    topic = metadata.topics[name]
    check(topic.error, what=f"topic {name}")
    return TopicDescription(
        name,
        Uuid(topic.id) if topic.id else None,
        topic.is_internal,
        [
            TopicPartitionInfo(
                number,
                node(metadata, partition.leader) if partition.leader in metadata.brokers else None,
                [node(metadata, broker) for broker in partition.replicas],
                [node(metadata, broker) for broker in partition.isr],
            )
            for number, partition in topic.partitions.items()
        ],
    )


def describe_cluster(cluster: ClusterClient) -> DescribeClusterResult:
    metadata = cluster.retry(lambda: cluster.describe([]))
    return DescribeClusterResult(
        node(metadata, metadata.controller) if metadata.controller in metadata.brokers else None,
        [node(metadata, broker) for broker in sorted(metadata.brokers)],
        metadata.cluster_id,
    )


def node(metadata: MetadataSnapshot, broker: int) -> Node:
    if broker not in metadata.brokers:
        return Node(broker)
    return Node(broker, *metadata.brokers[broker], metadata.racks.get(broker))


# -- partitions --------------------------------------------------------------------------------


def list_offset(
    cluster: ClusterClient, place: values.TopicPartition, isolation: int
) -> ListOffsetsResultInfo:
    """The offset of `place` is a time, or a number that stands for the first or the last offset."""
    found = requests.find_offset(cluster, _there(cluster, place), place.offset, isolation)
    epoch = None if found.epoch == UNKNOWN_EPOCH else found.epoch
    return ListOffsetsResultInfo(found.offset, found.timestamp, epoch)


def delete_records(
    cluster: ClusterClient, place: values.TopicPartition, timeout: timedelta
) -> DeletedRecords:
    partition = _there(cluster, place)
    return DeletedRecords(requests.delete_records(cluster, partition, place.offset, timeout))


def _there(cluster: ClusterClient, place: values.TopicPartition) -> TopicPartition:
    """A partition that is in the metadata now. One that is not has no leader to wait for."""
    try:
        cluster.topic(place.topic)
        cluster.refresh()
        check(cluster.metadata.topics[place.topic].error, what=f"topic {place.topic}")
    except ApiException as error:
        if error.code != ErrorCode.unknown_topic_or_partition:
            raise
        raise exception_of(error, KafkaError._UNKNOWN_PARTITION) from error
    if place.partition not in cluster.metadata.topics[place.topic].partitions:
        why = f"topic {place.topic} has no partition {place.partition}"
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, why))
    return partition_of(place)


def elect_leaders(
    cluster: ClusterClient, places: Sequence[values.TopicPartition] | None, unclean: bool
) -> dict[values.TopicPartition, KafkaError | None]:
    found = requests.elect_leaders(cluster, partitions_of(places), unclean)
    return {
        client_partition(partition): None if error is None else error_of(error)
        for partition, error in found.items()
    }


def reassign(
    cluster: ClusterClient,
    place: values.TopicPartition,
    moves: Mapping[values.TopicPartition, Sequence[int] | None],
) -> None:
    only_outcome(requests.alter_reassignments(cluster, {partition_of(place): moves[place]}))


def list_reassignments(
    cluster: ClusterClient, places: Sequence[values.TopicPartition] | None
) -> dict[values.TopicPartition, PartitionReassignment]:
    found = requests.list_reassignments(cluster, partitions_of(places))
    return {client_partition(partition): move for partition, move in found.items()}


def describe_log_dirs(cluster: ClusterClient, broker: int) -> dict[str, LogDirDescription]:
    return {
        directory.log_dir: LogDirDescription(
            None
            if directory.error_code == ErrorCode.none
            else error_of(ApiException(directory.error_code, f"{directory.log_dir} is offline")),
            {
                client_partition(partition): ReplicaInfo(
                    replica.partition_size, replica.offset_lag, replica.is_future_key
                )
                for partition, replica in by_partition(directory.topics)
            },
        )
        for directory in requests.describe_log_dirs(cluster, broker)
    }


# -- configurations ----------------------------------------------------------------------------


def describe_config(cluster: ClusterClient, resource: ConfigResource) -> dict[str, ConfigEntry]:
    return {row.name: _entry(row) for row in requests.describe_config(cluster, resource)}


def _entry(row: Any) -> ConfigEntry:
    return ConfigEntry(
        row.name,
        row.value,
        ConfigSource(row.config_source),
        row.read_only,
        row.config_source == ConfigSource.DEFAULT_CONFIG,
        row.is_sensitive,
        synonyms={
            other.name: ConfigEntry(
                other.name, other.value, ConfigSource(other.source), is_synonym=True
            )
            for other in row.synonyms
        },
    )


# -- groups ------------------------------------------------------------------------------------


def list_groups(cluster: ClusterClient, states: Sequence[ConsumerGroupState]) -> Any:
    """The groups of consumers, and those that only commit, which have no protocol."""
    found, silent = group_requests.list_groups(cluster, [state.text for state in states])
    return ListConsumerGroupsResult(
        [
            ConsumerGroupListing(name, not group.protocol_type, ConsumerGroupState.of(group.state))
            for name, group in found.items()
            if group.protocol_type in ("", group_requests.CONSUMER)
        ],
        [exception_of(error) for error in silent.values()],
    )


def describe_group(cluster: ClusterClient, name: str) -> ConsumerGroupDescription:
    group = group_requests.describe(cluster, name)
    return ConsumerGroupDescription(
        name,
        not group.protocol_type,
        [
            MemberDescription(
                member.id,
                member.client_id,
                member.host,
                MemberAssignment([client_partition(partition) for partition in member.partitions]),
                member.instance_id,
            )
            for member in group.members
        ],
        group.protocol,
        ConsumerGroupState.of(group.state),
        node(cluster.metadata, group.coordinator),
        type=ConsumerGroupType.CLASSIC,
    )


def group_metadata(cluster: ClusterClient, group: str | None) -> list[GroupMetadata]:
    """Of one group, or of all."""
    names = sorted(group_requests.list_groups(cluster)[0]) if group is None else [group]
    return [_group_metadata(cluster, name) for name in names]


def _group_metadata(cluster: ClusterClient, name: str) -> GroupMetadata:
    group = group_requests.describe(cluster, name)
    return GroupMetadata(
        BrokerMetadata(group.coordinator, *cluster.metadata.brokers[group.coordinator]),
        name,
        None,
        group.state,
        group.protocol_type,
        group.protocol,
        [
            GroupMember(
                member.id, member.client_id, member.host, member.subscription, member.assignment
            )
            for member in group.members
        ],
    )


def committed(
    cluster: ClusterClient,
    name: str,
    groups: Mapping[str, ConsumerGroupTopicPartitions],
    stable: bool,
) -> ConsumerGroupTopicPartitions:
    wanted = partitions_of(groups[name].topic_partitions)
    found = group_requests.committed(cluster, name, wanted, stable)
    return ConsumerGroupTopicPartitions(
        name, [_place(partition, found[partition]) for partition in sorted(found)]
    )


def _place(
    partition: TopicPartition, committed: OffsetAndMetadata | ApiException
) -> values.TopicPartition:
    if isinstance(committed, ApiException):
        return failed(partition, committed)
    offset, epoch, metadata = committed
    return values.TopicPartition(
        *partition,
        OFFSET_INVALID if offset < 0 else offset,
        metadata or None,
        None if epoch == UNKNOWN_EPOCH else epoch,
    )


def commit(
    cluster: ClusterClient, name: str, groups: Mapping[str, ConsumerGroupTopicPartitions]
) -> ConsumerGroupTopicPartitions:
    offsets = offsets_of(list(groups[name].topic_partitions or ()))
    places = []
    for partition, error in group_requests.commit(cluster, name, offsets).items():
        place = failed(partition, error)
        place.offset = offsets[partition].offset
        place.metadata = offsets[partition].metadata or None
        places.append(place)
    return ConsumerGroupTopicPartitions(name, places)


def delete_offset(cluster: ClusterClient, place: values.TopicPartition, group: str) -> None:
    only_outcome(group_requests.delete_offsets(cluster, group, [partition_of(place)]))
