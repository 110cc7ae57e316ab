"""Topics, configurations, elections and reassignments: the requests that change a cluster.

The controller creates and deletes topics, elects leaders and moves replicas. Only a broker itself
knows its configuration and its log directories; any broker knows other configurations. The leader
of a partition deletes its records. Requests about groups are in group_requests.py.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from kio.schema.alter_configs.v2 import request as alter_v2
from kio.schema.alter_partition_reassignments.v0.request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kio.schema.create_partitions.v3.request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_records.v2.request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.describe_log_dirs.v2.request import DescribeLogDirsRequest
from kio.schema.elect_leaders.v2.request import ElectLeadersRequest, TopicPartitions
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.list_partition_reassignments.v0.request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
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
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, numbered, topics_of

T = TypeVar("T")

CONTROLLER_TIMEOUT = timedelta(seconds=25)  # for the controller; shorter than that of a connection

Outcomes = dict[TopicPartition, ApiException | None]  # None: done, or begun


def create_topic(
    cluster: ClusterClient,
    it: NewTopic,
    validate_only: bool = False,
    timeout: timedelta = CONTROLLER_TIMEOUT,
) -> None:
    by_hand = it.replica_assignment or ()  # instead of both numbers
    topic = CreatableTopic(
        name=it.topic,
        num_partitions=-1 if by_hand else it.num_partitions,
        replication_factor=-1 if by_hand else it.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(brokers))
            for number, brokers in enumerate(by_hand)
        ),
        configs=tuple(
            CreatableTopicConfig(name=key, value=printed(value) or "")
            for key, value in (it.config or {}).items()
        ),
    )
    request = CreateTopicsRequest(topics=(topic,), timeout=timeout, validate_only=validate_only)
    from_controller(cluster, Api.CREATE_TOPICS, request, lambda it: _check(it.topics[0]))


def delete_topic(
    cluster: ClusterClient, name: str, timeout: timedelta = CONTROLLER_TIMEOUT
) -> None:
    topic = DeleteTopicState(name=name, topic_id=None)
    request = DeleteTopicsRequest(topics=(topic,), timeout=timeout)
    what = f"topic {name}"
    from_controller(cluster, Api.DELETE_TOPICS, request, lambda it: _check(it.responses[0], what))


def create_partitions(
    cluster: ClusterClient,
    it: NewPartitions,
    validate_only: bool = False,
    timeout: timedelta = CONTROLLER_TIMEOUT,
) -> None:
    by_hand = it.replica_assignment
    assignments = tuple(
        CreatePartitionsAssignment(broker_ids=tuple(brokers)) for brokers in by_hand or ()
    )
    topic = CreatePartitionsTopic(
        name=it.topic,
        count=it.new_total_count,
        assignments=None if by_hand is None else assignments,
    )
    request = CreatePartitionsRequest(topics=(topic,), timeout=timeout, validate_only=validate_only)
    from_controller(cluster, Api.CREATE_PARTITIONS, request, lambda it: _check(it.results[0]))


# -- configurations --------------------------------------------------------------------------


def describe_config(cluster: ClusterClient, it: ConfigResource) -> Any:
    """The entries of a topic's or a broker's configuration, as the protocol has them."""
    resource = DescribeConfigsResource(
        resource_type=it.restype_int, resource_name=it.name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)

    def take(response: Any) -> Any:
        _check(response.results[0])
        return response.results[0].configs

    return _ask_about_config(cluster, it, Api.DESCRIBE_CONFIGS, request, take)


def alter_config(
    cluster: ClusterClient, it: ConfigResource, changes: Mapping[str, str | None]
) -> None:
    """Set keys, and delete those whose value is None."""
    for key, value in changes.items():
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        it.add_incremental_config(ConfigEntry(key, value, incremental_operation=operation))
    change_config(cluster, it)


def change_config(cluster: ClusterClient, it: ConfigResource, validate_only: bool = False) -> None:
    """Change some keys, each in its own way; the others stay as they are."""
    configs = []
    for each in it.incremental_configs:
        operation = each.incremental_operation or AlterConfigOpType.SET
        value = None if operation is AlterConfigOpType.DELETE else each.value
        configs.append(
            AlterableConfig(name=each.name, config_operation=operation.value, value=value)
        )
    resource = AlterConfigsResource(
        resource_type=it.restype_int, resource_name=it.name, configs=tuple(configs)
    )
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    _alter(cluster, it, Api.INCREMENTAL_ALTER_CONFIGS, request)


def replace_config(cluster: ClusterClient, it: ConfigResource, validate_only: bool = False) -> None:
    """Set the keys of the resource, and delete all others that were set."""
    configs = tuple(
        alter_v2.AlterableConfig(name=key, value=value) for key, value in it.set_config_dict.items()
    )
    resource = alter_v2.AlterConfigsResource(
        resource_type=it.restype_int, resource_name=it.name, configs=configs
    )
    request = alter_v2.AlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    _alter(cluster, it, Api.ALTER_CONFIGS, request)


def _alter(cluster: ClusterClient, it: ConfigResource, api: Api, request: Any) -> None:
    _ask_about_config(cluster, it, api, request, lambda response: _check(response.responses[0]))


def _ask_about_config(
    cluster: ClusterClient, it: ConfigResource, api: Api, request: Any, take: Callable[[Any], T]
) -> T:
    """Ask a broker about its own configuration, and the controller about all others."""
    is_broker = (it.restype is ResourceType.BROKER and (it.name.isdecimal() or not it.name)) or (
        it.restype is ResourceType.BROKER_LOGGER and it.name.isdecimal()
    )
    if it.restype is not ResourceType.TOPIC and not is_broker:
        raise ApiException(
            ErrorCode.invalid_request,
            f"{it.restype.name} {it.name!r} has no configuration: topics have, and brokers by "
            "number",
        )
    if is_broker and it.name:
        return cluster.retry(lambda: take(cluster.ask(int(it.name), api, request)))
    return from_controller(cluster, api, request, take)


# -- offsets and records ---------------------------------------------------------------------


def find_offset(
    cluster: ClusterClient, partition: TopicPartition, timestamp: int, isolation: int = 0
) -> FoundOffset:
    """The first or last offset of a partition, or the first one from a time on.

    `isolation` 1: the last one before any open transaction.
    """
    request = list_offsets_request({partition: timestamp}, isolation)

    row = _ask_leader(cluster, partition, Api.LIST_OFFSETS, request)
    return FoundOffset(row.offset, row.timestamp, row.leader_epoch)


def delete_records(
    cluster: ClusterClient,
    partition: TopicPartition,
    offset: int,
    timeout: timedelta = CONTROLLER_TIMEOUT,
) -> int:
    """Delete the records below this offset, or all, for -1; returns the first offset left."""
    each = DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
    topic = DeleteRecordsTopic(name=partition.topic, partitions=(each,))
    request = DeleteRecordsRequest(topics=(topic,), timeout=timeout)

    return int(_ask_leader(cluster, partition, Api.DELETE_RECORDS, request).low_watermark)


def _ask_leader(cluster: ClusterClient, partition: TopicPartition, api: Api, request: Any) -> Any:
    """The partition's row of the response; retried while its error may pass."""

    def attempt() -> Any:
        row = cluster.ask_leader(partition, api, request).topics[0].partitions[0]
        check(row.error_code, what=str(partition))
        return row

    return cluster.retry(attempt)


