"""Every kind of field, at its edges, written out byte for byte."""

from dataclasses import dataclass, field

import pytest

from engine.coordinator.fields import LONGEST, Bytes, decode, encode
from engine.errors import ErrorCode, KafkaError
from engine.wire.messages.versions import (
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    since,
    until,
)


@dataclass(frozen=True)
class Row:
    name: String
    numbers: tuple[Int32, ...] = ()


@dataclass(frozen=True)
class Everything:
    tiny: Int8 = 0
    short: Int16 = 0
    number: Int32 = 0
    long: Int64 = 0
    text: String = ""
    perhaps: NullableString = None
    data: Bytes = b""
    rows: tuple[Row, ...] = ()
    maybe: tuple[Row, ...] | None = None
    new: Int8 = field(default=0, metadata=since(1))
    old: Int8 = field(default=0, metadata=until(0))


ZEROES = "00 0000 00000000 0000000000000000 0000 ffff 00000000 00000000 ffffffff"
LEAST = Everything(-(2**7), -(2**15), -(2**31), -(2**63))
MOST = Everything(2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1)
CASES = [
    (0, Everything(), f"0000 {ZEROES} 00"),
    (1, Everything(new=5), f"0001 {ZEROES} 05"),
    (0, Everything(old=6), f"0000 {ZEROES} 06"),
    (1, LEAST, f"0001 80 8000 80000000 8000000000000000 0000 ffff {'00' * 8} ffffffff 00"),
    (1, MOST, f"0001 7f 7fff 7fffffff 7fffffffffffffff 0000 ffff {'00' * 8} ffffffff 00"),
    (
        1,
        Everything(text="ö", perhaps="", data=b"\1\2", rows=(Row("a", (1, -1)),), maybe=()),
        f"0001 {'00' * 15} 0002 c3b6 0000 00000002 0102 00000001 0001 61 00000002 00000001"
        " ffffffff 00000000 00",
    ),
    (0, Everything(maybe=(Row("b"),)), f"0000 {ZEROES[:-9]} 00000001 0001 62 00000000 00"),
]


def read(data):
    return decode(data, {0: Everything, 1: Everything}, "__a_topic")


@pytest.mark.parametrize(("version", "value", "text"), CASES)
def test_each_way(version, value, text):
    data = bytes.fromhex(text)
    assert encode(value, version) == data
    assert read(data) == value


@pytest.mark.parametrize(("version", "value", "text"), CASES)
def test_what_is_cut_off(version, value, text):
    whole = bytes.fromhex(text)
    for end in range(len(whole)):
        with pytest.raises(KafkaError, match="no record of __a_topic") as raised:
            read(whole[:end])
        assert raised.value.code == ErrorCode.invalid_record


def test_null_is_only_what_may_be():
    good = bytes.fromhex(f"0000 {ZEROES} 00")
    text, data, rows = 17, 21, 25  # where their lengths are
    for start, size in ((text, 2), (data, 4), (rows, 4)):
        assert good[start : start + size] == bytes(size)
        with pytest.raises(KafkaError):
            read(good[:start] + b"\xff" * size + good[start + size :])


def test_the_longest_string():
    value = Everything(text="x" * LONGEST)
    assert read(encode(value, 0)) == value
