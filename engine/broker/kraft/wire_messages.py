"""The requests of the quorum on the wire, in both directions.

    value                    API, version          in the bytes it is a request about topics,
    VoteRequest              Vote 0                which have partitions. Here it is always the
    BeginQuorumEpochRequest  BeginQuorumEpoch 0    one partition of the metadata log:
    EndQuorumEpochRequest    EndQuorumEpoch 0
    RaftFetchRequest         Fetch 13              | cluster id | [topic | [partition 0 | ... ]] |
    FetchSnapshotRequest     FetchSnapshot 0

Fetch has the topic's id, AAAAAAAAAAAAAAAAAAAAAQ, the others have its name. Nobody is -1 on the
wire, and None in a value; so is a high watermark that is not known.

An error stands beside the partition, with the epoch and the leader that the sender knows. An error
that says nothing of the quorum, as to a stranger, stands above the topics, and there are none.

What is built here are plain namespaces with the fields that are not as the schema's defaults.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from engine.errors import ErrorCode
from engine.raft.messages import (
    NO_EPOCH_KNOWN,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
    RaftRequest,
    RaftResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.metadata_directory import METADATA_PARTITION, METADATA_TOPIC_ID
from engine.raft.model import OffsetAndEpoch
from engine.wire.controller_apis import ControllerApi
from engine.wire.errors import Malformed
from engine.wire.primitives import NO_THROTTLE

NOBODY = -1
NAME, PARTITION = METADATA_PARTITION.topic, METADATA_PARTITION.partition
FETCH_MAX_BYTES = 8 * 2**20

APIS_OF_RAFT: Mapping[type, ControllerApi] = {
    VoteRequest: ControllerApi.VOTE,
    BeginQuorumEpochRequest: ControllerApi.BEGIN_QUORUM_EPOCH,
    EndQuorumEpochRequest: ControllerApi.END_QUORUM_EPOCH,
    RaftFetchRequest: ControllerApi.FETCH,
    FetchSnapshotRequest: ControllerApi.FETCH_SNAPSHOT,
}
RESPONSES: Mapping[ControllerApi, type[RaftResponse]] = {
    ControllerApi.VOTE: VoteResponse,
    ControllerApi.BEGIN_QUORUM_EPOCH: BeginQuorumEpochResponse,
    ControllerApi.END_QUORUM_EPOCH: EndQuorumEpochResponse,
    ControllerApi.FETCH: RaftFetchResponse,
    ControllerApi.FETCH_SNAPSHOT: FetchSnapshotResponse,
}


# -- requests --------------------------------------------------------------------------------


def request_to_wire(request: RaftRequest) -> SimpleNamespace:
    head: dict[str, Any] = {}
    match request:
        case VoteRequest():
            partition = SimpleNamespace(
                replica_epoch=request.epoch,
                replica_id=request.candidate,
                last_offset_epoch=request.log_end.epoch,
                last_offset=request.log_end.offset,
            )
        case BeginQuorumEpochRequest():
            partition = SimpleNamespace(leader_id=request.leader, leader_epoch=request.epoch)
        case EndQuorumEpochRequest():
            partition = SimpleNamespace(
                leader_id=request.leader,
                leader_epoch=request.epoch,
                preferred_successors=request.preferred_successors,
            )
        case RaftFetchRequest():
            head = {
                "replica_id": request.replica,
                "max_wait": timedelta(milliseconds=request.max_wait_ms),
                "min_bytes": 0,
                "max_bytes": FETCH_MAX_BYTES,
                "forgotten_topics_data": (),
            }
            partition = SimpleNamespace(
                current_leader_epoch=request.epoch,
                fetch_offset=request.offset,
                last_fetched_epoch=request.last_fetched_epoch,
                partition_max_bytes=0,
            )
        case FetchSnapshotRequest():
            head = {"replica_id": request.replica, "max_bytes": request.max_bytes}
            partition = SimpleNamespace(
                current_leader_epoch=request.epoch,
                snapshot_id=_snapshot_to_wire(request.snapshot),
                position=request.position,
            )
    return SimpleNamespace(cluster_id=request.cluster_id, topics=_topics(partition), **head)


def request_from_wire(api: ControllerApi, wire: Any, cluster_id: str) -> RaftRequest | None:
    """The value; None: it is about another partition than the metadata log's.

    `cluster_id`: of a request without one, which is good for any cluster.
    """
    if (partition := _only_partition(wire.topics)) is None:
        return None
    cluster_id = cluster_id if wire.cluster_id is None else wire.cluster_id
    match api:
        case ControllerApi.VOTE:
            end = OffsetAndEpoch(partition.last_offset, partition.last_offset_epoch)
            return VoteRequest(cluster_id, partition.replica_epoch, partition.replica_id, end)
        case ControllerApi.BEGIN_QUORUM_EPOCH:
            return BeginQuorumEpochRequest(cluster_id, partition.leader_epoch, partition.leader_id)
        case ControllerApi.END_QUORUM_EPOCH:
            successors = tuple(partition.preferred_successors)
            leader = partition.leader_id
            return EndQuorumEpochRequest(cluster_id, partition.leader_epoch, leader, successors)
        case ControllerApi.FETCH:
            return RaftFetchRequest(
                cluster_id,
                partition.current_leader_epoch,
                wire.replica_id,
                partition.fetch_offset,
                partition.last_fetched_epoch,
                wire.max_wait // timedelta(milliseconds=1),
            )
    assert api is ControllerApi.FETCH_SNAPSHOT, api
    snapshot = partition.snapshot_id
    return FetchSnapshotRequest(
        cluster_id,
        partition.current_leader_epoch,
        wire.replica_id,
        OffsetAndEpoch(snapshot.end_offset, snapshot.epoch),
        partition.position,
        wire.max_bytes,
    )


# -- responses -------------------------------------------------------------------------------


def response_to_wire(response: RaftResponse) -> SimpleNamespace:
    if response.epoch == NO_EPOCH_KNOWN:
        return _without_topics(response.error)
    leader = NOBODY if response.leader is None else response.leader
    known = SimpleNamespace(leader_id=leader, leader_epoch=response.epoch)
    match response:
        case VoteResponse():
            partition = SimpleNamespace(**vars(known), vote_granted=response.granted)
        case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            partition = known
        case RaftFetchResponse():
            mark, diverging = response.high_watermark, response.diverging
            partition = SimpleNamespace(
                current_leader=known,
                high_watermark=NOBODY if mark is None else mark,
                aborted_transactions=None,
                records=response.records,
            )
            if diverging is not None:
                partition.diverging_epoch = SimpleNamespace(
                    epoch=diverging.epoch, end_offset=diverging.offset
                )
            if response.snapshot is not None:
                partition.snapshot_id = _snapshot_to_wire(response.snapshot)
        case FetchSnapshotResponse():
            partition = SimpleNamespace(
                current_leader=known,
                snapshot_id=_snapshot_to_wire(response.snapshot or OffsetAndEpoch(0, 0)),
                size=response.size,
                position=response.position,
                unaligned_records=response.data,
            )
    partition.error_code = response.error
    topics = _topics(partition)
    return SimpleNamespace(
        error_code=ErrorCode.none, throttle_time=NO_THROTTLE, topics=topics, responses=topics
    )


def refusal_to_wire() -> SimpleNamespace:
    """The response to a request about another partition than the metadata log's."""
    return _without_topics(ErrorCode.invalid_request)


