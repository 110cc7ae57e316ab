"""Produce (API 0), versions 0 to 9: store batches of records.

    acks  0   no response; after an error the connection is closed, so that the client notices
          1   a response when the leader has stored the batch
         -1   a response when all in-sync replicas have it, or REQUEST_TIMED_OUT after `timeout`.
              With fewer replicas in sync than min.insync.replicas it is refused: before the append
              (NOT_ENOUGH_REPLICAS) or after it (NOT_ENOUGH_REPLICAS_AFTER_APPEND)

Each row has a result of its own. The broker checks the header and CRC of the batch, and stores it
unchanged; see storage/validation.py. If only some records of a batch are bad, it is refused as a
whole, and `record_errors` names them, so that a client can tell which ones they are. Versions 0 to
2, with messages of magic 0 or 1: see old_versions.py.

Between the rows of a large request the loop serves others (results.py); not with acks=0, whose
client may close the connection at once, which would end the request before its last rows. Nothing
interrupts one row: a batch of a few KB that unpacks to 64 MiB of tiny records takes seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from kio.schema.produce.v9.response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

from engine.broker.call import Call
from engine.broker.handlers.results import Turns, attempt, deadline, replicated
from engine.broker.purgatory import Purgatory
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.batch import HEADER_SIZE, Codec, Header, is_transactional
from engine.storage.files import Buffer
from engine.storage.log import Appended
from engine.topics import INTERNAL
from engine.wire.errors import Malformed

ACKS = (-1, 0, 1)
ZSTD_SINCE = 7


@dataclass(slots=True)
class ProducedRow:
    """A row of the request, and what came of it."""

    partition: TopicPartition
    outcome: Appended | ApiException
    leader_since: int = -1  # at the append: the epoch in which this leadership began


async def handle(
    replicas: ReplicaManager, purgatory: Purgatory, call: Call, request: Any
) -> ProduceResponse | None:
    given = [(topic.name, row) for topic in request.topic_data for row in topic.partition_data]
    nameless = getattr(request, "transactional_id", None) is None
    if nameless and any(is_transactional(row.records or b"") for _, row in given):
        return _refused(replicas, request, given)
    turns = Turns() if len(given) > 1 and request.acks != 0 else None
    rows: list[ProducedRow] = []
    for topic, row in given:
        if turns is not None:
            await turns.next()
        partition = TopicPartition(topic, row.index)
        rows.append(_append(replicas, call, partition, row.records, request.acks))
    if request.acks == 0:
        failed = [str(row.outcome) for row in rows if isinstance(row.outcome, ApiException)]
        if failed:
            raise Malformed(f"acks=0 allows no response to: {failed[0]}")
        return None
    if request.acks == -1:
        await _replicate(replicas, purgatory, rows, request.timeout)
    return _response(replicas, request, iter(rows))


def _refused(
    replicas: ReplicaManager, request: Any, given: list[tuple[str, Any]]
) -> ProduceResponse:
    """A transaction that no coordinator knows of would never end. All rows, as by Kafka."""
    code = ErrorCode.transactional_id_authorization_failed
    error = ApiException(code, "a batch of a transaction, in a request without a transactional id")
    if request.acks == 0:
        raise Malformed(f"acks=0 allows no response to: {error}")
    rows = [ProducedRow(TopicPartition(topic, row.index), error) for topic, row in given]
    return _response(replicas, request, iter(rows))


async def _replicate(
    replicas: ReplicaManager, purgatory: Purgatory, rows: list[ProducedRow], timeout: timedelta
) -> None:
    """Wait until all in-sync replicas have what was appended; a batch that they lack has failed."""
    until = deadline(timeout)
    for row in rows:
        if isinstance(row.outcome, Appended):
            last, since = row.outcome.last_offset, row.leader_since
            wait = replicated(purgatory, replicas, row.partition, last, since, until)
            late: ApiException | None = await attempt(wait)
            row.outcome = late or row.outcome


def _append(
    replicas: ReplicaManager, call: Call, partition: TopicPartition, batch: Buffer | None, acks: int
) -> ProducedRow:
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
        stored = replicas.append(partition, batch, to_all=acks == -1)
        return ProducedRow(partition, stored, replicas.partitions[partition].leader_since)
    except ApiException as error:
        return ProducedRow(partition, call.refused(partition, error))


def _response(
    replicas: ReplicaManager, request: Any, rows: Iterator[ProducedRow]
) -> ProduceResponse:
    topics = []
    for topic in request.topic_data:
        of_topic = islice(rows, len(topic.partition_data))
        answers = tuple(_answer(replicas, row.partition, row.outcome) for row in of_topic)
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=answers))
    return ProduceResponse(responses=tuple(topics))


def _answer(
    replicas: ReplicaManager, partition: TopicPartition, outcome: Appended | ApiException
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
