"""The message formats before the record batch: 0 (until Kafka 0.9) and 1 (0.10). Nothing is stored
in them; they are converted for old clients. A message set is messages, one after the other:

    byte 0        8      12     16      17      18          26
         +--------+------+------+-------+-------+-----------+------------+--------------+
         | offset | size | crc  | magic | attri-| timestamp | key length | value length |
         |        |      |      |       | butes |  magic 1  | and key    | and value    |
         +--------+------+------+-------+-------+-----------+------------+--------------+

    attributes, from bit 0: ccc codec, t log append time (magic 1)

A compressed message (a wrapper) has a message set as its value. Its own offset is that of its last
inner message. In magic 0 the inner messages have their offsets; in magic 1 they count from 0, so
that a broker can give the wrapper an offset without unpacking it.

A record loses its headers on the way to an old client, and in magic 0 its timestamp. An old message
has no producer id. A wrong CRC or size is CORRUPT_MESSAGE; messages that contradict each other are
INVALID_RECORD.

LZ4 in magic 0 has a wrong checksum in the header of its frame (KAFKA-3160): old clients compute
and expect it over the frame's magic number too.

Invariant: a conversion takes time and memory in proportion to the decompressed input, which
compression.py limits. It changes neither the order of records nor an offset.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from engine.errors import ApiException, ErrorCode
from engine.storage import batch
from engine.storage.batch import LEAST_LENGTH, LOG_OVERHEAD, MAGIC, MAGIC_AT, NO_TIMESTAMP, Codec
from engine.storage.compression import compress, decompress
from engine.storage.files import Buffer
from engine.storage.records import Record, encode, stream

_PLACE = Struct(">qi")  # offset, size
_CRC = Struct(">I")
_FORMS = (Struct(">bb"), Struct(">bbq"))  # by magic: magic, attributes, timestamp
_LENGTH = Struct(">i")
_CODEC_BITS, _LOG_APPEND_TIME = 0x07, 0x08

_LZ4_MAGIC_SIZE, _LZ4_CONTENT_SIZE = 4, 0x08  # bytes; a flag: 8 bytes more before the checksum
_PRIMES = 2654435761, 2246822519, 3266489917, 668265263, 374761393
_WORD = 0xFFFF_FFFF


class OldMessage(NamedTuple):
    """A message or a wrapper."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> Codec:
        bits = self.attributes & _CODEC_BITS
        if bits > Codec.ZSTD:
            raise ApiException(
                ErrorCode.unknown_server_error, f"Unknown compression type id: {bits}"
            )
        if bits == Codec.ZSTD:
            raise _invalid("a message of magic 0 or 1 cannot be compressed with zstd")
        return Codec(bits)

    @property
    def is_log_append_time(self) -> bool:
        return self.magic > 0 and bool(self.attributes & _LOG_APPEND_TIME)


# -- from old to new ---------------------------------------------------------------------------


def to_batch(data: Buffer, max_bytes: int) -> bytes:
    """One record batch with all records of a producer's message set; b"" if it has none.

    A message of more than `max_bytes` is refused. A partial one at the end is ignored, as in Kafka.
    """
    messages = list(scan(data, max_bytes))
    if not messages:
        return b""
    first = messages[0]
    if any(each.magic != first.magic for each in messages):
        raise _invalid(f"the messages are not all of magic {first.magic}, as the first one is")
    codec = next((each.codec for each in messages if each.codec), Codec.NONE)
    if codec and len(messages) > 1:
        raise _invalid("Compressed outer record has more than one batch")
    return encode(
        [record._replace(offset=n) for n, record in enumerate(_unwrapped(messages))],
        codec=codec,
        log_append_time=first.timestamp if first.is_log_append_time else None,
    )


def decode(data: Buffer) -> list[Record]:
    """The records of a message set at their offsets, as an old client reads them."""
    return list(_unwrapped(scan(data)))


