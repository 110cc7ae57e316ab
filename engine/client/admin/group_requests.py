"""Requests about consumer groups: their members and their committed offsets.

    coordinator      -> the broker that leads the group's partition of __consumer_offsets; only it
                        knows the group: describe, delete, committed, commit, delete_offsets
    list_groups      -> every broker, since each knows only the groups that it coordinates

The coordinator moves with the leader of its partition, and loads the partition before it answers.
Errors of both kinds pass: the coordinator is looked up again, and the request is sent to it.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.describe_groups.v5.request import DescribeGroupsRequest
from kio.schema.list_groups.v4.request import ListGroupsRequest
from kio.schema.offset_delete.v0 import request as offset_delete

from engine.assignors.protocol import decode_assignment
from engine.client.admin.operation import Outcomes, operation, outcomes, to_coordinator
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

REASONS = {  # for codes that come without a message
    ErrorCode.group_id_not_found: "The group id does not exist.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unknown_member_id: "The group is not empty: only its members commit.",
    ErrorCode.group_subscribed_to_topic: "The group is actively subscribed to the topic.",
}
CONSUMER = "consumer"  # as a protocol: the members share partitions
NOTHING_COMMITTED = OffsetAndMetadata(-1)
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
    """The groups of all brokers, and the errors of brokers that did not answer. All are asked
    before one is asked again: one that is dead takes no time from the others."""
    groups: dict[str, ListedGroup] = {}
    failed: dict[int, ApiException] = {}
    cluster.retry(cluster.refresh)
    waiting = set(cluster.metadata.brokers)

    def ask_each() -> None:
        for broker in sorted(waiting):
            try:
                groups.update(_groups_of(cluster, broker, states))
            except ApiException as error:
                failed[broker] = error
            else:
                waiting.discard(broker)
                failed.pop(broker, None)
        alive = [failed[each] for each in sorted(waiting & cluster.metadata.brokers.keys())]
        if alive:
            raise next((each for each in alive if each.code in PASSING), alive[0])

    with suppress(ApiException):  # it is in `failed`
        cluster.retry(ask_each)
    return groups, failed


def _groups_of(
    cluster: ClusterClient, broker: int, states: Iterable[str]
) -> dict[str, ListedGroup]:
    request = ListGroupsRequest(states_filter=tuple(states))
    response = cluster.ask(broker, Api.LIST_GROUPS, request)
    check(response.error_code, what=f"broker {broker}")
    return {
        row.group_id: ListedGroup(row.protocol_type, row.group_state) for row in response.groups
    }


def _only_group(response: Any) -> Any:
    (group,) = response.groups
    _check(group)
    return group


@operation(Api.DESCRIBE_GROUPS, to_coordinator, _only_group)
def describe_group(group: str) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=(group,), include_authorized_operations=False)


def describe(cluster: ClusterClient, name: str) -> DescribedGroup:
    """An unknown group has the state "Dead"."""
    coordinator, group = describe_group.answer(cluster, name)
    is_consumers = group.protocol_type == CONSUMER
    members = tuple(_member(member, is_consumers) for member in group.members)
    return DescribedGroup(
        coordinator, group.group_state, group.protocol_type, group.protocol_data, members
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


@operation(Api.DELETE_GROUPS, to_coordinator, lambda response: _check(response.results[0]))
def delete(group: str) -> DeleteGroupsRequest:
    """With its committed offsets; it must have no members."""
    return DeleteGroupsRequest(groups_names=(group,))


# -- offsets -----------------------------------------------------------------------------------


def _fetched(response: Any) -> FetchedOffsets:
    _check(response)
    return {partition: _committed(row) for partition, row in by_partition(response.topics)}


def _committed(row: Any) -> OffsetAndMetadata | ApiException:
    try:
        _check(row)
    except ApiException as error:
        if error.code in PASSING:
            raise
        return error
    return OffsetAndMetadata.of(row)


@operation(Api.OFFSET_FETCH, to_coordinator, _fetched)
def fetch_offsets(
    group: str, partitions: Collection[TopicPartition] | None, stable: bool = False
) -> Any:
    return fetch_request(group, partitions and sorted(partitions), stable)


def committed(
    cluster: ClusterClient,
    group: str,
    partitions: Collection[TopicPartition] | None = None,
    stable: bool = False,
) -> FetchedOffsets:
    """The offsets that a group has committed, for these partitions or for all.

    `stable`: if a transaction is committing an offset, wait for its outcome.
    """
    found = fetch_offsets(cluster, group, partitions, stable)
    if partitions is None:
        found = {place: offset for place, offset in found.items() if offset != NOTHING_COMMITTED}
    return found


def committed_offsets(cluster: ClusterClient, group: str) -> dict[TopicPartition, int]:
    """Every offset that the group has committed and the coordinator can give now."""
    return {
        partition: found.offset
        for partition, found in committed(cluster, group).items()
        if isinstance(found, OffsetAndMetadata)
    }


def _outcomes(response: Any) -> Outcomes:
    """Each partition's error. If one may pass, the request is sent again."""
    passing = PASSING - {ErrorCode.unknown_topic_or_partition}
    return outcomes(by_partition(response.topics), _check, passing)


@operation(Api.OFFSET_COMMIT, to_coordinator, _outcomes)
def commit(group: str, offsets: Offsets) -> Any:
    """Commit for a group that has no members: a member that joins later starts there."""
    return commit_request(ConsumerGroupMetadata(group), offsets)


def _deleted(response: Any) -> Outcomes:
    _check(response)
    return _outcomes(response)


@operation(Api.OFFSET_DELETE, to_coordinator, _deleted)
def delete_offsets(
    group: str, partitions: Collection[TopicPartition]
) -> offset_delete.OffsetDeleteRequest:
    """Delete the committed offsets of partitions that no member of the group reads."""
    rows = (
        (
            partition,
            offset_delete.OffsetDeleteRequestPartition(partition_index=partition.partition),
        )
        for partition in sorted(partitions)
    )
    return offset_delete.OffsetDeleteRequest(
        group_id=group, topics=topics_of(offset_delete.OffsetDeleteRequestTopic, rows)
    )


def _check(row: Any) -> None:
    check(row.error_code, REASONS.get(row.error_code))
