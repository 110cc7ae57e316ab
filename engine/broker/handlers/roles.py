"""Requests between brokers: LeaderAndIsr (API 4), versions 2 to 5; StopReplica (API 5), 3;
UpdateMetadata (API 6), 5 to 7; ControlledShutdown (API 7), 1 to 3.

    the controller to a broker    LeaderAndIsr: lead or follow these partitions
                                  StopReplica: stop these replicas, and perhaps delete them
                                  UpdateMetadata: the live brokers and the leaders, for clients
    a broker to the controller    ControlledShutdown: elect other leaders, I am about to stop

A request of an older controller is refused (STALE_CONTROLLER_EPOCH), and one for an earlier session
of the broker (STALE_BROKER_EPOCH). This fences a controller whose session ended without its
knowledge.

Other errors are reported partition by partition, as by Kafka: an epoch that is not newer, replicas
without this broker (UNKNOWN_TOPIC_OR_PARTITION), a name or a number that no partition can have. A
follower of an unknown leader fetches as soon as the metadata has the leader's address.

Left out: versions before brokers had epochs.
"""

from typing import Any

from engine.broker.broker import Broker, Call
from engine.broker.handlers.results import attempt
from engine.broker.metadata import DELETED
from engine.controller.events import ControlledShutdown
from engine.controller.topics import is_legal
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from engine.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from engine.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


async def leader_and_isr(
    broker: Broker, call: Call, request: LeaderAndIsrRequest
) -> LeaderAndIsrResponse:
    await broker.admin.know(_named(request))
    return broker.replicas.leader_and_isr(request)


def _named(request: Any) -> set[str]:
    """The topics of a request, without names that no topic can have."""
    names = {topic.topic_name for topic in request.topic_states}
    return {name for name in names if is_legal(name)}


async def stop_replica(
    broker: Broker, call: Call, request: StopReplicaRequest
) -> StopReplicaResponse:
    return broker.replicas.stop_replicas(request)


async def update_metadata(
    broker: Broker, call: Call, request: UpdateMetadataRequest
) -> UpdateMetadataResponse:
    deleted = [
        TopicPartition(topic.topic_name, each.partition_index)
        for topic in request.topic_states
        for each in topic.partition_states
        if each.leader == DELETED
    ]
    gone = {each.topic for each in deleted}
    await broker.admin.know(_named(request) - gone)
    try:
        broker.replicas.check_controller(request)
    except KafkaError as error:
        return UpdateMetadataResponse(error_code=call.refused("metadata", error).code)
    broker.metadata.update(request)
    broker.groups.forget(deleted)
    broker.admin.forget(gone - broker.metadata.topics.keys())
    return UpdateMetadataResponse(error_code=ErrorCode.none)


async def controlled_shutdown(
    broker: Broker, call: Call, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    event = ControlledShutdown(request.broker_id, request.broker_epoch)
    outcome = await attempt(broker.controller_service.ask(event))
    if isinstance(outcome, KafkaError):
        code = call.refused(f"broker {request.broker_id}", outcome).code
        return ControlledShutdownResponse(error_code=code, remaining_partitions=())
    return ControlledShutdownResponse(
        error_code=ErrorCode.none,
        remaining_partitions=tuple(
            RemainingPartition(topic_name=topic, partition_index=number)
            for topic, number in sorted(outcome)
        ),
    )
