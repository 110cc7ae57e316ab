"""Produce (API 0), versions 0 to 9: store batches of records.

    acks  0   no response; after an error the connection is closed, so that the client notices
          1   a response when the leader has stored the batch
         -1   a response when all in-sync replicas have it, or REQUEST_TIMED_OUT after `timeout`.
              With fewer replicas in sync than min.insync.replicas it is refused: before the append
              (NOT_ENOUGH_REPLICAS) or after it (NOT_ENOUGH_REPLICAS_AFTER_APPEND)

Each partition has a result of its own. The broker checks the header and CRC of the batch, and
stores it unchanged; see storage/validation.py. If only some records of a batch are bad, it is
refused as a whole, and `record_errors` names them, so that a client can tell which ones they are.
Versions 0 to 2, with messages of magic 0 or 1: see old_versions.py.
"""

from datetime import timedelta
from typing import Any

from kio.schema.produce.v9.response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, deadline, replicated
from engine.broker.purgatory import Purgatory
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.batch import HEADER_SIZE, Codec, Header
from engine.storage.files import Buffer
from engine.storage.log import Appended
from engine.topics import INTERNAL
from engine.wire.errors import Malformed

ACKS = (-1, 0, 1)
ZSTD_SINCE = 7

Outcome = Appended | ApiException


async def handle(
    replicas: ReplicaManager, purgatory: Purgatory, call: Call, request: Any
) -> ProduceResponse | None:
    outcomes: dict[TopicPartition, Outcome] = {}
    for topic in request.topic_data:
        for row in topic.partition_data:
            partition = TopicPartition(topic.name, row.index)
            outcomes[partition] = _append(replicas, call, partition, row.records, request.acks)
    if request.acks == 0:
        failed = [
            str(outcome) for outcome in outcomes.values() if isinstance(outcome, ApiException)
        ]
        if failed:
            raise Malformed(f"acks=0 allows no response to: {failed[0]}")
        return None
    if request.acks == -1:
        await _replicate(replicas, purgatory, outcomes, request.timeout)
    return _response(replicas, request, outcomes)


async def _replicate(
    replicas: ReplicaManager,
    purgatory: Purgatory,
    outcomes: dict[TopicPartition, Outcome],
    timeout: timedelta,
) -> None:
    """Wait until all in-sync replicas have what was appended; a batch that they lack has failed."""
    until = deadline(timeout)
    appended = [
        (partition, outcome, replicas.partitions[partition].leader_since)
        for partition, outcome in outcomes.items()
        if isinstance(outcome, Appended)
    ]
    for partition, stored, leader_since in appended:
        wait = replicated(purgatory, replicas, partition, stored.last_offset, leader_since, until)
        late: ApiException | None = await attempt(wait)
        outcomes[partition] = late or stored


def _append(
    replicas: ReplicaManager, call: Call, partition: TopicPartition, batch: Buffer | None, acks: int
) -> Outcome:
    try:
        if acks not in ACKS:
            raise ApiException(
                ErrorCode.invalid_required_acks, f"acks must be -1, 0 or 1, not {acks}"
            )
        if partition.topic in INTERNAL:
            raise ApiException(ErrorCode.invalid_topic_exception, f"{partition.topic} is internal")
        if not batch:
            raise ApiException(ErrorCode.invalid_record, "the request holds no batch")
        old = call.version < ZSTD_SINCE and len(batch) >= HEADER_SIZE
        if old and Header.parse(batch).attributes & 7 == Codec.ZSTD:
            raise ApiException(
                ErrorCode.unsupported_compression_type, f"zstd needs Produce version {ZSTD_SINCE}"
            )
        return replicas.append(partition, batch, to_all=acks == -1)
    except ApiException as error:
        return call.refused(partition, error)


def _response(
    replicas: ReplicaManager, request: Any, outcomes: dict[TopicPartition, Outcome]
) -> ProduceResponse:
    topics = []
    for topic in request.topic_data:
        partitions = [TopicPartition(topic.name, row.index) for row in topic.partition_data]
        rows = [_answer(replicas, partition, outcomes[partition]) for partition in partitions]
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=tuple(rows)))
    return ProduceResponse(responses=tuple(topics))


def _answer(
    replicas: ReplicaManager, partition: TopicPartition, outcome: Outcome
) -> PartitionProduceResponse:
    if isinstance(outcome, ApiException):
        return PartitionProduceResponse(
            index=partition.partition,
            error_code=outcome.code,
            base_offset=-1,
            record_errors=tuple(
                BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
                for number, why in outcome.records.items()
            ),
            error_message=outcome.message,
        )
    return PartitionProduceResponse(
        index=partition.partition,
        error_code=ErrorCode.none,
        base_offset=outcome.first_offset,
        log_append_time=outcome.append_time,
        log_start_offset=replicas.logs.log_start(partition),
        record_errors=(),
    )
