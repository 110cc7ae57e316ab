"""The requests that a controller serves (ControllerApis).

    Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot     go to the Raft
    ApiVersions                    the versions of this listener, and the features of the cluster
    SaslHandshake, SaslAuthenticate  are refused: logging in is over before (controller_listener.py)
    DescribeQuorum, DescribeCluster                                  describe_quorum.py
    BrokerRegistration, BrokerHeartbeat, AlterPartition ...          broker_requests.py
    CreateTopics, ElectLeaders, IncrementalAlterConfigs ...          controller_administration.py
    Envelope                       one of these, passed on by a broker

A quorum request about another partition than that of the metadata log is INVALID_REQUEST. Where
there is an authorizer, what nodes ask of each other needs ClusterAction on the cluster.
"""

import re
from collections.abc import Mapping
from typing import Any

from kio.schema.envelope.v0.response import EnvelopeResponse

from engine.broker.authorization import AuthHelper, refused
from engine.broker.call import Call, Handler
from engine.broker.handlers import security, versions
from engine.broker.handlers.results import codes_in
from engine.broker.kraft.raft_manager import sender_of
from engine.broker.kraft.wire_messages import (
    refusal_to_wire,
    request_from_wire,
    response_to_wire,
)
from engine.broker.server import Connection, Pieces
from engine.errors import ApiException, ErrorCode
from engine.quorum_controller.feature_control import SUPPORTED
from engine.quorum_server.broker_requests import BrokerRequestHandlers
from engine.quorum_server.controller_administration import OF_ANY_NODE
from engine.quorum_server.controller_service import QuorumControllerService
from engine.quorum_server.describe_quorum import QuorumDescriber
from engine.quorum_server.envelope import ForwardedRequest, opened
from engine.security.acls import CLUSTER, AclOperation
from engine.wire.apis import APIS
from engine.wire.codec import decode_request, encode_response
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from engine.wire.errors import Malformed, UnservedVersion
from engine.wire.frame import SIZE, Frame
from engine.wire.refusal import refusal

RAFT_CLIENT = re.compile(r"raft-client-(\d+)")  # the client.id of a node of the quorum
OPEN_TO_ALL = frozenset(
    {
        ControllerApi.API_VERSIONS,
        ControllerApi.SASL_HANDSHAKE,
        ControllerApi.SASL_AUTHENTICATE,
        ControllerApi.DESCRIBE_CLUSTER,
    }
)
OPERATIONS: Mapping[ControllerApi, AclOperation] = {  # on the cluster; ClusterAction for the rest
    ControllerApi.DESCRIBE_QUORUM: AclOperation.DESCRIBE,
    ControllerApi.UNREGISTER_BROKER: AclOperation.ALTER,
    ControllerApi.UPDATE_FEATURES: AclOperation.ALTER,
}


