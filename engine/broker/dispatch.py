"""From a frame to a handler and back: which API is served by which function.

    frame ─> decode ─> handler ─> encode ─> pieces

Between decoding and the handler are the layers that are switched on (layers.py). The table has
which parts of the broker each handler uses.

An API that is not in the table is not advertised. A client that uses it all the same is
disconnected, as by Kafka. A newer client may send an ApiVersions request in an unknown version: it
gets an error in version 0, and sends an older one.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import compress
from time import time_ns
from typing import Any

from engine.broker.broker import Broker
from engine.broker.call import Call, Handler
from engine.broker.events import Span, broker_of
from engine.broker.handlers import (
    fetch,
    groups,
    metadata,
    offsets,
    old_versions,
    produce,
    security,
    transactions,
    versions,
)
from engine.broker.handlers.groups import FindCoordinatorHandler
from engine.broker.handlers.results import codes_in
from engine.broker.handlers.transactions import WriteTxnMarkersHandler
from engine.broker.layers import (
    IncomingRequest,
    Serve,
    ServedResponse,
    afterwards,
    encoded,
    failing,
    repeated,
)
from engine.broker.request_quotas import with_quotas
from engine.broker.secure_listeners import SecureListener
from engine.broker.server import Connection, Pieces
from engine.errors import ErrorCode
from engine.security.sasl_server import SaslServerAuthenticator
from engine.wire.apis import Api, ApiKey
from engine.wire.codec import decode_request, encode_response
from engine.wire.errors import RequestHeader, UnservedVersion
from engine.wire.frame import Frame
from engine.wire.topic_ids import TOPIC_IDS_SINCE, with_names

ADMINISTRATION = (
    Api.CREATE_TOPICS,
    Api.DELETE_TOPICS,
    Api.DELETE_RECORDS,
    Api.DESCRIBE_ACLS,
    Api.CREATE_ACLS,
    Api.DELETE_ACLS,
    Api.DESCRIBE_CONFIGS,
    Api.ALTER_CONFIGS,
    Api.ALTER_REPLICA_LOG_DIRS,
    Api.DESCRIBE_LOG_DIRS,
    Api.CREATE_PARTITIONS,
    Api.ELECT_LEADERS,
    Api.INCREMENTAL_ALTER_CONFIGS,
    Api.ALTER_PARTITION_REASSIGNMENTS,
    Api.LIST_PARTITION_REASSIGNMENTS,
    Api.DESCRIBE_CLIENT_QUOTAS,
    Api.ALTER_CLIENT_QUOTAS,
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
    Api.ALTER_USER_SCRAM_CREDENTIALS,
    Api.DESCRIBE_PRODUCERS,
)  # administration.py has the handlers


def handlers_of(broker: Broker, of_mode: Mapping[ApiKey, Handler]) -> dict[ApiKey, Handler]:
    """The newest versions. `of_mode`: requests that only brokers of this mode get, or that they
    handle in another way."""
    handlers: dict[ApiKey, Handler] = _of_clients(broker)
    handlers |= dict.fromkeys(ADMINISTRATION, _Administration(broker).handle)
    handlers = {api: it for api, it in {**handlers, **of_mode}.items() if api in broker.apis}
    every = broker.served({*handlers, Api.API_VERSIONS})
    return {Api.API_VERSIONS: partial(versions.handle, every), **handlers}


def _of_clients(broker: Broker) -> dict[ApiKey, Handler]:
    replicas, purgatory = broker.replicas, broker.purgatory
    coordinate = partial(groups.handle, broker.groups)
    transact = partial(transactions.handle, broker.transactions)
    return {
        Api.PRODUCE: partial(produce.handle, replicas, purgatory),
        Api.FETCH: partial(fetch.handle, replicas, broker.sessions, broker.metadata, broker.auth),
        Api.LIST_OFFSETS: partial(offsets.list_offsets, replicas),
        Api.METADATA: partial(metadata.handle, broker.metadata, broker.creation),
        Api.OFFSET_COMMIT: coordinate,
        Api.OFFSET_FETCH: coordinate,
        Api.FIND_COORDINATOR: FindCoordinatorHandler(
            broker.groups, broker.transactions, broker.metadata, broker.creation
        ).handle,
        Api.JOIN_GROUP: coordinate,
        Api.HEARTBEAT: coordinate,
        Api.LEAVE_GROUP: coordinate,
        Api.SYNC_GROUP: coordinate,
        Api.DESCRIBE_GROUPS: coordinate,
        Api.LIST_GROUPS: coordinate,
        Api.SASL_HANDSHAKE: security.handshake,
        Api.INIT_PRODUCER_ID: partial(
            transactions.init_producer_id, broker.transactions, broker.producer_ids
        ),
        Api.OFFSET_FOR_LEADER_EPOCH: partial(offsets.for_leader_epoch, replicas),
        Api.ADD_PARTITIONS_TO_TXN: transact,
        Api.ADD_OFFSETS_TO_TXN: transact,
        Api.END_TXN: transact,
        Api.WRITE_TXN_MARKERS: WriteTxnMarkersHandler(replicas, purgatory, broker.groups).handle,
        Api.TXN_OFFSET_COMMIT: coordinate,
        Api.SASL_AUTHENTICATE: security.authenticate,
        Api.CREATE_DELEGATION_TOKEN: security.refuse_token,
        Api.RENEW_DELEGATION_TOKEN: security.refuse_token,
        Api.EXPIRE_DELEGATION_TOKEN: security.refuse_token,
        Api.DESCRIBE_DELEGATION_TOKEN: security.refuse_token,
        Api.DELETE_GROUPS: coordinate,
        Api.OFFSET_DELETE: coordinate,
        Api.UPDATE_FEATURES: partial(versions.update_features, broker.config, broker.gateway),
        Api.DESCRIBE_CLUSTER: partial(metadata.describe_cluster, broker.metadata),
    }


FETCH = int(Api.FETCH)
Newer = Callable[[Broker, Mapping[int, Handler]], Mapping[int, Handler]]


class _Administration:
    """Requests of administrators. The code that handles them is loaded when the first of them
    comes, so that a broker that gets none starts sooner."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._handlers: Mapping[Api, Handler] = {}

    async def handle(self, call: Call, request: Any) -> Any:
        if not self._handlers:
            from engine.broker.administration import handlers_of_administrators  # noqa: PLC0415

            self._handlers = handlers_of_administrators(self._broker)
        return await self._handlers[call.api](call, request)