def scan(data: Buffer, max_bytes: int | None = None) -> Iterator[OldMessage]:
    """The messages and wrappers of a message set, up to a partial one."""
    position, end = 0, len(data)
    while position + LOG_OVERHEAD <= end:
        offset, size = _PLACE.unpack_from(data, position)
        if size < LEAST_LENGTH:
            raise _corrupt(f"a message of {size} bytes at byte {position}")
        if position + LOG_OVERHEAD + size > end:
            return
        if max_bytes is not None and LOG_OVERHEAD + size > max_bytes:
            raise ApiException(
                ErrorCode.message_too_large,
                f"a message has {LOG_OVERHEAD + size} bytes, max.message.bytes is {max_bytes}",
            )
        position += LOG_OVERHEAD
        yield _message(offset, memoryview(data)[position : position + size])
        position += size


def _message(offset: int, body: memoryview) -> OldMessage:
    magic = body[_CRC.size]
    if magic >= len(_FORMS):
        raise _invalid(f"magic {magic} in a message set of magic 0 or 1")
    if _CRC.unpack_from(body)[0] != crc32(body[_CRC.size :]):
        raise _corrupt(f"the message at offset {offset} does not match its CRC")
    form = _FORMS[magic]
    try:
        attributes, timestamp = (*form.unpack_from(body, _CRC.size), NO_TIMESTAMP)[1:3]
        key, position = _content(body, _CRC.size + form.size)
        value, _ = _content(body, position)
    except StructError as error:
        raise _corrupt(f"the message at offset {offset}: {error}") from error
    return OldMessage(offset, magic, attributes, timestamp, key, value)


def _content(body: memoryview, position: int) -> tuple[bytes | None, int]:
    (length,) = _LENGTH.unpack_from(body, position)
    start = position + _LENGTH.size
    if length < 0:
        return None, start
    if start + length > len(body):
        raise StructError(f"{length} bytes from byte {start} of {len(body)}")
    return bytes(body[start : start + length]), start + length


def _unwrapped(messages: Iterator[OldMessage] | Sequence[OldMessage]) -> Iterator[Record]:
    for each in messages:
        if each.codec is Codec.NONE:
            yield Record(each.offset, each.timestamp, each.key, each.value)
            continue
        inner = _inner(each)
        base = each.offset - inner[-1].offset if each.magic else 0
        if base < 0 and each.offset:  # a producer may leave it 0
            raise _invalid(f"wrapper offset {each.offset} is below the last inner one")
        for message in inner:
            time = each.timestamp if each.is_log_append_time else message.timestamp
            yield Record(max(base, 0) + message.offset, time, message.key, message.value)


def _inner(wrapper: OldMessage) -> list[OldMessage]:
    if wrapper.value is None:
        raise _invalid("Found invalid compressed record set with null value")
    packed: Buffer = wrapper.value
    if wrapper.magic == 0 and wrapper.codec is Codec.LZ4:
        packed = _with_lz4_checksum(packed, broken=False)
    inner = list(scan(decompress(wrapper.codec, packed)))
    if not inner:
        raise _invalid("Found invalid compressed record set with no inner records")
    for each in inner:
        if each.magic != wrapper.magic:
            raise _invalid(f"a message of magic {each.magic} in a wrapper of {wrapper.magic}")
        if each.codec:
            raise _invalid("Inner messages must not be compressed")
    return inner


# -- from new to old ---------------------------------------------------------------------------


def from_batches(data: Buffer, magic: int, first_offset: int) -> bytes:
    """Whole batches of a log as a message set, for a client that reads from an offset on.

    Markers of transactions are left out. The result has all records of the first batch; with more
    records it is not larger than the batches.
    """
    parts, left, first = list[bytes](), len(data), -1
    for position, header in batch.scan(data):
        if header.is_control or header.last_offset < first_offset:
            continue
        if header.codec is Codec.ZSTD:
            raise ApiException(
                ErrorCode.unsupported_compression_type,
                "Down-conversion of zstandard-compressed batches is not supported",
            )
        flag = _LOG_APPEND_TIME if magic and header.is_log_append_time else 0
        records = stream(memoryview(data)[position : position + header.size])
        for each in _messages(records, magic, header.codec, flag, first_offset):
            if parts and len(each) > left and position != first:
                return b"".join(parts)
            first = first if parts else position
            parts.append(each)
            left -= len(each)
    return b"".join(parts)


