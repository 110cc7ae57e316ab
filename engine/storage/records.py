"""The records in a batch: only producers and consumers decode them.

The records follow the header of a batch, compressed as a whole:

    length | attributes 0 | timestamp delta | offset delta | key | value | headers
    varint | 1 byte       | varint          | varint       |     |       |
                                                             key, value: length, bytes
      headers: count, then for each: length, name (UTF-8), length, value

All counts and lengths are varints (see varint.py), and length -1 is null. The deltas are relative
to the base offset and base timestamp in the header, so a record has an overhead of about 7 bytes.
The attributes of a record are not used.

Invariant: offset deltas grow from record to record, up to the last offset delta.

The two loops that encode and decode run once for each record of a producer or a consumer. So they
are written for speed: local names, no call for a number of one or two bytes, bytes joined once.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage import varint
from engine.storage.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Codec,
    Header,
    attributes,
    framed,
    seal,
)
from engine.storage.compression import LIMIT, compress, decompress
from engine.storage.files import Buffer

Headers = tuple[tuple[str, bytes | None], ...]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_varint, _small = varint.encode, varint.SMALL.get  # used as `_small(n) or _varint(n)`


class Record(NamedTuple):
    offset: int
    timestamp: int  # milliseconds since 1970: the producer's, or with log append time the broker's
    key: bytes | None = None
    value: bytes | None = None  # null is a tombstone: compaction removes the key
    headers: Headers = ()


def encode(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    last_offset: int | None = None,  # None: that of the last record
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = NO_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    log_append_time: int | None = None,
) -> bytes:
    """A batch of records that have their offsets already; there may be gaps between them."""
    first_time = records[0].timestamp if records else NO_TIMESTAMP
    latest = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if last_offset is None:
        last_offset = records[-1].offset  # without records it must be given
    header = Header(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes(
            codec if records else Codec.NONE,  # without records there is nothing to compress
            transactional=transactional,
            control=control,
            append_time=log_append_time is not None,
        ),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=first_time,
        max_timestamp=latest if log_append_time is None else log_append_time,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(records),
    )
    data = bytearray()
    for offset, timestamp, key, value, record_headers in records:
        _append(data, timestamp - first_time, offset - base_offset, key, value, record_headers)
    return _finished(header, data, level)


def retain(header: Header, records: Sequence[Record]) -> bytes:
    """The batch with only these of its records, in its codec, at the same offsets.

    Its last offset and last sequence stay, even without records: they are the log's knowledge of
    the producer, also if a newer record of the same key has replaced the producer's last one.
    """
    kept = encode(
        records,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        codec=header.codec,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        log_append_time=header.max_timestamp if header.is_log_append_time else None,
    )
    if records:
        return kept
    return seal(Header.parse(kept)._replace(max_timestamp=header.max_timestamp), b"")


class Builder:
    """A batch that a producer builds, until it is full or due."""

    __slots__ = ("_base_timestamp", "_data", "_max_timestamp", "count")

    def __init__(self) -> None:
        self.count = 0
        self._data = bytearray()  # the records so far
        self._base_timestamp = self._max_timestamp = NO_TIMESTAMP

    def append(
        self, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> int:
        """Add a record. Returns the size of the batch without compression."""
        if not self.count:
            self._base_timestamp = self._max_timestamp = timestamp
        elif timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        _append(self._data, timestamp - self._base_timestamp, self.count, key, value, headers)
        self.count += 1
        return HEADER_SIZE + len(self._data)

    def build(
        self,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
    ) -> bytes:
        """The batch, at offset 0: the leader assigns the offsets."""
        header = Header(
            attributes=attributes(codec, transactional=transactional),
            last_offset_delta=self.count - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            count=self.count,
        )
        return _finished(header, self._data, level)


def _append(
    data: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
) -> None:
    fields = b"".join(
        (
            b"\0",
            _small(timestamp_delta) or _varint(timestamp_delta),
            _small(offset_delta) or _varint(offset_delta),
            b"\1" if key is None else (_small(len(key)) or _varint(len(key))) + key,
            b"\1" if value is None else _small(len(value)) or _varint(len(value)),
            value or b"",
            _encoded_headers(headers) if headers else b"\0",
        )
    )
    data += _small(len(fields)) or _varint(len(fields))
    data += fields


def _encoded_headers(headers: Headers) -> bytes:
    parts = [_small(len(headers)) or _varint(len(headers))]
    for name, value in headers:
        if value is None:
            parts += (_encoded_name(name), b"\1")
        else:
            parts += (_encoded_name(name), _small(len(value)) or _varint(len(value)), value)
    return b"".join(parts)


@lru_cache(maxsize=256)  # a few names are used again and again
def _encoded_name(name: str) -> bytes:
    text = name.encode()
    return _varint(len(text)) + text


def _finished(header: Header, data: bytearray, level: int | None) -> bytes:
    """The batch of a header; `seal` fills in the rest."""
    return seal(header, compress(header.codec, data, level) if header.codec else data)


def decode(batch: Buffer, limit: int = LIMIT) -> list[Record]:
    """The records of one whole batch, which may unpack to at most `limit` bytes.

    The CRC is not checked here: `batch.check` and `batch.crc_ok` do that when bytes arrive.
    """
    return list(stream(batch, limit))


def recompressed(batch: Buffer, name: str) -> Buffer:
    """The batch in the codec of `compression.type`; its records are not decoded."""
    header = framed(batch)
    codec = Codec.NONE if name == "uncompressed" else Codec[name.upper()]
    if header.codec is codec:
        return batch
    data = decompress(header.codec, memoryview(batch)[HEADER_SIZE:])
    flags = header.attributes - header.codec + codec
    return seal(header._replace(attributes=flags), compress(codec, data))


def stream(batch: Buffer, limit: int = LIMIT) -> Iterator[Record]:
    """The records of one whole batch, one at a time: a small batch may unpack to millions."""
    header = framed(batch)
    return _decoded(header, decompress(header.codec, memoryview(batch)[HEADER_SIZE:], limit))


def _decoded(header: Header, data: bytes) -> Iterator[Record]:
    """The records in unpacked bytes. `n` is a number as read, with the sign in its lowest bit."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    last, last_delta = -1, header.last_offset_delta
    long, new = varint.read_long, tuple.__new__
    at = start = 0
    try:
        for _ in range(header.count):
            start = at
            n, at = data[at], at + 1
            if n > 0x7F:
                n, at = (n + (b - 1 << 7), at + 1) if (b := data[at]) < 128 else long(data, at, n)
            end = at + (n >> 1)
            n, at = data[at + 1], at + 2  # after the attributes
            if n > 0x7F:
                n, at = long(data, at, n)
            timestamp = base_timestamp + (n >> 1 ^ -(n & 1)) if append_time is None else append_time
            n, at = data[at], at + 1
            if n > 0x7F:
                n, at = long(data, at, n)
            delta = n >> 1
            if n & 1 or not last < delta <= last_delta:
                raise _bad(start, f"offset delta {delta ^ -(n & 1)} after {last}")
            last = delta
            n, at = data[at], at + 1
            if n > 0x7F:
                n, at = long(data, at, n)
            key = _null(n, start) if n & 1 else data[at : (at := at + (n >> 1))]
            n, at = data[at], at + 1
            if n > 0x7F:
                n, at = (n + (b - 1 << 7), at + 1) if (b := data[at]) < 128 else long(data, at, n)
            value = _null(n, start) if n & 1 else data[at : (at := at + (n >> 1))]
            headers, at = _decoded_headers(data, at, start) if data[at] else ((), at + 1)
            if at != end:  # also if a slice went beyond the end of the data
                raise _bad(start, f"it ends at {at}, not {end}")
            if not _INT64_MIN <= timestamp <= _INT64_MAX:
                timestamp = varint.wrap(timestamp)
            yield new(Record, (base_offset + delta, timestamp, key, value, headers))
    except IndexError:
        raise _bad(start, f"cut off by the end of the payload at byte {len(data)}") from None
    if at != len(data) or header.count < 0:
        raise _bad(at, f"{header.count} records end here, the payload at byte {len(data)}")