def old_handlers_of(broker: Broker) -> dict[Api, Handler]:
    """Of the versions up to `old_versions.LAST`. The old versions of the other APIs differ in
    nothing but their fields."""
    replicas, known, gateway = broker.replicas, broker.metadata, broker.gateway
    return {
        Api.PRODUCE: partial(old_versions.old_produce, replicas, broker.purgatory),
        Api.FETCH: partial(
            old_versions.old_fetch, *(replicas, broker.sessions, known, broker.auth, broker.configs)
        ),
        Api.LIST_OFFSETS: partial(old_versions.old_list_offsets, replicas),
        Api.OFFSET_COMMIT: partial(old_versions.old_commit, known, gateway, broker.config),
        Api.OFFSET_FETCH: partial(old_versions.old_fetch_offsets, known, gateway),
    }


class Dispatcher:
    def __init__(
        self, broker: Broker, handlers: Mapping[ApiKey, Handler], newer: Newer = lambda *_: {}
    ) -> None:
        """`newer`: handlers of newer versions, in front of those that authorize and serve."""
        guarded = broker.auth.guarded
        self._handlers = {int(api): guarded(handler) for api, handler in handlers.items()}
        self._handlers |= newer(broker, self._handlers)
        self._old = {int(api): guarded(handler) for api, handler in old_handlers_of(broker).items()}
        self._last_old = {int(api): version for api, version in old_versions.LAST.items()}
        self._broker = broker
        faults = broker.request_faults
        self._layers = (
            partial(repeated, faults, self._handle_copy),
            partial(with_quotas, broker.quotas, broker.sessions, broker.now),
            partial(failing, faults),
        )
        self._afterwards = partial(afterwards, faults, broker.request_counts, broker.events)
        self._rows: dict[tuple[bool, ...], Serve] = {}  # by which layers are switched on

    def authenticator(self, listener: SecureListener) -> SaslServerAuthenticator:
        """For a new connection to a listener with SASL."""
        respond = partial(versions.respond, self._broker.served(self._handlers))
        return SaslServerAuthenticator(listener.mechanisms, respond, versions.unsupported)

    async def handle(self, connection: Connection, frame: Frame) -> Pieces | None:
        try:
            header, request = self._decoded(frame)
        except UnservedVersion as error:
            if error.header.api_key != Api.API_VERSIONS:
                raise
            return encode_response(error.header._replace(api_version=0), versions.unsupported())
        connection.client_id, connection.throttle_ms = header.client_id, 0
        connection.peer_id = broker_of(request, header.client_id)
        call = Call(
            *(header, connection.peer, connection.listener, connection.principal),
            apis=self._broker.apis,
        )
        incoming, began = IncomingRequest(connection, frame, call, request), time_ns()
        served = await self._row()(incoming)
        if self._is_watched:
            await self._afterwards(incoming, served, began)
        return served.answer

    def _decoded(self, frame: Frame) -> tuple[RequestHeader, Any]:
        header, request = decode_request(frame, self._handlers, self._broker.apis)
        if header.api_key == FETCH and header.api_version >= TOPIC_IDS_SINCE:
            request = with_names(request, self._broker.metadata.topic_names)
        return header, request

    @property
    def _is_watched(self) -> bool:
        broker = self._broker
        return broker.events.tracing or broker.request_counts.on or broker.request_faults.is_slow

    def _row(self) -> Serve:
        """The layers that are switched on now, in a row that ends in the handlers."""
        faults = self._broker.request_faults
        switches = bool(faults.repeats), self._broker.quotas.enabled, faults.fails
        if switches not in self._rows:
            row: Serve = self._serve
            for layer in reversed([*compress(self._layers, switches)]):
                row = partial(layer, row)
            self._rows[switches] = row
        return self._rows[switches]

    async def _serve(self, incoming: IncomingRequest) -> ServedResponse:
        call = incoming.call
        return encoded(call, await self._handler(call.header)(call, incoming.request))

    def _handler(self, header: RequestHeader) -> Handler:
        """The function that serves a request of this API and version."""
        api = header.api_key
        is_old = header.api_version <= self._last_old.get(api, -1)
        return (self._old if is_old else self._handlers)[api]

    async def _handle_copy(self, call: Call, frame: Frame) -> set[ErrorCode]:
        """Do what a request asks for that came a second time; returns the errors of its answer."""
        header, request = self._decoded(frame)
        began, events = time_ns(), self._broker.events
        response = await self._handler(header)(call, request)
        if events.tracing:
            span = Span(began, time_ns())
            events.traced(header, call.host, request, response, span, frame, None)
        return codes_in(response)
