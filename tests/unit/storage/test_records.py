"""Records in and out of batches: what may vary, what compaction leaves, what is malformed."""

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage import varint
from engine.storage.batch import HEADER_SIZE, NO_TIMESTAMP, Codec, Header, check, seal
from engine.storage.records import Builder, Record, decode, encode, retain

RECORDS = [Record(n, 1000 + n, b"k%d" % n, b"v" * n, (("n", b"%d" % n),)) for n in range(10)]


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (300, "d804"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varints(number: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert varint.encode(number) == data
    assert varint.SMALL.get(number, data) == data
    if data[0] > 0x7F:
        zigzag, end = varint.read_long(data, 1, data[0])
        assert (zigzag >> 1 ^ -(zigzag & 1), end) == (number, len(data))


@pytest.mark.parametrize("codec", list(Codec))
def test_round_trip(codec: Codec) -> None:
    batch = encode(RECORDS, codec=codec)
    assert check(batch).codec is codec
    assert decode(batch) == RECORDS


# Around each length at which a number takes one byte more, or leaves the table of small ones.
@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 4094, 4095, 4096, 8191, 8192, 1 << 20])
def test_lengths(size: int) -> None:
    text = b"x" * size
    records = [
        Record(0, 0, text, None),
        Record(1, 0, None, text),
        Record(2, 0, None, None, (("n" * size, text),)),
        Record(3, 0, b"", b"", (("", b""), ("", None))),
    ]
    assert decode(encode(records)) == records


def test_times_may_go_back_and_far() -> None:
    times = [0, -1, 2**40, 1, 4096, 2**63 - 1, -(2**63)]
    records = [Record(n, time) for n, time in enumerate(times)]
    batch = encode(records)
    header = check(batch)
    assert (header.base_timestamp, header.max_timestamp) == (0, 2**63 - 1)
    assert decode(batch) == records


def test_a_difference_of_times_wraps_as_in_java() -> None:
    records = [Record(0, -(2**63)), Record(1, 2**63 - 1), Record(2, 0)]
    assert decode(encode(records)) == records
    assert decode(sealed("0c 00 02 00 01 01 00", base_timestamp=2**63 - 1)) == [Record(0, -(2**63))]


def test_many_headers_and_many_records() -> None:
    headers = tuple((f"name-{n}", b"%d" % n) for n in range(5000))
    records = [Record(n, n, None, None, headers if n == 7 else ()) for n in range(9000)]
    assert decode(encode(records)) == records


def test_a_record_costs_seven_bytes() -> None:
    assert len(encode([Record(0, 0, b"", b"")])) == HEADER_SIZE + 7


def test_builder_and_encode_agree() -> None:
    builder = Builder()
    for record in RECORDS:
        size = builder.append(record.key, record.value, record.timestamp, record.headers)
    assert builder.count == 10
    assert builder.build() == encode(RECORDS)
    assert size == len(encode(RECORDS))
    assert builder.build(
        Codec.LZ4, producer_id=7, producer_epoch=1, base_sequence=99, transactional=True
    ) == encode(
        RECORDS,
        codec=Codec.LZ4,
        producer_id=7,
        producer_epoch=1,
        base_sequence=99,
        transactional=True,
    )


def test_builder_keeps_the_first_and_the_latest_time() -> None:
    builder = Builder()
    for timestamp in (500, 900, 100):
        builder.append(None, b"", timestamp)
    header = check(builder.build())
    assert (header.base_timestamp, header.max_timestamp) == (500, 900)


