"""A message taken apart: every version of every API, whole, cut at any byte, or nonsense."""

from dataclasses import replace

import pytest

from engine.errors import ErrorCode
from engine.storage import records
from engine.storage.records import Record
from engine.wire import schema
from engine.wire.apis import Api
from engine.wire.codec import encode_request, message
from engine.wire.errors import RequestHeader
from engine.wire.kraft_apis import EVERY_API
from tests.unit.wire.frames import encode_response
from widgets.wire.anatomy import ANSWER, ASK, dissect, errors

VERSIONS = [
    (api, version) for api in EVERY_API.values() for version in range(api.oldest, api.newest + 1)
]
RECORDS = [Record(0, 7, b"table 4", b"two teas"), Record(1, 9, None, b"one cake")]


def sample(declared):
    """A message with one element in each array."""
    return declared(**{field.name: value(field) for field in schema.fields(declared)})


def value(field):
    if field.type == "records":
        return b""
    one = sample(field.type) if not isinstance(field.type, str) else field.default
    if not field.is_array:
        return one
    if isinstance(field.type, str):
        fixed = schema.FIXED.get(field.type)
        one = fixed.default if fixed else "orders" if field.type == "string" else b"x"
        one = 7 if fixed and isinstance(one, int) and not isinstance(one, bool) else one
    return (one,)


def encoded(api, version, way):
    header = RequestHeader(api, version, 77, "me")
    body = sample(message(api, version, way))
    write = encode_request if way == ASK else encode_response
    return write(header, body, EVERY_API)


def tiled(leaves, frame):
    ends = [0, *(leaf.end for leaf in leaves)]
    assert [leaf.start for leaf in leaves] == ends[:-1]
    assert ends[-1] == len(frame)


def values(leaves):
    return {leaf.name: leaf.value for leaf in leaves}


def produce(batch):
    """A request with a batch of records."""
    one = sample(message(Api.PRODUCE, 9, ASK))
    (topic,) = one.topic_data
    (part,) = topic.partition_data
    part = replace(part, index=3, records=batch)
    one = replace(one, acks=-1, topic_data=(replace(topic, partition_data=(part,)),))
    return encode_request(RequestHeader(Api.PRODUCE, 9, 1, "producer-1"), one)


@pytest.mark.parametrize("way", [ASK, ANSWER])
@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda it: str(getattr(it, "name", it)))
def test_every_version_of_every_api_is_named_to_the_last_byte(api, version, way):
    frame = encoded(api, version, way)
    leaves = dissect(api.name, version, way, frame)
    tiled(leaves, frame)
    assert not {"unreadable", "left over", "cut off", "…"} & {leaf.name for leaf in leaves}
    names = {leaf.name for leaf in leaves}
    plain = [it for it in schema.fields(message(api, version, way)) if it.tag is None]
    assert {field.name for field in plain} <= names
    assert errors(leaves) == []


def test_a_request_says_who_asks_for_what():
    leaves = dissect("METADATA", 11, ASK, encoded(Api.METADATA, 11, ASK))
    told = values(leaves)
    assert told["api_key"] == "3 → Metadata"
    assert (told["client_id"], told["correlation_id"]) == ("“me”", "77")
    assert [leaf.depth for leaf in leaves if leaf.first] == [1]


def test_a_batch_is_opened_to_its_header_and_its_crc_checked():
    frame = produce(records.encode(RECORDS))
    leaves = dissect("PRODUCE", 9, ASK, frame)
    tiled(leaves, frame)
    told = values(leaves)
    assert told["crc"].endswith("right ✓")
    assert told["records"] == "2 records, the first “table 4”: “two teas”"
    assert told["count"] == "2"
    broken = bytearray(frame)
    broken[-5] ^= 1
    assert "WRONG" in values(dissect("PRODUCE", 9, ASK, bytes(broken)))["crc"]


@pytest.mark.parametrize("way", [ASK, ANSWER])
def test_what_is_cut_at_any_byte_is_reported_as_far_as_it_goes(way):
    frame = encoded(Api.JOIN_GROUP, 7, way)
    whole = dissect("JOIN_GROUP", 7, way, frame)
    for end in range(4, len(frame)):
        leaves = dissect("JOIN_GROUP", 7, way, frame[:end])
        assert leaves[-1].name == "…"
        assert f"{len(frame) - end:,} byte" in leaves[-1].value
        tiled(leaves[:-1], frame[:end])
        done = [leaf for leaf in leaves if leaf.name not in ("…", "cut off")]
        assert done == whole[: len(done)]


def test_a_batch_of_which_only_a_part_is_there_keeps_its_header():
    frame = produce(records.encode(RECORDS))
    leaves = dissect("PRODUCE", 9, ASK, frame[:-20])
    tiled(leaves[:-1], frame[:-20])
    told = values(leaves)
    assert "cannot be checked" in told["crc"]
    assert told["count"] == "2"
    for end in range(len(frame)):
        dissect("PRODUCE", 9, ASK, frame[:end])  # and nothing raises


def test_records_that_went_by_sendfile_are_reported_by_their_length():
    whole = encoded(Api.FETCH, 12, ANSWER)
    leaves = dissect("FETCH", 12, ANSWER, whole)
    (at,) = (leaf for leaf in leaves if leaf.name == "records")
    sent = whole[: at.start] + bytes([93 + 1])
    sent = (int.from_bytes(sent[:4], "big") + 93).to_bytes(4, "big") + sent[4:]
    leaves = dissect("FETCH", 12, ANSWER, sent)
    tiled(leaves, sent)
    assert leaves[-1].value.startswith("93 bytes, straight from the log file: sendfile")


def test_errors_are_named_once_and_as_kafka_writes_them():
    header = RequestHeader(Api.HEARTBEAT, 4, 1, "me")
    body = sample(message(Api.HEARTBEAT, 4, ANSWER))
    body = replace(body, error_code=ErrorCode.rebalance_in_progress)
    leaves = dissect("HEARTBEAT", 4, ANSWER, encode_response(header, body))
    assert errors(leaves) == ["REBALANCE_IN_PROGRESS"]
    (told,) = (leaf for leaf in leaves if leaf.name == "error_code")
    assert (told.kind, told.value) == ("torn", "27 → REBALANCE_IN_PROGRESS")


def test_what_is_left_over_and_what_is_nonsense_have_leaves_too():
    frame = encoded(Api.METADATA, 1, ASK) + b"\0\1\2"
    leaves = dissect("METADATA", 1, ASK, frame)
    tiled(leaves, frame)
    assert (leaves[-1].name, leaves[-1].value) == ("left over", "3 bytes: nobody reads it")
    unknown = encoded(Api.HEARTBEAT, 4, ANSWER)
    (at,) = (it.start for it in dissect("HEARTBEAT", 4, ANSWER, unknown) if it.name == "error_code")
    frame = unknown[:at] + b"\x7f\xff" + unknown[at + 2 :]
    leaves = dissect("HEARTBEAT", 4, ANSWER, frame)
    tiled(leaves, frame)
    assert leaves[-1].name == "unreadable"
    assert "no error code 32767" in leaves[-1].value


def test_a_tagged_field_that_nobody_knows_is_shown_as_bytes():
    frame = encoded(Api.HEARTBEAT, 4, ANSWER)[:-1] + bytes([1, 9, 2]) + b"hi"
    leaves = dissect("HEARTBEAT", 4, ANSWER, frame)
    tiled(leaves, frame)
    assert values(leaves)["tag 9"] == "“hi”"
