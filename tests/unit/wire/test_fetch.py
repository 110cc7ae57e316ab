"""A Fetch answer in pieces: bytes, and slices of files between them."""

from struct import pack
from typing import NamedTuple

from engine.errors import ErrorCode
from engine.wire import fetch
from engine.wire.apis import Api
from engine.wire.codec import decode_response
from engine.wire.errors import RequestHeader

HEADER = RequestHeader(Api.FETCH, 12, 7, "me")


class Slice(NamedTuple):
    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


def sent(pieces) -> bytes:
    return b"".join(p.content if isinstance(p, Slice) else p for p in pieces)


def answer(*records) -> fetch.Response:
    partitions = [fetch.Partition(i, high_watermark=9, records=r) for i, r in enumerate(records)]
    return fetch.Response([fetch.Topic("orders", partitions)])


def test_slices_are_handed_back_as_they_are_in_order():
    first, second = Slice(b"first"), Slice(b"second")
    pieces = fetch.encode(HEADER, answer(first, second))
    assert [piece for piece in pieces if isinstance(piece, Slice)] == [first, second]
    assert pieces[1] is first


def test_the_size_counts_the_slices():
    frame = sent(fetch.encode(HEADER, answer(Slice(b"x" * 1000), Slice(b"y" * 500))))
    assert frame[:4] == pack(">i", len(frame) - 4)


def test_pieces_are_the_bytes_of_the_whole():
    whole = answer(b"first", b"", None, b"last")
    cut = answer(Slice(b"first"), Slice(b""), None, Slice(b"last"))
    assert sent(fetch.encode(HEADER, cut)) == sent(fetch.encode(HEADER, whole))


def test_a_slice_of_nothing_is_no_piece():
    pieces = fetch.encode(HEADER, answer(Slice(b"")))
    assert len(pieces) == 1


def test_records_in_memory_make_one_piece():
    assert len(fetch.encode(HEADER, answer(b"a", b"b"))) == 1


def test_a_follower_learns_where_its_log_diverges():
    diverged = fetch.Partition(0, diverging_epoch=fetch.EpochEndOffset(epoch=3, end_offset=70))
    response = fetch.Response([fetch.Topic("orders", [diverged])])
    decoded = decode_response(HEADER, sent(fetch.encode(HEADER, response))[4:])
    assert decoded.responses[0].partitions[0].diverging_epoch.end_offset == 70


def test_an_error_of_the_session():
    response = fetch.Response([], error_code=ErrorCode.fetch_session_id_not_found)
    (piece,) = fetch.encode(HEADER, response)
    assert decode_response(HEADER, piece[4:]).error_code == ErrorCode.fetch_session_id_not_found
