"""The record batch, version 2: the unit of producers, logs and consumers.

A broker does not read its records. The 61 bytes of the header are enough for it, and the records
after them stay as the producer wrote and compressed them:

    byte   0        8       12      16  17    21      23       27       35       43
           +--------+-------+-------+---+-----+-------+--------+--------+--------+--
           | base   | length| leader| 2 | crc | attri-| last   | base   | max    |
           | offset |       | epoch |   |     | butes | offset | time-  | time-  |
           |        |       |       |   |     |       | delta  | stamp  | stamp  |
           +--------+-------+-------+---+-----+-------+--------+--------+--------+--
    byte  43         51       53        57      61
         --+---------+--------+---------+-------+--------------------------------+
           |producer | prod.  | base    | count | records, compressed as a whole |
           |id       | epoch  | sequence|       |                                |
         --+---------+--------+---------+-------+--------------------------------+

    attributes, from bit 0: ccc codec, t log append time, x transactional, k control

Invariant: the CRC (Castagnoli) covers everything from the attributes to the end. It leaves out
exactly what a broker may write when it places a batch in a log: base offset and leader epoch.

Invariant: 0 <= count <= last offset delta + 1. Compaction removes records and leaves the deltas, so
that no record changes its offset; a batch may even have no records left.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple, Self

from engine.browser import crc32c
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage.files import Buffer

HEADER_SIZE = 61
LOG_OVERHEAD = 12  # base offset and length, which the length itself does not count
MAGIC = 2
MAGIC_AT = 16
LEAST_LENGTH = 14  # of the smallest message of magic 0

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1

_LAYOUT = Struct(">qiibIhiqqqhii")
_PLACE = Struct(">qii")  # base offset, length, leader epoch
_CRC = Struct(">I")
_CRC_AT = 17
_CRC_FROM = 21  # the attributes: the first byte that the CRC covers
_MAX_SEQUENCE = 2**31 - 1

_CODEC_BITS = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
_DELETE_HORIZON = 0x40  # Kafka 3.1 and later: base timestamp is the delete horizon
UNKNOWN_ATTRIBUTES = ~(_CODEC_BITS | _LOG_APPEND_TIME | _TRANSACTIONAL | _CONTROL | _DELETE_HORIZON)


class Codec(IntEnum):
    """The compression of a batch, by its number in the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_CODECS = tuple(Codec)  # by number


class Header(NamedTuple):
    """The 61 bytes, field by field; by default those of a batch without records or producer."""

    base_offset: int = 0  # offset of the first record when the batch was written
    length: int = 0  # bytes that follow this field
    leader_epoch: int = NO_EPOCH  # epoch of the leader that appended the batch
    magic: int = MAGIC  # format version: 2
    crc: int = 0  # CRC-32C of all that follows it
    attributes: int = 0  # codec and flags
    last_offset_delta: int = -1  # last offset minus base offset; compaction does not change it
    base_timestamp: int = NO_TIMESTAMP  # the records' timestamps are relative to it
    max_timestamp: int = NO_TIMESTAMP  # the latest; with log append time, that of all records
    producer_id: int = NO_PRODUCER_ID  # of an idempotent or transactional producer, or -1
    producer_epoch: int = NO_EPOCH  # fences that producer's earlier incarnations, or -1
    base_sequence: int = NO_SEQUENCE  # the producer's number for the first record, or -1
    count: int = 0  # type: ignore[assignment]  # records in it; hides tuple.count

    @classmethod
    def parse(cls, buffer: Buffer, position: int = 0) -> Self:
        """Read a header; the buffer must hold one. Use `check` to validate it."""
        return tuple.__new__(cls, _LAYOUT.unpack_from(buffer, position))

    @property
    def size(self) -> int:
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; 0 follows 2^31 - 1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & _MAX_SEQUENCE

    @property
    def codec(self) -> Codec:
        bits = self.attributes & _CODEC_BITS
        if bits > Codec.ZSTD:  # Kafka answers "unknown server error", too
            raise ApiException(ErrorCode.unknown_server_error, f"there is no codec {bits}")
        return _CODECS[bits]

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)


