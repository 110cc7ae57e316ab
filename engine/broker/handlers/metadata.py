"""Metadata (API 3), versions 0 to 11, and DescribeCluster (API 60), version 0.

The live brokers, the controller, and the leaders: a client needs them to find the broker for its
next request. Any broker answers, from the metadata that the controller has sent.

    topics null      all of them (in version 0: an empty list)
    topics empty     none: the brokers only
    a new name       created if `auto.create.topics.enable` and the client allow it; the response
                     has LEADER_NOT_AVAILABLE, and the client asks again

With an authorizer, authorization.py removes what the client may not see, and the operations that
it may not do. Left out: requests for topics by id, which no version before 12 has.
"""

from collections.abc import Callable, Collection
from typing import Any

from kio.schema.describe_cluster.v0.response import DescribeClusterBroker, DescribeClusterResponse

# Version 10 has all that 11 has, and the operations on the cluster, which 11 left to
# DescribeCluster.
from kio.schema.metadata.v10 import response as metadata_v10

from engine.broker.authorization import NOT_ASKED
from engine.broker.call import Call
from engine.broker.creation import AutoTopicCreationManager
from engine.broker.handlers.results import Turns, attempt, code_of
from engine.broker.metadata import Metadata, PartitionInfo, TopicInfo
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import NO_BROKER
from engine.security.acls import SUPPORTED, AclResourceType, bits
from engine.topics import INTERNAL, check_name
from engine.wire.primitives import NO_THROTTLE

LISTENERS_SINCE = 6  # from this version on, clients know the error
Absent = Callable[[int], ErrorCode]  # of the leader of a partition

# Without an authorizer a client may do everything that there is on a topic or the cluster.
ON_TOPIC = bits(SUPPORTED[AclResourceType.TOPIC])
ON_CLUSTER = bits(SUPPORTED[AclResourceType.CLUSTER])


async def handle(
    metadata: Metadata, creation: AutoTopicCreationManager, call: Call, request: Any
) -> metadata_v10.MetadataResponse:
    asked = request.topics
    if asked is None or (call.version == 0 and not asked):
        found: list[tuple[str, TopicInfo | ApiException]] = list(metadata.topics.items())
    else:
        create = creation.is_enabled and request.allow_auto_topic_creation
        turns, found = Turns(every=100), []
        for topic in dict.fromkeys(asked):  # each of them once
            await turns.next()
            found.append(
                (topic.name or "", await attempt(_find(metadata, creation, topic, create)))
            )
    live = metadata.at(call.listener)

    def absent(leader: int) -> ErrorCode:
        """The broker is dead, or none of its listeners has the name of the client's."""
        named = call.version >= LISTENERS_SINCE and leader in metadata.brokers
        return ErrorCode.listener_not_found if named else ErrorCode.leader_not_available

    allowed = ON_TOPIC if request.include_topic_authorized_operations else NOT_ASKED
    asks_for_cluster = getattr(request, "include_cluster_authorized_operations", False)
    return metadata_v10.MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=tuple(
            metadata_v10.MetadataResponseBroker(
                node_id=node.id, host=node.host, port=node.port, rack=node.rack
            )
            for node in live.values()
        ),
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller,
        topics=tuple(_topic(live, absent, name, outcome, allowed) for name, outcome in found),
        cluster_authorized_operations=ON_CLUSTER if asks_for_cluster else NOT_ASKED,
    )


async def _find(
    metadata: Metadata, creation: AutoTopicCreationManager, asked: Any, create: bool
) -> TopicInfo | ApiException:
    """A topic that there is not is no failure worth a line in the log: a request may name many."""
    if asked.name is None or asked.topic_id is not None:
        raise invalid_request("a topic is requested by name, not by id")
    topic = metadata.topics.get(asked.name)
    if topic is not None:
        return topic
    check_name(asked.name)
    if not create:
        return ApiException(ErrorCode.unknown_topic_or_partition, f"there is no topic {asked.name}")
    await creation.create(asked.name)
    raise ApiException(ErrorCode.leader_not_available, f"{asked.name} has just been created")


def _topic(
    live: Collection[int],
    absent: Absent,
    name: str,
    outcome: TopicInfo | ApiException,
    allowed: int,
) -> metadata_v10.MetadataResponseTopic:
    found = None if isinstance(outcome, ApiException) else outcome
    partitions = sorted(found.partitions.items()) if found else ()
    return metadata_v10.MetadataResponseTopic(
        error_code=code_of(outcome),
        name=name,
        topic_id=found.id if found else None,
        is_internal=name in INTERNAL,
        partitions=tuple(_partition(live, absent, number, info) for number, info in partitions),
        topic_authorized_operations=allowed,
    )


def _partition(
    live: Collection[int], absent: Absent, number: int, info: PartitionInfo
) -> metadata_v10.MetadataResponsePartition:
    led = info.leader in live
    return metadata_v10.MetadataResponsePartition(
        error_code=ErrorCode.none if led else absent(info.leader),
        partition_index=number,
        leader_id=info.leader if led else NO_BROKER,
        leader_epoch=info.leader_epoch,
        replica_nodes=info.replicas,
        isr_nodes=info.isr,
        offline_replicas=tuple(
            each for each in info.replicas if each not in live or each in info.offline
        ),
    )


async def describe_cluster(metadata: Metadata, call: Call, request: Any) -> DescribeClusterResponse:
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        cluster_id=metadata.cluster_id,
        controller_id=metadata.controller,
        brokers=tuple(
            DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in metadata.at(call.listener).values()
        ),
        cluster_authorized_operations=ON_CLUSTER if asked else NOT_ASKED,
    )
