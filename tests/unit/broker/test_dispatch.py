"""From a frame to a handler and back, through the layers that are switched on."""

import asyncio
from dataclasses import FrozenInstanceError, fields
from functools import partial

import pytest

from engine import Simulation
from engine.broker.broker import Broker
from engine.broker.dispatch import Dispatcher, handlers_of
from engine.broker.layers import repeated
from engine.broker.request_quotas import with_quotas
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request, message
from engine.wire.errors import RequestHeader
from tests.interop.plain import build
from tests.unit.broker import alone

SIZE = 4  # bytes in front of a frame
HEADER = RequestHeader(int(Api.API_VERSIONS), 3, 7, "test")


class Connection:
    """As much of a connection as a dispatcher uses."""

    peer, listener, principal = "127.0.0.1:1", "PLAINTEXT", None
    client_id = peer_id = None
    throttle_ms = 0


def frame():
    fields = {"client_software_name": "kcat", "client_software_version": "1.7"}
    return encode_request(HEADER, build(message(Api.API_VERSIONS, 3, "request"), fields))[SIZE:]


@pytest.fixture
def broker():
    return alone.broker()


def test_without_quotas_and_labs_a_request_goes_straight_to_its_handler(broker):
    dispatcher = Dispatcher(broker, handlers_of(broker, {}))
    assert dispatcher._row() == dispatcher._serve
    pieces = asyncio.run(dispatcher.handle(Connection(), frame()))
    answer = decode_response(HEADER, b"".join(pieces)[SIZE:])
    assert {row.api_key for row in answer.api_keys} == {*handlers_of(broker, {})}


def test_a_layer_is_there_while_it_is_switched_on(broker):
    dispatcher = Dispatcher(broker, handlers_of(broker, {}))
    broker.quotas.configure({ClientQuotaEntity(user="alice"): {"producer_byte_rate": 9.0}})
    assert dispatcher._row().func is with_quotas
    broker.request_faults.repeat(Api.PRODUCE, None, times=1)
    assert dispatcher._row().func is repeated
    assert dispatcher._row().args[-1].func is with_quotas  # the next layer
    broker.quotas.configure({})
    broker.request_faults.heal()
    assert dispatcher._row() == dispatcher._serve


def test_a_trace_that_begins_while_a_request_waits_has_the_request(broker):
    async def story():
        go, waits = asyncio.Event(), handlers_of(broker, {})
        answer = waits[Api.API_VERSIONS]

        async def wait(call, request):
            await go.wait()
            return await answer(call, request)

        dispatcher = Dispatcher(broker, waits | {Api.API_VERSIONS: wait})
        work = asyncio.ensure_future(dispatcher.handle(Connection(), frame()))
        await asyncio.sleep(0)
        broker.events.tracing = True
        go.set()
        await work

    asyncio.run(story())
    assert [event.data["api"] for event in broker.events] == ["API_VERSIONS"]


def test_a_broker_is_built_whole_and_stays_as_it_is():
    """No part of it is set later, by another part."""
    built = Simulation(brokers=1).world[1].broker
    assert [field.name for field in fields(Broker) if getattr(built, field.name) is None] == []
    with pytest.raises(FrozenInstanceError):
        built.gateway = partial
