"""Decodes record batches into columns, all records at once: this makes the source fast.

`storage.records.decode` decodes record by record, 3 µs for each. Here the payloads of many
batches are concatenated, with one cursor in each record, and all cursors move at once:

    payloads    len . ts off key value hdrs | len . ts off key value hdrs | len . ts ...
    cursors     ^                             ^                             ^
    number()        ^                             ^                             ^

Each move is a few numpy operations on whole columns. Python itself only reads the length of each
record, to find where the next begins. Keys and values are not decoded: an Arrow array of offsets
marks their begin and end in the payloads, every second piece between two offsets is a key (or a
value), and `take` copies those pieces out:

    payloads    len . ts off |KEY| . VALUE hdrs len . ts off |KEY| . VALUE hdrs
    pieces      0            |1  | 2                         |3  | 4             take 1, 3, ...

Invariant: the rows are those that `decode` gives. If something looks wrong (a length out of bounds,
an offset that does not increase), `decode` itself decodes the batches, slowly, and raises the
ApiException that names the place.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import ApiException
from engine.model import TopicPartition
from engine.storage import records, varint
from engine.storage.batch import HEADER_SIZE, Header, framed
from engine.storage.compression import decompress
from engine.storage.files import Buffer

Numbers = NDArray[np.int64]

ENOUGH = 2 * 1024 * 1024  # bytes of payload in one Arrow batch; the last batch may go beyond
LAST = 2**63 - 1  # there is no greater offset
CREATE_TIME, LOG_APPEND_TIME = 0, 1  # timestampType

_LONGEST = 56  # bits before the last seven of a number; `decode` reads longer ones
_MANY = 64  # headers in one record: with more, `decode` is faster
_TIME = pa.timestamp("us", "UTC")
_LATEST = LAST // 1000  # milliseconds that a timestamp of Spark's can hold; beyond, it is null
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@cache
def schema(headers: bool = False) -> Any:
    """The columns of Spark's own Kafka source."""
    fields = [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _TIME),
        ("timestampType", pa.int32()),
    ]
    return pa.schema([*fields, ("headers", _HEADERS)] if headers else fields)


class _FetchedBatch(NamedTuple):
    header: Header
    whole: Buffer
    payload: Buffer  # the records, no longer compressed


def columns(
    batches: Iterable[Buffer],
    partition: TopicPartition,
    start: int = 0,
    end: int = LAST,
    headers: bool = False,
) -> Iterator[Any]:
    """The records of whole batches, from offset `start` on and before `end`, as Arrow batches."""
    block, size = list[_FetchedBatch](), 0
    for whole in batches:
        header, payload = framed(whole), memoryview(whole)[HEADER_SIZE:]
        if header.codec:
            payload = memoryview(decompress(header.codec, payload))
        block.append(_FetchedBatch(header, whole, payload))
        size += len(payload)
        if size >= ENOUGH:
            yield _table(block, partition, start, end, headers)
            block, size = [], 0
    if block:
        yield _table(block, partition, start, end, headers)


def _table(
    block: list[_FetchedBatch], partition: TopicPartition, start: int, end: int, headers: bool
) -> Any:
    """One Arrow batch. Columns with the same value in all records cost almost nothing."""
    try:
        rows = _quick(block, headers)
    except (_Irregular, IndexError, ApiException):
        rows = _slow(block, headers)
    size = len(rows.offsets)
    arrays = [
        rows.keys,
        rows.values,
        pa.repeat(pa.scalar(partition.topic), size),
        pa.repeat(pa.scalar(partition.partition, pa.int32()), size),
        pa.array(rows.offsets),
        _timestamps(rows.times),
        pa.array(rows.kinds),
    ]
    if headers:
        arrays.append(rows.headers)
    table = pa.RecordBatch.from_arrays(arrays, schema=schema(headers))
    low, high = np.searchsorted(rows.offsets, (start, end))
    return table.slice(low, high - low)


class _Rows(NamedTuple):
    """The columns that differ from record to record."""

    keys: Any
    values: Any
    offsets: Numbers
    times: Numbers  # milliseconds since 1970
    kinds: NDArray[np.int32]  # CREATE_TIME or LOG_APPEND_TIME
    headers: Any  # null for a record that has none, as Spark's own source has it


def _timestamps(times: Numbers) -> Any:
    beyond = (times > _LATEST) | (times < -_LATEST)
    return pa.array(times * 1000, mask=beyond).view(_TIME)


def _each(block: list[_FetchedBatch], values: Iterable[int], dtype: Any = np.int64) -> NDArray[Any]:
    """Repeat the value of each batch for all of its records."""
    return np.repeat(np.array(list(values), dtype), [batch.header.count for batch in block])


def _kinds(block: list[_FetchedBatch]) -> NDArray[np.int32]:
    stamped = [batch.header.is_log_append_time for batch in block]
    return _each(block, np.where(stamped, LOG_APPEND_TIME, CREATE_TIME), np.int32)


def _slow(block: list[_FetchedBatch], headers: bool) -> _Rows:
    """Decode record by record: for batches that `_quick` cannot decode."""
    found = list(chain.from_iterable(records.decode(batch.whole) for batch in block))
    return _Rows(
        pa.array([record.key for record in found], pa.binary()),
        pa.array([record.value for record in found], pa.binary()),
        np.array([record.offset for record in found], np.int64),
        np.array([record.timestamp for record in found], np.int64),
        _kinds(block),
        pa.array([record.headers or None for record in found], _HEADERS),
    )


# -- all records at once ---------------------------------------------------------------------


