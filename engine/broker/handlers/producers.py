"""InitProducerId (API 22), versions 0 to 4, and DescribeProducers (API 61), version 0.

An idempotent producer asks for an id once, and numbers its batches under it, partition by
partition; each log remembers the last of them (see storage/producers.py). DescribeProducers shows
what a log remembers.

A transactional id needs a transaction coordinator, which this broker does not have. It answers
UNSUPPORTED_VERSION, as Kafka does where a cluster has no such thing: a client fails at once with
that, where COORDINATOR_NOT_AVAILABLE would have it try again until its time is over.
"""

from typing import Any

from kio.schema.describe_producers.v0.response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE, attempt, code_of
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID

NO_EPOCH = -1


async def init_producer_id(broker: Broker, call: Call, request: Any) -> InitProducerIdResponse:
    outcome = await attempt(_new_id(broker, request))
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
    if request.transactional_id == "":
        raise KafkaError(ErrorCode.invalid_request, "a transactional id must not be empty")
    if request.transactional_id is not None:
        raise KafkaError(ErrorCode.unsupported_version, "there is no transaction coordinator")
    return await broker.producer_ids.next()


async def describe(broker: Broker, call: Call, request: Any) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            TopicResponse(
                name=topic.name,
                partitions=tuple(
                    _partition(broker, TopicPartition(topic.name, number))
                    for number in topic.partition_indexes
                ),
            )
            for topic in request.topics
        ),
    )


def _partition(broker: Broker, partition: TopicPartition) -> PartitionResponse:
    try:
        _, log = broker.replicas.find(partition)
    except KafkaError as error:
        return PartitionResponse(
            partition_index=partition.partition,
            error_code=error.code,
            error_message=error.message,
            active_producers=(),
        )
    return PartitionResponse(
        partition_index=partition.partition,
        error_code=ErrorCode.none,
        active_producers=tuple(
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_start,
            )
            for entry in log.producers.entries()
        ),
    )