def response_from_wire(api: ControllerApi, wire: Any) -> RaftResponse:
    """Raises `Malformed` if it is a response about another partition."""
    if wire.error_code is not ErrorCode.none:
        return RESPONSES[api](wire.error_code)
    partition = _only_partition(wire.responses if api is ControllerApi.FETCH else wire.topics)
    if partition is None:
        raise Malformed("the response is not about the metadata log")
    error = partition.error_code
    is_fetch = api in (ControllerApi.FETCH, ControllerApi.FETCH_SNAPSHOT)
    known = partition.current_leader if is_fetch else partition
    epoch, leader = known.leader_epoch, None if known.leader_id < 0 else known.leader_id
    match api:
        case ControllerApi.VOTE:
            return VoteResponse(error, epoch, leader, partition.vote_granted)
        case ControllerApi.BEGIN_QUORUM_EPOCH:
            return BeginQuorumEpochResponse(error, epoch, leader)
        case ControllerApi.END_QUORUM_EPOCH:
            return EndQuorumEpochResponse(error, epoch, leader)
        case ControllerApi.FETCH:
            return RaftFetchResponse(
                error,
                epoch,
                leader,
                None if partition.high_watermark < 0 else partition.high_watermark,
                _end_from_wire(partition.diverging_epoch),
                _end_from_wire(partition.snapshot_id),
                bytes(partition.records or b""),
            )
    return FetchSnapshotResponse(
        error,
        epoch,
        leader,
        _end_from_wire(partition.snapshot_id),
        partition.size,
        partition.position,
        bytes(partition.unaligned_records or b""),
    )


# -- parts of both ---------------------------------------------------------------------------


def _topics(partition: SimpleNamespace) -> tuple[SimpleNamespace]:
    """The one partition, by each name that a schema may have for the topic and the partition."""
    partition.partition = partition.partition_index = partition.index = PARTITION
    topic = {"topic_id": METADATA_TOPIC_ID, "topic_name": NAME, "name": NAME}
    return (SimpleNamespace(**topic, partitions=(partition,)),)


def _only_partition(topics: Any) -> Any:
    """The partition of the metadata log; None if there is another one, or more."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    topic, partition = topics[0], topics[0].partitions[0]
    named = [getattr(topic, name, None) for name in ("topic_id", "topic_name", "name")]
    numbers = [getattr(partition, name, None) for name in ("partition", "partition_index", "index")]
    is_ours = (METADATA_TOPIC_ID in named or NAME in named) and PARTITION in numbers
    return partition if is_ours else None


def _without_topics(error: ErrorCode) -> SimpleNamespace:
    return SimpleNamespace(error_code=error, throttle_time=NO_THROTTLE, topics=(), responses=())


def _snapshot_to_wire(snapshot: OffsetAndEpoch) -> SimpleNamespace:
    return SimpleNamespace(end_offset=snapshot.offset, epoch=snapshot.epoch)


def _end_from_wire(wire: Any) -> OffsetAndEpoch | None:
    return None if wire.end_offset < 0 else OffsetAndEpoch(wire.end_offset, wire.epoch)
