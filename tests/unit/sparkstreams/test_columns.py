"""Columns against `decode`: whatever a batch holds, both tell the same or refuse the same."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import HEADER_SIZE, Codec, Header, seal
from engine.storage.files import Buffer
from engine.storage.records import Builder, Record, decode, encode, retain
from sparkstreams.columns import CREATE_TIME, LAST, LOG_APPEND_TIME, columns, schema
from tests.properties.test_records import CODECS, TIMES, Hostile, batches_of_records, hostile

ORDERS = TopicPartition("orders", 3)
NOW = 1_700_000_000_000
FITS = LAST // 1000  # milliseconds
Drawn = tuple[int, int, list[Record]]  # base offset, last offset, the records between


def table(*whole: Buffer, start: int = 0, end: int = LAST, headers: bool = True) -> Any:
    found = list(columns(whole, ORDERS, start, end, headers))
    return pa.Table.from_batches(found, schema(headers))


def rows(found: Any) -> list[Record]:
    """A table as records; a time that is null as -1."""
    micros = found.column("timestamp").cast(pa.int64()).to_pylist()
    times = [-1 if each is None else each // 1000 for each in micros]
    return [
        Record(offset, time, key, value, as_headers(pairs))
        for offset, time, key, value, pairs in zip(
            found.column("offset").to_pylist(),
            times,
            found.column("key").to_pylist(),
            found.column("value").to_pylist(),
            found.column("headers").to_pylist(),
            strict=True,
        )
    ]


def as_headers(pairs: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((pair["key"], pair["value"]) for pair in pairs or ())


def expected(*whole: Buffer) -> list[Record]:
    """What `decode` gives; the times that no timestamp of Spark's can hold are null."""
    found = [record for each in whole for record in decode(each)]
    return [it if abs(it.timestamp) <= FITS else it._replace(timestamp=-1) for it in found]


def orders(first: int, count: int, **more: Any) -> bytes:
    """Orders as a producer sends them, from an offset on."""
    made = [
        Record(first + n, NOW + 7 * n, b"customer-%d" % (n % 5), b"%d books" % n)
        for n in range(count)
    ]
    return encode(made, base_offset=first, **more)


@pytest.fixture
def quick_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What producers write has to be understood without a loop over the records."""

    def slow(*words: Any) -> None:
        raise AssertionError("record by record")

    monkeypatch.setattr("sparkstreams.columns._slow", slow)


# -- the same as decode ----------------------------------------------------------------------


def test_an_order_becomes_a_row(quick_only: None) -> None:
    headers = (("trace", b"abc"), ("void", None))
    batch = encode([Record(17, NOW, b"ann", b"3 books", headers)], base_offset=17)
    (row,) = table(batch).to_pylist()
    assert row["timestamp"].timestamp() * 1000 == NOW
    del row["timestamp"]
    assert row == {
        "key": b"ann",
        "value": b"3 books",
        "topic": "orders",
        "partition": 3,
        "offset": 17,
        "timestampType": CREATE_TIME,
        "headers": [{"key": "trace", "value": b"abc"}, {"key": "void", "value": None}],
    }


def test_no_headers_are_null_as_in_sparks_own_source(quick_only: None) -> None:
    with_one = encode([Record(0, NOW), Record(1, NOW, headers=(("a", b""),)), Record(2, NOW)])
    found = table(with_one).column("headers").to_pylist()
    assert found == [None, [{"key": "a", "value": b""}], None]
    assert table(orders(0, 2)).column("headers").to_pylist() == [None, None]


def test_headers_keep_their_order(quick_only: None) -> None:
    """They are read by turns, the first of all records first: and put together again."""
    made = [
        Record(n, NOW, headers=tuple((f"{n} {turn}", b"%d" % turn) for turn in range(n % 60)))
        for n in range(100)
    ]
    assert rows(table(encode(made))) == made


@given(st.lists(st.tuples(batches_of_records(), CODECS, st.none() | TIMES), max_size=4))
def test_whatever_the_batches_hold(drawn: list[tuple[Drawn, Codec, int | None]]) -> None:
    """Gaps, nulls, empty batches, headers, times to and fro, all codecs, side by side."""
    whole = [
        encode(records, base_offset=base, last_offset=last, codec=codec, log_append_time=time)
        for (base, last, records), codec, time in drawn
    ]
    assert rows(table(*whole)) == expected(*whole)
    assert table(*whole, headers=False).equals(table(*whole).drop_columns(["headers"]))


@given(
    st.lists(
        st.tuples(
            st.none() | st.binary(max_size=300),
            st.none() | st.binary(max_size=300),
            st.integers(NOW, NOW + 10_000_000),
            st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=200)))
            .map(tuple)
            .filter(lambda headers: len(headers) <= 8),
        ),
        min_size=1,
        max_size=30,
    ),
    CODECS,
)
def test_what_producers_write_goes_the_quick_way(made: list[Any], codec: Codec) -> None:
    builder = Builder()
    for each in made:
        builder.append(*each)
    batch = builder.build(codec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparkstreams.columns._slow", None)
        assert rows(table(batch)) == expected(batch)


def test_compaction_leaves_gaps(quick_only: None) -> None:
    batch = orders(100, 50)
    thin = retain(Header.parse(batch), [it for it in decode(batch) if it.offset % 7 == 0])
    bare = retain(Header.parse(orders(150, 10)), [])
    assert table(thin, bare, orders(160, 1)).column("offset").to_pylist() == [
        *range(105, 150, 7),
        160,
    ]


def test_log_append_time_is_the_brokers(quick_only: None) -> None:
    """One batch was stamped by the broker, its neighbours were not."""
    found = table(orders(0, 2), orders(2, 2, log_append_time=NOW + 5000), orders(4, 1))
    assert [it.timestamp - NOW for it in rows(found)] == [0, 7, 5000, 5000, 0]
    kinds = found.column("timestampType").to_pylist()
    assert kinds == [CREATE_TIME] * 2 + [LOG_APPEND_TIME] * 2 + [CREATE_TIME]


def test_a_time_that_spark_cannot_hold_is_null() -> None:
    times = [FITS, FITS + 1, -FITS, -FITS - 1, 2**63 - 1, -(2**63), 0]
    made = [Record(n, time) for n, time in enumerate(times)]
    micros = table(encode(made)).column("timestamp").cast(pa.int64()).to_pylist()
    assert micros == [FITS * 1000, None, -FITS * 1000, None, None, None, 0]


# -- which rows, in which batches ------------------------------------------------------------


@given(st.integers(0, 40), st.integers(0, 40))
def test_only_the_range_that_was_asked_for(start: int, end: int) -> None:
    found = table(orders(5, 10), orders(15, 10, codec=Codec.LZ4), start=start, end=end)
    assert found.column("offset").to_pylist() == [n for n in range(5, 25) if start <= n < end]


def test_a_block_ends_when_it_is_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the size that it takes when it is no longer compressed."""
    whole = [orders(10 * n, 10, codec=Codec.ZSTD) for n in range(7)]
    plain = len(orders(0, 10)) - HEADER_SIZE
    monkeypatch.setattr("sparkstreams.columns.ENOUGH", 2 * plain + 1)
    assert [each.num_rows for each in columns(whole, ORDERS)] == [30, 30, 10]


