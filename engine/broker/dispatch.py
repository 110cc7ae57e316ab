"""From a frame to a handler and back: which API is served by which function.

An API that is not in the table is not advertised. A client that uses it all the same is
disconnected, as by Kafka. A newer client may send an ApiVersions request in an unknown version: it
gets an error in version 0, and sends an older one.
"""

import asyncio
from functools import partial
from time import time_ns
from typing import Any

from engine.broker.authorization import authorized, refused
from engine.broker.broker import Broker, Call, Handler
from engine.broker.events import Span, broker_of
from engine.broker.handlers import (
    acls,
    client_quotas,
    configs,
    elections,
    fetch,
    groups,
    log_dirs,
    metadata,
    offsets,
    old_versions,
    produce,
    producers,
    records,
    scram_credentials,
    security,
    topics,
    transactions,
    versions,
)
from engine.broker.handlers.results import codes_in
from engine.broker.request_faults import RequestCopy
from engine.broker.request_quotas import serve_with_quotas
from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Connection, Pieces
from engine.errors import ApiException, ErrorCode
from engine.security.sasl_server import SaslServerAuthenticator
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_request, encode_response
from engine.wire.errors import RequestHeader, UnservedVersion
from engine.wire.frame import Frame

# In every mode; metadata_source.py has those of one mode.
HANDLERS: dict[Api, Handler] = {
    Api.PRODUCE: produce.handle,
    Api.FETCH: fetch.handle,
    Api.LIST_OFFSETS: offsets.list_offsets,
    Api.METADATA: metadata.handle,
    Api.OFFSET_COMMIT: groups.handle,
    Api.OFFSET_FETCH: groups.handle,
    Api.FIND_COORDINATOR: groups.find_coordinator,
    Api.JOIN_GROUP: groups.handle,
    Api.HEARTBEAT: groups.handle,
    Api.LEAVE_GROUP: groups.handle,
    Api.SYNC_GROUP: groups.handle,
    Api.DESCRIBE_GROUPS: groups.handle,
    Api.LIST_GROUPS: groups.handle,
    Api.SASL_HANDSHAKE: security.handshake,
    Api.API_VERSIONS: versions.handle,
    Api.CREATE_TOPICS: topics.create,
    Api.DELETE_TOPICS: topics.delete,
    Api.DELETE_RECORDS: records.delete,
    Api.INIT_PRODUCER_ID: transactions.init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: offsets.for_leader_epoch,
    Api.ADD_PARTITIONS_TO_TXN: transactions.handle,
    Api.ADD_OFFSETS_TO_TXN: transactions.handle,
    Api.END_TXN: transactions.handle,
    Api.WRITE_TXN_MARKERS: transactions.write_markers,
    Api.TXN_OFFSET_COMMIT: groups.handle,
    Api.DESCRIBE_ACLS: acls.describe,
    Api.CREATE_ACLS: acls.create,
    Api.DELETE_ACLS: acls.delete,
    Api.DESCRIBE_CONFIGS: configs.describe,
    Api.ALTER_CONFIGS: configs.alter,
    Api.ALTER_REPLICA_LOG_DIRS: log_dirs.alter,
    Api.DESCRIBE_LOG_DIRS: log_dirs.handle,
    Api.SASL_AUTHENTICATE: security.authenticate,
    Api.CREATE_PARTITIONS: topics.create_partitions,
    Api.CREATE_DELEGATION_TOKEN: security.refuse_token,
    Api.RENEW_DELEGATION_TOKEN: security.refuse_token,
    Api.EXPIRE_DELEGATION_TOKEN: security.refuse_token,
    Api.DESCRIBE_DELEGATION_TOKEN: security.refuse_token,
    Api.DELETE_GROUPS: groups.handle,
    Api.DESCRIBE_CLIENT_QUOTAS: client_quotas.describe,
    Api.ALTER_CLIENT_QUOTAS: client_quotas.alter,
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS: scram_credentials.describe,
    Api.ALTER_USER_SCRAM_CREDENTIALS: scram_credentials.alter,
    Api.ELECT_LEADERS: elections.elect,
    Api.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter,
    Api.ALTER_PARTITION_REASSIGNMENTS: elections.alter_reassignments,
    Api.LIST_PARTITION_REASSIGNMENTS: elections.list_reassignments,
    Api.OFFSET_DELETE: groups.handle,
    Api.UPDATE_FEATURES: versions.update_features,
    Api.DESCRIBE_CLUSTER: metadata.describe_cluster,
    Api.DESCRIBE_PRODUCERS: producers.describe,
}


CURRENT = (-1, versions.handle)  # APIs whose old versions differ in nothing but their fields


class Dispatcher:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def authenticator(self, listener: SecureListener) -> SaslServerAuthenticator:
        """For a new connection to a listener with SASL."""
        respond = partial(versions.respond, self.broker.handlers)
        return SaslServerAuthenticator(listener.mechanisms, respond, versions.unsupported)

    async def handle(self, connection: Connection, frame: Frame) -> Pieces | None:
        check = connection.authenticate
        if check is not None and (done := await check(frame)) is not None:
            return done
        try:
            header, request = decode_request(frame, self.broker.handlers)
        except UnservedVersion as error:
            if error.header.api_key != Api.API_VERSIONS:
                raise
            return encode_response(error.header._replace(api_version=0), versions.unsupported())
        connection.client_id = header.client_id
        connection.peer_id = broker_of(request, header.client_id)
        broker, began, connection.throttle_ms = self.broker, time_ns(), 0
        call = Call(header, connection.peer, connection.listener, connection.principal)
        api, serve = APIS[header.api_key], self._handler(header)
        faults, from_client = broker.request_faults, connection.peer_id is None
        if faults.repeats and (from_client or api is Api.WRITE_TXN_MARKERS):
            handle = partial(self._handle_copy, call, bytes(frame))
            faults.keep(RequestCopy(api, header.client_id, handle))
        if from_client and (failure := faults.refuses(api, header.client_id)) is not None:
            serve = partial(_refused, failure)
        if broker.quotas.enabled:
            response, answer = await serve_with_quotas(
                broker, connection, call, request, serve, frame
            )
        else:
            response = await serve(broker, call, request)
            answer = None if response is None else encode_response(header, response)
        if from_client and (seconds := faults.delay(api, request)):
            await asyncio.sleep(seconds)
        if broker.request_counts.on:
            broker.request_counts.add(api, time_ns() - began)
        if broker.events.tracing:
            who, span = connection.peer, Span(began, time_ns())
            broker.events.traced(header, who, request, response, span, frame, answer)
        return answer

    def _handler(self, header: RequestHeader) -> Handler:
        """The function that serves a request of this API and version."""
        api = APIS[header.api_key]
        last_old, handler = old_versions.OLD.get(api, CURRENT)
        if header.api_version > last_old:
            handler = self.broker.handlers[api]
        return handler if self.broker.authorizer is None else partial(authorized, handler=handler)

    async def _handle_copy(self, call: Call, frame: Frame) -> set[ErrorCode]:
        """Do what a request asks for that came a second time; returns the errors of its answer."""
        header, request = decode_request(frame, self.broker.handlers)
        broker, began = self.broker, time_ns()
        response = await self._handler(header)(broker, call, request)
        if broker.events.tracing:
            span = Span(began, time_ns())
            broker.events.traced(header, call.host, request, response, span, frame, None)
        return codes_in(response)


async def _refused(error: ApiException, broker: Broker, call: Call, request: Any) -> Any:
    """A handler that does nothing: a lab asked for this error."""
    return refused(call, request, error)
