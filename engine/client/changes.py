"""Topics, configurations, elections and reassignments: the requests that change a cluster.

Topics, and who leads them and keeps them, are the controller's business. A configuration can be
asked of any broker, except that of a broker, which only that one can tell; likewise its log
directories. Records are deleted by the leader of their partition. Groups are in groups.py.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import IntEnum
from itertools import groupby
from typing import Any, NamedTuple

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

from engine.client.cluster import ClusterView, check
from engine.client.connection import Connection
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api

TIMEOUT = timedelta(seconds=25)  # for the controller; less than what a connection waits


class Resource(IntEnum):
    """What can be configured, by its number in the protocol."""

    TOPIC = 2
    BROKER = 4


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2  # to a list
    SUBTRACT = 3  # from a list


class Change(NamedTuple):
    """Of one key."""

    operation: Operation
    value: str | None


class Reassignment(NamedTuple):
    """A partition on its way from some brokers to others."""

    replicas: tuple[int, ...]  # all that it has now, the others' too
    adding: tuple[int, ...]
    removing: tuple[int, ...]


Outcomes = dict[TopicPartition, KafkaError | None]  # None: done, or begun


def create_topic(
    cluster: ClusterView,
    name: str,
    partitions: int = -1,
    replication: int = -1,
    by_hand: Sequence[Sequence[int]] = (),
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
    timeout: timedelta = TIMEOUT,
) -> None:
    """-1 leaves a number to the broker; replicas by hand are instead of both."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(brokers))
            for number, brokers in enumerate(by_hand)
        ),
        configs=tuple(
            CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ),
    )
    request = CreateTopicsRequest(topics=(topic,), timeout=timeout, validate_only=validate_only)

    def attempt() -> None:
        (result,) = cluster.controller().ask(Api.CREATE_TOPICS, request).topics
        check(result.error_code, result.error_message)

    cluster.retry(attempt)


def delete_topic(cluster: ClusterView, name: str, timeout: timedelta = TIMEOUT) -> None:
    topic = DeleteTopicState(name=name, topic_id=None)
    request = DeleteTopicsRequest(topics=(topic,), timeout=timeout)

    def attempt() -> None:
        (result,) = cluster.controller().ask(Api.DELETE_TOPICS, request).responses
        check(result.error_code, result.error_message, f"topic {name}")

    cluster.retry(attempt)


def create_partitions(
    cluster: ClusterView,
    name: str,
    count: int,
    by_hand: Sequence[Sequence[int]] | None = None,
    validate_only: bool = False,
    timeout: timedelta = TIMEOUT,
) -> None:
    """Let a topic have `count` partitions; by hand: the replicas of each that is added."""
    assignments = tuple(
        CreatePartitionsAssignment(broker_ids=tuple(brokers)) for brokers in by_hand or ()
    )
    topic = CreatePartitionsTopic(
        name=name, count=count, assignments=None if by_hand is None else assignments
    )
    request = CreatePartitionsRequest(topics=(topic,), timeout=timeout, validate_only=validate_only)

    def attempt() -> None:
        (result,) = cluster.controller().ask(Api.CREATE_PARTITIONS, request).results
        check(result.error_code, result.error_message)

    cluster.retry(attempt)


def describe_config(cluster: ClusterView, kind: Resource, name: str) -> Sequence[Any]:
    """The entries of a topic's or a broker's configuration, as the protocol has them."""
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)

    def attempt() -> Sequence[Any]:
        (result,) = _who_knows(cluster, kind, name).ask(Api.DESCRIBE_CONFIGS, request).results
        check(result.error_code, result.error_message)
        entries: Sequence[Any] = result.configs
        return entries

    return cluster.retry(attempt)