class _Irregular(Exception):
    """`_quick` cannot decode this."""


def _quick(block: list[_FetchedBatch], headers: bool) -> _Rows:
    data = b"".join(batch.payload for batch in block)
    begins = np.array(_begins(data, block), np.int64)
    ends = np.append(begins[1:], len(data))[: len(begins)]
    cursors = _Cursors(np.frombuffer(data, np.uint8), begins)
    cursors.number()  # the lengths, which `_begins` has used
    cursors.at += 1  # attributes
    times = cursors.number()
    deltas = cursors.number()
    keys, values, fields = cursors.span(), cursors.span(), cursors.headers()
    _check(cursors.at == ends)
    offsets = deltas + _each(block, (batch.header.base_offset for batch in block))
    _check(deltas >= 0)
    _check(deltas <= _each(block, (batch.header.last_offset_delta for batch in block)))
    _check(np.diff(offsets) > 0)
    times += _each(block, (batch.header.base_timestamp for batch in block))
    kinds = _kinds(block)
    if kinds.any():
        latest = _each(block, (batch.header.max_timestamp for batch in block))
        times = np.where(kinds == LOG_APPEND_TIME, latest, times)
    payload = pa.py_buffer(data)
    return _Rows(
        _cut(payload, keys),
        _cut(payload, values),
        offsets,
        times,
        kinds,
        _lists(payload, fields) if headers else None,
    )


def _check(holds: NDArray[np.bool_]) -> None:
    if not holds.all():
        raise _Irregular


def _begins(data: bytes, block: list[_FetchedBatch]) -> list[int]:
    """Where each record begins, by the lengths: the only loop over all records."""
    begins: list[int] = []
    add, long = begins.append, varint.read_long
    at = end = 0
    for header, _, payload in block:
        for _ in range(header.count):
            add(at)
            n, at = data[at], at + 1
            if n > 0x7F:
                n, at = (n + (b - 1 << 7), at + 1) if (b := data[at]) < 128 else long(data, at, n)
            at += n >> 1
        end += len(payload)
        if at != end or header.count < 0:
            raise _Irregular
    return begins


class _Span(NamedTuple):
    """A field of bytes, in every record."""

    begin: Numbers
    length: Numbers  # -1: null


class _Cursors:
    """A position in each record."""

    def __init__(self, data: NDArray[np.uint8], at: Numbers) -> None:
        self._data = data
        self.at = at.copy()

    def number(self) -> Numbers:
        """Read a varint at every cursor. Beyond the end the last byte is read again."""
        byte = self._data.take(self.at, mode="clip")
        self.at += 1
        number = (byte & 0x7F).astype(np.int64)
        more = byte > 0x7F
        shift = 7
        while more.any():
            if shift > _LONGEST:
                raise _Irregular
            byte = self._data.take(self.at, mode="clip")
            number |= np.where(more, byte & 0x7F, 0).astype(np.int64) << shift
            self.at += more
            more &= byte > 0x7F
            shift += 7
        return (number >> 1) ^ -(number & 1)

    def span(self) -> _Span:
        """Skip a key or a value. No length may be so large that a cursor overflows."""
        length = self.number()
        _check((length >= -1) & (length <= len(self._data)))
        found = _Span(self.at, length)
        self.at = self.at + np.maximum(length, 0)
        return found

    def headers(self) -> "_Headers":
        """Skip the first header of all records, then the second of those that have one, ..."""
        counts = self.number()
        _check((counts >= 0) & (counts <= _MANY))
        turns, rows = list[tuple[Numbers, _Span, _Span]](), np.flatnonzero(counts)
        while len(rows):
            these = _Cursors(self._data, self.at[rows])
            turns.append((rows, name := these.span(), these.span()))
            _check(name.length >= 0)
            self.at[rows] = these.at
            rows = rows[counts[rows] > len(turns)]
        return _Headers(counts, turns)


class _Headers(NamedTuple):
    counts: Numbers  # of each record
    turns: list[tuple[Numbers, _Span, _Span]]  # the n-th: records that have one, name, value


def _cut(payload: Any, span: _Span) -> Any:
    """The bytes of a field, copied out of the payload."""
    pieces = 2 * len(span.begin)
    fences = np.zeros(pieces + 1, np.int32)
    fences[1::2] = span.begin
    fences[2::2] = span.begin + np.maximum(span.length, 0)
    buffers = [None, pa.py_buffer(fences), payload]
    is_null = span.length < 0
    odd = pa.array(np.arange(1, pieces, 2), mask=is_null if is_null.any() else None)
    return pa.Array.from_buffers(pa.binary(), pieces, buffers).take(odd)


def _lists(payload: Any, headers: "_Headers") -> Any:
    """The column of headers: sorted from "n-th of each record" to record by record."""
    counts, turns = headers
    if not turns:
        return pa.nulls(len(counts), _HEADERS)
    rows, names, values = zip(*turns, strict=True)
    order = np.argsort(np.concatenate(rows), kind="stable")
    name, value = (
        _Span(*(np.concatenate(column)[order] for column in zip(*spans, strict=True)))
        for spans in (names, values)
    )
    try:
        keys = _cut(payload, name).cast(pa.string())
    except pa.ArrowInvalid as error:  # not UTF-8: `decode` reports which
        raise _Irregular from error
    pairs = pa.StructArray.from_arrays([keys, _cut(payload, value)], fields=[*_HEADERS.value_type])
    fences = pa.array(np.append(0, np.cumsum(counts)).astype(np.int32))
    return pa.ListArray.from_arrays(fences, pairs, mask=pa.array(counts == 0))
