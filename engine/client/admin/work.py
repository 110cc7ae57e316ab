"""What an AdminClient's errands do: from confluent-kafka's values to the protocol's, and back.

    client.py -> here: work(view, key) -> changes.py, groups.py -> a broker
       confluent's values  |                 the engine's values

Each function does one piece of work, blocking, and returns what its future is to give. A failure
is the engine's KafkaError; where an answer holds several, each is told in its own place.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from engine.client import changes, groups
from engine.client.admin.values import (
    AlterConfigOpType,
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
    NewPartitions,
    NewTopic,
    Node,
    ReplicaInfo,
    ResourceType,
    TopicDescription,
    TopicPartitionInfo,
    Uuid,
)
from engine.client.cluster import ClusterView, check
from engine.client.listing import BrokerMetadata, GroupMember, GroupMetadata
from engine.client.metadata import Metadata, Topic
from engine.client.reader import find_offset
from engine.client.values import (
    OFFSET_INVALID,
    KafkaException,
    TopicPartition,
    error_of,
    exception_of,
)
from engine.client.values import KafkaError as Told
from engine.config.key import printed
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition as Partition

UNKNOWN_EPOCH = -1


def partition_of(it: TopicPartition) -> Partition:
    return Partition(it.topic, it.partition)


def told(it: Partition) -> TopicPartition:
    return TopicPartition(it.topic, it.partition)


def failed(it: Partition, error: KafkaError | None) -> TopicPartition:
    """A partition in a list where each has its own error, or none."""
    place = told(it)
    place.error = None if error is None else error_of(error)
    return place


# -- topics ------------------------------------------------------------------------------------


def create_topic(
    view: ClusterView,
    it: NewTopic,
    validate_only: bool = False,
    timeout: timedelta = changes.TIMEOUT,
) -> None:
    by_hand = it.replica_assignment or ()
    changes.create_topic(
        view,
        it.topic,
        -1 if by_hand else it.num_partitions,
        -1 if by_hand else it.replication_factor,
        by_hand,
        {key: printed(value) or "" for key, value in (it.config or {}).items()},
        validate_only,
        timeout,
    )


def create_partitions(
    view: ClusterView, it: NewPartitions, validate_only: bool, timeout: timedelta
) -> None:
    count, by_hand = it.new_total_count, it.replica_assignment
    changes.create_partitions(view, it.topic, count, by_hand, validate_only, timeout)


def await_topic(view: ClusterView, name: str) -> None:
    """Until every broker that is alive knows the topic, and who leads its partitions."""
    _everywhere(
        view,
        name,
        lambda topic: (
            topic.error == ErrorCode.none
            and all(each.leader in view.metadata.brokers for each in topic.partitions.values())
        ),
        "does not know all of it yet",
    )


def await_no_topic(view: ClusterView, name: str) -> None:
    _everywhere(
        view,
        name,
        lambda topic: topic.error == ErrorCode.unknown_topic_or_partition,
        "still knows it",
    )


def _everywhere(view: ClusterView, name: str, is_so: Any, otherwise: str) -> None:
    def attempt() -> None:
        view.refresh()
        for broker in view.metadata.brokers:
            if not is_so(view.describe([name], broker=broker).topics[name]):
                why = f"topic {name}: broker {broker} {otherwise}"
                raise KafkaError(ErrorCode.leader_not_available, why)

    view.retry(attempt)


def describe_topic(view: ClusterView, name: str) -> TopicDescription:
    metadata = view.retry(lambda: view.describe([name]))
    topic: Topic = metadata.topics[name]
    check(topic.error, what=f"topic {name}")
    return TopicDescription(
        name,
        Uuid(topic.id) if topic.id else None,
        topic.is_internal,
        [
            TopicPartitionInfo(
                number,
                node(metadata, it.leader) if it.leader in metadata.brokers else None,
                [node(metadata, each) for each in it.replicas],
                [node(metadata, each) for each in it.isr],
            )
            for number, it in topic.partitions.items()
        ],
    )


def describe_cluster(view: ClusterView) -> DescribeClusterResult:
    metadata = view.retry(lambda: view.describe([]))
    return DescribeClusterResult(
        node(metadata, metadata.controller) if metadata.controller in metadata.brokers else None,
        [node(metadata, each) for each in sorted(metadata.brokers)],
        metadata.cluster_id,
    )


def node(metadata: Metadata, broker: int) -> Node:
    if broker not in metadata.brokers:
        return Node(broker)
    return Node(broker, *metadata.brokers[broker], metadata.racks.get(broker))


# -- partitions --------------------------------------------------------------------------------


def list_offset(
    view: ClusterView, it: TopicPartition, timestamp: int, isolation: int
) -> ListOffsetsResultInfo:
    found = find_offset(view, _there(view, it), timestamp, isolation)
    epoch = None if found.leader_epoch == UNKNOWN_EPOCH else found.leader_epoch
    return ListOffsetsResultInfo(found.offset, found.timestamp, epoch)


def delete_records(view: ClusterView, it: TopicPartition, timeout: timedelta) -> DeletedRecords:
    return DeletedRecords(changes.delete_records(view, _there(view, it), it.offset, timeout))


def _there(view: ClusterView, it: TopicPartition) -> Partition:
    """A partition that is in the metadata now. One that is not has no leader to wait for."""
    try:
        view.topic(it.topic)
        view.refresh()
        check(view.metadata.topics[it.topic].error, what=f"topic {it.topic}")
    except KafkaError as error:
        if error.code != ErrorCode.unknown_topic_or_partition:
            raise
        raise exception_of(error, Told._UNKNOWN_PARTITION) from error
    if it.partition not in view.metadata.topics[it.topic].partitions:
        why = f"topic {it.topic} has no partition {it.partition}"
        raise KafkaException(Told(Told._UNKNOWN_PARTITION, why))
    return partition_of(it)


def elect_leaders(
    view: ClusterView, partitions: Sequence[TopicPartition] | None, unclean: bool
) -> dict[TopicPartition, Told | None]:
    wanted = None if partitions is None else [partition_of(each) for each in partitions]
    return {
        told(partition): None if error is None else error_of(error)
        for partition, error in changes.elect_leaders(view, wanted, unclean).items()
    }


def reassign(view: ClusterView, it: TopicPartition, replicas: Sequence[int] | None) -> None:
    (error,) = changes.alter_reassignments(view, {partition_of(it): replicas}).values()
    if error:
        raise error


def describe_log_dirs(view: ClusterView, broker: int) -> dict[str, LogDirDescription]:
    return {
        each.log_dir: LogDirDescription(
            None
            if each.error_code == ErrorCode.none
            else error_of(KafkaError(each.error_code, f"{each.log_dir} is offline")),
            {
                TopicPartition(topic.name, it.partition_index): ReplicaInfo(
                    it.partition_size, it.offset_lag, it.is_future_key
                )
                for topic in each.topics
                for it in topic.partitions
            },
        )
        for each in changes.describe_log_dirs(view, broker)
    }


# -- configurations ----------------------------------------------------------------------------


def describe_config(view: ClusterView, it: ConfigResource) -> dict[str, ConfigEntry]:
    return {each.name: _entry(each) for each in changes.describe_config(view, _kind(it), it.name)}


def _entry(it: Any) -> ConfigEntry:
    return ConfigEntry(
        it.name,
        it.value,
        ConfigSource(it.config_source),
        it.read_only,
        it.config_source == ConfigSource.DEFAULT_CONFIG,
        it.is_sensitive,
        synonyms={
            each.name: ConfigEntry(
                each.name, each.value, ConfigSource(each.source), is_synonym=True
            )
            for each in it.synonyms
        },
    )


def replace_config(view: ClusterView, it: ConfigResource, validate_only: bool) -> None:
    changes.replace_config(view, _kind(it), it.name, it.set_config_dict, validate_only)


def change_config(view: ClusterView, it: ConfigResource, validate_only: bool) -> None:
    wanted = []
    for each in it.incremental_configs:
        operation = changes.Operation((each.incremental_operation or AlterConfigOpType.SET).value)
        value = None if operation is changes.Operation.DELETE else each.value
        wanted.append((each.name, changes.Change(operation, value)))
    changes.change_config(view, _kind(it), it.name, wanted, validate_only)


def _kind(it: ConfigResource) -> changes.Resource:
    if it.restype is ResourceType.TOPIC:
        return changes.Resource.TOPIC
    if it.restype is ResourceType.BROKER and (it.name.isdecimal() or not it.name):
        return changes.Resource.BROKER
    raise KafkaError(
        ErrorCode.invalid_request,
        f"{it.restype.name} {it.name!r} has no configuration: topics have, and brokers by number",
    )


# -- groups ------------------------------------------------------------------------------------


def list_groups(view: ClusterView, states: Sequence[ConsumerGroupState]) -> Any:
    """The groups of consumers, and those that only commit, which have no protocol."""
    found, silent = groups.list_groups(view, [each.text for each in states])
    return ListConsumerGroupsResult(
        [
            ConsumerGroupListing(name, not it.protocol_type, ConsumerGroupState.of(it.state))
            for name, it in found.items()
            if it.protocol_type in ("", groups.CONSUMER)
        ],
        [exception_of(error) for error in silent.values()],
    )


def describe_group(view: ClusterView, name: str) -> ConsumerGroupDescription:
    found = groups.describe(view, name)
    return ConsumerGroupDescription(
        name,
        not found.protocol_type,
        [
            MemberDescription(
                each.id,
                each.client_id,
                each.host,
                MemberAssignment([told(it) for it in each.partitions]),
                each.instance_id,
            )
            for each in found.members
        ],
        found.protocol,
        ConsumerGroupState.of(found.state),
        node(view.metadata, found.coordinator),
        type=ConsumerGroupType.CLASSIC,
    )


def group_metadata(view: ClusterView, name: str) -> GroupMetadata:
    found = groups.describe(view, name)
    return GroupMetadata(
        BrokerMetadata(found.coordinator, *view.metadata.brokers[found.coordinator]),
        name,
        None,
        found.state,
        found.protocol_type,
        found.protocol,
        [
            GroupMember(each.id, each.client_id, each.host, each.subscription, each.assignment)
            for each in found.members
        ],
    )


def committed(
    view: ClusterView, it: ConsumerGroupTopicPartitions, stable: bool
) -> ConsumerGroupTopicPartitions:
    places = it.topic_partitions
    wanted = None if places is None else [partition_of(each) for each in places]
    found = groups.committed(view, it.group_id, wanted, stable)
    return ConsumerGroupTopicPartitions(
        it.group_id, [_place(partition, found[partition]) for partition in sorted(found)]
    )


def _place(partition: Partition, it: groups.Committed | KafkaError) -> TopicPartition:
    if isinstance(it, KafkaError):
        return failed(partition, it)
    return TopicPartition(
        *partition,
        OFFSET_INVALID if it.offset == groups.NONE_COMMITTED else it.offset,
        it.metadata or None,
        None if it.leader_epoch == UNKNOWN_EPOCH else it.leader_epoch,
    )


def commit(view: ClusterView, it: ConsumerGroupTopicPartitions) -> ConsumerGroupTopicPartitions:
    offsets = {
        partition_of(each): groups.Committed(
            each.offset,
            UNKNOWN_EPOCH if each.leader_epoch is None else each.leader_epoch,
            each.metadata or "",
        )
        for each in it.topic_partitions or ()
    }
    places = []
    for partition, error in groups.commit(view, it.group_id, offsets).items():
        place = failed(partition, error)
        place.offset, place.metadata = (
            offsets[partition].offset,
            offsets[partition].metadata or None,
        )
        places.append(place)
    return ConsumerGroupTopicPartitions(it.group_id, places)


def forget(view: ClusterView, group: str, it: TopicPartition) -> None:
    (error,) = groups.forget(view, group, [partition_of(it)]).values()
    if error:
        raise error
