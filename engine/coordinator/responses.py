"""The responses to members, in the shape of each API's newest version.

The wire layer leaves out the fields that an older version does not have. Here is the rest: which
feature came with which version of its request, and how errors are reported to older clients.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v9.response import JoinGroupResponse, JoinGroupResponseMember
from kio.schema.leave_group.v4.response import LeaveGroupResponse, MemberResponse
from kio.schema.sync_group.v5.response import SyncGroupResponse

from engine.coordinator.effects import Caller
from engine.coordinator.members import Members
from engine.errors import ErrorCode
from engine.wire.primitives import NO_THROTTLE

NO_MEMBER = ""  # the id of a member that has none yet
NO_GENERATION = -1
LONGEST_REASON = 255  # characters that a client sends, by KIP-800


class FirstVersion(Enum):
    """The first version of a request whose clients know a feature."""

    MEMBER_ID_REQUIRED = "JoinGroup", 4  # the client gets a member id first, and joins with it
    NO_PROTOCOL = "JoinGroup", 7  # an error comes without a protocol, not with an empty one
    SKIPPED_ASSIGNMENT = "JoinGroup", 9  # a leader that is back is told to assign nothing
    NAMED_PROTOCOL = "SyncGroup", 5  # the client names the protocol that it expects
    LEAVING_TOGETHER = "LeaveGroup", 3  # several members, each with its own error
    ERROR_OF_THE_GROUP = "OffsetFetch", 2  # one field for it, instead of one for each partition
    LOADING = "TxnOffsetCommit", 2  # the group is being loaded; older producers fail for good


def knows(caller: Caller, feature: FirstVersion) -> bool:
    _, version = feature.value
    return caller.version >= version


def said(request: Any) -> str:
    """Why a member joins or leaves, in its own words; clients tell it since JoinGroup 8."""
    reason = getattr(request, "reason", None)
    return f": {reason[:LONGEST_REASON]}" if reason else ""


def is_back(
    caller: Caller, members: Members, member_id: str, generation: int, leader: str | None
) -> Any:
    """A static member has restarted in a stable group. If it leads, it must not assign partitions:
    no member would ask for what it assigned. Since JoinGroup 9 it is told so. To an older one the
    response names the leader as it was before, by an id that it does not have any more."""
    if not knows(caller, FirstVersion.SKIPPED_ASSIGNMENT):
        return joined(members, member_id, generation, leader)
    return joined(members, member_id, generation, skip=member_id == members.leader)


def joined(
    members: Members, member_id: str, generation: int, leader: str | None = None, skip: bool = False
) -> Any:
    """The end of a rebalance. Only the leader gets the list of members: it assigns partitions."""
    leader = leader or members.leader
    listed = members.values() if member_id == leader else ()
    return JoinGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        generation_id=generation,
        protocol_type=members.protocol_type,
        protocol_name=members.protocol,
        leader=leader,
        skip_assignment=skip,
        member_id=member_id,
        members=tuple(
            JoinGroupResponseMember(
                member_id=each.id,
                group_instance_id=each.instance_id,
                metadata=each.metadata(members.protocol or ""),
            )
            for each in listed
        ),
    )


def not_joined(caller: Caller, member_id: str, error: ErrorCode) -> Any:
    return JoinGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=error,
        generation_id=NO_GENERATION,
        protocol_name=None if knows(caller, FirstVersion.NO_PROTOCOL) else "",
        leader=NO_MEMBER,
        member_id=member_id,
        members=(),
    )


def synced(members: Members, assignment: bytes) -> Any:
    return SyncGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        protocol_type=members.protocol_type,
        protocol_name=members.protocol,
        assignment=assignment,
    )


def not_synced(error: ErrorCode) -> Any:
    return SyncGroupResponse(throttle_time=NO_THROTTLE, error_code=error, assignment=b"")


def heartbeat(error: ErrorCode = ErrorCode.none) -> Any:
    return HeartbeatResponse(throttle_time=NO_THROTTLE, error_code=error)


def left(caller: Caller, members: Iterable[tuple[Any, ErrorCode]]) -> Any:
    rows = tuple(
        MemberResponse(
            member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
        )
        for each, code in members
    )
    alone = rows and not knows(caller, FirstVersion.LEAVING_TOGETHER)
    return LeaveGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=rows[0].error_code if alone else ErrorCode.none,
        members=rows,
    )


def not_left(error: ErrorCode) -> Any:
    return LeaveGroupResponse(throttle_time=NO_THROTTLE, error_code=error, members=())
