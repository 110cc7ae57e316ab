"""Topics, configurations, elections and reassignments: the requests that change a cluster.

operation                                           served by
create_topic, delete_topic, create_partitions       the controller
elect_leaders, alter_ and list_reassignments        the controller
describe_config, change_config, replace_config      the broker that they are about; the controller
describe_log_dirs                                   the broker that it is about
find_offset, delete_records                         the leader of the partition

Requests about groups are in group_requests.py.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from kio.schema.alter_configs.v2 import request as alter_configs
from kio.schema.alter_partition_reassignments.v0 import request as reassignments
from kio.schema.create_partitions.v3 import request as more_partitions
from kio.schema.create_topics.v7 import request as new_topics
from kio.schema.delete_records.v2 import request as old_records
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.describe_log_dirs.v2.request import DescribeLogDirsRequest
from kio.schema.elect_leaders.v2.request import ElectLeadersRequest, TopicPartitions
from kio.schema.incremental_alter_configs.v1 import request as config_changes
from kio.schema.list_partition_reassignments.v0.request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

from engine.client.admin.operation import (
    Outcomes,
    check_row,
    done,
    operation,
    outcomes,
    to_broker,
    to_controller,
    to_leader,
)
from engine.client.admin.values import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    PartitionReassignment,
    ResourceType,
)
from engine.client.cluster import ClusterClient, check
from engine.client.consuming.offset_lookup import FoundOffset, list_offsets_request
from engine.config.key import printed
from engine.errors import ErrorCode, invalid_request
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, numbered, topics_of

CONTROLLER_TIMEOUT = timedelta(seconds=25)  # for the controller; shorter than that of a connection


@operation(Api.CREATE_TOPICS, to_controller, done("topics"))
def create_topic(
    topic: NewTopic, validate_only: bool = False, timeout: timedelta = CONTROLLER_TIMEOUT
) -> new_topics.CreateTopicsRequest:
    by_hand = topic.replica_assignment or ()  # instead of both numbers
    row = new_topics.CreatableTopic(
        name=topic.topic,
        num_partitions=-1 if by_hand else topic.num_partitions,
        replication_factor=-1 if by_hand else topic.replication_factor,
        assignments=tuple(
            new_topics.CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(brokers))
            for number, brokers in enumerate(by_hand)
        ),
        configs=tuple(
            new_topics.CreatableTopicConfig(name=key, value=printed(value) or "")
            for key, value in (topic.config or {}).items()
        ),
    )
    return new_topics.CreateTopicsRequest(
        topics=(row,), timeout=timeout, validate_only=validate_only
    )


def _deleted(response: Any) -> None:
    (row,) = response.responses
    check_row(row, f"topic {row.name}")


@operation(Api.DELETE_TOPICS, to_controller, _deleted)
def delete_topic(name: str, timeout: timedelta = CONTROLLER_TIMEOUT) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(
        topics=(DeleteTopicState(name=name, topic_id=None),), timeout=timeout
    )


@operation(Api.CREATE_PARTITIONS, to_controller, done("results"))
def create_partitions(
    topic: NewPartitions, validate_only: bool = False, timeout: timedelta = CONTROLLER_TIMEOUT
) -> more_partitions.CreatePartitionsRequest:
    by_hand = topic.replica_assignment
    assignments = tuple(
        more_partitions.CreatePartitionsAssignment(broker_ids=tuple(brokers))
        for brokers in by_hand or ()
    )
    row = more_partitions.CreatePartitionsTopic(
        name=topic.topic,
        count=topic.new_total_count,
        assignments=None if by_hand is None else assignments,
    )
    return more_partitions.CreatePartitionsRequest(
        topics=(row,), timeout=timeout, validate_only=validate_only
    )


# -- configurations --------------------------------------------------------------------------


def _configured(cluster: ClusterClient, resource: ConfigResource) -> int:
    """A broker knows its own configuration; the controller is asked about all others."""
    if resource.restype in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if resource.name.isdecimal():
            return int(resource.name)
        if resource.restype is ResourceType.BROKER and not resource.name:
            return cluster.controller()
    elif resource.restype is ResourceType.TOPIC:
        return cluster.controller()
    raise invalid_request(
        f"{resource.restype.name} {resource.name!r} has no configuration: topics have, and "
        "brokers by number"
    )


def _entries(response: Any) -> Any:
    (row,) = response.results
    check_row(row)
    return row.configs


@operation(Api.DESCRIBE_CONFIGS, _configured, _entries)
def describe_config(resource: ConfigResource) -> DescribeConfigsRequest:
    """The entries of a topic's or a broker's configuration, as the protocol has them."""
    row = DescribeConfigsResource(
        resource_type=resource.restype_int, resource_name=resource.name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=(row,), include_synonyms=True)


@operation(Api.INCREMENTAL_ALTER_CONFIGS, _configured, done("responses"))
def change_config(
    resource: ConfigResource, validate_only: bool = False
) -> config_changes.IncrementalAlterConfigsRequest:
    """Change some keys, each in its own way; the others stay as they are."""
    configs = []
    for entry in resource.incremental_configs:
        kind = entry.incremental_operation or AlterConfigOpType.SET
        value = None if kind is AlterConfigOpType.DELETE else entry.value
        configs.append(
            config_changes.AlterableConfig(
                name=entry.name, config_operation=kind.value, value=value
            )
        )
    row = config_changes.AlterConfigsResource(
        resource_type=resource.restype_int, resource_name=resource.name, configs=tuple(configs)
    )
    return config_changes.IncrementalAlterConfigsRequest(
        resources=(row,), validate_only=validate_only
    )


def alter_config(
    cluster: ClusterClient, resource: ConfigResource, changes: Mapping[str, str | None]
) -> None:
    """Set keys, and delete those whose value is None."""
    for key, value in changes.items():
        kind = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        resource.add_incremental_config(ConfigEntry(key, value, incremental_operation=kind))
    change_config(cluster, resource)


@operation(Api.ALTER_CONFIGS, _configured, done("responses"))
def replace_config(
    resource: ConfigResource, validate_only: bool = False
) -> alter_configs.AlterConfigsRequest:
    """Set the keys of the resource, and delete all others that were set."""
    row = alter_configs.AlterConfigsResource(
        resource_type=resource.restype_int,
        resource_name=resource.name,
        configs=tuple(
            alter_configs.AlterableConfig(name=key, value=value)
            for key, value in resource.set_config_dict.items()
        ),
    )
    return alter_configs.AlterConfigsRequest(resources=(row,), validate_only=validate_only)


# -- offsets, records and log directories ------------------------------------------------------


def _only_partition(response: Any) -> Any:
    ((partition, row),) = by_partition(response.topics)
    check(row.error_code, what=str(partition))
    return row


def _found_offset(response: Any) -> FoundOffset:
    row = _only_partition(response)
    return FoundOffset(row.offset, row.timestamp, row.leader_epoch)


@operation(Api.LIST_OFFSETS, to_leader, _found_offset)
def find_offset(partition: TopicPartition, timestamp: int, isolation: int = 0) -> Any:
    """The first or last offset of a partition, or the first one from a time on.

    `isolation` 1: the last one before any open transaction.
    """
    return list_offsets_request({partition: timestamp}, isolation)


@operation(
    Api.DELETE_RECORDS, to_leader, lambda response: int(_only_partition(response).low_watermark)
)
def delete_records(
    partition: TopicPartition, offset: int, timeout: timedelta = CONTROLLER_TIMEOUT
) -> old_records.DeleteRecordsRequest:
    """Delete the records below this offset, or all, for -1; returns the first offset left."""
    row = old_records.DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
    topic = old_records.DeleteRecordsTopic(name=partition.topic, partitions=(row,))
    return old_records.DeleteRecordsRequest(topics=(topic,), timeout=timeout)


@operation(Api.DESCRIBE_LOG_DIRS, to_broker, lambda response: response.results)
def describe_log_dirs(broker: int) -> DescribeLogDirsRequest:
    """A broker's log directories and their partitions, as the protocol has them."""
    return DescribeLogDirsRequest(topics=None)


