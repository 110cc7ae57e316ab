"""Every message in every version, there and back; and bytes that are nobody's message.

kio's own writer, which is made from Kafka's schemas, says what the bytes have to be.
"""

import dataclasses
import io
import tracemalloc
from contextlib import suppress
from datetime import timedelta
from random import Random
from struct import pack
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_writer

from engine.errors import ErrorCode
from engine.wire import codec, fetch, schema
from engine.wire.apis import APIS, Api
from engine.wire.errors import BadFrameSize, Malformed, RequestHeader
from engine.wire.frame import FrameReader
from tests.unit.wire.anything import message
from tests.unit.wire.frames import encode_response

VERSIONS = [
    (api, version) for api in APIS.values() for version in range(api.oldest, api.newest + 1)
]


def messages(api: Api, version: int, kind: str):
    """One of each size: nothing in it, one of all, many of all."""
    random = Random(f"{api.name} {version} {kind}")
    declared = codec.message(api, version, kind)
    return [message(random, declared, size) for size in (0, 1, 1, 2, 3)]


def written_by_kio(entity) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def assert_same(sent, read) -> None:
    """Field by field: what was read may have the shape of a newer version."""
    if isinstance(sent, tuple):
        assert len(sent) == len(read)
        for one, other in zip(sent, read, strict=True):
            assert_same(one, other)
    elif dataclasses.is_dataclass(sent):
        for field in dataclasses.fields(sent):
            assert_same(getattr(sent, field.name), getattr(read, field.name))
    else:
        assert sent == read


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=str)
def test_there_and_back(api, version):
    header = RequestHeader(api, version, -7, "clïent")
    for request in messages(api, version, "request"):
        frame = codec.encode_request(header, request)[4:]
        assert frame.endswith(written_by_kio(request))
        found, read = codec.decode_request(frame, APIS)
        assert found == header
        assert type(read).__name__ == type(request).__name__
        assert_same(request, read)
    for response in messages(api, version, "response"):
        frame = encode_response(header, response)[4:]
        flexible_header = api.response_header(version)
        assert frame == pack(">i", -7) + bytes(flexible_header) + written_by_kio(response)
        assert_same(response, codec.decode_response(header, frame))


class Slice(NamedTuple):
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


PARTITIONS = st.builds(
    fetch.FetchedPartition,
    partition_index=st.integers(0, 2**31 - 1),
    error_code=st.sampled_from(ErrorCode),
    high_watermark=st.integers(-1, 2**63 - 1),
    last_stable_offset=st.integers(-1, 2**63 - 1),
    log_start_offset=st.integers(-1, 2**63 - 1),
    aborted_transactions=st.none()
    | st.lists(
        st.builds(
            fetch.AbortedTransaction,
            producer_id=st.integers(0, 2**63 - 1),
            first_offset=st.integers(0, 2**63 - 1),
        )
    ),
    preferred_read_replica=st.integers(-1, 9),
    diverging_epoch=st.builds(
        fetch.EpochEndOffset, epoch=st.integers(-1, 9), end_offset=st.integers(-1, 9)
    ),
    records=st.none() | st.binary(max_size=400),
)
FETCHED = st.builds(
    fetch.FetchAnswer,
    responses=st.lists(st.builds(fetch.FetchedTopic, st.text(max_size=9), st.lists(PARTITIONS))),
    error_code=st.sampled_from(ErrorCode),
    session_id=st.integers(-(2**31), 2**31 - 1),
    throttle_time=st.integers(0, 2**31 - 1).map(lambda ms: timedelta(milliseconds=ms)),
)


@given(FETCHED, st.integers(Api.FETCH.oldest, Api.FETCH.newest))
def test_a_fetch_answer_in_pieces_is_the_one_that_kio_writes(response, version):
    def as_kio_has_it(declared, thing):
        """The same in the version's own dataclasses, with the records in memory."""
        known = {}
        for field in schema.fields(declared):
            if hasattr(thing, field.name):
                content = getattr(thing, field.name)
                if field.is_array:
                    content = content and [as_kio_has_it(field.type, one) for one in content]
                elif not isinstance(field.type, str):
                    content = as_kio_has_it(field.type, content)
                known[field.name] = content
        return declared(**known)

    header = RequestHeader(Api.FETCH, version, 7, None)
    whole = as_kio_has_it(codec.message(Api.FETCH, version, "response"), response)
    expected = pack(">i", 7) + bytes(Api.FETCH.response_header(version)) + written_by_kio(whole)
    for topic in response.responses:
        for partition in topic.partitions:
            if partition.records is not None:
                partition.records = Slice(partition.records)

    pieces = codec.encode_response(header, response)

    sent = b"".join(piece.content if isinstance(piece, Slice) else piece for piece in pieces)
    assert sent == pack(">i", len(expected)) + expected


