"""The 61 bytes of a batch's header: against bytes laid by hand, and against damage."""

from collections.abc import Callable

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage.batch import (
    HEADER_SIZE,
    Codec,
    Header,
    attributes,
    check,
    crc_ok,
    placed,
    scan,
    seal,
    with_log_append_time,
)
from engine.storage.records import Record, decode, encode

# As the documentation of the format has it, field by field.
GOLDEN = bytes.fromhex(
    "0000000000000005"  # base offset 5
    "0000004a"  # length: 49 bytes of header and 25 of records
    "00000009"  # leader epoch 9
    "02"  # magic
    "ef81789a"  # CRC-32C
    "0010"  # attributes: transactional
    "00000002"  # last offset delta: offsets 5 to 7
    "00000000000003e8"  # base timestamp 1000
    "00000000000003e8"  # max timestamp 1000
    "000000000000002a"  # producer id 42
    "0003"  # producer epoch 3
    "00000011"  # base sequence 17
    "00000002"  # 2 records
    # record 1: 8 bytes, attributes, timestamp +0, offset +0, key null, value "hi", no headers
    "10 00 00 00 01 04 6869 00"
    # record 2: 15 bytes, attributes, timestamp -5, offset +2, key "k", value null,
    # 2 headers: "h" null, "é" "v"
    "1e 00 09 04 02 6b 01 04 02 68 01 04 c3a9 02 76"
)
GOLDEN_RECORDS = [
    Record(5, 1000, None, b"hi"),
    Record(7, 995, b"k", None, (("h", None), ("é", b"v"))),
]
GOLDEN_HEADER = Header(5, 74, 9, 2, 0xEF81789A, 0x10, 2, 1000, 1000, 42, 3, 17, 2)


