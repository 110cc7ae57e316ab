"""FindCoordinator (API 10), versions 0 to 3, and all that is asked of a coordinator:

    JoinGroup 11    SyncGroup 14    Heartbeat 12    LeaveGroup 13          engine/coordinator/
    OffsetCommit 8    OffsetFetch 9    OffsetDelete 47                       membership, committing,
    ListGroups 16    DescribeGroups 15    DeleteGroups 42                    listing
    TxnOffsetCommit 28

Any broker knows who coordinates a group: the leader of its partition of __consumer_offsets; and
who coordinates a transactional id: that of __transaction_state. The first who asks has the topic
created, and is told to ask again (COORDINATOR_NOT_AVAILABLE).

Several groups in one FindCoordinator or OffsetFetch came with Kafka 3.0.
"""

from typing import Any

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse

from engine.broker import creation
from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE, attempt
from engine.broker.metadata import NO_BROKER, Node
from engine.errors import ErrorCode, KafkaError

GROUP, TRANSACTION = 0, 1  # what a key is the id of


async def handle(broker: Broker, call: Call, request: Any) -> Any:
    client_id = call.header.client_id or ""
    return await broker.groups.ask(request, call.version, client_id, call.host)


async def find_coordinator(broker: Broker, call: Call, request: Any) -> FindCoordinatorResponse:
    found = await attempt(_find(broker, request.key, request.key_type))
    node = Node(NO_BROKER, "", -1) if isinstance(found, KafkaError) else found
    failure = found if isinstance(found, KafkaError) else None
    return FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        error_code=failure.code if failure else ErrorCode.none,
        error_message=failure.message if failure else None,
        node_id=node.id,
        host=node.host,
        port=node.port,
    )


async def _find(broker: Broker, key: str, kind: int) -> Node:
    kinds = {GROUP: broker.groups, TRANSACTION: broker.transactions}
    if kind not in kinds:
        raise KafkaError(ErrorCode.invalid_request, f"{kind} is no kind of coordinator")
    topic = kinds[kind].partition_of(key).topic
    if topic not in broker.metadata.topics:
        await _create(broker, topic)
    node = kinds[kind].coordinator_of(key)
    if node is None:
        raise KafkaError(ErrorCode.coordinator_not_available, f"nobody coordinates {key!r} yet")
    return node


async def _create(broker: Broker, topic: str) -> None:
    """Two who ask at once both mean the same topic."""
    try:
        plan = creation.unasked(broker, topic)
        await broker.admin.create_topic(plan.name, plan.assignment, plan.overrides)
    except KafkaError as error:
        if error.code != ErrorCode.topic_already_exists:
            code = ErrorCode.coordinator_not_available
            raise KafkaError(code, f"{topic} can't be created: {error.message}") from error
