"""Requests of administrators in Envelopes: what the controller gets, and what the client gets."""

import asyncio
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from kio.schema.delete_topics.v6.response import DeletableTopicResult, DeleteTopicsResponse
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

from engine.broker.call import Call
from engine.broker.dispatch import handlers_of
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.forwarding import ForwardingManager
from engine.broker.kraft.mode import KRaftMode, _alter_configs
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
        forwarded(error_code=ErrorCode.unsupported_version, response_data=None)


def test_without_an_answer_the_request_has_timed_out():
    response, _ = forwarded(timeout_s=0.01)
    assert [row.error_code for row in response.responses] == [ErrorCode.request_timed_out]


def altered(*resources):
    """The rows of the answer, and the resources that the controller gets."""
    header = RequestHeader(int(Api.INCREMENTAL_ALTER_CONFIGS), 1, 41, "admin")
    request = IncrementalAlterConfigsRequest(
        resources=tuple(_resource(*each) for each in resources), validate_only=False
    )
    one = alone.broker(brokers=(1, 2))
    locally = partial(_alter_configs, one, Api.INCREMENTAL_ALTER_CONFIGS)
    call, passed = Call(header, "10.0.0.7:5000", principal=CALL.principal), []

    class Passing(ForwardingManager):
        async def handle(self, call, request):
            passed.extend(it.resource_name for it in request.resources)
            rows = tuple(_row(it) for it in request.resources)
            return IncrementalAlterConfigsResponse(throttle_time=NO_THROTTLE, responses=rows)

    async def story():
        channel = ControllerChannel(FakeQuorum(), "broker-1", 5.0)
        answer = await Passing(channel, 1.0).alter_configs(locally, call, request)
        return {row.resource_name: row.error_code.name for row in answer.responses}

    return asyncio.run(story()), passed


def _resource(kind, name, key, value):
    change = AlterableConfig(name=key, config_operation=0, value=value)
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=(change,))


def _row(asked):
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.none,
        error_message=None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )


def test_a_broker_checks_its_own_keys_before_a_controller_gets_them():
    """The controller could not look for a file on this machine."""
    key = "log.cleaner.threads"
    rows, passed = altered((4, "1", key, "many"), (4, "", key, "2"), (2, "orders", "x", "y"))
    assert rows == {"1": "invalid_request", "": "none", "orders": "none"}
    assert passed == ["", "orders"]
    assert altered((4, "1", key, "2")) == ({"1": "none"}, ["1"])


def test_a_type_of_resource_that_nobody_knows_is_refused_alone():
    rows, passed = altered((2, "orders", "x", "y"), (32, "group", "x", "y"))
    assert rows == {"orders": "none", "group": "invalid_request"}
    assert passed == ["orders"]


def test_a_broker_refuses_the_keys_of_another_one():
    rows, passed = altered((4, "2", "log.cleaner.threads", "2"))
    assert (rows, passed) == ({"2": "invalid_request"}, [])


def test_a_resource_that_is_named_twice_is_refused_and_the_others_are_altered():
    twice = (2, "orders", "x", "y")
    rows, passed = altered(twice, (2, "calm", "x", "y"), twice)
    assert rows == {"orders": "invalid_request", "calm": "none"}
    assert list(rows) == ["orders", "calm"]
    assert passed == ["calm"]


def test_every_api_of_the_table_has_a_handler_and_no_other():
    """What a broker without ZooKeeper advertises is what it serves."""
    one = replace(alone.broker(), apis=KRAFT_APIS)
    channel = ControllerChannel(FakeQuorum(), "broker-1", 5.0)
    mode = SimpleNamespace(
        _forwarding=ForwardingManager(channel, 1.0), _api_versions=print, _metadata=print
    )
    assert handlers_of(one, KRaftMode.handlers(mode, one)).keys() == KRAFT_APIS.keys()
