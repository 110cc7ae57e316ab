"""Messages of which kio has other names of fields than Kafka 2.8: the bytes are the same."""

import dataclasses
from io import BytesIO

import pytest
from kio.schema.add_partitions_to_txn.v3 import request as add_v3
from kio.schema.add_partitions_to_txn.v3 import response as added_v3
from kio.schema.errors import ErrorCode
from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.offset_commit.v8 import request as commit_v8
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta, i64

from engine.wire import codec
from engine.wire.apis import APIS, Api
from engine.wire.errors import RequestHeader
from engine.wire.names import NAMES, named
from engine.wire.primitives import NO_THROTTLE

COMMIT = commit_v8.OffsetCommitRequest(
    group_id="g",
    generation_id_or_member_epoch=i32(7),
    member_id="m",
    topics=(
        commit_v8.OffsetCommitRequestTopic(
            name="orders",
            partitions=(
                commit_v8.OffsetCommitRequestPartition(
                    partition_index=i32(1), committed_offset=i64(5), committed_metadata=None
                ),
            ),
        ),
    ),
)
ADD = add_v3.AddPartitionsToTxnRequest(
    v3_and_below_transactional_id="till",
    v3_and_below_producer_id=i64(4000),
    v3_and_below_producer_epoch=i16(2),
    v3_and_below_topics=(add_v3.AddPartitionsToTxnTopic(name="orders", partitions=(i32(0),)),),
)
ADDED = added_v3.AddPartitionsToTxnResponse(
    throttle_time=i32Timedelta.parse(NO_THROTTLE),
    results_by_topic_v3_and_below=(
        added_v3.AddPartitionsToTxnTopicResult(
            name="orders",
            results_by_partition=(
                added_v3.AddPartitionsToTxnPartitionResult(
                    partition_index=i32(0), partition_error_code=ErrorCode.none
                ),
            ),
        ),
    ),
)


def renamed(message: object) -> object:
    """The same values by Kafka 2.8's names."""
    values = {
        NAMES.get(field.name, field.name): getattr(message, field.name)
        for field in dataclasses.fields(message)  # type: ignore[arg-type]
    }
    return named(type(message))(**values)


@pytest.mark.parametrize(
    ("api", "message"),
    [(Api.OFFSET_COMMIT, COMMIT), (Api.ADD_PARTITIONS_TO_TXN, ADD)],
    ids=lambda value: type(value).__name__,
)
def test_a_request_has_the_bytes_that_kio_writes(api: Api, message: object) -> None:
    kios = BytesIO()
    entity_writer(type(message))(kios, message)
    header = RequestHeader(api, api.newest, 1, "me")
    frame = codec.encode_request(header, renamed(message))
    assert frame.endswith(kios.getvalue())
    _, read = codec.decode_request(frame[4:], APIS)
    assert read == renamed(message)


def test_a_response_has_the_bytes_that_kio_writes() -> None:
    kios = BytesIO()
    entity_writer(type(ADDED))(kios, ADDED)
    header = RequestHeader(Api.ADD_PARTITIONS_TO_TXN, 3, 1, "me")
    (frame,) = codec.encode_response(header, renamed(ADDED))
    assert isinstance(frame, bytearray)
    assert frame.endswith(kios.getvalue())
    assert codec.decode_response(header, frame[4:]) == renamed(ADDED)


def test_a_message_that_has_no_other_names_is_kios_own() -> None:
    assert named(HeartbeatRequest) is HeartbeatRequest


def test_no_message_that_is_served_has_a_name_of_a_newer_kafka() -> None:
    for api in APIS.values():
        for kind in ("request", "response"):
            for version in range(api.oldest, api.newest + 1):
                fields = dataclasses.fields(codec.message(api, version, kind))
                strange = [
                    field.name
                    for field in fields
                    if "and_below" in field.name or "member_epoch" in field.name
                ]
                assert not strange, (api.name, version, kind)