def test_no_batches_no_rows() -> None:
    assert list(columns([], ORDERS)) == []
    assert table(encode([], base_offset=3, last_offset=5)).num_rows == 0


# -- what is wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("codec", list(Codec))
@settings(max_examples=50)
@given(hostile())
def test_a_malformed_payload_is_refused_where_decode_refuses_it(
    codec: Codec, drawn: Hostile
) -> None:
    """A sound batch before it makes it no better."""
    batch = drawn.batch(codec)
    assert outcome(lambda: rows(table(orders(0, 1), batch))) == outcome(
        lambda: expected(orders(0, 1), batch)
    )


def outcome(attempt: Callable[[], list[Record]]) -> Any:
    """The records, or the error's code and words."""
    try:
        return attempt()
    except ApiException as error:
        return error.code, error.message


def overgrown(*lengths: bytes) -> bytes:
    """A batch of one record: attributes, deltas, then these bytes; its length is true."""
    fields = b"\0\0\0" + b"".join(lengths)
    header = Header(last_offset_delta=0, base_timestamp=0, max_timestamp=0, count=1)
    return seal(header, bytes([2 * len(fields)]) + fields)


@pytest.mark.parametrize(
    "lengths",
    [
        (b"\xfe" + b"\xff" * 7 + b"\x7f", b"\xfe" + b"\xff" * 7 + b"\x7f"),  # sums overflow
        (b"\xff" * 9 + b"\x01", b"\1\0"),  # 10 bytes long
        (b"\xff" * 30, b"\1\0"),  # without end
        (b"\3", b"\1\0"),  # -2
        (b"\1\1", b"\1"),  # -1 headers
        (b"\1\1", b"\x02\1\1"),  # a header without a name
        (b"\1\1", b"\x02\x02\xff\1"),  # a name that is not UTF-8
        (b"\1\1", b"\xfe\xff\xff\xff\x0f"),  # very many headers
        (b"\1",),  # nothing behind the key
        (b"\1\1\0", b"!"),  # something behind the headers
        (b"\1", b"\x14ab\0"),  # a value that goes on behind its record
    ],
)
def test_lengths_that_lead_astray(lengths: tuple[bytes, ...]) -> None:
    batch = overgrown(*lengths)
    with pytest.raises(ApiException) as refused:
        decode(batch)
    with pytest.raises(ApiException) as found:
        table(batch)
    assert found.value.message == refused.value.message


@pytest.mark.parametrize("offsets", [[4], [5, 5], [6, 5], [5, 9]])
def test_offsets_that_do_not_rise_within_their_batch(offsets: list[int]) -> None:
    """The batch has offsets 5 to 8."""
    records = [Record(offset, NOW) for offset in offsets]
    with pytest.raises(ApiException, match="offset delta"):
        table(encode(records, base_offset=5, last_offset=8))


def test_many_headers_are_read_all_the_same() -> None:
    many = tuple((f"h{n}", b"%d" % n) for n in range(500))
    batch = encode([Record(0, NOW, None, None, many), Record(1, NOW)])
    assert rows(table(batch)) == decode(batch)


def test_what_is_not_a_batch() -> None:
    one = orders(0, 1)
    for wrong in (b"", b"short", one + b"!", one[:16] + b"\1" + one[17:]):
        with pytest.raises(ApiException) as found:
            table(wrong)
        assert found.value.code == ErrorCode.invalid_record
