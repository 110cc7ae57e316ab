"""Record batches under search: round trips, damage to the header, damage to the payload."""

import random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.storage.batch import HEADER_SIZE, Codec, Header, check, crc_ok, scan, seal
from engine.storage.compression import compress
from engine.storage.records import Builder, Headers, Record, decode, encode, retain
from tests.search import examples

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.one_of(st.integers(0, 2**41), st.integers(0, 9000), INT64)
BYTES = st.one_of(
    st.none(),
    st.binary(max_size=80),
    st.builds(lambda size, fill: bytes([fill]) * size, st.integers(0, 9000), st.integers(0, 255)),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(NAMES, st.none() | st.binary(max_size=9)), max_size=4
).map(tuple)
CODECS = st.sampled_from(list(Codec))


@st.composite
def batches_of_records(draw: st.DrawFn) -> tuple[int, int, list[Record]]:
    """A base offset, a last offset, and records between them with or without gaps."""
    base = draw(st.integers(0, 2**62))
    deltas = draw(st.sets(st.one_of(st.integers(0, 20), st.integers(0, 2**31 - 1)), max_size=12))
    records = [
        Record(base + delta, draw(TIMES), draw(BYTES), draw(BYTES), draw(HEADERS))
        for delta in sorted(deltas)
    ]
    last = max(deltas, default=0)
    return base, base + draw(st.integers(last, 2**31 - 1) | st.just(last)), records


@given(batches_of_records(), CODECS, st.none() | TIMES)
def test_round_trip_with_gaps(
    drawn: tuple[int, int, list[Record]], codec: Codec, append_time: int | None
) -> None:
    base, last, records = drawn
    batch = encode(
        records, base_offset=base, last_offset=last, codec=codec, log_append_time=append_time
    )
    header = check(batch)
    assert (header.base_offset, header.last_offset, header.count) == (base, last, len(records))
    if append_time is not None:
        records = [record._replace(timestamp=append_time) for record in records]
    assert decode(batch) == records
    assert [found for _, found in scan(batch * 2)] == [header] * 2


@given(batches_of_records(), CODECS, st.randoms(use_true_random=False))
def test_retain_is_filtering(
    drawn: tuple[int, int, list[Record]], codec: Codec, chance: random.Random
) -> None:
    base, last, records = drawn
    batch = encode(records, base_offset=base, last_offset=last, codec=codec)
    survivors = [record for record in records if chance.random() < 0.5]
    kept = retain(check(batch), survivors)
    assert decode(kept) == survivors
    assert check(kept).last_offset == last


@given(st.lists(st.tuples(BYTES, BYTES, TIMES, HEADERS), min_size=1, max_size=12), CODECS)
def test_builder_is_encode(rows: list[tuple[Any, Any, int, Headers]], codec: Codec) -> None:
    builder = Builder()
    sizes = [builder.append(*row) for row in rows]
    batch = builder.build(codec)
    records = [Record(n, row[2], row[0], row[1], row[3]) for n, row in enumerate(rows)]
    assert batch == encode(records, codec=codec)
    assert sizes[-1] == len(builder.build())


@given(batches_of_records(), st.data())
def test_a_flipped_bit_is_found(drawn: tuple[int, int, list[Record]], data: st.DataObject) -> None:
    base, last, records = drawn
    batch = encode(records, base_offset=base, last_offset=last)
    damaged = bytearray(batch)
    covered = [8, 9, 10, 11, *range(16, len(batch))]  # all but base offset and leader epoch
    damaged[data.draw(st.sampled_from(covered))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ApiException):
        check(damaged)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_scan_survives_anything(noise: bytes, whole: int) -> None:
    batch = encode([Record(0, 0, b"key", b"value")])
    found = list(scan(batch * whole + noise))
    end = 0
    for position, header in found:
        assert position == end
        end += header.size
        crc_ok(batch * whole + noise, position, header)
    assert len(found) >= whole
    assert end <= len(batch) * whole + len(noise)


def mutated(payload: bytes, chance: random.Random) -> bytes:
    """What a hostile client might send: a few bytes changed, put in, taken out, or moved."""
    data = bytearray(payload)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at:at] = chance.randbytes(chance.randint(1, 11))
            case 2:
                del data[at : at + chance.randint(1, 11)]
            case 3:
                data[at : at + 1] = chance.choice([b"\xff" * 10, b"\x80", b"\x01", b"\xfe\x7f"])
            case 4:
                data = data[at:] + data[:at]
    return bytes(data)


class Hostile(NamedTuple):
    """A batch as a hostile client would have it: its CRC is right."""

    whole: bytes
    chance: random.Random
    fields: dict[str, int]  # of the header

    def batch(self, codec: Codec) -> bytes:
        payload = compress(codec, mutated(self.whole[HEADER_SIZE:], self.chance))
        if self.chance.random() < 0.3:
            payload = mutated(payload, self.chance)
        header = Header.parse(self.whole)._replace(attributes=codec, **self.fields)
        return seal(header, payload)


@st.composite
def hostile(draw: st.DrawFn) -> Hostile:
    base, last, records = draw(batches_of_records())
    counts = st.integers(-2, 20) | st.sampled_from([2**31 - 1, -(2**31)])
    deltas = st.integers(-1, 2**31 - 1)
    optional = {"count": counts, "last_offset_delta": deltas, "base_timestamp": INT64}
    fields = draw(st.fixed_dictionaries({}, optional=optional))
    chance = draw(st.randoms(use_true_random=False))
    return Hostile(encode(records, base_offset=base, last_offset=last), chance, fields)


@pytest.mark.parametrize("codec", list(Codec))
@examples(300)
@given(hostile())
def test_a_malformed_payload_is_a_kafka_error(codec: Codec, drawn: Hostile) -> None:
    """What comes out can be kept."""
    batch = drawn.batch(codec)
    try:
        decoded = decode(batch, limit=1 << 20)
    except ApiException as error:
        known = "invalid_record", "unknown_server_error", "message_too_large"
        assert error.code.name in known  # noqa: PT017
    else:
        assert decode(retain(Header.parse(batch), decoded)) == decoded


@examples(50)
@given(batches_of_records(), CODECS)
def test_truncated_anywhere(drawn: tuple[int, int, list[Record]], codec: Codec) -> None:
    """Cut in the payload, with length and CRC made right again."""
    base, last, records = drawn
    batch = encode(records, base_offset=base, last_offset=last, codec=codec)
    if not records:
        return
    header, payload = Header.parse(batch), batch[HEADER_SIZE:]
    for cut in {*range(min(len(payload), 150)), len(payload) - 1}:
        with pytest.raises(ApiException):
            decode(seal(header, payload[:cut]))
