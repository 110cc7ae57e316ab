"""What members are answered, in the shape of each API's newest version.

The wire layer leaves out what an older version has no field for. What remains is said here: which
feature came with which version of its request, and how older clients are told of errors.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v7.response import JoinGroupResponse, JoinGroupResponseMember
from kio.schema.leave_group.v4.response import LeaveGroupResponse, MemberResponse
from kio.schema.sync_group.v5.response import SyncGroupResponse

from engine.coordinator.effects import Caller
from engine.coordinator.roster import Roster
from engine.errors import ErrorCode

NO_THROTTLE = 0  # no client is ever slowed down
NO_MEMBER = ""  # the id of a member that has none yet
NO_GENERATION = -1


class Since(Enum):
    """From which version of which request on a client knows of a feature."""

    MEMBER_ID_REQUIRED = "JoinGroup", 4  # is given an id first, and joins with it
    NO_PROTOCOL = "JoinGroup", 7  # an error comes without a protocol, not with an empty one
    NAMED_PROTOCOL = "SyncGroup", 5  # says what it believes the protocol to be
    LEAVING_TOGETHER = "LeaveGroup", 3  # several members, each with an error of its own
    ERROR_OF_THE_GROUP = "OffsetFetch", 2  # said once, not for each partition
    LOADING = "TxnOffsetCommit", 2  # the group is being read; before, producers die of this error


def knows(caller: Caller, feature: Since) -> bool:
    _, version = feature.value
    return caller.version >= version


def joined(roster: Roster, member_id: str, generation: int, leader: str | None = None) -> Any:
    """The end of a rebalance. The leader is told who is in the group, to share the work out."""
    leader = leader or roster.leader
    everyone = roster.members.values() if member_id == leader else ()
    return JoinGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        generation_id=generation,
        protocol_type=roster.protocol_type,
        protocol_name=roster.protocol,
        leader=leader,
        member_id=member_id,
        members=tuple(
            JoinGroupResponseMember(
                member_id=each.id,
                group_instance_id=each.instance_id,
                metadata=each.metadata(roster.protocol or ""),
            )
            for each in everyone
        ),
    )


def not_joined(caller: Caller, member_id: str, error: ErrorCode) -> Any:
    return JoinGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=error,
        generation_id=NO_GENERATION,
        protocol_name=None if knows(caller, Since.NO_PROTOCOL) else "",
        leader=NO_MEMBER,
        member_id=member_id,
        members=(),
    )


def synced(roster: Roster, assignment: bytes) -> Any:
    return SyncGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        protocol_type=roster.protocol_type,
        protocol_name=roster.protocol,
        assignment=assignment,
    )


def not_synced(error: ErrorCode) -> Any:
    return SyncGroupResponse(throttle_time=NO_THROTTLE, error_code=error, assignment=b"")


def heard(error: ErrorCode = ErrorCode.none) -> Any:
    return HeartbeatResponse(throttle_time=NO_THROTTLE, error_code=error)


def left(caller: Caller, members: Iterable[tuple[Any, ErrorCode]]) -> Any:
    rows = tuple(
        MemberResponse(
            member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
        )
        for each, code in members
    )
    alone = rows and not knows(caller, Since.LEAVING_TOGETHER)
    return LeaveGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=rows[0].error_code if alone else ErrorCode.none,
        members=rows,
    )


def not_left(error: ErrorCode) -> Any:
    return LeaveGroupResponse(throttle_time=NO_THROTTLE, error_code=error, members=())