def _messages(
    records: Iterator[Record], magic: int, codec: Codec, flag: int, first_offset: int
) -> Iterator[bytes]:
    if not codec:
        yield from (_encode(each, magic, flag) for each in records if each.offset >= first_offset)
    elif kept := list(records):  # compaction may have removed them all
        yield _wrapped(kept, magic, codec, flag)


def _wrapped(records: Sequence[Record], magic: int, codec: Codec, flag: int) -> bytes:
    base = records[0].offset if magic else 0
    inner = (_encode(each._replace(offset=each.offset - base), magic, flag) for each in records)
    packed = compress(codec, b"".join(inner))
    if magic == 0 and codec is Codec.LZ4:
        packed = _with_lz4_checksum(packed, broken=True)
    latest = max(each.timestamp for each in records)
    return _encode(Record(records[-1].offset, latest, None, packed), magic, codec | flag)


def encode_messages(records: Sequence[Record], magic: int, codec: Codec = Codec.NONE) -> bytes:
    """The message set of an old producer."""
    if codec:
        return _wrapped(records, magic, codec, 0)
    return b"".join(_encode(each, magic, 0) for each in records)


def _encode(record: Record, magic: int, attributes: int) -> bytes:
    form = (magic, attributes, record.timestamp)[: 2 + magic]
    parts = [_FORMS[magic].pack(*form)]
    for content in (record.key, record.value):
        parts.append(_LENGTH.pack(-1 if content is None else len(content)))
        parts.append(content or b"")
    body = b"".join(parts)
    place = _PLACE.pack(record.offset, _CRC.size + len(body))
    return b"".join((place, _CRC.pack(crc32(body)), body))


# -- LZ4 in magic 0 ----------------------------------------------------------------------------


def _with_lz4_checksum(frame: Buffer, *, broken: bool) -> bytes:
    """The frame with another checksum of its descriptor: the wrong one, or the right one."""
    if len(frame) <= _LZ4_MAGIC_SIZE:
        return bytes(frame)
    at = _LZ4_MAGIC_SIZE + (10 if frame[_LZ4_MAGIC_SIZE] & _LZ4_CONTENT_SIZE else 2)
    covered = bytes(frame[0 if broken else _LZ4_MAGIC_SIZE : at])
    checksum = _xxh32(covered) >> 8 & 0xFF
    return bytes(frame[:at]) + bytes([checksum]) + bytes(frame[at + 1 :])


def _xxh32(data: bytes) -> int:
    """xxHash of fewer than 16 bytes, seed 0."""
    assert len(data) < 16
    one, two, three, four, five = _PRIMES
    value, words = five + len(data), len(data) // 4 * 4
    for at in range(0, words, 4):
        value = value + int.from_bytes(data[at : at + 4], "little") * three & _WORD
        value = (value << 17 | value >> 15) * four & _WORD
    for byte in data[words:]:
        value = value + byte * five & _WORD
        value = (value << 11 | value >> 21) * one & _WORD
    value = (value ^ value >> 15) * two & _WORD
    value = (value ^ value >> 13) * three & _WORD
    return value ^ value >> 16


def magic_of(data: Buffer) -> int:
    """The magic of the first message or batch: it is at the same place in all formats."""
    return data[MAGIC_AT] if len(data) > MAGIC_AT else MAGIC


def _invalid(why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, why)


def _corrupt(why: str) -> ApiException:
    return ApiException(ErrorCode.corrupt_message, why)
