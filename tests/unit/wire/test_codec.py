"""Headers, versions, and every way in which a request can be wrong."""

from datetime import UTC, datetime, timedelta
from struct import pack
from types import SimpleNamespace

import pytest
from kio.schema.api_versions.v3 import request as api_versions
from kio.schema.api_versions.v3 import response as api_versions_answer
from kio.schema.create_topics.v7.request import CreateTopicsRequest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.metadata.v11.request import MetadataRequest
from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData

from engine.errors import ErrorCode
from engine.wire.apis import APIS, Api
from engine.wire.codec import decode_request, decode_response, encode_request
from engine.wire.errors import Malformed, RequestHeader, UnservedVersion
from tests.unit.wire.frames import encode_response

TWO_TO_31 = 2**31 - 1


def header(api: Api, version: int) -> RequestHeader:
    return RequestHeader(api, version, 7, "me")


def frame(api: int, version: int, body: bytes, tags: bytes = b"") -> bytes:
    """A request as its bytes: `tags` is the end of a flexible header."""
    return pack(">hhih2s", api, version, 7, 2, b"me") + tags + body


def test_a_request_by_its_bytes():
    body = pack(">i", 1) + pack(">h6s", 6, b"orders") + b"\x01"

    assert decode_request(frame(Api.METADATA, 4, body), APIS)[0] == header(Api.METADATA, 4)
    request = decode_request(frame(Api.METADATA, 4, body), APIS)[1]

    assert [topic.name for topic in request.topics] == ["orders"]
    assert request.allow_auto_topic_creation is True


def test_a_flexible_request_by_its_bytes():
    body = b"\x02" + bytes(16) + b"\x07orders" + b"\x00" + b"\x01" + b"\x00" + b"\x00"

    request = decode_request(frame(Api.METADATA, 11, body, tags=b"\x00"), APIS)[1]

    assert [topic.name for topic in request.topics] == ["orders"]
    assert request.topics[0].topic_id is None


def test_a_name_that_is_not_utf_8_is_read_as_kafka_reads_it():
    body = pack(">ih2s", 1, 2, b"\xff\xfe")

    request = decode_request(frame(Api.METADATA, 1, body), APIS)[1]

    assert [topic.name for topic in request.topics] == ["\ufffd\ufffd"]


@pytest.mark.parametrize("retention", [2**63 - 1, -(2**63), 604_800_000, -1])
def test_a_time_that_is_longer_than_python_counts_is_as_long_as_it_can(retention):
    """OffsetCommit 2 to 4 has one; a client may say "for ever" by the largest number."""
    body = pack(">h1sih1sqi", 1, b"g", -1, 1, b"m", retention, 0)
    request = decode_request(frame(Api.OFFSET_COMMIT, 2, body), APIS)[1]
    asked = request.retention_time // timedelta(milliseconds=1)
    assert asked == retention or abs(asked) > 86_000_000_000_000_000


def test_a_client_without_a_name():
    nameless = pack(">hhih", Api.METADATA, 0, 7, -1) + pack(">i", 0)
    assert decode_request(nameless, APIS)[0].client_id is None


def test_a_client_says_what_it_is():
    request = api_versions.ApiVersionsRequest(
        client_software_name="librdkafka", client_software_version="2.3.0"
    )
    sent = encode_request(header(Api.API_VERSIONS, 3), request)
    assert decode_request(sent[4:], APIS)[1] == request


def test_the_records_of_a_produce_request_are_a_view_of_the_frame():
    request = ProduceRequest(
        acks=-1,
        timeout=timedelta(seconds=30),
        topic_data=(
            TopicProduceData(
                name="t", partition_data=(PartitionProduceData(index=0, records=b"batch"),)
            ),
        ),
    )
    sent = bytearray(encode_request(header(Api.PRODUCE, 9), request)[4:])

    decoded = decode_request(sent, APIS)[1]

    assert decoded == request
    records = decoded.topic_data[0].partition_data[0].records
    sent[sent.index(b"batch")] = ord("c")
    assert records == b"catch"