def _decoded_headers(data: bytes, at: int, start: int) -> tuple[Headers, int]:
    """The headers from their count on, and where they end."""
    read_long = varint.read_long
    headers: list[tuple[str, bytes | None]] = []
    count, at = data[at], at + 1
    if count > 0x7F:
        count, at = read_long(data, at, count)
    if count & 1:
        raise _bad(start, f"{count >> 1 ^ -1} headers")
    for _ in range(count >> 1):
        n, at = data[at], at + 1
        if n > 0x7F:
            n, at = read_long(data, at, n)
        if n & 1:
            raise _bad(start, "a header has no name")
        try:
            name = data[at : (at := at + (n >> 1))].decode()
        except UnicodeDecodeError as error:
            raise _bad(start, f"the name of a header is not UTF-8: {error}") from error
        n, at = data[at], at + 1
        if n > 0x7F:
            n, at = read_long(data, at, n)
        headers.append((name, _null(n, start) if n & 1 else data[at : (at := at + (n >> 1))]))
    return tuple(headers), at


def _null(n: int, start: int) -> bytes | None:
    """Length -1 is null; there is no other negative length."""
    if n != 1:
        raise _bad(start, f"length {n >> 1 ^ -1}")
    return None


def _bad(start: int, why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, f"record at byte {start} of the payload: {why}")