def alter_config(
    cluster: ClusterView, kind: Resource, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set keys, and let go of those whose value is None."""
    change_config(
        cluster,
        kind,
        name,
        [
            (key, Change(Operation.DELETE if value is None else Operation.SET, value))
            for key, value in changes.items()
        ],
    )


def change_config(
    cluster: ClusterView,
    kind: Resource,
    name: str,
    changes: Iterable[tuple[str, Change]],
    validate_only: bool = False,
) -> None:
    """Change some keys, each in its own way; the others stay as they are."""
    configs = tuple(
        AlterableConfig(name=key, config_operation=change.operation, value=change.value)
        for key, change in changes
    )
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    _alter(cluster, kind, name, Api.INCREMENTAL_ALTER_CONFIGS, request)


def replace_config(
    cluster: ClusterView,
    kind: Resource,
    name: str,
    values: Mapping[str, str],
    validate_only: bool = False,
) -> None:
    """Set these keys, and let go of all others that were set."""
    configs = tuple(
        alter_v2.AlterableConfig(name=key, value=value) for key, value in values.items()
    )
    resource = alter_v2.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = alter_v2.AlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    _alter(cluster, kind, name, Api.ALTER_CONFIGS, request)


def _alter(cluster: ClusterView, kind: Resource, name: str, api: Api, request: Any) -> None:
    def attempt() -> None:
        (result,) = _who_knows(cluster, kind, name).ask(api, request).responses
        check(result.error_code, result.error_message)

    cluster.retry(attempt)


def _who_knows(cluster: ClusterView, kind: Resource, name: str) -> Connection:
    return cluster.node(int(name)) if kind is Resource.BROKER and name else cluster.controller()


# -- records ---------------------------------------------------------------------------------


def delete_records(
    cluster: ClusterView, partition: TopicPartition, offset: int, timeout: timedelta = TIMEOUT
) -> int:
    """All below this offset, or, for -1, all there are; returns the first that is left."""
    each = DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
    topic = DeleteRecordsTopic(name=partition.topic, partitions=(each,))
    request = DeleteRecordsRequest(topics=(topic,), timeout=timeout)

    def attempt() -> int:
        leader = cluster.node(cluster.leader(partition))
        result = leader.ask(Api.DELETE_RECORDS, request).topics[0].partitions[0]
        check(result.error_code, what=str(partition))
        return int(result.low_watermark)

    return cluster.retry(attempt)


def describe_log_dirs(cluster: ClusterView, broker: int) -> Sequence[Any]:
    """A broker's directories, and what is in them, as the protocol has it."""
    request = DescribeLogDirsRequest(topics=None)

    def attempt() -> Sequence[Any]:
        response = cluster.node(broker).ask(Api.DESCRIBE_LOG_DIRS, request)
        results: Sequence[Any] = response.results
        return results

    return cluster.retry(attempt)


# -- elections and reassignments -------------------------------------------------------------


def elect_leaders(
    cluster: ClusterView, partitions: Collection[TopicPartition] | None, unclean: bool = False
) -> Outcomes:
    """Let the first replica lead again, or any that lives where nobody leads; None: all of them.

    Of all partitions, those are left out that need no election.
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            TopicPartitions(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(partitions)
        )
    request = ElectLeadersRequest(
        election_type=int(unclean), topic_partitions=topics, timeout=TIMEOUT
    )

    def attempt() -> Outcomes:
        response = cluster.controller().ask(Api.ELECT_LEADERS, request)
        check(response.error_code)
        return _outcomes(
            (TopicPartition(topic.topic, each.partition_id), each)
            for topic in response.replica_election_results
            for each in topic.partition_result
        )

    return cluster.retry(attempt)


def alter_reassignments(
    cluster: ClusterView, moves: Mapping[TopicPartition, Sequence[int] | None]
) -> Outcomes:
    """Begin to move partitions to these brokers; None calls off what is under way."""
    topics = tuple(
        ReassignableTopic(
            name=topic,
            partitions=tuple(
                ReassignablePartition(
                    partition_index=number, replicas=None if to is None else tuple(to)
                )
                for number in numbers
                for to in [moves[TopicPartition(topic, number)]]
            ),
        )
        for topic, numbers in by_topic(moves)
    )
    request = AlterPartitionReassignmentsRequest(timeout=TIMEOUT, topics=topics)

    def attempt() -> Outcomes:
        response = cluster.controller().ask(Api.ALTER_PARTITION_REASSIGNMENTS, request)
        check(response.error_code, response.error_message)
        return _outcomes(
            (TopicPartition(topic.name, each.partition_index), each)
            for topic in response.responses
            for each in topic.partitions
        )

    return cluster.retry(attempt)


def list_reassignments(
    cluster: ClusterView, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment]:
    """What is under way, of these partitions or of all."""
    topics = None
    if partitions is not None:
        topics = tuple(
            ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions)
        )
    request = ListPartitionReassignmentsRequest(timeout=TIMEOUT, topics=topics)

    def attempt() -> dict[TopicPartition, Reassignment]:
        response = cluster.controller().ask(Api.LIST_PARTITION_REASSIGNMENTS, request)
        check(response.error_code, response.error_message)
        return {
            TopicPartition(topic.name, each.partition_index): Reassignment(
                each.replicas, each.adding_replicas, each.removing_replicas
            )
            for topic in response.topics
            for each in topic.partitions
        }

    return cluster.retry(attempt)


def by_topic(partitions: Iterable[TopicPartition]) -> Iterable[tuple[str, tuple[int, ...]]]:
    for topic, group in groupby(sorted(partitions), key=lambda each: each.topic):
        yield topic, tuple(each.partition for each in group)


def _outcomes(results: Iterable[tuple[TopicPartition, Any]]) -> Outcomes:
    """Each partition's error. One who is not the controller says so of every partition: then it
    is the request that has failed, and is to be sent to another."""
    outcomes: Outcomes = {}
    for partition, result in results:
        try:
            check(result.error_code, result.error_message)
            outcomes[partition] = None
        except KafkaError as error:
            if error.code == ErrorCode.not_controller:
                raise
            outcomes[partition] = error
    return outcomes
