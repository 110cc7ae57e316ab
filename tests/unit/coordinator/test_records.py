"""The bytes of __consumer_offsets, beside what Kafka's schemas say, written out by hand."""

import pytest

from engine.coordinator import records
from engine.coordinator.records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from engine.errors import ApiException, ErrorCode

OFFSET_KEY = OffsetKey("g", "topic", 7)
OFFSET_KEY_BYTES = bytes.fromhex("0001 0001 67 0005 746f706963 00000007")
GROUP_KEY = GroupKey("g")
GROUP_KEY_BYTES = bytes.fromhex("0002 0001 67")

OFFSETS = {
    0: (OffsetValue(5, -1, "m", 9), "0000 0000000000000005 0001 6d 0000000000000009"),
    1: (
        OffsetValue(5, -1, "m", 9, 10),
        "0001 0000000000000005 0001 6d 0000000000000009 000000000000000a",
    ),
    2: (OffsetValue(5, -1, "m", 9), "0002 0000000000000005 0001 6d 0000000000000009"),
    3: (OffsetValue(5, 3, "m", 9), "0003 0000000000000005 00000003 0001 6d 0000000000000009"),
}
HEAD = "0008 636f6e73756d6572 00000004 0005 72616e6765 0002 6d31"  # consumer, 4, range, m1
TIMES = "00000bb8 000003e8"  # rebalance and session time-out
REST = "00000002 aabb 00000001 cc"
GROUPS = {
    0: ({}, f"0000 {HEAD} 00000001 0002 6d31 0001 63 0002 2f68 000003e8 {REST}"),
    1: (
        {"rebalance_timeout": 3000},
        f"0001 {HEAD} 00000001 0002 6d31 0001 63 0002 2f68 {TIMES} {REST}",
    ),
    2: (
        {"rebalance_timeout": 3000, "since": 17},
        f"0002 {HEAD} 0000000000000011 00000001 0002 6d31 0001 63 0002 2f68 {TIMES} {REST}",
    ),
    3: (
        {"rebalance_timeout": 3000, "since": 17, "instance_id": "i"},
        f"0003 {HEAD} 0000000000000011 00000001 0002 6d31 0001 69 0001 63 0002 2f68 {TIMES} {REST}",
    ),
}


def group(since=-1, **member):
    more = {"client_id": "c", "host": "/h", "session_timeout": 1000}
    row = MemberValue(id="m1", subscription=b"\xaa\xbb", assignment=b"\xcc", **more, **member)
    return GroupValue("consumer", 4, "range", "m1", since, (row,))


def test_keys():
    assert encode_key(OFFSET_KEY) == OFFSET_KEY_BYTES
    assert encode_key(GROUP_KEY) == GROUP_KEY_BYTES
    assert decode_key(OFFSET_KEY_BYTES) == OFFSET_KEY
    assert decode_key(GROUP_KEY_BYTES) == GROUP_KEY


def test_the_key_of_an_old_offset():
    assert decode_key(b"\0\0" + OFFSET_KEY_BYTES[2:]) == OFFSET_KEY


@pytest.mark.parametrize("version", OFFSETS)
def test_every_version_of_an_offset_is_read(version):
    value, text = OFFSETS[version]
    assert decode_value(OFFSET_KEY, bytes.fromhex(text)) == value


@pytest.mark.parametrize("version", GROUPS)
def test_every_version_of_a_group_is_read(version):
    fields, text = GROUPS[version]
    assert decode_value(GROUP_KEY, bytes.fromhex(text)) == group(**fields)


def test_version_3_is_written():
    value, text = OFFSETS[3]
    assert encode_value(value) == bytes.fromhex(text)
    fields, text = GROUPS[3]
    assert encode_value(group(**fields)) == bytes.fromhex(text)


def test_version_1_is_written_where_an_offset_says_when_it_expires():
    value, text = OFFSETS[1]
    assert encode_value(value) == bytes.fromhex(text)


