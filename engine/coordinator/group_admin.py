"""ListGroups (API 16), DescribeGroups (15) and DeleteGroups (42), in all their versions.

Each group that a request names has its own result: another broker may coordinate it, or it may
not exist. A group that does not exist is described as "Dead". Of a group that is not stable, the
members are listed without their subscriptions and assignments, which are about to change.

A client may ask which operations it may do on each group. Without an authorizer these are all, and
broker/authorization.py removes what is not allowed.
"""

from typing import Any

from kio.schema.delete_groups.v2 import response as delete_v2
from kio.schema.describe_groups.v5 import response as describe_v5
from kio.schema.list_groups.v4 import response as list_v4

from engine.coordinator.effects import Caller
from engine.coordinator.group import ClassicGroupState, Group
from engine.coordinator.group_metadata_manager import GroupMetadataManager
from engine.errors import ApiException, ErrorCode
from engine.wire.primitives import NO_THROTTLE

# Authorized operations are a bit for each operation of an ACL: read, delete, describe.
ON_GROUP = sum(1 << operation for operation in (3, 6, 8))
NOT_ASKED = -(2**31)  # operations that were not requested


def list_groups(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    is_loading = bool(groups.loading)
    return list_v4.ListGroupsResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.coordinator_load_in_progress if is_loading else ErrorCode.none,
        groups=tuple(
            list_v4.ListedGroup(
                group_id=each.id,
                protocol_type=each.members.protocol_type or "",
                group_state=each.state.value,
            )
            for each in groups
            if not request.states_filter or each.state.value in request.states_filter
        ),
    )


def describe(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    allowed = ON_GROUP if getattr(request, "include_authorized_operations", False) else NOT_ASKED
    return describe_v5.DescribeGroupsResponse(
        throttle_time=NO_THROTTLE,
        groups=tuple(_described(groups, each, allowed) for each in request.groups),
    )


def _described(groups: GroupMetadataManager, group_id: str, allowed: int) -> Any:
    code, group, state = ErrorCode.none, None, ""
    try:
        group = groups.find(group_id, may_be_empty=True)
        state = (group.state if group else ClassicGroupState.DEAD).value
    except ApiException as error:
        code = error.code
    is_stable = group is not None and group.state is ClassicGroupState.STABLE
    return describe_v5.DescribedGroup(
        error_code=code,
        group_id=group_id,
        group_state=state,
        protocol_type=(group and group.members.protocol_type) or "",
        protocol_data=(group and is_stable and group.members.protocol) or "",
        members=_described_members(group, is_stable) if group else (),
        authorized_operations=allowed if code == ErrorCode.none else NOT_ASKED,
    )


def _described_members(group: Group, is_stable: bool) -> tuple[Any, ...]:
    protocol = group.members.protocol or ""
    return tuple(
        describe_v5.DescribedGroupMember(
            member_id=each.id,
            group_instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.host,
            member_metadata=each.metadata(protocol) if is_stable else b"",
            member_assignment=each.assignment if is_stable else b"",
        )
        for each in group.members.values()
    )


def delete(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    return delete_v2.DeleteGroupsResponse(
        throttle_time=NO_THROTTLE,
        results=tuple(
            delete_v2.DeletableGroupResult(group_id=each, error_code=_delete(groups, each, now))
            for each in dict.fromkeys(request.groups_names)
        ),
    )


def _delete(groups: GroupMetadataManager, group_id: str, now: int) -> ErrorCode:
    try:
        group = groups.require(group_id, ErrorCode.group_id_not_found, may_be_empty=True)
    except ApiException as error:
        return error.code
    if group.state is not ClassicGroupState.EMPTY:
        return ErrorCode.non_empty_group
    group.delete(now)
    groups.keep(group)
    return ErrorCode.none