class TestVersions:
    def test_an_old_request_has_the_newest_shape(self):
        old = encode_request(
            header(Api.FETCH, 4),
            SimpleNamespace(
                replica_id=-1,
                max_wait=timedelta(milliseconds=500),
                min_bytes=1,
                max_bytes=1000,
                isolation_level=0,
                topics=(),
            ),
        )
        request = decode_request(old[4:], APIS)[1]
        assert type(request) is FetchRequest
        assert (request.session_id, request.session_epoch, request.rack_id) == (0, -1, "")
        assert request.forgotten_topics_data == ()

    def test_a_field_that_newer_versions_dropped_is_kept(self):
        old = frame(Api.DELETE_TOPICS, 1, pack(">ih1si", 1, 1, b"a", 1000))
        request = decode_request(old, APIS)[1]
        assert isinstance(request, DeleteTopicsRequest)
        assert request.topic_names == ("a",)
        assert request.topics == ()
        assert request.timeout == timedelta(seconds=1)

    def test_a_field_that_a_version_lacks_is_not_written(self):
        answer = api_versions_answer.ApiVersionsResponse(
            error_code=ErrorCode.unsupported_version,
            api_keys=(api_versions_answer.ApiVersion(api_key=18, min_version=0, max_version=3),),
            throttle_time=timedelta(0),
        )
        sent = encode_response(header(Api.API_VERSIONS, 0), answer)
        assert sent == pack(">iihihhh", 16, 7, 35, 1, 18, 0, 3)

    def test_a_field_that_the_object_lacks_has_its_default(self):
        sent = encode_request(
            header(Api.METADATA, 8),
            MetadataRequest(topics=None, include_topic_authorized_operations=True),
        )
        request = decode_request(sent[4:], APIS)[1]
        assert request.topics is None
        assert request.include_topic_authorized_operations is True
        assert request.include_cluster_authorized_operations is False