def test_an_empty_group():
    value = GroupValue("consumer", 5, None, None, 17)
    data = bytes.fromhex("0003 0008 636f6e73756d6572 00000005 ffff ffff 0000000000000011 00000000")
    assert encode_value(value) == data
    assert decode_value(GROUP_KEY, data) == value


@pytest.mark.parametrize("whole", [OFFSET_KEY_BYTES, GROUP_KEY_BYTES])
def test_a_key_that_is_cut_off(whole):
    for end in range(len(whole)):
        with pytest.raises(ApiException) as raised:
            decode_key(whole[:end])
        assert raised.value.code == ErrorCode.invalid_record


@pytest.mark.parametrize(
    ("key", "text"),
    [(OFFSET_KEY, text) for _, text in OFFSETS.values()]
    + [(GROUP_KEY, text) for _, text in GROUPS.values()],
)
def test_a_value_that_is_cut_off(key, text):
    whole = bytes.fromhex(text)
    for end in range(len(whole)):
        with pytest.raises(ApiException):
            decode_value(key, whole[:end])


@pytest.mark.parametrize(
    "text",
    [
        "0003 0001 67",  # a version of some later release
        "ffff",
        "0002 ffff",  # null where there is a name
        "0002 fffe",
        "0002 0001 ff",  # not UTF-8
    ],
)
def test_what_is_no_key(text):
    with pytest.raises(ApiException):
        decode_key(bytes.fromhex(text))


@pytest.mark.parametrize(
    "text",
    [
        "0004 0000000000000005",
        "ffff 0000000000000005",
        "0003 0000000000000005 00000003 ffff 0000000000000009",
    ],
)
def test_what_is_no_offset(text):
    with pytest.raises(ApiException):
        decode_value(OFFSET_KEY, bytes.fromhex(text))


def test_what_is_no_group():
    for members in ("ffffffff", "7fffffff", "00000001"):
        with pytest.raises(ApiException):
            decode_value(GROUP_KEY, bytes.fromhex(f"0000 {HEAD} {members}"))


def test_an_id_may_contain_the_replacement_character():
    key = OffsetKey("\ufffd", "t", 0)
    assert decode_key(encode_key(key)) == key


def test_a_value_from_the_future_is_not_guessed_at():
    value, _ = OFFSETS[3]
    data = b"\0\5" + encode_value(value)[2:]
    with pytest.raises(ApiException, match="unknown version 5"):
        decode_value(OFFSET_KEY, data)
    assert records.NEWEST == 3


def test_an_offset_of_kafka_4_1_is_read_and_a_tag_that_it_may_have():
    """The first bytes are from the log of a broker of 4.1.1 beside ours."""
    whole = "0004 0000000000000005 ffffffff 01 000001a220040e03"
    value = OffsetValue(5, -1, "", 0x1A220040E03)
    assert decode_value(OFFSET_KEY, bytes.fromhex(f"{whole} 00")) == value
    topic_id = "01 00 10 000102030405060708090a0b0c0d0e0f"  # one tag: number 0, 16 bytes
    assert decode_value(OFFSET_KEY, bytes.fromhex(f"{whole} {topic_id}")) == value
    with pytest.raises(ApiException):
        decode_value(OFFSET_KEY, bytes.fromhex(f"{whole} 01 00 10 0001"))


def test_a_group_in_a_version_with_tags_is_read():
    member = "03 6d31 00 02 63 03 2f68 00000bb8 000003e8 03 aabb 02 cc 00"
    head = "09 636f6e73756d6572 00000004 06 72616e6765 03 6d31 0000000000000009"
    value = decode_value(GROUP_KEY, bytes.fromhex(f"0004 {head} 02 {member} 00"))
    assert value == GroupValue(
        *("consumer", 4, "range", "m1", 9),
        members=(MemberValue("m1", None, "c", "/h", 3000, 1000, b"\xaa\xbb", b"\xcc"),),
    )
