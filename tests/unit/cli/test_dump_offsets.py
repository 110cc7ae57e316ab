"""dump-log --offsets-decoder, on records of __consumer_offsets written out byte for byte."""

from pathlib import Path

import pytest

from engine.cli.dump.offsets import texts
from engine.errors import ApiException
from tests.unit.cli.handmade import Dump, batch, record, write

OFFSET_KEY = bytes.fromhex("0001 0001 67 0006 6f7264657273 00000007")  # g, orders, 7
GROUP_KEY = bytes.fromhex("0002 0001 67")
OFFSET = "0003 0000000000000005 00000003"  # version 3, offset 5, epoch 3
# Version 3, two partitions of orders, user data.
ASSIGNMENT = "0000 00000001 0006 6f7264657273 00000002 00000000 00000001"


def group(assignment: str, protocol: str = "0005 72616e6765", kind: str = "consumer") -> bytes:
    """Version 3, generation 4, one member m1: i, c, /h."""
    size = len(bytes.fromhex(assignment))
    return bytes.fromhex(
        f"0003 {len(kind):04x} {kind.encode().hex()} 00000004 {protocol} 0002 6d31 "
        "0000000000000011 00000001 0002 6d31 0001 69 0001 63 0002 2f68 00000bb8 000003e8 "
        f"00000000 {size:08x} {assignment}"
    )


def test_an_offset() -> None:
    plain = bytes.fromhex(f"{OFFSET} 0000 0000000000000009")
    noted = bytes.fromhex(f"{OFFSET} 0007 6279 2068616e64 0000000000000009")
    assert texts(OFFSET_KEY, plain) == ("offset_commit::group=g,partition=orders-7", "offset=5")
    assert texts(OFFSET_KEY, noted)[1] == "offset=5,metadata=by hand"


def test_a_group() -> None:
    key, value = texts(GROUP_KEY, group(f"{ASSIGNMENT} ffffffff"))
    assert key == "group_metadata::group=g"
    assert value == (
        '{"protocolType":"consumer","protocol":"range","generationId":4,'
        '"assignment":"{m1=[orders-0, orders-1]}"}'
    )


def test_a_group_with_user_data_and_one_of_another_protocol() -> None:
    """Kafka prints the bytes as one number: zeros in front are not there."""
    with_data = texts(GROUP_KEY, group(f"{ASSIGNMENT} 00000003 00abcd"))[1]
    assert '"assignment":"{m1=[orders-0, orders-1]:ABCD}"' in with_data
    connect = texts(GROUP_KEY, group("00abcd", kind="connect"))[1]
    assert connect == (
        '{"protocolType":"connect","protocol":"range","generationId":4,"assignment":"{m1=ABCD}"}'
    )
    between = texts(GROUP_KEY, group("", protocol="ffff", kind="connect"))[1]
    assert '"protocol":null' in between
    assert '"assignment":"{m1=}"' in between


@pytest.mark.parametrize("key", [OFFSET_KEY, GROUP_KEY])
def test_what_is_forgotten(key: bytes) -> None:
    assert texts(key, None)[1] == "<DELETE>"


@pytest.mark.parametrize(
    ("key", "value"), [(None, b""), (b"key", None), (b"\0\7", None), (OFFSET_KEY, b"\0\3")]
)
def test_what_belongs_in_no_such_topic(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(ApiException, match="__consumer_offsets"):
        texts(key, value)


def test_a_file(tmp_path: Path, dump: Dump) -> None:
    """The option alone is enough; what is no such record is told, and the rest is printed."""
    good = batch(
        100,
        record(0, OFFSET_KEY, bytes.fromhex(f"{OFFSET} 0000 0000000000000009")),
        record(1, OFFSET_KEY, None),
    )
    odd = batch(102, record(0, b"key", b"value"))
    status, lines, errors = dump(
        write(tmp_path, good + odd), "--offsets-decoder", "--skip-record-metadata"
    )
    assert status == 1
    assert lines[2:4] == [
        "| key: offset_commit::group=g,partition=orders-7 payload: offset=5",
        "| key: offset_commit::group=g,partition=orders-7 payload: <DELETE>",
    ]
    assert len(lines) == 5
    (error,) = errors
    assert f"position {len(good)}" in error
    assert "not a valid record of __consumer_offsets" in error
