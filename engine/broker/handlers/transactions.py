"""What is asked of a transaction's coordinator, and what it asks of those who lead partitions:

    InitProducerId 22    AddPartitionsToTxn 24    AddOffsetsToTxn 25    EndTxn 26
    WriteTxnMarkers 27, version 1

Any broker knows who coordinates a transactional id: the leader of its partition of
__transaction_state (see handlers/groups.py for FindCoordinator, and for TxnOffsetCommit, which
goes to the coordinator of a group).

An idempotent producer without a transactional id asks any broker for a producer id, once, and
numbers its batches under it.

WriteTxnMarkers ends a transaction in the partitions that it wrote to. Offsets that were committed
within it count from then on, or are forgotten.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from kio.schema.init_producer_id.v4.response import InitProducerIdResponse
from kio.schema.write_txn_markers.v1.response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE, attempt, code_of
from engine.broker.handlers.replicated import replicated
from engine.broker.reigns import OFFSETS
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage import control
from engine.storage.batch import NO_EPOCH, NO_PRODUCER_ID
from engine.storage.control import ControlType, Marker
from engine.storage.records import Record, encode

PATIENCE = 30.0  # seconds for a marker to be replicated, Kafka's request.timeout.ms


async def handle(broker: Broker, call: Call, request: Any) -> Any:
    client_id = call.header.client_id or ""
    return await broker.transactions.ask(request, call.version, client_id, call.host)


# -- producer ids ------------------------------------------------------------------------------


async def init_producer_id(broker: Broker, call: Call, request: Any) -> Any:
    of_nobody = request.transactional_id is None
    outcome = await attempt(
        _new_id(broker, request) if of_nobody else handle(broker, call, request)
    )
    if not of_nobody and not isinstance(outcome, KafkaError):
        return outcome
    failed = isinstance(outcome, KafkaError)
    return InitProducerIdResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(outcome),
        producer_id=NO_PRODUCER_ID if failed else outcome,
        producer_epoch=NO_EPOCH if failed else 0,
    )


async def _new_id(broker: Broker, request: Any) -> int:
    """Without a transactional id, a producer that had an id gets another one."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        raise KafkaError(ErrorCode.invalid_request, "an id goes with an epoch")
    return await broker.producer_ids.next()


# -- markers -----------------------------------------------------------------------------------


async def write_markers(broker: Broker, call: Call, request: Any) -> WriteTxnMarkersResponse:
    """Answered when the replicas in sync have them."""
    until = asyncio.get_running_loop().time() + PATIENCE
    told = [(marker, _partitions(marker)) for marker in request.markers]
    codes = await asyncio.gather(
        *(_mark(broker, marker, each, until) for marker, some in told for each in some)
    )
    left = iter(codes)
    return WriteTxnMarkersResponse(markers=tuple(_result(marker, left) for marker, _ in told))


def _partitions(marker: Any) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number)
        for topic in marker.topics
        for number in topic.partition_indexes
    ]


async def _mark(broker: Broker, marker: Any, partition: TopicPartition, until: float) -> ErrorCode:
    """One marker into one partition."""
    replicas, committed = broker.replicas, marker.transaction_result
    try:
        stored = replicas.append(partition, _batch(marker, broker.now()), to_all=True, client=False)
        reign = replicas.partitions[partition].reign
        await replicated(broker, partition, stored.last_offset, reign, until)
    except KafkaError as error:
        return error.code
    if partition.topic == OFFSETS:
        broker.groups.ended(partition.partition, marker.producer_id, committed)
    return ErrorCode.none


def _batch(marker: Any, now: int) -> bytes:
    kind = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
    key, value = control.encode(Marker(kind, marker.coordinator_epoch))
    return encode(
        [Record(0, now, key, value)],
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transactional=True,
        control=True,
    )


def _result(marker: Any, codes: Iterator[ErrorCode]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=tuple(
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=tuple(
                    WritableTxnMarkerPartitionResult(partition_index=number, error_code=next(codes))
                    for number in topic.partition_indexes
                ),
            )
            for topic in marker.topics
        ),
    )