class ControllerHandlers:
    def __init__(
        self,
        service: QuorumControllerService,
        describer: QuorumDescriber,
        administrators: Mapping[ControllerApi, Handler],
        auth: AuthHelper,
    ) -> None:
        self._service, self._auth = service, auth
        self._administrators = {int(api): auth.guarded(it) for api, it in administrators.items()}
        brokers = BrokerRequestHandlers(service)
        self._handlers: dict[int, Handler] = {
            ControllerApi.API_VERSIONS: self._api_versions,
            ControllerApi.SASL_HANDSHAKE: security.handshake,
            ControllerApi.SASL_AUTHENTICATE: security.authenticate,
            ControllerApi.DESCRIBE_QUORUM: describer.quorum,
            ControllerApi.DESCRIBE_CLUSTER: describer.cluster,
            ControllerApi.BROKER_REGISTRATION: brokers.register,
            ControllerApi.BROKER_HEARTBEAT: brokers.heartbeat,
            ControllerApi.UNREGISTER_BROKER: brokers.unregister,
            ControllerApi.ALTER_PARTITION: brokers.alter_partitions,
            ControllerApi.ALLOCATE_PRODUCER_IDS: brokers.allocate_producer_ids,
            ControllerApi.UPDATE_FEATURES: brokers.update_features,
            ControllerApi.ENVELOPE: self._envelope,
        }
        self._forwardable = {*self._administrators, *OPERATIONS}

    async def handle(self, connection: Connection, frame: Frame) -> Pieces | None:
        try:
            header, request = decode_request(frame, CONTROLLER_APIS, CONTROLLER_APIS)
        except UnservedVersion as error:
            if error.header.api_key != ControllerApi.API_VERSIONS:
                raise
            return encode_response(error.header._replace(api_version=0), versions.unsupported())
        connection.client_id = header.client_id
        connection.peer_id = node_of(request, header.client_id)
        call = Call(
            *(header, connection.peer, connection.listener, connection.principal),
            apis=CONTROLLER_APIS,
        )
        return encode_response(header, await self._respond(call, request), CONTROLLER_APIS)

    async def _respond(self, call: Call, request: Any) -> Any:
        api = CONTROLLER_APIS[call.header.api_key]
        if (handler := self._administrators.get(api)) is not None:
            return await self._administrate(api, handler, call, request)
        if api not in OPEN_TO_ALL and not self._allows(call, api):
            error = ApiException(ErrorCode.cluster_authorization_failed)
            return refusal(api, request, call.refused(api.name, error))
        if (handler := self._handlers.get(api)) is not None:
            return await handler(call, request)
        return await self._ask_raft(api, request)

    def _allows(self, call: Call, api: ControllerApi) -> bool:
        authorizer, host = self._auth.authorizer, call.host.removeprefix("/")
        operation = OPERATIONS.get(api, AclOperation.CLUSTER_ACTION)
        return authorizer is None or authorizer.allowed(
            str(call.principal), host, operation, CLUSTER
        )

    async def _administrate(
        self, api: ControllerApi, handler: Handler, call: Call, request: Any
    ) -> Any:
        """These have the same versions in the brokers' table, by which they are authorized."""
        call = call._replace(apis=APIS)
        if api not in OF_ANY_NODE and not self._service.is_active:
            leader = self._service.controller_id
            text = f"The active controller is node {leader}."
            return refused(call, request, ApiException(ErrorCode.not_controller, text))
        return await handler(call, request)

    async def _ask_raft(self, api: ControllerApi, request: Any) -> Any:
        raft = self._service.raft
        wanted = request_from_wire(api, request, raft.client.identity.cluster_id)
        if wanted is None:
            return refusal_to_wire()
        return response_to_wire(await raft.ask(sender_of(wanted), wanted))

    async def _api_versions(self, call: Call, request: Any) -> Any:
        image = self._service.loader.image
        told = versions.respond(CONTROLLER_APIS.values(), request, call.version)
        return versions.with_features(told, SUPPORTED, image.features, image.offset)

    # -- Envelope --------------------------------------------------------------------------

    async def _envelope(self, call: Call, request: Any) -> EnvelopeResponse:
        try:
            if not self._service.is_active:
                raise ApiException(ErrorCode.not_controller)
            return await self._forwarded(call, opened(request, self._forwardable))
        except Malformed as error:  # a number that is not known, for instance
            failure = ApiException(ErrorCode.invalid_request, str(error))
            return EnvelopeResponse(error_code=call.refused("an envelope", failure).code)
        except ApiException as error:
            return EnvelopeResponse(error_code=call.refused("an envelope", error).code)

    async def _forwarded(self, call: Call, forwarded: ForwardedRequest) -> EnvelopeResponse:
        header = forwarded.header
        client = Call(
            *(header, forwarded.address, call.listener, forwarded.principal), apis=CONTROLLER_APIS
        )
        response = await self._respond(client, forwarded.request)
        code = getattr(response, "error_code", ErrorCode.none)
        if code is ErrorCode.not_controller or ErrorCode.not_controller in codes_in(response):
            return EnvelopeResponse(error_code=ErrorCode.not_controller)
        pieces: Pieces = encode_response(header, response, CONTROLLER_APIS)
        data = b"".join(pieces)[SIZE.size :]
        return EnvelopeResponse(response_data=data, error_code=ErrorCode.none)


def node_of(request: Any, client_id: str | None) -> int | None:
    """The id of the node that has sent a request, if it shows: see links.py."""
    if client_id is not None and (sender := RAFT_CLIENT.fullmatch(client_id)):
        return int(sender[1])
    node = getattr(request, "broker_id", getattr(request, "replica_id", None))
    return None if node is None or node < 0 else int(node)
