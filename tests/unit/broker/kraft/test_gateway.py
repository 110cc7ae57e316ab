"""What a broker asks of the quorum, and what it says when nobody leads."""

import asyncio
from types import SimpleNamespace

import pytest
from kio.schema.create_topics.v7.response import CreatableTopicResult, CreateTopicsResponse
from kio.schema.metadata.v11.request import MetadataRequest, MetadataRequestTopic

from engine.broker.call import Call
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.forwarding import ForwardingManager, encode_principal
from engine.broker.kraft.gateway import KRaftGateway
from engine.broker.kraft.mode import KRaftMode
from engine.errors import ApiException, ErrorCode
from engine.security.principals import Principal
from engine.wire.apis import Api
from engine.wire.codec import decode_request, encode_response
from engine.wire.errors import RequestHeader
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import KRAFT_APIS
from engine.wire.primitives import NO_THROTTLE
from tests.limits import ANSWER_S
from tests.unit.broker import alone
from tests.unit.broker.kraft.quorum import FakeQuorum

METADATA = RequestHeader(int(Api.METADATA), 11, 41, "reader")
CLIENT = Call(METADATA, "10.0.0.7:5000", principal=Principal("alice"), apis=KRAFT_APIS)
CREATE = RequestHeader(int(Api.CREATE_TOPICS), 7, 41, "reader")


def test_without_a_controller_a_topic_is_not_waited_for():
    """A client that asks for a topic's metadata has other requests behind this one."""

    async def story():
        gateway = KRaftGateway(
            config=None,
            node=FakeQuorum(leader=None),
            channel=None,
            lifecycle=None,
            forwarding=None,
        )
        with pytest.raises(ApiException) as error:
            await gateway.create_topic("orders", {0: [1]}, {})
        assert error.value.code is ErrorCode.leader_not_available

    asyncio.run(story())


def asked_for(topic, error):
    """The error of a topic in the answer to Metadata, and the envelope that the controller got. It
    answers CreateTopics with this error."""
    row = CreatableTopicResult(
        name=topic, topic_id=None, error_code=error, error_message=None, configs=()
    )
    created = CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(row,))
    data = b"".join(map(bytes, encode_response(CREATE, created, KRAFT_APIS)))[SIZE.size :]
    request = MetadataRequest(
        topics=(MetadataRequestTopic(topic_id=None, name=topic),),
        allow_auto_topic_creation=True,
        include_topic_authorized_operations=False,
    )

    async def story():
        quorum, one = FakeQuorum(), alone.broker()
        quorum.answer(101, error_code=ErrorCode.none, response_data=data)
        channel = ControllerChannel(quorum, "broker-1", 5.0)
        gateway = KRaftGateway(
            config=SimpleNamespace(request_timeout_ms=5000),
            node=quorum,
            channel=channel,
            lifecycle=None,
            forwarding=ForwardingManager(channel, 5.0),
        )
        mode = SimpleNamespace(_gateway=gateway)
        async with asyncio.timeout(ANSWER_S):
            answer = await KRaftMode._metadata(mode, one, CLIENT, request)
        ((_, api, envelope),) = quorum.asked
        assert api == "ENVELOPE"
        return answer.topics[0].error_code, envelope

    return asyncio.run(story())


def test_a_topic_is_created_in_the_name_of_the_client_that_asks_for_its_metadata():
    """The controller authorizes alice, and counts her new partitions, not those of the broker."""
    code, envelope = asked_for("orders", ErrorCode.none)
    assert code is ErrorCode.leader_not_available
    assert envelope.request_principal == encode_principal(Principal("alice"))
    assert envelope.client_host_address == bytes([10, 0, 0, 7])
    header, request = decode_request(envelope.request_data, KRAFT_APIS, KRAFT_APIS)
    assert header == CREATE
    assert [topic.name for topic in request.topics] == ["orders"]


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.topic_authorization_failed, ErrorCode.topic_authorization_failed),
        (ErrorCode.throttling_quota_exceeded, ErrorCode.unknown_topic_or_partition),
    ],
)
def test_a_client_that_is_over_its_quota_asks_again(refused, told):
    """Clients of Metadata do not know the error of a quota."""
    assert asked_for("orders", refused)[0] is told
