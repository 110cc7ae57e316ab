"""What any broker answers to FindCoordinator and Metadata."""

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.metadata.v11 import response as metadata_v11

from engine.errors import ErrorCode
from engine.wire.primitives import NO_THROTTLE

NONE = ErrorCode.none


def found(broker, error=NONE):
    return FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        error_code=error if broker else ErrorCode.coordinator_not_available,
        error_message=None,
        node_id=broker or -1,
        host="b",
        port=broker or -1,
    )


def metadata(brokers, topics, leader):
    """`topics`: how many partitions each has; 0 if there is no such topic."""
    return metadata_v11.MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=tuple(
            metadata_v11.MetadataResponseBroker(node_id=each, host="b", port=each, rack=None)
            for each in brokers
        ),
        cluster_id=None,
        controller_id=leader,
        topics=tuple(topic(name, count, leader) for name, count in topics.items()),
    )


def topic(name, partitions, leader):
    rows = tuple(
        metadata_v11.MetadataResponsePartition(
            error_code=NONE,
            partition_index=number,
            leader_id=leader,
            replica_nodes=(leader,),
            isr_nodes=(leader,),
            offline_replicas=(),
        )
        for number in range(partitions)
    )
    error = NONE if partitions else ErrorCode.unknown_topic_or_partition
    return metadata_v11.MetadataResponseTopic(
        error_code=error, name=name, is_internal=False, partitions=rows, topic_id=None
    )
