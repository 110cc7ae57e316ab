"""Groups: who is in them, how far they have come, and how to change that.

    find_coordinator -> the broker that leads the group's partition of __consumer_offsets
                        it alone knows the group: describe, delete, committed, commit, forget
    list_groups      -> every broker, for each knows its own groups only

A coordinator moves with its partition's leader, and loads what is in there before it answers.
Both passes, so whatever is asked is asked again, of whoever is the coordinator then.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.list_groups.v4.request import ListGroupsRequest
from kio.schema.offset_commit.v8.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest, OffsetFetchRequestTopic

from engine.client.assignors.protocol import decode_assignment
from engine.client.changes import Outcomes, by_topic
from engine.client.cluster import PASSING, ClusterView, check
from engine.client.connection import Connection
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.apis import Api

T = TypeVar("T")

GROUP = 0  # as the kind of a coordinator
REASONS = {  # of codes that come without words
    ErrorCode.group_id_not_found: "The group id does not exist.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unknown_member_id: "The group is not empty: only its members commit.",
    ErrorCode.group_subscribed_to_topic: "The group is actively subscribed to the topic.",
}
CONSUMER = "consumer"  # as a protocol: the members share partitions
NO_GENERATION, NOBODY = -1, ""  # who commits is no member
NONE_COMMITTED = -1
EMPTY, DEAD, STABLE = "Empty", "Dead", "Stable"  # the first two have no members


class Listed(NamedTuple):
    protocol_type: str
    state: str  # "" if the broker is too old to tell


class Member(NamedTuple):
    id: str
    instance_id: str | None  # of a static member
    client_id: str
    host: str
    subscription: bytes
    assignment: bytes
    partitions: tuple[TopicPartition, ...]  # of the assignment, in a consumers' group


class Described(NamedTuple):
    coordinator: int
    state: str
    protocol_type: str
    protocol: str  # how the partitions are shared, once that is agreed on
    members: tuple[Member, ...]


class Committed(NamedTuple):
    offset: int  # the next one to read
    leader_epoch: int
    metadata: str


def find_coordinator(cluster: ClusterView, group: str) -> int:
    """The broker that is the group's coordinator now."""
    request = FindCoordinatorRequest(key=group, key_type=GROUP)
    response = cluster.ask_any(Api.FIND_COORDINATOR, request)
    check(response.error_code, response.error_message, f"group {group}")
    return int(response.node_id)


def list_groups(
    cluster: ClusterView, states: Iterable[str] = ()
) -> tuple[dict[str, Listed], dict[int, KafkaError]]:
    """The groups of all brokers, and the brokers that could not tell."""
    groups: dict[str, Listed] = {}
    silent: dict[int, KafkaError] = {}
    cluster.retry(cluster.refresh)
    for broker in sorted(cluster.metadata.brokers):
        try:
            groups |= cluster.retry(partial(_groups_of, cluster, broker, states))
        except KafkaError as error:
            silent[broker] = error
    return groups, silent


def _groups_of(cluster: ClusterView, broker: int, states: Iterable[str]) -> dict[str, Listed]:
    request = ListGroupsRequest(states_filter=tuple(states))
    response = cluster.node(broker).ask(Api.LIST_GROUPS, request)
    check(response.error_code, what=f"broker {broker}")
    return {each.group_id: Listed(each.protocol_type, each.group_state) for each in response.groups}


def describe(cluster: ClusterView, group: str) -> Described:
    """A group that nobody knows is "Dead"."""
    request = DescribeGroupsRequest(groups=(group,), include_authorized_operations=False)

    def attempt(coordinator: Connection) -> Any:
        (found,) = coordinator.ask(Api.DESCRIBE_GROUPS, request).groups
        _check(found.error_code)
        return found

    broker, found = _ask_coordinator(cluster, group, attempt)
    is_consumers = found.protocol_type == CONSUMER
    members = tuple(_member(each, is_consumers) for each in found.members)
    return Described(broker, found.group_state, found.protocol_type, found.protocol_data, members)