class TestRefused:
    @pytest.mark.parametrize(
        ("said", "wrong"),
        [
            ("buffer of at least 8 bytes", b""),
            ("buffer of at least 8 bytes", b"\x00\x03\x00"),
            ("2 bytes from byte 10", frame(Api.METADATA, 1, b"")[:-1]),
            ("API 999 is not served", frame(999, 0, b"")),
            ("API -1 is not served", frame(-1, 0, b"")),
            ("3 bytes from byte 18", frame(Api.METADATA, 1, pack(">ih", 1, 3) + b"ab")),
            ("buffer of at least", frame(Api.METADATA, 1, b"")),
            ("2147483647 elements", frame(Api.METADATA, 1, pack(">i", TWO_TO_31) + b"\x00\x00")),
            ("a length of -2", frame(Api.METADATA, 1, pack(">i", -2))),
            ("elements", frame(Api.METADATA, 9, b"\xff\xff\xff\xff\x0f" + bytes(9), b"\x00")),
            ("more than five", frame(Api.METADATA, 9, b"\x81\x80\x80\x80\x80\x00", b"\x00")),
            ("a length of -1", frame(Api.METADATA, 1, pack(">ih", 1, -1))),
            ("a length of -2", frame(Api.METADATA, 1, pack(">ih", 1, -2))),
            ("a length of -1", frame(Api.CREATE_TOPICS, 2, pack(">ii?", -1, 1000, False))),
            ("a length of -1", frame(Api.CREATE_TOPICS, 5, b"\x00" + bytes(6), b"\x00")),
            ("out of range", frame(Api.METADATA, 9, b"\x01\x01\x00\x00\xff\xff\x03", b"\x00")),
            ("tag 5 has 127 bytes", frame(Api.METADATA, 9, bytes(4) + b"\x01\x05\x7f", b"\x00")),
            ("tag 5 has 127 bytes", frame(Api.METADATA, 9, b"", b"\x01\x05\x7f")),
        ],
    )
    def test_it_is_malformed(self, said, wrong):
        with pytest.raises(Malformed, match=said):
            decode_request(wrong, APIS)

    def test_bytes_behind_a_request_pass_and_behind_a_response_they_do_not(self):
        # as librdkafka 2.16 asks for the metadata of all topics: the array's length is an int32,
        # where the version has a varint, and the bytes behind it are three too many
        sent = frame(Api.METADATA, 11, bytes(4) + b"\x01\x00\x00", b"\x00")
        assert decode_request(sent, APIS)[1].topics is None

        asked = header(Api.CREATE_TOPICS, 2)
        with pytest.raises(Malformed, match="ends at byte 12 of 13"):
            decode_response(asked, pack(">iii", 7, 0, 0) + b"x")

    def test_an_api_without_a_handler(self):
        body = pack(">i", 0)
        assert decode_request(frame(Api.METADATA, 1, body), {Api.METADATA})
        with pytest.raises(Malformed, match="API 3 is not served"):
            decode_request(frame(Api.METADATA, 1, body), {Api.PRODUCE})

    @pytest.mark.parametrize("version", [-1, 10])
    def test_a_version_that_is_not_served(self, version):
        tags = b"\x00" if version > 8 else b""
        with pytest.raises(UnservedVersion) as refused:
            decode_request(frame(Api.PRODUCE, version, b"anything", tags), APIS)
        assert refused.value.header == header(Api.PRODUCE, version)

    def test_a_tag_with_a_wrong_size(self):
        good = b"\x01\x00\x04\x03abc"  # one tagged field: 0, the cluster id of a Fetch
        fetch = pack(">iiiibii", -1, 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01"
        request = decode_request(
            frame(Api.FETCH, 12, fetch + b"\x01\x00\x04\x04abc", b"\x00"), APIS
        )
        assert request[1].cluster_id == "abc"
        with pytest.raises(Malformed, match="tag 0 ends at"):
            decode_request(frame(Api.FETCH, 12, fetch + good, b"\x00"), APIS)


def test_api_versions_from_the_future_is_recognised_and_can_be_answered():
    unreadable = b"\x7fa body of which nothing is known"
    with pytest.raises(UnservedVersion) as refused:
        decode_request(frame(Api.API_VERSIONS, 4, unreadable, b"\x00"), APIS)
    asked = refused.value.header
    assert (asked.api_key, asked.correlation_id) == (Api.API_VERSIONS, 7)

    answer = SimpleNamespace(error_code=ErrorCode.unsupported_version, api_keys=())
    sent = encode_response(asked._replace(api_version=0), answer)
    assert sent == pack(">iihi", 10, 7, 35, 0)


def test_tags_that_we_do_not_know_are_passed_over():
    body = b"\x01" + b"\x01\x00\x00" + b"\x01\x63\x03new"
    request = decode_request(frame(Api.METADATA, 9, body, tags=b"\x02\x01\x00\x7f\x01x"), APIS)[1]
    assert request.topics == ()


class TestAnswers:
    HEADER = header(Api.PRODUCE, 9)
    WRITTEN = datetime(2026, 8, 1, 12, 0, 0, 123000, tzinfo=UTC)

    def sent(self) -> bytes:
        partition = SimpleNamespace(
            index=3,
            error_code=ErrorCode.none,
            base_offset=42,
            log_append_time=self.WRITTEN,
            log_start_offset=0,
        )
        topic = SimpleNamespace(name="t", partition_responses=[partition])
        return encode_response(self.HEADER, SimpleNamespace(responses=[topic]))

    def test_a_round_trip_keeps_the_milliseconds(self):
        answer = decode_response(self.HEADER, self.sent()[4:])
        partition = answer.responses[0].partition_responses[0]
        assert partition.log_append_time == self.WRITTEN
        assert partition.base_offset == 42

    def test_an_answer_to_another_request(self):
        with pytest.raises(Malformed, match="the response is to 7, not 8"):
            decode_response(self.HEADER._replace(correlation_id=8), self.sent()[4:])

    @pytest.mark.parametrize("cut", range(1, 50))
    def test_cut_off_anywhere(self, cut):
        with pytest.raises(Malformed):
            decode_response(self.HEADER, self.sent()[4:-cut])

    def test_an_error_that_kafka_does_not_know(self):
        asked = header(Api.HEARTBEAT, 0)
        with pytest.raises(Malformed, match="no error code 3000"):
            decode_response(asked, pack(">ih", 7, 3000))


def test_null_where_the_protocol_has_none_is_our_own_bug():
    with pytest.raises(AssertionError):
        encode_request(
            header(Api.CREATE_TOPICS, 7),
            CreateTopicsRequest(topics=None, timeout=timedelta(0), validate_only=False),
        )


def test_objects_of_one_class_may_have_different_fields():
    """Each field that one of them lacks has its default, whoever came first."""
    for fields in ({}, {"throttle_time": timedelta(seconds=1)}, {}):
        answer = SimpleNamespace(error_code=ErrorCode.none, api_keys=(), **fields)
        sent = encode_response(header(Api.API_VERSIONS, 1), answer)
        told = decode_response(header(Api.API_VERSIONS, 1), sent[4:])
        assert told.throttle_time == fields.get("throttle_time", timedelta())
