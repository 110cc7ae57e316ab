"""What a coordinator answers, in the shape of each API's newest version.

The wire layer leaves out what an older version has no field for. What remains is said here: which
feature came with which version of its request, and how older clients are told of errors.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v7.request import JoinGroupRequest
from kio.schema.join_group.v7.response import JoinGroupResponse, JoinGroupResponseMember
from kio.schema.leave_group.v4.request import LeaveGroupRequest
from kio.schema.leave_group.v4.response import LeaveGroupResponse, MemberResponse
from kio.schema.offset_commit.v8.request import OffsetCommitRequest
from kio.schema.offset_commit.v8.response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
from kio.schema.offset_delete.v0.response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest
from kio.schema.offset_fetch.v7.response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kio.schema.sync_group.v5.request import SyncGroupRequest
from kio.schema.sync_group.v5.response import SyncGroupResponse

from engine.coordinator.effects import Caller
from engine.coordinator.records import UNKNOWN, OffsetValue
from engine.coordinator.roster import Roster
from engine.errors import ErrorCode
from engine.model import TopicPartition

NOW = 0  # throttle time: no client is ever slowed down
NO_MEMBER = ""  # the id of a member that has none yet
NO_GENERATION = -1
NO_OFFSET = -1

Codes = Mapping[TopicPartition, ErrorCode]


class Since(IntEnum):
    """From which version of its request on a client knows of a feature."""

    MEMBER_ID_REQUIRED = 4  # JoinGroup: is given an id first, and joins with it
    NO_PROTOCOL = 7  # JoinGroup: an error comes without a protocol, not with an empty one
    NAMED_PROTOCOL = 5  # SyncGroup: says what it believes the protocol to be
    LEAVING_TOGETHER = 3  # LeaveGroup: several members, each with an error of its own
    ERROR_OF_THE_GROUP = 2  # OffsetFetch: said once, not for each partition


def knows(caller: Caller, feature: Since) -> bool:
    return caller.version >= feature


def joined(roster: Roster, member_id: str, generation: int, leader: str | None = None) -> Any:
    """The end of a rebalance. The leader is told who is in the group, to share the work out."""
    leader = leader or roster.leader
    everyone = roster.members.values() if member_id == leader else ()
    return JoinGroupResponse(
        throttle_time=NOW,
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
        throttle_time=NOW,
        error_code=error,
        generation_id=NO_GENERATION,
        protocol_name=None if knows(caller, Since.NO_PROTOCOL) else "",
        leader=NO_MEMBER,
        member_id=member_id,
        members=(),
    )


def synced(roster: Roster, assignment: bytes) -> Any:
    return SyncGroupResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        protocol_type=roster.protocol_type,
        protocol_name=roster.protocol,
        assignment=assignment,
    )


def not_synced(error: ErrorCode) -> Any:
    return SyncGroupResponse(throttle_time=NOW, error_code=error, assignment=b"")


def heard(error: ErrorCode = ErrorCode.none) -> Any:
    return HeartbeatResponse(throttle_time=NOW, error_code=error)


def left(caller: Caller, members: Iterable[Any], errors: Iterable[ErrorCode]) -> Any:
    rows = tuple(
        MemberResponse(
            member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=error
        )
        for each, error in zip(members, errors, strict=True)
    )
    alone = rows and not knows(caller, Since.LEAVING_TOGETHER)
    error = rows[0].error_code if alone else ErrorCode.none
    return LeaveGroupResponse(throttle_time=NOW, error_code=error, members=rows)


def committed(codes: Mapping[TopicPartition, ErrorCode]) -> Any:
    return OffsetCommitResponse(
        throttle_time=NOW,
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitResponsePartition(partition_index=number, error_code=code)
                    for number, code in rows
                ),
            )
            for topic, rows in _topics(codes)
        ),
    )


def fetched(offsets: Mapping[TopicPartition, Found], error: ErrorCode = ErrorCode.none) -> Any:
    return OffsetFetchResponse(
        throttle_time=NOW,
        error_code=error,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic,
                partitions=tuple(
                    OffsetFetchResponsePartition(
                        partition_index=number,
                        committed_offset=value.offset,
                        committed_leader_epoch=value.leader_epoch,
                        metadata=value.metadata,
                        error_code=code,
                    )
                    for number, (value, code) in rows
                ),
            )
            for topic, rows in _topics(offsets)
        ),
    )


def deleted(
    codes: Mapping[TopicPartition, ErrorCode], error: ErrorCode = ErrorCode.none
) -> Any:
    return OffsetDeleteResponse(
        throttle_time=NOW,
        error_code=error,
        topics=tuple(
            OffsetDeleteResponseTopic(
                name=topic,
                partitions=tuple(
                    OffsetDeleteResponsePartition(partition_index=number, error_code=code)
                    for number, code in rows
                ),
            )
            for topic, rows in _topics(codes)
        ),
    )


def _topics(by_partition: Mapping[TopicPartition, T]) -> Iterable[tuple[str, list[tuple[int, T]]]]:
    topics: dict[str, list[tuple[int, T]]] = {}
    for (topic, number), it in by_partition.items():
        topics.setdefault(topic, []).append((number, it))
    return topics.items()


# -- errors of a whole request -----------------------------------------------------------------


def refused(request: Any, caller: Caller, error: ErrorCode) -> Any:
    """While groups are being loaded, members are told what lets them wait and ask again: older
    clients know COORDINATOR_LOAD_IN_PROGRESS from some answers only."""
    is_loading = error == ErrorCode.coordinator_load_in_progress
    if isinstance(request, JoinGroupRequest):
        return not_joined(caller, request.member_id, error)
    if isinstance(request, SyncGroupRequest):
        return not_synced(ErrorCode.rebalance_in_progress if is_loading else error)
    if isinstance(request, HeartbeatRequest):
        return heard(ErrorCode.none if is_loading else error)
    if isinstance(request, LeaveGroupRequest):
        return LeaveGroupResponse(throttle_time=NOW, error_code=error, members=())
    if isinstance(request, OffsetCommitRequest):
        return committed(dict.fromkeys(partitions(request), error))
    if isinstance(request, OffsetFetchRequest):
        ...
    assert isinstance(request, OffsetDeleteRequest)
    return deleted({}, error)
