"""A Fetch answer in pieces: bytes, and slices of files between them."""

from struct import pack
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from engine.errors import ErrorCode
from engine.wire import codec, fetch
from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import RequestHeader

# Written by the message classes of kafka-clients 2.8.2 (Java), header included.
ASKED_BY_A_FOLLOWER = (
    "0001000c0000000700026d650000000002000001f40000000100a000000000000000ffffffff0207"
    "6f726465727302000000020000000900000000000000640000000800000000000000030010000000"
    "00010100"
)
ANSWERED = {
    11: (
        "00000007000000000000000000000000000100066f72646572730000000300000000000000000000"
        "000000280000000000000027000000000000000300000000ffffffff000000056261746368000000"
        "01000000000000000000290000000000000029000000000000000300000000000000030000000000"
        "0000020000000000000000002a000000000000002a000000000000000300000000ffffffff000000"
        "00"
    ),
    12: (
        "00000007000000000000000000000002076f72646572730400000000000000000000000000280000"
        "000000000027000000000000000301ffffffff066261746368000000000100000000000000000029"
        "0000000000000029000000000000000301000000030100000000020000000000000000002a000000"
        "000000002a000000000000000301ffffffff0101000d00000007000000000000001e000000"
    ),
}
EPOCH_ASKED = "001700040000000700026d65000000000202076f726465727302000000020000000900000008000000"
EPOCH_ANSWERED = "00000007000000000002076f72646572730200000000000200000008000000000000004d000000"
HEADER = RequestHeader(Api.FETCH, 12, 7, "me")


class Slice(NamedTuple):
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


def sent(pieces) -> bytes:
    return b"".join(p.content if isinstance(p, Slice) else p for p in pieces)


def answer(*records) -> fetch.FetchAnswer:
    partitions = [
        fetch.FetchedPartition(i, high_watermark=9, records=r) for i, r in enumerate(records)
    ]
    return fetch.FetchAnswer([fetch.FetchedTopic("orders", partitions)])


def test_slices_are_handed_back_as_they_are_in_order():
    first, second = Slice(b"first"), Slice(b"second")
    pieces = codec.encode_response(HEADER, answer(first, second))
    assert [piece for piece in pieces if isinstance(piece, Slice)] == [first, second]
    assert pieces[1] is first


def test_the_size_counts_the_slices():
    frame = sent(codec.encode_response(HEADER, answer(Slice(b"x" * 1000), Slice(b"y" * 500))))
    assert frame[:4] == pack(">i", len(frame) - 4)


def test_pieces_are_the_bytes_of_the_whole():
    whole = answer(b"first", b"", None, b"last")
    cut = answer(Slice(b"first"), Slice(b""), None, Slice(b"last"))
    assert sent(codec.encode_response(HEADER, cut)) == sent(codec.encode_response(HEADER, whole))


def test_a_slice_of_nothing_is_no_piece():
    pieces = codec.encode_response(HEADER, answer(Slice(b"")))
    assert len(pieces) == 1


def test_records_in_memory_make_one_piece():
    assert len(codec.encode_response(HEADER, answer(b"a", b"b"))) == 1


def test_a_follower_learns_where_its_log_diverges():
    diverged = fetch.FetchedPartition(
        0, diverging_epoch=fetch.EpochEndOffset(epoch=3, end_offset=70)
    )
    response = fetch.FetchAnswer([fetch.FetchedTopic("orders", [diverged])])
    decoded = decode_response(HEADER, sent(codec.encode_response(HEADER, response))[4:])
    assert decoded.responses[0].partitions[0].diverging_epoch.end_offset == 70


def test_an_error_of_the_session():
    response = fetch.FetchAnswer([], error_code=ErrorCode.fetch_session_id_not_found)
    (piece,) = codec.encode_response(HEADER, response)
    assert decode_response(HEADER, piece[4:]).error_code == ErrorCode.fetch_session_id_not_found


class TestKafka:
    """The same bytes as Kafka, between a leader and its follower."""

    @pytest.mark.parametrize("version", [11, 12])
    def test_what_a_leader_answers(self, version):
        batch = fetch.FetchedPartition(0, ErrorCode.none, 40, 39, 3, (), records=Slice(b"batch"))
        elsewhere = fetch.FetchedPartition(
            1, ErrorCode.none, 41, 41, 3, (), preferred_read_replica=3
        )
        there = fetch.EpochEndOffset(epoch=7, end_offset=30)
        diverged = fetch.FetchedPartition(2, ErrorCode.none, 42, 42, 3, (), diverging_epoch=there)
        response = fetch.FetchAnswer([fetch.FetchedTopic("orders", [batch, elsewhere, diverged])])
        frame = sent(codec.encode_response(RequestHeader(Api.FETCH, version, 7, "me"), response))
        assert frame[4:].hex() == ANSWERED[version]

    @pytest.mark.parametrize("version", [11, 12])
    def test_what_a_follower_makes_of_it(self, version):
        header = RequestHeader(Api.FETCH, version, 7, "me")
        (topic,) = decode_response(header, bytes.fromhex(ANSWERED[version])).responses
        batch, elsewhere, diverged = topic.partitions
        assert (batch.high_watermark, batch.records) == (40, b"batch")
        assert (batch.preferred_read_replica, elsewhere.preferred_read_replica) == (-1, 3)
        nowhere = fetch.EpochEndOffset(epoch=-1, end_offset=-1)
        assert batch.diverging_epoch == elsewhere.diverging_epoch == nowhere
        there = fetch.EpochEndOffset(epoch=7, end_offset=30)
        assert diverged.diverging_epoch == (there if version == 12 else nowhere)

    def test_what_a_follower_asks(self):
        partition = SimpleNamespace(
            partition=2,
            current_leader_epoch=9,
            fetch_offset=100,
            last_fetched_epoch=8,
            log_start_offset=3,
            partition_max_bytes=1048576,
        )
        request = SimpleNamespace(
            replica_id=2,
            max_wait=500,
            min_bytes=1,
            max_bytes=10485760,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[SimpleNamespace(topic="orders", partitions=[partition])],
        )
        assert encode_request(HEADER, request)[4:].hex() == ASKED_BY_A_FOLLOWER

    def test_where_an_epoch_ends(self):
        header = RequestHeader(Api.OFFSET_FOR_LEADER_EPOCH, 4, 7, "me")
        partition = SimpleNamespace(partition=2, current_leader_epoch=9, leader_epoch=8)
        topic = SimpleNamespace(topic="orders", partitions=[partition])
        request = SimpleNamespace(replica_id=2, topics=[topic])
        assert encode_request(header, request)[4:].hex() == EPOCH_ASKED

        (topic,) = decode_response(header, bytes.fromhex(EPOCH_ANSWERED)).topics
        (end,) = topic.partitions
        assert (end.partition, end.error_code, end.leader_epoch, end.end_offset) == (2, 0, 8, 77)


def test_the_records_of_an_answer_are_a_view_of_its_frame():
    frame = bytearray(sent(codec.encode_response(HEADER, answer(b"batch")))[4:])
    (topic,) = decode_response(HEADER, frame).responses
    frame[frame.index(b"batch")] = ord("c")
    assert topic.partitions[0].records == b"catch"