@given(st.lists(st.binary(min_size=1, max_size=50)), st.data())
def test_messages_come_out_whole_however_they_are_cut(sent, data):
    stream = b"".join(pack(">i", len(one)) + one for one in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    reader = FrameReader()
    got = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += reader.feed(stream[start:end])
    assert got == sent
    assert not reader.partial


@given(st.lists(st.binary(max_size=30)))
def test_any_stream_is_messages_or_refused(chunks):
    reader = FrameReader(max_bytes=40)
    got = []
    try:
        for chunk in chunks:
            got.extend(reader.feed(chunk))
    except BadFrameSize:
        return
    finally:
        assert b"".join(chunks).startswith(b"".join(pack(">i", len(one)) + one for one in got))
    assert sum(len(one) + 4 for one in got) <= len(b"".join(chunks))


SERVED = {
    Api.API_VERSIONS, Api.METADATA, Api.PRODUCE, Api.FETCH, Api.LIST_OFFSETS, Api.CREATE_TOPICS,
    Api.DELETE_TOPICS, Api.CREATE_PARTITIONS, Api.DESCRIBE_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS,
    Api.ALTER_CONFIGS, Api.DELETE_RECORDS, Api.OFFSET_FOR_LEADER_EPOCH, Api.INIT_PRODUCER_ID,
    Api.DESCRIBE_CLUSTER, Api.DESCRIBE_LOG_DIRS, Api.DESCRIBE_PRODUCERS,
}  # fmt: skip
TEMPTING = [
    pack(">i", 2**31 - 1), pack(">i", -1), pack(">i", -(2**31)), pack(">i", 2**16),
    pack(">h", -1), pack(">h", 2**15 - 1), b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f",
    b"\xff" * 6, b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xc3\x28",
]  # fmt: skip


def seeds(apis) -> list[bytes]:
    """Good frames of every API and version, from which the bad ones are made."""
    return [
        codec.encode_request(RequestHeader(api, version, 7, "fuzz"), request)[4:]
        for api, version in VERSIONS
        if api in apis
        for request in messages(api, version, "request")
    ]


def mutated(random: Random, frame: bytes, other: bytes) -> bytes:
    """A frame with something wrong: cut, doubled, overwritten, or half of another one."""
    at = random.randrange(len(frame))
    match random.randrange(6):
        case 0:
            return frame[:at]
        case 1:
            return frame[:at] + frame[random.randrange(len(frame)) :]
        case 2:
            return frame[:at] + other[random.randrange(len(other)) :]
        case 3:
            return frame[:at] + random.randbytes(random.randrange(1, 9)) + frame[at:]
        case 4:
            return frame[:at] + bytes([frame[at] ^ 1 << random.randrange(8)]) + frame[at + 1 :]
        case _:
            tempting = random.choice(TEMPTING)
            return frame[:at] + tempting + frame[at + len(tempting) :]


@pytest.mark.parametrize(
    ("apis", "frames"),
    [(SERVED, 120_000), (set(APIS.values()) - SERVED, 60_000)],
    ids=["served", "others"],
)
def test_mutated_frames_are_a_request_or_malformed(apis, frames):
    random = Random(20210419)
    good = seeds(apis)
    outcomes = {"request": 0, "malformed": 0}
    for _ in range(frames):
        frame = mutated(random, random.choice(good), random.choice(good))
        if random.random() < 0.3 and frame:
            frame = mutated(random, frame, random.choice(good))
        try:
            codec.decode_request(frame, APIS)
            outcomes["request"] += 1
        except Malformed:
            outcomes["malformed"] += 1
    assert min(outcomes.values()) > 1000, outcomes


def test_mutated_answers_are_an_answer_or_malformed():
    random = Random(20210419)
    good = [
        (header := RequestHeader(api, version, 7, None), encode_response(header, answer)[4:])
        for api, version in VERSIONS
        for answer in messages(api, version, "response")
    ]
    outcomes = {"answer": 0, "malformed": 0}
    for _ in range(40_000):
        header, frame = random.choice(good)
        # Past the correlation id, or most would fail there.
        frame = frame[:4] + mutated(random, frame[4:], random.choice(good)[1])
        try:
            codec.decode_response(header, frame)
            outcomes["answer"] += 1
        except Malformed:
            outcomes["malformed"] += 1
    assert min(outcomes.values()) > 1000, outcomes


@pytest.mark.parametrize("api", sorted(SERVED), ids=lambda api: api.name)
def test_no_count_makes_room_for_what_is_not_there(api):
    """Wherever a count may stand, it says 2^31 - 1; a good reader does not believe it."""
    for frame in seeds({api}):
        codec.decode_request(frame, SERVED)  # makes the function that reads this version
    tracemalloc.start()
    try:
        for frame in seeds({api}):
            for at in range(4, len(frame)):
                for count in (pack(">i", 2**31 - 1), b"\xff\xff\xff\xff\x07"):
                    wrong = frame[:at] + count + frame[at + len(count) :]
                    tracemalloc.reset_peak()
                    before, _ = tracemalloc.get_traced_memory()
                    with suppress(Malformed):
                        codec.decode_request(wrong, SERVED)
                    _, peak = tracemalloc.get_traced_memory()
                    assert peak - before < 40_000 + 200 * len(wrong)
    finally:
        tracemalloc.stop()


def test_a_count_that_the_bytes_cannot_hold_is_not_even_tried():
    """A megabyte of empty elements, and a count of twice as many: refused before the first."""
    size = 1_000_000
    header = pack(">hhih", Api.METADATA, 1, 7, -1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with pytest.raises(Malformed, match=f"{size} elements"):
            codec.decode_request(header + pack(">i", size) + bytes(size), SERVED)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 4 * size  # the frame itself, and no element


def test_any_object_with_the_fields_can_be_written():
    header = RequestHeader(Api.DELETE_RECORDS, 2, 7, None)
    partition = SimpleNamespace(
        partition_index=0, low_watermark=5, error_code=ErrorCode.none, more="than asked for"
    )
    topic = SimpleNamespace(name="t", partitions=[partition])
    sent = encode_response(header, SimpleNamespace(topics=[topic]))
    assert codec.decode_response(header, sent[4:]).topics[0].partitions[0].low_watermark == 5
