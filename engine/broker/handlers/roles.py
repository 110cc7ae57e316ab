"""What only brokers ask: LeaderAndIsr (API 4), versions 2 to 5; StopReplica (API 5), 3;
UpdateMetadata (API 6), 5 to 7; ControlledShutdown (API 7), 1 to 3.

    the controller to a broker    lead or follow these partitions
                                  let go of these replicas, and perhaps delete them
                                  who is alive, and who leads what: tell the clients
    a broker to the controller    I am about to stop: who takes over what I lead?

A controller's word counts only while nobody newer has spoken (STALE_CONTROLLER_EPOCH), and only
for the life of the broker that it was meant for (STALE_BROKER_EPOCH). That is what fences a
controller that was away for longer than its session and does not know it yet.

Left out: versions before brokers had epochs.
"""

from typing import Any

from engine.broker.broker import Broker, Call
from engine.broker.metadata import DELETED
from engine.controller.events import ControlledShutdown
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
    await broker.admin.know([topic.topic_name for topic in request.topic_states])
    return broker.replicas.leader_and_isr(request)


async def stop_replica(
    broker: Broker, call: Call, request: StopReplicaRequest
) -> StopReplicaResponse:
    return broker.replicas.stop_replicas(request)


async def update_metadata(
    broker: Broker, call: Call, request: UpdateMetadataRequest
) -> UpdateMetadataResponse:
    gone = {
        topic.topic_name
        for topic in request.topic_states
        if any(each.leader == DELETED for each in topic.partition_states)
    }
    await broker.admin.know(
        [topic.topic_name for topic in request.topic_states if topic.topic_name not in gone]
    )
    try:
        broker.replicas.check_controller(request)
    except KafkaError as error:
        return UpdateMetadataResponse(error_code=call.refused("metadata", error).code)
    broker.metadata.update(request)
    broker.groups.forget(
        TopicPartition(topic.topic_name, each.partition_index)
        for topic in request.topic_states
        for each in topic.partition_states
        if each.leader == DELETED
    )
    broker.admin.forget(gone - broker.metadata.topics.keys())
    return UpdateMetadataResponse(error_code=ErrorCode.none)


async def controlled_shutdown(
    broker: Broker, call: Call, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    outcome: Any
    try:
        event = ControlledShutdown(request.broker_id, request.broker_epoch)
        outcome = await broker.controlling.ask(event)
    except KafkaError as error:
        outcome = error
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
