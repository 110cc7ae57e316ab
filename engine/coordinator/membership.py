"""JoinGroup (API 11), SyncGroup (14), Heartbeat (12) and LeaveGroup (13), in all their versions.

What is decided in a group, group.py decides. Here is found which group that is, and what is said
if there is none: a new member makes one, and whoever believes to be a member already is told that
it is not.
"""

from typing import Any

from kio.schema.leave_group.v4.request import MemberIdentity

from engine.coordinator import answers
from engine.coordinator.answers import NO_MEMBER
from engine.coordinator.effects import Caller
from engine.coordinator.group import Group, milliseconds
from engine.coordinator.groups import Groups
from engine.coordinator.records import LONGEST
from engine.errors import ErrorCode, KafkaError

LONGEST_ID = LONGEST - 100  # leaves room for what we add to it


def join(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    config = groups.host.config
    group = groups.find(request.group_id)
    low, high = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    session = milliseconds(request.session_timeout)
    if not low <= session <= high:
        raise KafkaError(ErrorCode.invalid_session_timeout, f"{session} is not {low} to {high} ms")
    names = [caller.client_id, request.group_instance_id or "", request.protocol_type]
    names += [each.name for each in request.protocols]
    if any(len(each.encode()) > LONGEST_ID for each in names):
        raise KafkaError(ErrorCode.invalid_request, "a name that no record has room for")
    if group is None:
        if request.member_id != NO_MEMBER:
            raise _no_member(request.member_id)
        group = groups.new(request.group_id)
    answer = group.join(request, caller, now)
    groups.keep(group)
    return answer


def sync(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    return _group(groups, request).sync(request, caller, now)


def heartbeat(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    _group(groups, request).heartbeat(request, now)
    return answers.heard()


def leave(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    group = groups.find(request.group_id)
    members = request.members
    if hasattr(request, "member_id"):  # so it was before they could leave together
        members = (MemberIdentity(member_id=request.member_id),)
    return answers.left(caller, [(each, _leave(group, each, now)) for each in members])


def _leave(group: Group | None, member: Any, now: int) -> ErrorCode:
    try:
        if group is None:
            raise _no_member(member.member_id)
        group.leave(member.member_id, member.group_instance_id, now)
    except KafkaError as error:
        return error.code
    return ErrorCode.none


def _group(groups: Groups, request: Any) -> Group:
    return groups.require(request.group_id, ErrorCode.unknown_member_id)


def _no_member(id: str) -> KafkaError:
    return KafkaError(ErrorCode.unknown_member_id, f"{id} is in no group")