# -- elections and reassignments -------------------------------------------------------------


def _elected(response: Any) -> Outcomes:
    check(response.error_code)
    rows = (
        (TopicPartition(topic.topic, row.partition_id), row)
        for topic in response.replica_election_results
        for row in topic.partition_result
    )
    return outcomes(rows, check_row, [ErrorCode.not_controller])


@operation(Api.ELECT_LEADERS, to_controller, _elected)
def elect_leaders(
    partitions: Collection[TopicPartition] | None, unclean: bool = False
) -> ElectLeadersRequest:
    """Make the preferred replica the leader; with `unclean`, any live one if there is no leader.

    With None, all partitions; the result leaves out those that need no election.
    """
    topics = None
    if partitions is not None:
        topics = numbered(TopicPartitions, sorted(partitions), "topic", "partitions")
    return ElectLeadersRequest(
        election_type=int(unclean), topic_partitions=topics, timeout=CONTROLLER_TIMEOUT
    )


def _reassigned(response: Any) -> Outcomes:
    check_row(response)
    return outcomes(by_partition(response.responses), check_row, [ErrorCode.not_controller])


@operation(Api.ALTER_PARTITION_REASSIGNMENTS, to_controller, _reassigned)
def alter_reassignments(
    moves: Mapping[TopicPartition, Sequence[int] | None],
) -> reassignments.AlterPartitionReassignmentsRequest:
    """Begin to move partitions to these brokers; None cancels a move in progress."""
    rows = (
        (
            partition,
            reassignments.ReassignablePartition(
                partition_index=partition.partition, replicas=None if to is None else tuple(to)
            ),
        )
        for partition, to in sorted(moves.items())
    )
    topics = topics_of(reassignments.ReassignableTopic, rows)
    return reassignments.AlterPartitionReassignmentsRequest(
        timeout=CONTROLLER_TIMEOUT, topics=topics
    )


def _moves(response: Any) -> dict[TopicPartition, PartitionReassignment]:
    check_row(response)
    return {
        partition: PartitionReassignment(row.replicas, row.adding_replicas, row.removing_replicas)
        for partition, row in by_partition(response.topics)
    }


@operation(Api.LIST_PARTITION_REASSIGNMENTS, to_controller, _moves)
def list_reassignments(
    partitions: Collection[TopicPartition] | None = None,
) -> ListPartitionReassignmentsRequest:
    """The moves in progress, of these partitions or of all."""
    topics = None
    if partitions is not None:
        topics = numbered(ListPartitionReassignmentsTopics, sorted(partitions))
    return ListPartitionReassignmentsRequest(timeout=CONTROLLER_TIMEOUT, topics=topics)
