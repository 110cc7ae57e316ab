"""What a node sends to the listener of a controller."""

import asyncio
from uuid import UUID

import pytest
from kio.schema.broker_registration.v0.request import BrokerRegistrationRequest

from engine.broker.kraft.controller_peer import connect_to_controller
from engine.links import Links
from engine.wire.codec import decode_request
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from tests.limits import ANSWER_S

REGISTRATION = BrokerRegistrationRequest(
    broker_id=1,
    cluster_id="c",
    incarnation_id=UUID(int=7),
    listeners=(),
    features=(),
    rack=None,
)


def test_a_broker_registers_in_the_version_that_a_controller_of_kafka_3_3_knows():
    """Version 1 came with Kafka 3.4, for brokers that migrate from ZooKeeper. Our controller reads
    both."""
    asked = []

    async def controller(reader, writer):
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        asked.append(decode_request(frame, CONTROLLER_APIS, CONTROLLER_APIS))
        writer.close()

    async def story():
        server = await asyncio.start_server(controller, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        peer = connect_to_controller(Links(), None, "127.0.0.1", port, 101, "broker-1", ANSWER_S)
        async with server:
            with pytest.raises(ConnectionError):
                await peer.ask(ControllerApi.BROKER_REGISTRATION, REGISTRATION)

    asyncio.run(story())
    ((header, request),) = asked
    assert (header.api_version, request.broker_id, request.is_migrating_zk_broker) == (0, 1, False)
