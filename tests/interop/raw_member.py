"""A member of a group on a raw socket: every request by hand, every error code as it came."""

from datetime import timedelta
from types import SimpleNamespace as Message
from typing import Any

from engine.assignors.protocol import Subscription, encode_subscription
from engine.errors import ErrorCode
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.interop.raw import Raw
from tests.interop.watch import until

SUBSCRIPTION = encode_subscription(Subscription(("t",)))
PASSING = {ErrorCode.coordinator_not_available, ErrorCode.coordinator_load_in_progress}


class Member(Raw):
    """Speaks to the broker that it is given, coordinator or not."""

    def __init__(self, bootstrap: str, group: str) -> None:
        super().__init__(bootstrap)
        self.group = group
        self.id, self.generation, self.leads = "", -1, False
        self.instance: str | None = None

    def coordinator(self, group: str | None = None) -> str:
        """Its address, once there is one."""
        request = Message(key=self.group if group is None else group, key_type=0)

        def found() -> Any:
            answer = self.ask(Api.FIND_COORDINATOR, request)
            assert answer.error_code in PASSING | {ErrorCode.none}, answer
            return None if answer.error_code else answer

        answer = until(found)
        return f"{answer.host}:{answer.port}"

    # -- membership ------------------------------------------------------------------------

    def begin_to_join(self, version: int = 7, **more: Any) -> RequestHeader:
        protocols = more.pop("protocols", {"range": SUBSCRIPTION})
        fields: dict[str, Any] = {
            "group_id": self.group,
            "session_timeout": timedelta(milliseconds=more.pop("session_ms", 10_000)),
            "rebalance_timeout": timedelta(milliseconds=more.pop("rebalance_ms", 10_000)),
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": tuple(Message(name=n, metadata=m) for n, m in protocols.items()),
        }
        return self.post(Api.JOIN_GROUP, Message(**fields | more), version)

    def joined(self, asked: RequestHeader) -> Any:
        answer: Any = codec.decode_response(asked, self.frame())
        if answer.error_code == ErrorCode.member_id_required:
            self.id = answer.member_id
        if answer.error_code == ErrorCode.none:
            self.id, self.generation = answer.member_id, answer.generation_id
            self.leads = answer.leader == self.id
        return answer

    def join(self, **more: Any) -> Any:
        """Until there is an answer other than "come again with this id"."""
        answer = self.joined(self.begin_to_join(**more))
        if answer.error_code == ErrorCode.member_id_required:
            answer = self.joined(self.begin_to_join(**more))
        return answer

    def begin_to_sync(self, shares: dict[str, bytes] | None = None, **more: Any) -> RequestHeader:
        rows = tuple(Message(member_id=k, assignment=v) for k, v in (shares or {}).items())
        fields = {**self._who(), "protocol_type": "consumer", "protocol_name": "range"}
        return self.post(Api.SYNC_GROUP, Message(**fields | {"assignments": rows} | more))

    def synced(self, asked: RequestHeader) -> Any:
        return codec.decode_response(asked, self.frame())

    def sync(self, shares: dict[str, bytes] | None = None, **more: Any) -> Any:
        return self.synced(self.begin_to_sync(shares, **more))

    def heartbeat(self, **more: Any) -> ErrorCode:
        return self._code(Api.HEARTBEAT, Message(**self._who() | more))

    def leave(self) -> ErrorCode:
        members = (Message(member_id=self.id, group_instance_id=self.instance),)
        answer = self.ask(Api.LEAVE_GROUP, Message(group_id=self.group, members=members))
        return ErrorCode(answer.error_code or answer.members[0].error_code)

    # -- offsets ---------------------------------------------------------------------------

    def commit(self, topic: str, offset: int, partition: int = 0, **more: Any) -> ErrorCode:
        row = Message(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        topics = (Message(name=topic, partitions=(row,)),)
        answer = self.ask(Api.OFFSET_COMMIT, Message(**self._who() | {"topics": topics} | more))
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def committed(self, topic: str, partition: int = 0) -> int:
        """The committed offset of a partition; -1 if there is none."""
        topics = (Message(name=topic, partition_indexes=(partition,)),)
        request = Message(group_id=self.group, topics=topics, require_stable=True)

        def found() -> Any:
            answer = self.ask(Api.OFFSET_FETCH, request)
            # The others may know of a new coordinator before it does: a client would come back.
            passing = PASSING | {ErrorCode.not_coordinator}
            assert answer.error_code in passing | {ErrorCode.none}, answer
            return None if answer.error_code else answer.topics[0].partitions[0]

        return int(until(found).committed_offset)

    # -- groups ----------------------------------------------------------------------------

    def describe(self) -> Any:
        request = Message(groups=(self.group,), include_authorized_operations=False)
        return self.ask(Api.DESCRIBE_GROUPS, request).groups[0]

    def delete(self) -> ErrorCode:
        answer = self.ask(Api.DELETE_GROUPS, Message(groups_names=(self.group,)))
        return ErrorCode(answer.results[0].error_code)

    def _who(self) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
        }

    def _code(self, api: Api, request: Any) -> ErrorCode:
        return ErrorCode(self.ask(api, request).error_code)