def _member(member: Any, is_consumer: bool) -> Member:
    assignment = bytes(member.member_assignment)
    return Member(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        bytes(member.member_metadata),
        assignment,
        decode_assignment(assignment).partitions if is_consumer and assignment else (),
    )


def delete(cluster: ClusterView, group: str) -> None:
    """With all that it has committed; it must have no members."""
    request = DeleteGroupsRequest(groups_names=(group,))

    def attempt(coordinator: Connection) -> None:
        (result,) = coordinator.ask(Api.DELETE_GROUPS, request).results
        _check(result.error_code)

    _ask_coordinator(cluster, group, attempt)


# -- offsets -----------------------------------------------------------------------------------


def committed(
    cluster: ClusterView,
    group: str,
    partitions: Collection[TopicPartition] | None = None,
    stable: bool = False,
) -> dict[TopicPartition, Committed | KafkaError]:
    """What a group has committed for these partitions, or at all.

    `stable`: of offsets that a transaction is about to commit, wait for the outcome.
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions)
        )
    request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)

    def attempt(coordinator: Connection) -> dict[TopicPartition, Committed | KafkaError]:
        response = coordinator.ask(Api.OFFSET_FETCH, request)
        _check(response.error_code)
        return {
            TopicPartition(topic.name, each.partition_index): _committed(each)
            for topic in response.topics
            for each in topic.partitions
            if partitions is not None or each.committed_offset != NONE_COMMITTED
        }

    return _ask_coordinator(cluster, group, attempt)[1]


def _committed(answer: Any) -> Committed | KafkaError:
    try:
        _check(answer.error_code)
    except KafkaError as error:
        if error.code in PASSING:
            raise
        return error
    return Committed(answer.committed_offset, answer.committed_leader_epoch, answer.metadata or "")


def commit(
    cluster: ClusterView, group: str, offsets: Mapping[TopicPartition, Committed]
) -> Outcomes:
    """Commit for a group that has no members: whoever joins goes on from there."""
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=NO_GENERATION,
        member_id=NOBODY,
        group_instance_id=None,
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=it.offset,
                        committed_leader_epoch=it.leader_epoch,
                        committed_metadata=it.metadata,
                    )
                    for number in numbers
                    for it in [offsets[TopicPartition(topic, number)]]
                ),
            )
            for topic, numbers in by_topic(offsets)
        ),
    )

    def attempt(coordinator: Connection) -> Outcomes:
        return _outcomes(coordinator.ask(Api.OFFSET_COMMIT, request))

    return _ask_coordinator(cluster, group, attempt)[1]


def forget(cluster: ClusterView, group: str, partitions: Collection[TopicPartition]) -> Outcomes:
    """Delete what was committed for partitions that no member of the group reads."""
    request = OffsetDeleteRequest(
        group_id=group,
        topics=tuple(
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetDeleteRequestPartition(partition_index=number) for number in numbers
                ),
            )
            for topic, numbers in by_topic(partitions)
        ),
    )

    def attempt(coordinator: Connection) -> Outcomes:
        response = coordinator.ask(Api.OFFSET_DELETE, request)
        _check(response.error_code)
        return _outcomes(response)

    return _ask_coordinator(cluster, group, attempt)[1]


def _outcomes(response: Any) -> Outcomes:
    """Each partition's error. What passes, passes for all: the request is sent again."""
    outcomes: Outcomes = {}
    for topic in response.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            outcomes[partition] = None
            try:
                _check(each.error_code)
            except KafkaError as error:
                if error.code in PASSING - {ErrorCode.unknown_topic_or_partition}:
                    raise
                outcomes[partition] = error
    return outcomes


def _ask_coordinator(
    cluster: ClusterView, group: str, ask: Callable[[Connection], T]
) -> tuple[int, T]:
    """Which broker it is now, and what it says."""

    def attempt() -> tuple[int, T]:
        broker = find_coordinator(cluster, group)
        return broker, ask(cluster.node(broker))

    return cluster.retry(attempt)


def _check(code: ErrorCode) -> None:
    check(code, REASONS.get(code))
