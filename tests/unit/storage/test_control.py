"""Transaction markers, to the byte."""

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage import control
from engine.storage.batch import check, scan
from engine.storage.control import ControlType, Marker
from engine.storage.records import Record, decode, encode
from tests.unit.storage.disk import marker, sequenced

GOLDEN = [
    (Marker(ControlType.ABORT, 7), "0000 0000", "0000 00000007"),
    (Marker(ControlType.COMMIT, 2**31 - 1), "0000 0001", "0000 7fffffff"),
]


@pytest.mark.parametrize(("marker", "key", "value"), GOLDEN)
def test_golden(marker: Marker, key: str, value: str) -> None:
    assert control.encode(marker) == (bytes.fromhex(key), bytes.fromhex(value))
    assert control.decode(Record(0, 0, bytes.fromhex(key), bytes.fromhex(value))) == marker


def test_a_marker_stands_alone_in_a_control_batch() -> None:
    key, value = control.encode(Marker(ControlType.COMMIT, 3))
    batch = encode(
        [Record(10, 99, key, value)],
        base_offset=10,
        producer_id=5,
        producer_epoch=1,
        transactional=True,
        control=True,
    )
    header = check(batch)
    assert header.is_control
    assert header.is_transactional
    assert [control.decode(record) for record in decode(batch)] == [Marker(ControlType.COMMIT, 3)]


def test_a_marker_is_found_among_batches() -> None:
    end = marker(7, ControlType.ABORT, coordinator=3)
    plain = sequenced(7, 0, transactional=True)
    data = plain + end + plain
    headers = [header for _, header in scan(data)]
    assert control.find_all(data, headers) == [None, Marker(ControlType.ABORT, 3), None]
    assert control.find(memoryview(data), headers[1], len(plain)) == Marker(ControlType.ABORT, 3)


@pytest.mark.parametrize(
    "made",
    [
        encode([Record(0, 0, bytes.fromhex("0000 0005"), b"")], producer_id=7, control=True),
        encode([], last_offset=0, producer_id=7, control=True),
        encode([Record(0, 0, b"of nobody", b"")], control=True),
    ],
)
def test_not_every_control_batch_ends_a_transaction(made: bytes) -> None:
    assert control.find(made, check(made)) is None


def test_later_versions_may_say_more() -> None:
    longer = Record(0, 0, bytes.fromhex("0001 0001 ff"), bytes.fromhex("0001 00000007 ffff"))
    assert control.decode(longer) == Marker(ControlType.COMMIT, 7)
    other = Record(0, 0, bytes.fromhex("0000 0002"), b"")
    assert control.decode(other).type is ControlType.UNKNOWN


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (None, b"\0" * 6, "key '' is too short"),
        (b"\0\0\1", b"\0" * 6, "key '000001' is too short"),
        (b"\0\0\0\1", None, "value '' is too short"),
        (b"\0\0\0\1", b"\0" * 5, "value '0000000000' is too short"),
    ],
)
def test_malformed(key: bytes | None, value: bytes | None, says: str) -> None:
    with pytest.raises(ApiException, match=f"offset 12: {says}") as raised:
        control.decode(Record(12, 0, key, value))
    assert raised.value.code is ErrorCode.invalid_record