def crc32c_bit_by_bit(data: bytes) -> int:
    """The CRC's definition: slow, and not the package that the engine uses."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_golden_header() -> None:
    header = check(GOLDEN)
    assert header == GOLDEN_HEADER
    assert header.crc == crc32c_bit_by_bit(GOLDEN[21:])
    assert (header.size, header.last_offset, header.next_offset) == (len(GOLDEN), 7, 8)
    assert header.last_sequence == 19
    assert header.codec is Codec.NONE
    assert header.is_transactional
    assert not header.is_control
    assert not header.is_log_append_time


def test_golden_records_both_ways() -> None:
    assert decode(GOLDEN) == GOLDEN_RECORDS
    encoded = encode(
        GOLDEN_RECORDS,
        base_offset=5,
        leader_epoch=9,
        producer_id=42,
        producer_epoch=3,
        base_sequence=17,
        transactional=True,
    )
    assert encoded == GOLDEN


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_every_kind_of_buffer(buffer: Callable[[bytes], bytes | bytearray | memoryview]) -> None:
    assert check(buffer(GOLDEN)) == GOLDEN_HEADER
    assert decode(buffer(GOLDEN)) == GOLDEN_RECORDS


def test_flags_share_the_attributes() -> None:
    bits = attributes(Codec.ZSTD, transactional=True, control=True, append_time=True)
    assert bits == 0b111100
    header = GOLDEN_HEADER._replace(attributes=bits)
    assert header.codec is Codec.ZSTD
    assert header.is_transactional
    assert header.is_control
    assert header.is_log_append_time


@pytest.mark.parametrize("bits", [5, 6, 7])
def test_there_are_four_codecs(bits: int) -> None:
    with pytest.raises(ApiException, match=f"no codec {bits}") as raised:
        _ = GOLDEN_HEADER._replace(attributes=bits).codec
    assert raised.value.code is ErrorCode.unknown_server_error


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [(0, 0, 0), (2**31 - 2, 1, 2**31 - 1), (2**31 - 2, 2, 0), (2**31 - 1, 5, 4), (-1, 9, -1)],
)
def test_sequence_numbers_wrap_to_zero(base: int, delta: int, last: int) -> None:
    header = GOLDEN_HEADER._replace(base_sequence=base, last_offset_delta=delta)
    assert header.last_sequence == last


def test_scan_hops_from_batch_to_batch() -> None:
    log = b"".join(encode([Record(n, 0, None, b"x" * n)], base_offset=n) for n in range(5))
    found = list(scan(log))
    assert [header.base_offset for _, header in found] == [0, 1, 2, 3, 4]
    assert all(crc_ok(log, position, header) for position, header in found)
    second, third = found[1][0], found[2][0]
    assert [position for position, _ in scan(log, second, third)] == [second]


def test_scan_stops_before_a_torn_batch_wherever_it_is_torn() -> None:
    for cut in range(len(GOLDEN)):
        assert [position for position, _ in scan(GOLDEN + GOLDEN[:cut])] == [0]


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 48, 2**31 - 1])
def test_scan_stops_at_a_length_that_no_batch_has(length: int) -> None:
    damaged = GOLDEN[:8] + length.to_bytes(4, "big", signed=True) + GOLDEN[12:]
    assert [position for position, _ in scan(GOLDEN + damaged + GOLDEN)] == [0]


def test_crc_ok_looks_at_one_batch_only() -> None:
    log = bytearray(GOLDEN * 3)
    log[len(GOLDEN) + 70] ^= 1
    assert [crc_ok(log, *found) for found in scan(log)] == [True, False, True]
    log.append(0)  # no view is left that would keep a buffer from growing


def test_a_flipped_bit_is_found_wherever_the_broker_may_not_write() -> None:
    unseen = set()
    for bit in range(8 * len(GOLDEN)):
        damaged = bytearray(GOLDEN)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            check(damaged)
            unseen.add(bit // 8)
        except ApiException as error:
            found = (ErrorCode.corrupt_message, ErrorCode.invalid_record)
            assert error.code in found  # noqa: PT017
    assert unseen == {*range(8), *range(12, 16)}  # base offset, leader epoch


def test_truncated_at_every_byte() -> None:
    for cut in range(len(GOLDEN)):
        with pytest.raises(ApiException) as raised:
            check(GOLDEN[:cut])
        assert raised.value.code is ErrorCode.invalid_record
        with pytest.raises(ApiException):
            decode(GOLDEN[:cut])


def with_fields(**fields: int) -> bytes:
    return seal(GOLDEN_HEADER._replace(**fields), GOLDEN[HEADER_SIZE:])


@pytest.mark.parametrize(
    ("batch", "code", "says"),
    [
        (b"", ErrorCode.invalid_record, "0 bytes cannot hold a batch"),
        (GOLDEN + GOLDEN, ErrorCode.invalid_record, "has 172 bytes, its header has 86"),
        (GOLDEN[:16] + b"\1" + GOLDEN[17:], ErrorCode.invalid_record, "magic 1 at byte 16"),
        (GOLDEN[:-1] + b"\0", ErrorCode.corrupt_message, "CRC 0xef81789a at byte 17"),
        (with_fields(count=4), ErrorCode.invalid_record, "count 4 at byte 57"),
        (with_fields(count=-1), ErrorCode.invalid_record, "count -1 at byte 57"),
        (with_fields(last_offset_delta=-1), ErrorCode.invalid_record, "delta -1 at byte 23"),
    ],
)
def test_check_says_what_and_where(batch: bytes, code: ErrorCode, says: str) -> None:
    with pytest.raises(ApiException, match=says) as raised:
        check(batch)
    assert raised.value.code is code


def test_a_batch_is_placed_without_touching_what_the_crc_covers() -> None:
    place, rest = placed(GOLDEN, base_offset=1 << 40, leader_epoch=12)
    assert rest.obj is GOLDEN  # a view, not a copy
    header = check(place + bytes(rest))
    assert header == GOLDEN_HEADER._replace(base_offset=1 << 40, leader_epoch=12)
    shift = (1 << 40) - 5
    assert decode(place + bytes(rest)) == [
        record._replace(offset=record.offset + shift) for record in GOLDEN_RECORDS
    ]


def test_log_append_time_overrides_the_time_of_every_record() -> None:
    stamped = with_log_append_time(GOLDEN, 5555)
    header = check(stamped)
    assert header.is_log_append_time
    assert (header.base_timestamp, header.max_timestamp) == (1000, 5555)
    assert stamped[HEADER_SIZE:] == GOLDEN[HEADER_SIZE:]
    assert decode(stamped) == [record._replace(timestamp=5555) for record in GOLDEN_RECORDS]