def test_with_log_append_time_the_batch_has_the_only_time() -> None:
    batch = encode(RECORDS, log_append_time=9999)
    assert check(batch).is_log_append_time
    assert {record.timestamp for record in decode(batch)} == {9999}


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("append_time", [None, 2000])
def test_retain_keeps_every_offset_and_all_that_the_producer_said(
    codec: Codec, append_time: int | None
) -> None:
    before = check(
        encode(
            [record._replace(offset=record.offset + 50) for record in RECORDS],
            base_offset=50,
            codec=codec,
            leader_epoch=4,
            producer_id=8,
            producer_epoch=2,
            base_sequence=100,
            transactional=True,
            log_append_time=append_time,
        )
    )
    records = [Record(53, append_time or 1, b"a", b"b"), Record(57, append_time or 3, b"c", b"d")]
    kept = retain(before, records)
    assert decode(kept) == records
    after = check(kept)
    assert after.count == 2
    assert after.max_timestamp == (append_time or 3)
    changed = ("length", "crc", "base_timestamp", "max_timestamp", "count")
    assert after._replace(**dict.fromkeys(changed, 0)) == before._replace(
        **dict.fromkeys(changed, 0)
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_may_lose_all_its_records(codec: Codec) -> None:
    before = check(encode(RECORDS, codec=codec, producer_id=8, producer_epoch=2, base_sequence=5))
    empty = retain(before, [])
    assert len(empty) == HEADER_SIZE
    assert decode(empty) == []
    after = check(empty)
    assert (after.last_offset, after.last_sequence) == (9, 14)
    assert (after.base_timestamp, after.max_timestamp) == (NO_TIMESTAMP, before.max_timestamp)
    assert after.codec is Codec.NONE


def sealed(
    payload: str, count: int = 1, last_offset_delta: int = 0, base_timestamp: int = 0
) -> bytes:
    header = Header(last_offset_delta=last_offset_delta, base_timestamp=base_timestamp, count=count)
    return seal(header, bytes.fromhex(payload))


GOOD = "0e 00 00 00 02 6b 01 00"  # key "k", value null


def test_the_record_that_the_malformed_ones_vary() -> None:
    assert decode(sealed(GOOD)) == [Record(0, 0, b"k", None)]


@pytest.mark.parametrize(
    ("payload", "fields", "says"),
    [
        ("", {}, "byte 0 .* cut off .* at byte 0"),
        (GOOD, {"count": 2}, "byte 8 .* cut off .* at byte 8"),
        (GOOD, {"count": 0}, "byte 0 .*0 records end here, the payload at byte 8"),
        (GOOD, {"count": -1}, "-1 records end here"),
        ("", {"count": -1}, "-1 records end here"),
        (GOOD + "00", {}, "byte 8 .*1 records end here, the payload at byte 9"),
        ("0c 00 00 00 02 6b 01 00", {}, "ends at 8, not 7"),
        ("10 00 00 00 02 6b 01 00", {}, "ends at 8, not 9"),
        ("0d 00 00 00 02 6b 01 00", {}, "ends at 8, not 7"),  # length -7
        ("0e 00 00 01 02 6b 01 00", {}, "offset delta -1 after -1"),
        ("0e 00 00 02 02 6b 01 00", {}, "offset delta 1 after -1"),
        (GOOD + GOOD, {"count": 2, "last_offset_delta": 1}, "byte 8 .*offset delta 0 after 0"),
        ("0c 00 00 00 03 01 00", {}, "length -2"),  # key
        ("0c 00 00 00 01 03 00", {}, "length -2"),  # value
        ("0e 00 00 00 7e 6b 01 00", {}, "cut off"),  # a key of 63 bytes
        ("0e 00 00 00 feffffffffffffffff01 6b 01 00", {}, "cut off"),  # of 2^63 - 1 bytes
        ("0e 00 00 00 01 04 6b 00", {}, "cut off"),  # the value takes the headers in
        ("0e 00 00 00 01 02 6b 01", {}, "-1 headers"),
        ("12 00 00 00 01 01 02 01 01", {}, "a header has no name"),
        ("14 00 00 00 01 01 02 02 ff 01", {}, "not UTF-8"),
        ("14 00 00 00 01 01 02 02 68 03", {}, "length -2"),  # header value
        ("14 00 00 00 01 01 04 02 68 01", {}, "cut off"),  # two headers said, one there
        ("14 00 00 00 01 01 02 02 68 7e", {}, "ends at 73, not 11"),  # its value goes on
        ("ffffffffffffffffffff01", {}, "number before byte 10 does not end"),
        ("80", {}, "cut off"),
    ],
)
def test_malformed(payload: str, fields: dict[str, int], says: str) -> None:
    with pytest.raises(ApiException, match=says) as raised:
        decode(sealed(payload, **fields))
    assert raised.value.code is ErrorCode.invalid_record


def test_an_empty_payload_is_no_lz4_frame() -> None:
    header = Header(attributes=Codec.LZ4, last_offset_delta=0, count=1)
    with pytest.raises(ApiException, match="lz4 payload of 0 bytes"):
        decode(seal(header, b""))


def test_unpacks_to_the_limit_and_no_further() -> None:
    batch = encode([Record(0, 0, None, bytes(1 << 20))], codec=Codec.ZSTD)
    assert len(decode(batch, limit=(1 << 20) + 20)) == 1
    with pytest.raises(ApiException, match="more than 1048576 bytes"):
        decode(batch, limit=1 << 20)
