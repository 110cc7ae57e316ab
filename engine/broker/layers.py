"""The layers that a request passes on its way to its handler, and what is done afterwards.

    decode ─> repeated ─> quotas ─> failing ─> handler ─> encode ─> afterwards
              a copy                a lab's                         a lab's delay,
              for a lab             error                           counts, traces

A layer gets the next one (`serve`) and the request. Each is there only while it is switched on, so
without quotas and labs a request goes from the decoder to its handler (dispatch.py). Quotas:
request_quotas.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import time_ns
from typing import Any, NamedTuple

from engine.broker.authorization import refused
from engine.broker.call import Call
from engine.broker.events import Ring, Span
from engine.broker.request_counts import RequestCounts
from engine.broker.request_faults import RequestCopy, RequestFaults
from engine.broker.server import Connection, Pieces
from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import encode_response
from engine.wire.frame import Frame


class IncomingRequest(NamedTuple):
    """A request that is being served."""

    connection: Connection
    frame: Frame
    call: Call
    request: Any

    @property
    def from_client(self) -> bool:
        return self.connection.peer_id is None


class ServedResponse(NamedTuple):
    response: Any  # None: there is none
    answer: Pieces | None  # its bytes


Serve = Callable[[IncomingRequest], Awaitable[ServedResponse]]
HandleCopy = Callable[[Call, Frame], Awaitable[set[ErrorCode]]]


def encoded(call: Call, response: Any) -> ServedResponse:
    if response is None:
        return ServedResponse(None, None)
    return ServedResponse(response, encode_response(call.header, response, call.apis))


async def repeated(
    faults: RequestFaults, handle_copy: HandleCopy, serve: Serve, incoming: IncomingRequest
) -> ServedResponse:
    """Keep a copy of the request, if a lab wants to repeat it."""
    call = incoming.call
    if incoming.from_client or call.api is Api.WRITE_TXN_MARKERS:
        handle = partial(handle_copy, call, bytes(incoming.frame))
        faults.keep(RequestCopy(call.api, call.header.client_id, handle))
    return await serve(incoming)


async def failing(faults: RequestFaults, serve: Serve, incoming: IncomingRequest) -> ServedResponse:
    """An error in place of the handler, if a lab asked for it."""
    call = incoming.call
    if incoming.from_client:
        failure = faults.refuses(call.api, call.header.client_id)
        if failure is not None:
            return encoded(call, refused(call, incoming.request, failure))
    return await serve(incoming)


async def afterwards(
    faults: RequestFaults,
    counts: RequestCounts,
    events: Ring,
    incoming: IncomingRequest,
    served: ServedResponse,
    began: int,
) -> None:
    """The answer of a slow coordinator waits; then it is counted, and told. What is switched on
    while a request waits holds for it, too."""
    connection, frame, call, request = incoming
    if incoming.from_client and (seconds := faults.delay(call.api, request)):
        await asyncio.sleep(seconds)
    if counts.on:
        counts.add(call.api, time_ns() - began)
    if events.tracing:
        response, answer = served
        span = Span(began, time_ns())
        events.traced(call.header, connection.peer, request, response, span, frame, answer)
