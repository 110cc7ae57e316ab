"""DescribeProducers (API 61), version 0: the producers in the state of a log.

A log keeps the last batches of every idempotent producer (see storage/producers.py), and the offset
where its open transaction began.
"""

from typing import Any

from kio.schema.describe_producers.v0 import response as describe_v0

from engine.broker.call import Call
from engine.broker.handlers.results import error_fields
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.wire.primitives import NO_THROTTLE


async def describe(
    replicas: ReplicaManager, call: Call, request: Any
) -> describe_v0.DescribeProducersResponse:
    return describe_v0.DescribeProducersResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            describe_v0.TopicResponse(
                name=topic.name,
                partitions=tuple(
                    _partition(replicas, TopicPartition(topic.name, number))
                    for number in topic.partition_indexes
                ),
            )
            for topic in request.topics
        ),
    )


def _partition(
    replicas: ReplicaManager, partition: TopicPartition
) -> describe_v0.PartitionResponse:
    try:
        _, log = replicas.find(partition, leads=False)
    except ApiException as error:
        return describe_v0.PartitionResponse(
            partition_index=partition.partition, **error_fields(error), active_producers=()
        )
    return describe_v0.PartitionResponse(
        partition_index=partition.partition,
        error_code=ErrorCode.none,
        active_producers=tuple(
            describe_v0.ProducerState(
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