def describe_log_dirs(cluster: ClusterClient, broker: int) -> Any:
    """A broker's log directories and their partitions, as the protocol has them."""
    request = DescribeLogDirsRequest(topics=None)
    return cluster.retry(lambda: cluster.ask(broker, Api.DESCRIBE_LOG_DIRS, request)).results


# -- elections and reassignments -------------------------------------------------------------


def elect_leaders(
    cluster: ClusterClient, partitions: Collection[TopicPartition] | None, unclean: bool = False
) -> Outcomes:
    """Make the preferred replica the leader; with `unclean`, any live one if there is no leader.

    With None, all partitions; the result leaves out those that need no election.
    """
    topics = None
    if partitions is not None:
        topics = numbered(TopicPartitions, sorted(partitions), "topic", "partitions")
    request = ElectLeadersRequest(
        election_type=int(unclean), topic_partitions=topics, timeout=CONTROLLER_TIMEOUT
    )

    def take(response: Any) -> Outcomes:
        check(response.error_code)
        rows = (
            (TopicPartition(topic.topic, each.partition_id), each)
            for topic in response.replica_election_results
            for each in topic.partition_result
        )
        return outcomes(rows, _check, [ErrorCode.not_controller])

    return from_controller(cluster, Api.ELECT_LEADERS, request, take)


def alter_reassignments(
    cluster: ClusterClient, moves: Mapping[TopicPartition, Sequence[int] | None]
) -> Outcomes:
    """Begin to move partitions to these brokers; None cancels a move in progress."""
    rows = (
        (
            each,
            ReassignablePartition(
                partition_index=each.partition, replicas=None if to is None else tuple(to)
            ),
        )
        for each, to in sorted(moves.items())
    )
    topics = topics_of(ReassignableTopic, rows)
    request = AlterPartitionReassignmentsRequest(timeout=CONTROLLER_TIMEOUT, topics=topics)

    def take(response: Any) -> Outcomes:
        _check(response)
        return outcomes(by_partition(response.responses), _check, [ErrorCode.not_controller])

    return from_controller(cluster, Api.ALTER_PARTITION_REASSIGNMENTS, request, take)


def list_reassignments(
    cluster: ClusterClient, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, PartitionReassignment]:
    """The moves in progress, of these partitions or of all."""
    topics = None
    if partitions is not None:
        topics = numbered(ListPartitionReassignmentsTopics, sorted(partitions))
    request = ListPartitionReassignmentsRequest(timeout=CONTROLLER_TIMEOUT, topics=topics)

    def take(response: Any) -> dict[TopicPartition, PartitionReassignment]:
        _check(response)
        return {
            partition: PartitionReassignment(
                row.replicas, row.adding_replicas, row.removing_replicas
            )
            for partition, row in by_partition(response.topics)
        }

    return from_controller(cluster, Api.LIST_PARTITION_REASSIGNMENTS, request, take)


def outcomes(
    rows: Iterable[tuple[TopicPartition, Any]],
    check: Callable[[Any], None],
    of_the_request: Collection[ErrorCode],
) -> Outcomes:
    """Each partition's error. One that is `of_the_request` is raised, although a row has it: then
    the request is sent again, perhaps to another broker."""
    found: Outcomes = {}
    for partition, row in rows:
        found[partition] = None
        try:
            check(row)
        except ApiException as error:
            if error.code in of_the_request:
                raise
            found[partition] = error
    return found


def _check(result: Any, what: str = "") -> None:
    check(result.error_code, result.error_message, what)


def from_controller(cluster: ClusterClient, api: Api, request: Any, take: Callable[[Any], T]) -> T:
    """The result of `take` on the response; retried while the error that it raises may pass."""
    return cluster.retry(lambda: take(cluster.ask_controller(api, request)))
