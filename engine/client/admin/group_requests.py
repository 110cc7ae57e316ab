"""Requests about consumer groups: their members and their committed offsets.

    coordinator      -> the broker that leads the group's partition of __consumer_offsets; only it
                        knows the group: describe, delete, committed, commit, delete_offsets
    list_groups      -> every broker, since each knows only the groups that it coordinates

The coordinator moves with the leader of its partition, and loads the partition before it answers.
Errors of both kinds pass: the coordinator is looked up again, and the request is sent to it.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.list_groups.v4.request import ListGroupsRequest
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

from engine.assignors.protocol import decode_assignment
from engine.client.admin.requests import Outcomes, outcomes
from engine.client.cluster import PASSING, ClusterClient, check
from engine.client.consuming.offset_commits import FetchedOffsets
from engine.client.offset_and_metadata import (
    OffsetAndMetadata,
    Offsets,
    commit_request,
    fetch_request,
)
from engine.client.values import ConsumerGroupMetadata
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, topics_of

T = TypeVar("T")

REASONS = {  # for codes that come without a message
    ErrorCode.group_id_not_found: "The group id does not exist.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unknown_member_id: "The group is not empty: only its members commit.",
    ErrorCode.group_subscribed_to_topic: "The group is actively subscribed to the topic.",
}
CONSUMER = "consumer"  # as a protocol: the members share partitions
NONE_COMMITTED = -1
EMPTY, DEAD, STABLE = "Empty", "Dead", "Stable"  # the first two have no members


class ListedGroup(NamedTuple):
    protocol_type: str
    state: str  # "" if the broker is too old to report it


class DescribedMember(NamedTuple):
    id: str
    instance_id: str | None  # of a static member
    client_id: str
    host: str
    subscription: bytes
    assignment: bytes
    partitions: tuple[TopicPartition, ...]  # of the assignment, in a consumers' group


class DescribedGroup(NamedTuple):
    coordinator: int
    state: str
    protocol_type: str
    protocol: str  # the assignor, once the members have agreed on one
    members: tuple[DescribedMember, ...]


def list_groups(
    cluster: ClusterClient, states: Iterable[str] = ()
) -> tuple[dict[str, ListedGroup], dict[int, ApiException]]:
    """The groups of all brokers, and the errors of brokers that did not answer."""
    groups: dict[str, ListedGroup] = {}
    failed: dict[int, ApiException] = {}
    cluster.retry(cluster.refresh)
    for broker in sorted(cluster.metadata.brokers):
        try:
            groups |= cluster.retry(partial(_groups_of, cluster, broker, states))
        except ApiException as error:
            failed[broker] = error
    return groups, failed


def _groups_of(
    cluster: ClusterClient, broker: int, states: Iterable[str]
) -> dict[str, ListedGroup]:
    request = ListGroupsRequest(states_filter=tuple(states))
    response = cluster.ask(broker, Api.LIST_GROUPS, request)
    check(response.error_code, what=f"broker {broker}")
    return {
        each.group_id: ListedGroup(each.protocol_type, each.group_state) for each in response.groups
    }


def describe(cluster: ClusterClient, group: str) -> DescribedGroup:
    """An unknown group has the state "Dead"."""
    request = DescribeGroupsRequest(groups=(group,), include_authorized_operations=False)

    def take(response: Any) -> Any:
        _check(response.groups[0])
        return response.groups[0]

    broker, found = _ask_coordinator(cluster, group, Api.DESCRIBE_GROUPS, request, take)
    is_consumers = found.protocol_type == CONSUMER
    members = tuple(_member(each, is_consumers) for each in found.members)
    return DescribedGroup(
        broker, found.group_state, found.protocol_type, found.protocol_data, members
    )


def _member(member: Any, is_consumer: bool) -> DescribedMember:
    assignment = bytes(member.member_assignment)
    return DescribedMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        bytes(member.member_metadata),
        assignment,
        decode_assignment(assignment).partitions if is_consumer and assignment else (),
    )


def delete(cluster: ClusterClient, group: str) -> None:
    """With its committed offsets; it must have no members."""
    request = DeleteGroupsRequest(groups_names=(group,))
    _ask_coordinator(cluster, group, Api.DELETE_GROUPS, request, lambda it: _check(it.results[0]))


# -- offsets -----------------------------------------------------------------------------------


def committed(
    cluster: ClusterClient,
    group: str,
    partitions: Collection[TopicPartition] | None = None,
    stable: bool = False,
) -> FetchedOffsets:
    """The offsets that a group has committed, for these partitions or for all.

    `stable`: if a transaction is committing an offset, wait for its outcome.
    """
    request = fetch_request(group, partitions and sorted(partitions), stable)

    def take(response: Any) -> FetchedOffsets:
        _check(response)
        return {
            partition: _committed(row)
            for partition, row in by_partition(response.topics)
            if partitions is not None or row.committed_offset != NONE_COMMITTED
        }

    return _ask_coordinator(cluster, group, Api.OFFSET_FETCH, request, take)[1]


def committed_offsets(cluster: ClusterClient, group: str) -> dict[TopicPartition, int]:
    """Every offset that the group has committed and the coordinator can give now."""
    found = committed(cluster, group).items()
    return {partition: it.offset for partition, it in found if isinstance(it, OffsetAndMetadata)}


def _committed(answer: Any) -> OffsetAndMetadata | ApiException:
    try:
        _check(answer)
    except ApiException as error:
        if error.code in PASSING:
            raise
        return error
    return OffsetAndMetadata.of(answer)


def commit(cluster: ClusterClient, group: str, offsets: Offsets) -> Outcomes:
    """Commit for a group that has no members: a member that joins later starts there."""
    request = commit_request(ConsumerGroupMetadata(group), offsets)
    return _ask_coordinator(cluster, group, Api.OFFSET_COMMIT, request, _outcomes)[1]


def delete_offsets(
    cluster: ClusterClient, group: str, partitions: Collection[TopicPartition]
) -> Outcomes:
    """Delete the committed offsets of partitions that no member of the group reads."""
    rows = (
        (each, OffsetDeleteRequestPartition(partition_index=each.partition))
        for each in sorted(partitions)
    )
    topics = topics_of(OffsetDeleteRequestTopic, rows)
    request = OffsetDeleteRequest(group_id=group, topics=topics)

    def take(response: Any) -> Outcomes:
        _check(response)
        return _outcomes(response)

    return _ask_coordinator(cluster, group, Api.OFFSET_DELETE, request, take)[1]


def _outcomes(response: Any) -> Outcomes:
    """Each partition's error. If one may pass, the request is sent again."""
    rows = by_partition(response.topics)
    passing = PASSING - {ErrorCode.unknown_topic_or_partition}
    return outcomes(rows, _check, passing)


def _ask_coordinator(
    cluster: ClusterClient, group: str, api: Api, request: Any, take: Callable[[Any], T]
) -> tuple[int, T]:
    """The coordinator's id, and the result of `take` on its response."""

    def attempt() -> tuple[int, T]:
        broker = cluster.coordinator(group)
        return broker, take(cluster.ask(broker, api, request))

    return cluster.retry(attempt)


def _check(row: Any) -> None:
    check(row.error_code, REASONS.get(row.error_code))
