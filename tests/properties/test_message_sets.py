"""Messages of magic 0 and 1 under search: there and back, damage anywhere."""

from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.storage import records
from engine.storage.batch import Codec, check
from engine.storage.compression import decompress
from engine.storage.message_sets import decode, encode_messages, from_batches, scan, to_batch
from engine.storage.records import Record
from tests.properties.test_records import BYTES, HEADERS, INT64

CODECS = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
MAGICS = st.sampled_from([0, 1])
GENEROUS = 1 << 20
DENSE = st.lists(st.tuples(INT64, BYTES, BYTES), min_size=1, max_size=9).map(
    lambda rows: [Record(n, time, key, value) for n, (time, key, value) in enumerate(rows)]
)


def timed(found: list[Record], magic: int) -> list[Record]:
    """As a message of this magic has them."""
    return found if magic else [each._replace(timestamp=-1) for each in found]


@given(DENSE, CODECS, MAGICS)
def test_an_old_producer_to_a_new_consumer(written, codec, magic):
    batch = to_batch(encode_messages(written, magic, codec), GENEROUS)
    assert check(batch).codec is codec
    assert records.decode(batch) == timed(written, magic)


@given(DENSE, HEADERS, CODECS, MAGICS, st.integers(0, 2**40), st.lists(st.booleans(), max_size=9))
def test_a_new_producer_to_an_old_consumer(written, headers, codec, magic, base, holes):
    """Compaction may have left holes; a consumer finds each record at its own offset."""
    kept = [
        each._replace(offset=base + each.offset)
        for n, each in enumerate(written)
        if n >= len(holes) or not holes[n]
    ]
    batch = records.encode(
        [each._replace(headers=headers) for each in kept],
        base_offset=base,
        last_offset=base + len(written) - 1,
        codec=codec,
    )
    assert decode(from_batches(batch, magic, base)) == timed(kept, magic)


@given(DENSE, CODECS, MAGICS, st.integers(0, 12))
def test_a_reader_in_the_middle_gets_each_record_from_there(written, codec, magic, offset):
    batch = records.encode(written, codec=codec)
    found = decode(from_batches(batch, magic, offset))
    expected = [each for each in timed(written, magic) if each.offset >= offset]
    assert [each for each in found if each.offset >= offset] == expected


@given(st.lists(DENSE, min_size=2, max_size=5), CODECS, MAGICS)
def test_of_many_batches_the_first_is_whole_and_the_rest_fits(several, codec, magic):
    data, end, all_records = b"", 0, []
    for each in several:
        moved = [record._replace(offset=end + record.offset) for record in each]
        data += records.encode(moved, base_offset=end, codec=codec)
        all_records += moved
        end += len(each)
    converted = from_batches(data, magic, 0)
    found = decode(converted)
    assert found == timed(all_records, magic)[: len(found)]
    assert len(found) >= len(several[0])
    first = len(from_batches(records.encode(several[0], codec=codec), magic, 0))
    assert len(converted) <= max(len(data), first)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_set_or_refused(data):
    with suppress(ApiException):
        assert to_batch(data, GENEROUS) == b"" or decode(data)


@given(DENSE, CODECS, MAGICS, st.data())
def test_a_changed_byte_is_found(written, codec, magic, data):
    """All but an offset, which the broker gives anyway."""
    good = bytearray(encode_messages(written, magic, codec))
    at = data.draw(st.integers(16, len(good) - 1))
    size = int.from_bytes(good[8:12])
    assume(at < 12 + size)
    good[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ApiException):
        to_batch(bytes(good), GENEROUS)


@given(DENSE, CODECS.filter(bool), MAGICS, st.integers(1, 2**40))
def test_the_offsets_within_a_wrapper(written, codec, magic, base):
    """Absolute in magic 0, from 0 on in magic 1; the wrapper has that of the last one."""
    moved = [each._replace(offset=base + each.offset) for each in written]
    batch = records.encode(moved, base_offset=base, codec=codec)
    (wrapper,) = scan(from_batches(batch, magic, 0))
    assert wrapper.offset == moved[-1].offset
    packed = wrapper.value
    if codec is Codec.LZ4 and magic == 0:
        with pytest.raises(ApiException):
            decompress(codec, packed)  # the checksum is the wrong one that old clients expect
        return
    inner = [each.offset for each in scan(decompress(codec, packed))]
    assert inner == [each.offset for each in (written if magic else moved)]
