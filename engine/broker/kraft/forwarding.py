"""Requests of administrators, passed on to the active controller (ForwardingManager).

    client ── CreateTopics ──> broker ── Envelope: CreateTopics, principal, address ──> controller
           <── its answer ───         <── Envelope: the answer ──

The controller answers as if the client had asked it. The broker checks nothing but what the client
may do, in its layers, and what is asked for its own keys: it alone has the file of a certificate,
for instance. If no controller answers in time, the client gets REQUEST_TIMED_OUT. Where the
controller cannot parse the request, the client's connection is closed, as if the broker could not.
"""

import asyncio
from collections import Counter
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.envelope.v0.request import EnvelopeRequest

from engine.broker.authorization import refused
from engine.broker.call import Call, Handler
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.security.principals import Principal
from engine.wire.apis import Api, ApiKey
from engine.wire.codec import decode_response, encode_request
from engine.wire.controller_apis import ControllerApi
from engine.wire.errors import Malformed
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import KRaftApi
from engine.wire.primitives import Draft
from engine.wire.writers import message_writer

PRINCIPAL_VERSION = (0).to_bytes(2, "big")  # of DefaultPrincipalData
ONCE = "Each resource must appear at most once."
TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8  # types of resources; a broker has its own loggers

FORWARDED: tuple[ApiKey, ...] = (
    Api.CREATE_TOPICS,
    Api.DELETE_TOPICS,
    Api.CREATE_PARTITIONS,
    Api.CREATE_ACLS,
    Api.DELETE_ACLS,
    Api.ELECT_LEADERS,
    Api.ALTER_PARTITION_REASSIGNMENTS,
    Api.LIST_PARTITION_REASSIGNMENTS,
    Api.ALTER_CLIENT_QUOTAS,
    KRaftApi.UPDATE_FEATURES,
    KRaftApi.DESCRIBE_QUORUM,
    KRaftApi.UNREGISTER_BROKER,
)


# Of an Envelope: whose client's connection is closed.
UNREADABLE = ErrorCode.unsupported_version, ErrorCode.invalid_request


class ForwardingManager:
    def __init__(self, channel: ControllerChannel, timeout_s: float) -> None:
        self._channel, self._timeout_s = channel, timeout_s

    async def handle(self, call: Call, request: Any) -> Any:
        envelope = EnvelopeRequest(
            request_data=encode_request(call.header, request, call.apis)[SIZE.size :],
            request_principal=encode_principal(call.principal),
            client_host_address=ip_address(call.host.removeprefix("/")).packed,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._channel.ask(ControllerApi.ENVELOPE, envelope)
        except TimeoutError:
            why = "no controller has answered in time"
            return refused(call, request, ApiException(ErrorCode.request_timed_out, why))
        if answer.error_code in UNREADABLE:
            raise Malformed("the controller cannot read what this broker passes on")
        if answer.error_code is not ErrorCode.none or answer.response_data is None:
            code = ErrorCode.unknown_server_error
            why = f"the controller refuses what this broker passes on: {answer.error_code.name}"
            return refused(call, request, call.refused("an envelope", ApiException(code, why)))
        return decode_response(call.header, answer.response_data, call.apis)

    async def alter_configs(self, locally: Handler, call: Call, request: Any) -> Any:
        """AlterConfigs and IncrementalAlterConfigs: this broker changes the levels of its own
        loggers, and checks its own keys. The rest, with keys that are in order, is passed on."""
        named = Counter(map(_resource, request.resources))
        rows, others = dict[tuple[int, str], Any](), list[Any]()
        for asked in request.resources:
            one, is_broker = replace(request, resources=(asked,)), asked.resource_type == BROKER
            if named[_resource(asked)] > 1:
                answer = refused(call, one, invalid_request(ONCE))
            elif asked.resource_type == BROKER_LOGGER:
                answer = await locally(call, one)
            elif asked.resource_type not in (TOPIC, BROKER):
                unknown = f"Unknown resource type {asked.resource_type}"
                answer = refused(call, one, invalid_request(unknown))
            elif is_broker and asked.resource_name:
                answer = await locally(call, replace(one, validate_only=True))
            else:
                others.append(asked)
                continue
            (row,) = answer.responses
            if is_broker and row.error_code is ErrorCode.none:
                others.append(asked)
            else:
                rows[_resource(asked)] = row
        if others or not rows:
            answer = await self.handle(call, replace(request, resources=tuple(others)))
            rows |= {_resource(row): row for row in answer.responses}
        return replace(answer, responses=tuple(rows[_resource(it)] for it in request.resources))


def _resource(row: Any) -> tuple[int, str]:
    return int(row.resource_type), row.resource_name


def encode_principal(principal: Principal) -> bytes:
    draft = Draft()
    draft += PRINCIPAL_VERSION
    data = DefaultPrincipalData(
        type_=principal.type, name=principal.name, token_authenticated=False
    )
    message_writer(DefaultPrincipalData)(draft, data)
    return bytes(draft)