def scan(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[tuple[int, Header]]:
    """The position and the header of each batch.

    It ends where the rest is not a whole batch: at the end of the buffer, at a torn batch, or at a
    length that no batch can have. So the rest starts at the end of the last batch that it yielded.
    """
    end = len(buffer) if end is None else end
    unpack, new = _LAYOUT.unpack_from, tuple.__new__
    while position + HEADER_SIZE <= end:
        header: Header = new(Header, unpack(buffer, position))
        following = position + LOG_OVERHEAD + header[1]
        if following > end or following < position + HEADER_SIZE:
            return
        yield position, header
        position = following


def crc_ok(buffer: Buffer, position: int, header: Header) -> bool:
    """Whether the bytes of the batch at `position` are those that its producer wrote."""
    covered = memoryview(buffer)[position + _CRC_FROM : position + header.size]
    return crc32c(covered) == header.crc


def unknown(buffer: Buffer, position: int = 0) -> str:
    """Why this broker cannot read the batch at a position; empty if it can.

    All formats have length and magic at the same places, so it works for any, torn or not.
    """
    fields = bytes(buffer[position : position + _CRC_FROM + 2])
    magic = fields[MAGIC_AT] if len(fields) > MAGIC_AT else MAGIC
    if magic != MAGIC:
        return f"the batch has magic {magic} at byte {MAGIC_AT}, not {MAGIC}"
    attributes = int.from_bytes(fields[_CRC_FROM:])
    if attributes & UNKNOWN_ATTRIBUTES or attributes & _CODEC_BITS > Codec.ZSTD:
        return f"the batch has attributes {attributes:#x} at byte {_CRC_FROM}, not all known"
    return ""


def is_transactional(batch: Buffer) -> bool:
    """Of a batch that nobody has checked yet; its header is not parsed for it."""
    if len(batch) < HEADER_SIZE or batch[MAGIC_AT] != MAGIC:
        return False
    return bool(batch[_CRC_FROM + 1] & _TRANSACTIONAL)  # the lower byte of the attributes


def framed(batch: Buffer) -> Header:
    """The header of a batch, if the buffer holds one whole batch and nothing else."""
    size = len(batch)
    if size < HEADER_SIZE:
        raise _invalid(f"{size} bytes cannot hold a batch: its header alone has {HEADER_SIZE}")
    header = Header.parse(batch)
    # First the magic byte. Older formats have it at the same place, and other fields elsewhere.
    if header.magic != MAGIC:
        raise _invalid(f"the batch has magic {header.magic} at byte 16, not {MAGIC}")
    if header.size != size:
        raise _invalid(f"the batch has {size} bytes, its header has {header.size} at byte 8")
    return header


def check(batch: Buffer) -> Header:
    """The checks for every batch: its size, its CRC and its count."""
    header = framed(batch)
    if not crc_ok(batch, 0, header):
        raise ApiException(
            ErrorCode.corrupt_message,
            f"the batch does not match the CRC {header.crc:#010x} at byte {_CRC_AT}",
        )
    if not 0 <= header.count <= header.last_offset_delta + 1:
        raise _invalid(
            f"the batch has count {header.count} at byte 57, "
            f"but last offset delta {header.last_offset_delta} at byte 23"
        )
    return header


def placed(batch: Buffer, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """A batch at its place in a log: new first 16 bytes, and a view of the unchanged rest.

    The two parts are written together (writev), so nothing is copied or decoded.
    """
    place = _PLACE.pack(base_offset, len(batch) - LOG_OVERHEAD, leader_epoch)
    return place, memoryview(batch)[_PLACE.size :]


def with_log_append_time(batch: Buffer, timestamp: int) -> bytes:
    """A copy whose records all have the broker's timestamp; they are not decoded for it."""
    header = Header.parse(batch)
    stamped = header._replace(
        attributes=header.attributes | _LOG_APPEND_TIME, max_timestamp=timestamp
    )
    return seal(stamped, memoryview(batch)[HEADER_SIZE:])


def seal(header: Header, payload: Buffer) -> bytes:
    """The batch of a header and its (compressed) records; length, magic and CRC are filled in."""
    length = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    fields = bytearray(_LAYOUT.pack(*header._replace(length=length, magic=MAGIC, crc=0)))
    crc = crc32c(payload, crc32c(memoryview(fields)[_CRC_FROM:]))
    _CRC.pack_into(fields, _CRC_AT, crc)
    return b"".join((fields, payload))


def attributes(
    codec: Codec, *, transactional: bool = False, control: bool = False, append_time: bool = False
) -> int:
    """The attributes in the header of a batch."""
    return (
        codec
        | (_LOG_APPEND_TIME if append_time else 0)
        | (_TRANSACTIONAL if transactional else 0)
        | (_CONTROL if control else 0)
    )


def _invalid(message: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, message)
