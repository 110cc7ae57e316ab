"""The requests to a transaction coordinator, and its own request to the leaders of partitions:

    InitProducerId 22    AddPartitionsToTxn 24    AddOffsetsToTxn 25    EndTxn 26
    WriteTxnMarkers 27, versions 0 and 1

FindCoordinator, and TxnOffsetCommit, which goes to a group coordinator, are in handlers/groups.py.

An idempotent producer without a transactional id gets its producer id from any broker.

WriteTxnMarkers ends a transaction in the partitions that it wrote to. Offsets that were committed
in it become visible, or are removed.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from kio.schema.init_producer_id.v4.response import InitProducerIdResponse

from engine.broker.call import Call
from engine.broker.coordinator_service import GroupService, TransactionService
from engine.broker.coordinator_topic import OFFSETS
from engine.broker.handlers.results import attempt, code_of, replicated
from engine.broker.producer_ids import ProducerIds
from engine.broker.purgatory import Purgatory
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import NO_EPOCH, TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage import control
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.control import ControlType, Marker
from engine.storage.records import Record, encode
from engine.wire.by_topic import partitions_in, topics_of
from engine.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from engine.wire.primitives import NO_THROTTLE


async def handle(transactions: TransactionService, call: Call, request: Any) -> Any:
    client_id = call.header.client_id or ""
    return await transactions.handle(request, call.version, client_id, call.host)


# -- producer ids ------------------------------------------------------------------------------


async def init_producer_id(
    transactions: TransactionService, producer_ids: ProducerIds, call: Call, request: Any
) -> Any:
    is_transactional = request.transactional_id is not None
    outcome = await attempt(
        handle(transactions, call, request) if is_transactional else _new_id(producer_ids, request)
    )
    if is_transactional and not isinstance(outcome, ApiException):
        return outcome
    failed = isinstance(outcome, ApiException)
    return InitProducerIdResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(outcome),
        producer_id=NO_PRODUCER_ID if failed else outcome,
        producer_epoch=NO_EPOCH if failed else 0,
    )


async def _new_id(producer_ids: ProducerIds, request: Any) -> int:
    """For a producer without a transactional id. If it had a producer id, it gets another one."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        raise invalid_request("a producer id needs an epoch")
    return await producer_ids.next()


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


@dataclass(frozen=True)
class WriteTxnMarkersHandler:
    replicas: ReplicaManager
    purgatory: Purgatory
    groups: GroupService

    async def handle(self, call: Call, request: Any) -> WriteTxnMarkersResponse:
        """The response is sent when the in-sync replicas have all markers."""
        timeout_s = self.replicas.config.request_timeout_ms / 1000
        until = asyncio.get_running_loop().time() + timeout_s
        results = await asyncio.gather(*(self._write(each, until) for each in request.markers))
        return WriteTxnMarkersResponse(markers=tuple(results))

    async def _write(self, marker: Any, until: float) -> WritableTxnMarkerResult:
        partitions = partitions_in(marker.topics, numbers="partition_indexes")
        codes = await asyncio.gather(*(self._mark(marker, each, until) for each in partitions))
        rows = (
            (
                each,
                WritableTxnMarkerPartitionResult(partition_index=each.partition, error_code=code),
            )
            for each, code in zip(partitions, codes, strict=True)
        )
        return WritableTxnMarkerResult(
            producer_id=marker.producer_id, topics=topics_of(WritableTxnMarkerTopicResult, rows)
        )

    async def _mark(self, marker: Any, partition: TopicPartition, until: float) -> ErrorCode:
        replicas, batch = self.replicas, _batch(marker, self.replicas.now())
        try:
            stored = replicas.append(partition, batch, to_all=True, client=False)
            leader_since = replicas.partitions[partition].leader_since
            last = stored.last_offset
            await replicated(self.purgatory, replicas, partition, last, leader_since, until)
        except ApiException as error:
            return error.code
        if partition.topic == OFFSETS:
            self.groups.ended(partition.partition, marker.producer_id, marker.transaction_result)
        return ErrorCode.none
