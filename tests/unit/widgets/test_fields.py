"""Every byte of a log's files has a name, and what cannot be read says so."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage import control, records
from engine.storage.batch import HEADER_SIZE, Codec, Header
from engine.storage.control import ControlType, Marker
from engine.storage.index import OffsetIndex, TimeIndex
from engine.storage.records import Record
from tests.unit.storage.disk import NOW, batch, place
from widgets.log.batches import log_fields
from widgets.log.fields import ByteField, entry_fields, text
from widgets.log.timestamps import moment

BYTES = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.tuples(
        st.integers(1, 300),  # to the next offset
        st.integers(-(2**62), 2**62),
        BYTES,
        BYTES,
        st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3),
    ),
    max_size=8,
)


Rows = list[tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]


def made(rows: Rows, codec: Codec = Codec.NONE) -> bytes:
    offset, found = 0, []
    for step, timestamp, key, value, headers in rows:
        found.append(Record(offset, timestamp, key, value, tuple(headers)))
        offset += step
    return records.encode(found, last_offset=offset + 3, codec=codec)


def tile(fields: Iterable[ByteField], data: bytes | bytearray, at: int = 0) -> list[ByteField]:
    """The fields, once it is sure that each byte lies in exactly one."""
    found = list(fields)
    position = at
    for field in found:
        assert field.start == position < field.end
        assert field.name and field.value and field.about and field.kind and field.part
        position = field.end
    assert position == at + len(data)
    return found


def values(fields: Iterable[ByteField]) -> dict[str, str]:
    return {field.name: field.value for field in fields}


@given(st.lists(st.tuples(RECORDS, st.sampled_from(Codec)), max_size=3), st.integers(0, 2**40))
def test_fields_tile_every_byte_of_a_log(batches: list[tuple[Rows, Codec]], at: int) -> None:
    data = b"".join(made(rows, codec) for rows, codec in batches)
    fields = tile(log_fields(data, at), data, at)
    assert not [field for field in fields if field.kind == "torn"]


@given(RECORDS, st.randoms(use_true_random=False))
def test_fields_tile_bytes_that_are_damaged_or_cut(rows: Rows, chance: random.Random) -> None:
    data = bytearray(made(rows) + made(rows))
    for _ in range(chance.randint(0, 3)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    del data[chance.randint(1, len(data)) :]
    tile(log_fields(bytes(data)), data)


@given(st.binary(max_size=300))
def test_fields_tile_any_bytes(data: bytes) -> None:
    tile(log_fields(data), data)
    tile(entry_fields("index", data, 7), data)
    tile(entry_fields("timeindex", data, 7), data)


def test_a_batch_is_read_as_it_was_written() -> None:
    kept = [
        Record(0, NOW, b"k", b"hello", (("trace", b"\x01"), ("empty", None))),
        Record(2, NOW + 5, None, None),
    ]
    data = place(records.encode(kept, producer_id=9, producer_epoch=1, base_sequence=4), 40, 3)
    fields = tile(log_fields(data), data)

    header, rest = fields[:13], fields[13:]
    assert [field.name.replace(" ", "_") for field in header] == list(Header._fields)
    found = values(header)
    assert (found["base offset"], found["leader epoch"], found["count"]) == ("40", "3", "2")
    assert found["last offset delta"] == "2 → last offset 42"
    assert found["max timestamp"] == f"{NOW + 5} → {moment(NOW + 5)}"
    assert found["crc"].endswith("right ✓")
    assert "not compressed" in found["attributes"]
    first = values(field for field in rest if field.part == "offset 40")
    assert (first["key"], first["value"], first["header name"]) == ("“k”", "“hello”", "“empty”")
    assert first["header value length"] == "-1: null, there is none"
    second = values(field for field in rest if field.part == "offset 42")
    assert second["offset delta"] == "+2 → offset 42"
    assert "key" not in second and second["key length"].startswith("-1: null")
    assert b"".join(data[it.start : it.end] for it in rest if it.name == "value") == b"hello"


def test_a_flipped_bit_is_reported_by_the_crc() -> None:
    data = bytearray(batch(3))
    data[-1] ^= 1
    fields = tile(log_fields(bytes(data)), data)
    assert "WRONG ✗, these bytes give 0x" in values(fields)["crc"]


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_of_a_compressed_batch_is_reported_what_it_unpacks_to(codec: Codec) -> None:
    data = batch(5, 100, codec=codec)
    *_, payload = tile(log_fields(data), data)
    size = len(batch(5, 100)) - HEADER_SIZE
    assert payload.start == HEADER_SIZE
    assert f"bytes hold {size:,}, 5 records; the first has key “0”" in payload.value
    damaged = data[:-9] + bytes(9)
    *_, payload = tile(log_fields(damaged), damaged)
    assert payload.value.startswith("cannot be unpacked")


def test_a_transaction_marker_is_read() -> None:
    key, value = control.encode(Marker(ControlType.COMMIT, 12))
    data = records.encode([Record(0, NOW, key, value)], control=True, transactional=True)
    found = values(tile(log_fields(data), data))
    assert found["type"] == "1 → COMMIT"
    assert found["coordinator epoch"] == "12"
    flags = next(field for field in log_fields(data) if field.name == "attributes")
    assert flags.value.endswith("create time, transactional, control")


def test_log_append_time_beats_the_records_own() -> None:
    data = batch(1, log_append_time=NOW + 99)
    found = values(tile(log_fields(data), data))
    assert moment(NOW + 99) in found["timestamp delta"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (batch(1)[:20], "20 bytes, too few for the 61 of a header"),
        (bytes(100), "zeros"),
        (batch(2)[:-1], "cut off"),
        (batch(2)[:16] + b"\1" + batch(2)[17:], "byte 16 is 1, and should be 2"),
        (batch(2)[:8] + bytes(4) + batch(2)[12:], "length of 0"),
    ],
)
def test_a_torn_end_says_why(data: bytes, why: str) -> None:
    whole = batch(1)
    *_, last = tile(log_fields(whole + data), whole + data)
    assert last.kind == "torn"
    assert why in last.value


@pytest.mark.parametrize(
    ("tampered", "why"),
    [
        (lambda data: data[:57] + b"\0\0\0\1" + data[61:], "behind the last record"),
        (lambda data: data[:57] + b"\0\0\0\3" + data[61:], "ends in the middle"),
        (lambda data: data[:61] + b"\x7e" + data[62:], "no room here"),
        (lambda data: data[:-1] + b"\x01", "-1 headers"),
        (lambda data: data[:61] + bytes([data[61] - 2]) + data[62:], "should end at byte"),
        (lambda data: data[:65] + b"\x03" + data[66:], "a key of -2 bytes"),
    ],
)
def test_records_that_are_not_what_they_say(tampered: object, why: str) -> None:
    assert callable(tampered)
    data = tampered(batch(2))
    *_, last = tile(log_fields(data), data)
    assert last.kind == "torn"
    assert why in last.value


def test_an_index_is_read_entry_by_entry(tmp_path: Path) -> None:
    file = tmp_path / f"{1000:020d}.index"
    index = OffsetIndex(file, 1000, 8 * 5)
    index.append(1007, 300)
    index.append(1020, 4500)
    index.close()
    fields = tile(entry_fields("index", file.read_bytes(), 1000), file.read_bytes())
    assert [field.value for field in fields] == [
        *("+7 → offset 1,007", "byte 300", "+20 → offset 1,020", "byte 4,500"),
        "zeros",
    ]
    assert fields[-1].end - fields[-1].start == 24
    assert [field.part for field in fields[:3]] == ["entry 0", "entry 0", "entry 1"]


def test_zeros_end_where_an_entry_begins() -> None:
    data = bytes(16) + (5).to_bytes(4, "big") + (1000).to_bytes(4, "big")
    fields = tile(entry_fields("index", data, 0), data)
    assert [field.value for field in fields] == ["zeros", "+5 → offset 5", "byte 1,000"]


def test_a_time_index_is_read_entry_by_entry(tmp_path: Path) -> None:
    file = tmp_path / f"{1000:020d}.timeindex"
    index = TimeIndex(file, 1000, 0)
    index.reset(12 * 3)
    index.append(NOW, 1007)
    index.append(NOW + 1, 1020)
    index.close()
    fields = tile(entry_fields("timeindex", file.read_bytes()[:30], 1000, 120), bytes(30), 120)
    assert [field.value for field in fields][:2] == [f"{NOW} → {moment(NOW)}", "+7 → offset 1,007"]
    assert fields[-1].kind == "unused"
    torn = file.read_bytes()[:20]
    assert tile(entry_fields("timeindex", torn, 1000), torn)[-1].kind == "torn"


def test_texts_and_moments() -> None:
    assert text("größe".encode()) == "“größe”"
    assert text(b"\xff\x00") == "ff 00"
    assert text(b"x" * 500).endswith("…") and len(text(b"x" * 500)) == 48
    assert moment(-1) == "none"
    assert moment(NOW) == "2023-11-14 22:13:20.000"
    assert moment(2**62) == str(2**62)
