"""The group coordinator of a broker; coordinator.py shows how the broker uses it.

JoinGroup (API 11), SyncGroup (14), Heartbeat (12) and LeaveGroup (13), in all their versions, are
here: they find the group, and group.py handles them. The other requests are in offset_commits.py
and group_admin.py.

Invariant: replaying the replicated records restores everything acknowledged: the same offsets, and
the same generation of a stable group. Only deletions are acknowledged before, as in Kafka.
Invariant: offsets that belong to a transaction (KIP-98) are visible once it is committed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kio.schema.leave_group.v4.request import MemberIdentity

from engine.config import BrokerConfig
from engine.coordinator import group_admin, offset_commits, responses
from engine.coordinator.coordinator import Coordinator, Handler, Interval
from engine.coordinator.effects import Caller, CoordinatorContext, Effect
from engine.coordinator.group import Group
from engine.coordinator.group_metadata_manager import GroupMetadataManager
from engine.coordinator.records import MAX_STRING_BYTES
from engine.coordinator.responses import NO_MEMBER
from engine.coordinator.timers import AlarmKind
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import Event, TopicPartition
from engine.wire.primitives import milliseconds

MAX_NAME_BYTES = MAX_STRING_BYTES - 100  # a suffix is added to a name

# -- JoinGroup, SyncGroup, Heartbeat, LeaveGroup -------------------------------------------------


def join(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    config = groups.context.config
    group = groups.find(request.group_id)
    low, high = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    session = milliseconds(request.session_timeout)
    if not low <= session <= high:
        raise ApiException(
            ErrorCode.invalid_session_timeout, f"{session} is not {low} to {high} ms"
        )
    names = [caller.client_id, request.group_instance_id or "", request.protocol_type]
    names += [each.name for each in request.protocols]
    if any(len(each.encode()) > MAX_NAME_BYTES for each in names):
        raise invalid_request("a name is too long for a record")
    if group is None:
        if request.member_id != NO_MEMBER:
            raise _unknown_member(request.member_id)
        group = groups.new(request.group_id)
    response = group.join(request, caller, now)
    groups.keep(group)
    return response


def sync(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    group = groups.require(request.group_id, ErrorCode.unknown_member_id)
    return group.sync(request, caller, now)


def heartbeat(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    groups.require(request.group_id, ErrorCode.unknown_member_id).heartbeat(request, now)
    return responses.heartbeat()


def join_refused(request: Any, caller: Caller, error: ErrorCode) -> Any:
    """With the member's id, unless the group has no room for it: then it is no member any more."""
    is_full = error == ErrorCode.group_max_size_reached
    return responses.not_joined(caller, NO_MEMBER if is_full else request.member_id, error)


def sync_refused(request: Any, caller: Caller, error: ErrorCode) -> Any:
    """Clients do not know COORDINATOR_LOAD_IN_PROGRESS here; nor in a Heartbeat's response."""
    is_loading = error == ErrorCode.coordinator_load_in_progress
    return responses.not_synced(ErrorCode.rebalance_in_progress if is_loading else error)


def heartbeat_refused(request: Any, caller: Caller, error: ErrorCode) -> Any:
    is_loading = error == ErrorCode.coordinator_load_in_progress
    return responses.heartbeat(ErrorCode.none if is_loading else error)


def leave(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    group = groups.find(request.group_id)
    members = request.members
    if hasattr(request, "member_id"):  # older versions name a single member
        members = (MemberIdentity(member_id=request.member_id),)
    return responses.left(caller, [(each, _leave(group, each, now)) for each in members])


def _leave(group: Group | None, member: Any, now: int) -> ErrorCode:
    try:
        if group is None:
            raise _unknown_member(member.member_id)
        said = responses.said(member)
        group.leave(member.member_id, member.group_instance_id, said, now)
    except ApiException as error:
        return error.code
    return ErrorCode.none


def _unknown_member(id: str) -> ApiException:
    return ApiException(ErrorCode.unknown_member_id, f"{id} is not a member of a group")


# -- all requests ----------------------------------------------------------------------------------


HANDLERS: Mapping[str, Handler] = {
    "JoinGroup": Handler(join, join_refused),
    "SyncGroup": Handler(sync, sync_refused),
    "Heartbeat": Handler(heartbeat, heartbeat_refused),
    "LeaveGroup": Handler(leave, lambda it, caller, code: responses.not_left(code)),
    "OffsetCommit": Handler(offset_commits.commit),
    "TxnOffsetCommit": Handler(offset_commits.commit_in_transaction),
    "OffsetFetch": Handler(offset_commits.fetch, offset_commits.not_fetched),
    "OffsetDelete": Handler(
        offset_commits.delete, lambda it, caller, code: offset_commits.with_codes({}, code)
    ),
    "ListGroups": Handler(group_admin.list_groups),
    "DescribeGroups": Handler(group_admin.describe),
    "DeleteGroups": Handler(group_admin.delete),
}


class GroupCoordinator(Coordinator):
    handlers = HANDLERS
    checks: Mapping[AlarmKind, Interval] = {
        AlarmKind.OFFSETS: lambda config: config.offsets_retention_check_interval_ms
    }

    def __init__(
        self,
        config: BrokerConfig,
        new_id: Callable[[], str],  # a string that it has never returned before
        exists: Callable[[TopicPartition], bool],
        emit: Callable[[Event], None],
    ) -> None:
        context = CoordinatorContext(config, new_id, emit)
        count = config.offsets_topic_num_partitions
        self.groups = GroupMetadataManager(context, count, exists)
        super().__init__(context, self.groups)

    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> list[Effect]:
        self.groups.end_transaction(partition, producer_id, committed, now)
        return self._context.take_effects()

    def unload(self, partition: int, now: int) -> list[Effect]:
        for group in self.groups.unload(partition):
            group.stop(now)
        self._context.fail_writes(partition, now)
        return self._context.take_effects()

    def forget(self, partitions: Iterable[TopicPartition], now: int) -> list[Effect]:
        """Remove the offsets of deleted topics."""
        deleted = list(partitions)
        self._remove_offsets(lambda group: deleted, now)
        return self._context.take_effects()

    def _check(self, kind: AlarmKind, now: int) -> None:
        self._remove_offsets(lambda group: group.expired_offsets(now), now)

    def _remove_offsets(self, which: Callable[[Group], Iterable[TopicPartition]], now: int) -> None:
        for group in self.groups:
            group.remove_offsets(which(group), now)
            self.groups.keep(group)

    def snapshot(self) -> list[dict[str, Any]]:
        return [
            {
                "group": group.id,
                "partition": group.partition,
                "state": group.state.value,
                "since": group.since,
                "generation": group.generation,
                "protocol": group.members.protocol,
                "leader": group.members.leader,
                "members": [
                    {
                        "member": each.id,
                        "instance": each.instance_id,
                        "client": each.client_id,
                        "host": each.host,
                        "share": group.assigned_partitions(each),
                        "waits": each.is_waiting,
                    }
                    for each in group.members.values()
                ],
                "offsets": {str(each): it.offset for each, it in group.offsets.stored.items()},
            }
            for group in self.groups
        ]
