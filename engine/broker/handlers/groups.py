"""FindCoordinator (API 10), versions 0 to 3, and the requests to a group coordinator:

    JoinGroup 11    SyncGroup 14    Heartbeat 12    LeaveGroup 13          engine/coordinator/
    OffsetCommit 8    OffsetFetch 9    OffsetDelete 47                       group_coordinator,
    ListGroups 16    DescribeGroups 15    DeleteGroups 42                    offset_commits,
    TxnOffsetCommit 28                                                       group_admin

Any broker knows the coordinator of a group: the leader of its partition of __consumer_offsets, or
of __transaction_state for a transactional id. The first FindCoordinator creates the topic, and gets
COORDINATOR_NOT_AVAILABLE, which clients retry.

Several groups in one FindCoordinator or OffsetFetch came with Kafka 3.0.
"""

from dataclasses import dataclass
from typing import Any

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse

from engine.broker.call import Call
from engine.broker.coordinator_service import CoordinatorService, GroupService, TransactionService
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.handlers.results import attempt, code_of, message_of
from engine.broker.metadata import AliveBroker, Metadata
from engine.errors import ApiException, ErrorCode, MetadataError, invalid_request
from engine.model import NO_BROKER
from engine.wire.primitives import NO_THROTTLE

GROUP, TRANSACTION = 0, 1  # the kind of id that a key is


async def handle(groups: GroupService, call: Call, request: Any) -> Any:
    client_id = call.header.client_id or ""
    return await groups.handle(request, call.version, client_id, call.host)


@dataclass(frozen=True)
class FindCoordinatorHandler:
    groups: GroupService
    transactions: TransactionService
    metadata: Metadata
    creation: AutoTopicCreationManager

    async def handle(self, call: Call, request: Any) -> FindCoordinatorResponse:
        found = await attempt(self._find(call, request.key, request.key_type))
        node = AliveBroker(NO_BROKER, "", -1) if isinstance(found, ApiException) else found
        return FindCoordinatorResponse(
            throttle_time=NO_THROTTLE,
            error_code=code_of(found),
            error_message=message_of(found) or "NONE",  # as Kafka's, a word for no error
            node_id=node.id,
            host=node.host,
            port=node.port,
        )

    async def _find(self, call: Call, key: str, kind: int) -> AliveBroker:
        kinds: dict[int, CoordinatorService[Any]] = {
            GROUP: self.groups,
            TRANSACTION: self.transactions,
        }
        if kind not in kinds:
            raise invalid_request(f"unknown coordinator type {kind}")
        topic = kinds[kind].partition_of(key).topic
        if topic not in self.metadata.topics:
            try:
                await self.creation.create(topic)
            except (ApiException, MetadataError) as error:
                code = ErrorCode.coordinator_not_available
                raise ApiException(code, f"{topic} cannot be created: {error}") from error
        leader = kinds[kind].coordinator_of(key)
        node = leader and leader.at(call.listener)
        if node is None:
            raise ApiException(
                ErrorCode.coordinator_not_available, "The coordinator is not available."
            )
        return node
