"""Bytes in, messages out."""

import tracemalloc
from struct import pack

import pytest

from engine.wire.errors import BadFrameSize
from engine.wire.frame import FrameReader


def framed(message: bytes) -> bytes:
    return pack(">i", len(message)) + message


def test_one_chunk_may_hold_many_messages():
    assert list(FrameReader().feed(framed(b"one") + framed(b"two"))) == [b"one", b"two"]


def test_a_message_may_come_byte_by_byte():
    reader = FrameReader()
    seen = []
    for byte in framed(b"slow") + framed(b"er"):
        seen += reader.feed(bytes([byte]))
    assert seen == [b"slow", b"er"]
    assert not reader.partial


def test_the_end_of_one_message_and_the_start_of_the_next_share_a_chunk():
    reader = FrameReader()
    stream = framed(b"a" * 10) + framed(b"b" * 10)
    assert list(reader.feed(stream[:9])) == []
    assert reader.partial
    assert list(reader.feed(stream[9:17])) == [b"a" * 10]
    assert reader.partial
    assert list(reader.feed(stream[17:])) == [b"b" * 10]


def test_the_chunk_may_be_used_again_for_the_next_one():
    reader = FrameReader()
    received = bytearray(framed(b"first"))
    (first,) = reader.feed(memoryview(received))
    received[:] = framed(b"other")
    assert first == b"first"


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 101, 2**31 - 1])
@pytest.mark.parametrize("cut", [0, 1, 3, 4])
def test_a_bad_size_is_refused_after_the_messages_before_it(size, cut):
    reader = FrameReader(max_bytes=100)
    bad = pack(">i", size)
    seen = []
    with pytest.raises(BadFrameSize, match=f" {size} bytes"):
        seen.extend(  # keeps what came before the refusal
            message
            for chunk in (framed(b"good") + bad[:cut], bad[cut:] + b"x")
            for message in reader.feed(chunk)
        )
    assert seen == [b"good"]


def test_the_biggest_message_allowed_is_taken():
    assert list(FrameReader(max_bytes=100).feed(framed(b"x" * 100))) == [b"x" * 100]


def test_announced_bytes_cost_nothing_before_they_arrive():
    tracemalloc.start()
    try:
        reader = FrameReader()
        list(reader.feed(pack(">i", 100_000_000)))
        list(reader.feed(b"x" * 1000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000


def test_dribbled_bytes_cost_what_they_are():
    tracemalloc.start()
    try:
        reader = FrameReader()
        list(reader.feed(pack(">i", 100_000_000)))
        for _ in range(50_000):
            list(reader.feed(b"x"))
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now < 100_000
