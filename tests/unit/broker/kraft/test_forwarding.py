"""Requests of administrators in Envelopes: what the controller gets, and what the client gets."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from kio.schema.delete_topics.v6.response import DeletableTopicResult, DeleteTopicsResponse

from engine.broker.call import Call
from engine.broker.dispatch import handlers_of
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.forwarding import ForwardingManager
from engine.broker.kraft.mode import KRaftMode
from engine.errors import ErrorCode
from engine.security.principals import Principal
from engine.wire.apis import Api
from engine.wire.codec import decode_request, encode_request, encode_response
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import KRAFT_APIS
from engine.wire.primitives import NO_THROTTLE, duration
from tests.limits import ANSWER_S
from tests.unit.broker import alone
from tests.unit.broker.kraft.quorum import FakeQuorum

HEADER = RequestHeader(int(Api.DELETE_TOPICS), 6, 41, "admin")
CALL = Call(HEADER, "10.0.0.7:5000", principal=Principal("alice"), apis=KRAFT_APIS)
SENT = DeleteTopicsRequest(
    topics=(DeleteTopicState(name="orders", topic_id=None),), timeout=duration(1000)
)
_, REQUEST = decode_request(encode_request(HEADER, SENT)[SIZE.size :], KRAFT_APIS, KRAFT_APIS)
DONE = DeleteTopicsResponse(
    throttle_time=NO_THROTTLE,
    responses=(
        DeletableTopicResult(
            name="orders",
            topic_id=None,
            error_code=ErrorCode.topic_deletion_disabled,
            error_message="no",
        ),
    ),
)


def forwarded(timeout_s=ANSWER_S, **answer):
    """The answer to the client, and the envelope."""

    async def story():
        quorum = FakeQuorum()
        if answer:
            quorum.answer(101, **answer)
        forwarding = ForwardingManager(ControllerChannel(quorum, "broker-1", 5.0), timeout_s)
        response = await forwarding.handle(CALL, REQUEST)
        return response, quorum.asked[0][2]

    return asyncio.run(story())


def data_of(response):
    return b"".join(map(bytes, encode_response(HEADER, response, KRAFT_APIS)))[SIZE.size :]


def test_the_controller_gets_the_request_with_its_sender():
    response, envelope = forwarded(error_code=ErrorCode.none, response_data=data_of(DONE))
    header, request = decode_request(envelope.request_data, KRAFT_APIS, KRAFT_APIS)
    assert (header, request) == (HEADER, REQUEST)
    assert envelope.request_principal == b"\x00\x00\x05User\x06alice\x00\x00"
    assert envelope.client_host_address == bytes([10, 0, 0, 7])
    assert response == DONE


def test_a_controller_that_refuses_envelopes_is_an_error_of_the_server():
    """The client did nothing wrong; the broker's log has the reason."""
    error = ErrorCode.cluster_authorization_failed
    response, _ = forwarded(error_code=error, response_data=None)
    assert [row.error_code for row in response.responses] == [ErrorCode.unknown_server_error]


def test_a_request_that_the_controller_cannot_parse_closes_the_client_s_connection():
    with pytest.raises(Malformed, match="cannot read"):
        forwarded(error_code=ErrorCode.invalid_request, response_data=None)


def test_without_an_answer_the_request_has_timed_out():
    response, _ = forwarded(timeout_s=0.01)
    assert [row.error_code for row in response.responses] == [ErrorCode.request_timed_out]


def test_every_api_of_the_table_has_a_handler_and_no_other():
    """What a broker without ZooKeeper advertises is what it serves."""
    one = replace(alone.broker(), apis=KRAFT_APIS)
    channel = ControllerChannel(FakeQuorum(), "broker-1", 5.0)
    mode = SimpleNamespace(_forwarding=ForwardingManager(channel, 1.0), _api_versions=print)
    assert handlers_of(one, KRaftMode.handlers(mode, one)).keys() == KRAFT_APIS.keys()
