"""Requests between brokers: LeaderAndIsr (API 4), versions 2 to 5; StopReplica (API 5), 3;
UpdateMetadata (API 6), 5 to 7; ControlledShutdown (API 7), 1 to 3.

    the controller to a broker    LeaderAndIsr: lead or follow these partitions
                                  StopReplica: stop these replicas, and perhaps delete them
                                  UpdateMetadata: the live brokers and the leaders, for clients
    a broker to the controller    ControlledShutdown: elect other leaders, I am about to stop

Each of the first three is translated into a MetadataDelta.

A request of an older controller is refused (STALE_CONTROLLER_EPOCH), and one for an earlier session
of the broker (STALE_BROKER_EPOCH). This fences a controller whose session ended without its
knowledge.

Other errors are reported partition by partition, as by Kafka: an epoch that is not newer, replicas
without this broker (UNKNOWN_TOPIC_OR_PARTITION), a name or a number that no partition can have. A
follower of an unknown leader fetches as soon as the metadata has the leader's address.

Left out: versions before brokers had epochs.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from engine.broker.call import Call
from engine.broker.handlers.results import attempt
from engine.broker.publisher import MetadataPublisher
from engine.broker.zookeeper.config_znodes import ConfigZnodes
from engine.broker.zookeeper.controller_service import ControllerService
from engine.controller.events import ControlledShutdown
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import (
    BrokerEndpoint,
    BrokerRegistration,
    MetadataDelta,
    PartitionChange,
    PartitionRegistration,
    ReplicaStop,
)
from engine.model import NO_EPOCH, TopicPartition
from engine.topics import is_legal
from engine.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from engine.wire.messages.stop_replica import (
    EPOCH_DURING_DELETE,
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from engine.wire.messages.update_metadata import (
    LEADER_DURING_DELETE,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)

Apply = Callable[[MetadataDelta], list[ErrorCode]]  # of a MetadataPublisher


async def leader_and_isr(
    configs: ConfigZnodes, publisher: MetadataPublisher, call: Call, request: LeaderAndIsrRequest
) -> LeaderAndIsrResponse:
    await configs.know(_named(request))
    return change_roles(publisher.apply, request)


def change_roles(apply: Apply, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
    roles = [
        PartitionChange(
            TopicPartition(topic.topic_name, each.partition_index),
            topic.topic_id,
            _registration(
                each,
                adding=each.adding_replicas,
                removing=each.removing_replicas,
                is_new=each.is_new,
            ),
        )
        for topic in request.topic_states
        for each in topic.partition_states
    ]
    refused, codes = _applied(apply, _delta(request, roles=roles), len(roles))
    rows = iter(
        LeaderAndIsrPartitionError(topic_name=topic, partition_index=number, error_code=code)
        for ((topic, number), _, _), code in zip(roles, codes, strict=True)
    )
    topics = tuple(
        LeaderAndIsrTopicError(
            topic_id=topic.topic_id,
            partition_errors=tuple(islice(rows, len(topic.partition_states))),
        )
        for topic in request.topic_states
    )
    return LeaderAndIsrResponse(
        error_code=refused,
        topics=topics,
        partition_errors=tuple(error for topic in topics for error in topic.partition_errors),
    )


def _delta(request: Any, **parts: Any) -> MetadataDelta:
    """With its sender, and the registration of this broker to which it is addressed."""
    sender, addressee = request.controller_epoch, request.broker_epoch
    return MetadataDelta(controller_epoch=sender, broker_epoch=addressee, **parts)


def _registration(row: Any, **more: Any) -> PartitionRegistration:
    decided = row.leader, row.leader_epoch, row.isr, row.replicas
    return PartitionRegistration(*decided, row.zk_version, row.controller_epoch, **more)


def _applied(apply: Apply, delta: MetadataDelta, rows: int) -> tuple[ErrorCode, list[ErrorCode]]:
    """The error of the whole request, and that of each row."""
    try:
        return ErrorCode.none, apply(delta)
    except ApiException as error:
        return error.code, [error.code] * rows


def _named(request: Any) -> set[str]:
    """The topics of a request, without names that no topic can have."""
    names = {topic.topic_name for topic in request.topic_states}
    return {name for name in names if is_legal(name)}


async def stop_replica(
    publisher: MetadataPublisher, call: Call, request: StopReplicaRequest
) -> StopReplicaResponse:
    return stop_replicas(publisher.apply, request)


def stop_replicas(apply: Apply, request: StopReplicaRequest) -> StopReplicaResponse:
    stops = [
        ReplicaStop(
            TopicPartition(topic.topic_name, each.partition_index),
            None if each.leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH) else each.leader_epoch,
            each.delete_partition,
        )
        for topic in request.topic_states
        for each in topic.partition_states
    ]
    refused, codes = _applied(apply, _delta(request, stops=stops), len(stops))
    rows = tuple(
        StopReplicaPartitionError(topic_name=topic, partition_index=number, error_code=code)
        for ((topic, number), _, _), code in zip(stops, codes, strict=True)
    )
    return StopReplicaResponse(error_code=refused, partition_errors=rows)


async def update_metadata(
    configs: ConfigZnodes, publisher: MetadataPublisher, call: Call, request: UpdateMetadataRequest
) -> UpdateMetadataResponse:
    delta = news(request)
    gone = {each.partition.topic for each in delta.partitions if each.now is None}
    await configs.know(_named(request) - gone)
    try:
        publisher.apply(delta)
    except ApiException as error:
        return UpdateMetadataResponse(error_code=call.refused("metadata", error).code)
    return UpdateMetadataResponse(error_code=ErrorCode.none)


def news(request: UpdateMetadataRequest) -> MetadataDelta:
    """What UpdateMetadata says, as a delta."""
    return _delta(
        request,
        controller=request.controller_id,
        brokers=[
            BrokerRegistration(
                each.id,
                tuple(BrokerEndpoint(it.listener, it.host, it.port) for it in each.endpoints),
                each.rack,
            )
            for each in request.live_brokers
        ],
        partitions=[
            PartitionChange(
                TopicPartition(topic.topic_name, each.partition_index),
                topic.topic_id,
                None
                if each.leader == LEADER_DURING_DELETE
                else _registration(each, offline=each.offline_replicas),
            )
            for topic in request.topic_states
            for each in topic.partition_states
        ],
    )


async def controlled_shutdown(
    service: ControllerService, call: Call, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    event = ControlledShutdown(request.broker_id, request.broker_epoch)
    outcome = await attempt(service.ask(event))
    if isinstance(outcome, ApiException):
        code = call.refused(f"broker {request.broker_id}", outcome).code
        return ControlledShutdownResponse(error_code=code, remaining_partitions=())
    return ControlledShutdownResponse(
        error_code=ErrorCode.none,
        remaining_partitions=tuple(
            RemainingPartition(topic_name=topic, partition_index=number)
            for topic, number in sorted(outcome)
        ),
    )
