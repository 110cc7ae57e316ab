"""AlterIsr (API 56), version 0: a leader asks the controller to write its in-sync replicas.

A broker that is not the controller answers NOT_CONTROLLER; the leader looks for the controller in
its metadata and sends the request again. controller/isr_changes.py decides.
"""

from typing import Any

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, code_of
from engine.broker.zookeeper.controller_service import ControllerService
from engine.controller.context import Leadership
from engine.controller.events import AlterIsr, IsrChange
from engine.errors import ApiException
from engine.model import TopicPartition
from engine.wire.by_topic import by_partition, topics_of
from engine.wire.messages.alter_isr import (
    AlterIsrPartitionResult,
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrTopicResult,
)


async def handle(
    service: ControllerService, call: Call, request: AlterIsrRequest
) -> AlterIsrResponse:
    changes = {
        partition: IsrChange(each.leader_epoch, each.new_isr, each.current_isr_version)
        for partition, each in by_partition(request.topics)
    }
    event = AlterIsr(request.broker_id, request.broker_epoch, changes)
    outcome: Any = await attempt(service.ask(event))
    if isinstance(outcome, ApiException):
        code = call.refused(f"broker {request.broker_id}", outcome).code
        return AlterIsrResponse(error_code=code)
    rows = ((each, _isr_result(each, outcome[each])) for each in changes)
    return AlterIsrResponse(topics=topics_of(AlterIsrTopicResult, rows))


def _isr_result(partition: TopicPartition, outcome: Leadership | ApiException) -> Any:
    if isinstance(outcome, ApiException):
        return AlterIsrPartitionResult(
            partition_index=partition.partition, error_code=code_of(outcome)
        )
    state, version = outcome
    return AlterIsrPartitionResult(
        partition_index=partition.partition,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        current_isr_version=version,
    )
