"""The requests that a controller serves (ControllerApis).

    Vote 0, BeginQuorumEpoch 0, EndQuorumEpoch 0, Fetch 13, FetchSnapshot 0   go to the Raft
    ApiVersions 0-3      the versions of this table, and the features of the cluster
    DescribeQuorum 0-1   who leads, who votes, and how far each replica is; the leader knows
    DescribeCluster 0-1  the controllers' addresses and the leader, for tools

A quorum request about another partition than that of the metadata log is INVALID_REQUEST, in
DescribeQuorum UNKNOWN_TOPIC_OR_PARTITION. Left out: all that changes metadata, as registrations of
brokers and topics.
"""

import dataclasses
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kio.schema.api_versions.v3.response import FinalizedFeatureKey, SupportedFeatureKey

from engine.broker.handlers import versions
from engine.broker.kraft.raft_manager import RaftManager, sender_of
from engine.broker.kraft.wire_messages import (
    NAME,
    NOBODY,
    PARTITION,
    refusal_to_wire,
    request_from_wire,
    response_to_wire,
)
from engine.broker.server import Connection, Pieces
from engine.config.quorum import VoterAddress
from engine.errors import ErrorCode
from engine.quorum_server.features import FinalizedFeatures
from engine.wire.codec import decode_request, encode_response
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from engine.wire.errors import RequestHeader, UnservedVersion
from engine.wire.frame import Frame
from engine.wire.primitives import NO_THROTTLE

SUPPORTED: Mapping[str, tuple[int, int]] = {"metadata.version": (1, 7)}  # 3.0-IV1 to 3.3-IV3
CONTROLLERS = 2  # the type of endpoints in DescribeCluster; 1: brokers
RAFT_CLIENT = re.compile(r"raft-client-(\d+)")  # the client.id of a node of the quorum
NO_OPERATIONS = -(2**31)  # authorized operations that were not asked for


class ControllerHandlers:
    def __init__(
        self,
        raft: RaftManager,
        features: FinalizedFeatures,
        voters: Mapping[int, VoterAddress],
    ) -> None:
        self._raft, self._features, self._voters = raft, features, voters

    async def handle(self, connection: Connection, frame: Frame) -> Pieces | None:
        try:
            header, request = decode_request(frame, CONTROLLER_APIS, CONTROLLER_APIS)
        except UnservedVersion as error:
            if error.header.api_key != ControllerApi.API_VERSIONS:
                raise
            return encode_response(error.header._replace(api_version=0), versions.unsupported())
        connection.client_id = header.client_id
        connection.peer_id = node_of(request, header.client_id)
        response = await self._respond(header, request)
        return encode_response(header, response, CONTROLLER_APIS)

    async def _respond(self, header: RequestHeader, request: Any) -> Any:
        match api := CONTROLLER_APIS[header.api_key]:
            case ControllerApi.API_VERSIONS:
                return self._api_versions(request, header.api_version)
            case ControllerApi.DESCRIBE_QUORUM:
                return self._describe_quorum(request)
            case ControllerApi.DESCRIBE_CLUSTER:
                return self._describe_cluster(request, header.api_version)
        raft_request = request_from_wire(api, request, self._raft.client.identity.cluster_id)
        if raft_request is None:
            return refusal_to_wire()
        return response_to_wire(await self._raft.ask(sender_of(raft_request), raft_request))

    def _api_versions(self, request: Any, version: int) -> Any:
        response = versions.respond(CONTROLLER_APIS.values(), request, version)
        if response.error_code is not ErrorCode.none:
            return response
        return dataclasses.replace(
            response,
            supported_features=tuple(
                SupportedFeatureKey(name=name, min_version=least, max_version=most)
                for name, (least, most) in SUPPORTED.items()
            ),
            finalized_features_epoch=self._features.epoch,
            finalized_features=tuple(
                FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
                for name, level in sorted(self._features.levels.items())
            ),
        )

    # -- DescribeQuorum ----------------------------------------------------------------------

    def _describe_quorum(self, request: Any) -> SimpleNamespace:
        asked = [(topic.topic_name, it.partition_index)
                 for topic in request.topics for it in topic.partitions]  # fmt: skip
        if asked != [(NAME, PARTITION)]:
            return SimpleNamespace(error_code=ErrorCode.unknown_topic_or_partition, topics=())
        client = self._raft.client
        if not client.is_leader:
            return SimpleNamespace(error_code=ErrorCode.not_leader_or_follower, topics=())
        now, voters = self._raft.now(), client.identity.voters
        observers = self._raft.progress.others(client.epoch, voters, now)
        partition = SimpleNamespace(
            partition_index=PARTITION,
            error_code=ErrorCode.none,
            leader_id=client.identity.node_id,
            leader_epoch=client.epoch,
            high_watermark=client.high_watermark,
            current_voters=[self._replica(replica, now) for replica in sorted(voters)],
            observers=[self._replica(replica, now) for replica in observers],
        )
        topic = SimpleNamespace(topic_name=NAME, partitions=(partition,))
        return SimpleNamespace(error_code=ErrorCode.none, topics=(topic,))

    def _replica(self, replica: int, now: int) -> SimpleNamespace:
        client = self._raft.client
        if replica == client.identity.node_id:
            end, fetch, caught_up = client.log.end.offset, now, now
        else:
            known = self._raft.progress.of(client.epoch, replica)
            end, fetch, caught_up = known.log_end, known.last_fetch_ms, known.last_caught_up_ms
        return SimpleNamespace(
            replica_id=replica,
            log_end_offset=end,
            last_fetch_timestamp=fetch,
            last_caught_up_timestamp=caught_up,
        )

    # -- DescribeCluster ---------------------------------------------------------------------

    def _describe_cluster(self, request: Any, version: int) -> SimpleNamespace:
        client, asks = self._raft.client, request.endpoint_type if version else 1
        error, text = ErrorCode.none, None
        if asks != CONTROLLERS:
            error = ErrorCode.mismatched_endpoint_type
            text = "The request was sent to an endpoint of type CONTROLLER, but we wanted an "\
                "endpoint of type BROKER"  # fmt: skip
        return SimpleNamespace(
            throttle_time=NO_THROTTLE,
            error_code=error,
            error_message=text,
            endpoint_type=CONTROLLERS,
            cluster_id=client.identity.cluster_id,
            controller_id=NOBODY if client.leader is None else client.leader,
            brokers=[
                SimpleNamespace(broker_id=id, host=voter.host, port=voter.port, rack=None)
                for id, voter in sorted(self._voters.items())
            ],
            cluster_authorized_operations=NO_OPERATIONS,
        )


def node_of(request: Any, client_id: str | None) -> int | None:
    """The id of the node that has sent a request, if it shows: see links.py."""
    if client_id is not None and (sender := RAFT_CLIENT.fullmatch(client_id)):
        return int(sender[1])
    node = getattr(request, "broker_id", getattr(request, "replica_id", None))
    return None if node is None or node < 0 else int(node)
