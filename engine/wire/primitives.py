"""The protocol's primitive types: a reader and a writer for each.

A reader takes a frame and a position, and returns a value and the position after it. A writer
appends a value to a draft. Lengths come in three forms, and -1 of them means null:

    legacy string        int16
    legacy bytes, array  int32
    compact, all three   the length plus one as an unsigned varint: seven bits a byte, lowest
                         first, the top bit set on all but the last

Invariant: a reader that returns has not read beyond the frame. For bytes that are no such value it
raises `Malformed` or one of `BYTES_ERRORS`.
"""

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from engine.errors import ErrorCode
from engine.wire.errors import Malformed
from engine.wire.frame import Frame

# What Python raises for bytes that are missing, not UTF-8, or beyond a type's range.
BYTES_ERRORS = (struct.error, IndexError, ValueError, OverflowError)


class SizedSlice(Protocol):
    """Bytes that stay in a file until they are sent."""

    @property
    def size(self) -> int: ...


class Draft(bytearray):
    """A message being written, and the slices that belong between its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.slices: list[tuple[int, SizedSlice]] = []  # (position in the draft, slice to insert)


class Fixed(NamedTuple):
    """A type of fixed width: how `struct` packs it, and what its number means."""

    code: str
    default: Any
    read: Callable[[Any], Any] | None = None  # number on the wire -> value
    write: Callable[[Any], Any] | None = None  # and back


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_SHORTEST, _LONGEST = timedelta.min // _MILLISECOND, timedelta.max // _MILLISECOND
_NO_TIME = -1
_NO_ID = bytes(16)
NO_THROTTLE = timedelta()  # the broker puts in another time, if the client is over a quota
_ERRORS = {int(code): code for code in ErrorCode}


def _error(number: int) -> ErrorCode:
    if number not in _ERRORS:
        raise Malformed(f"there is no error code {number}")
    return _ERRORS[number]


def duration(milliseconds: int) -> timedelta:
    """The value in a message. Below and above the messages time is a number of milliseconds."""
    return timedelta(milliseconds=milliseconds)


def _long_duration(milliseconds: int) -> timedelta:
    """Longer than Python can count is as long as it can: 2.7 million years."""
    return duration(min(max(milliseconds, _SHORTEST), _LONGEST))


def milliseconds(duration: timedelta | int) -> int:
    """The sans-IO core counts time in milliseconds, so a plain number is accepted too."""
    return duration if isinstance(duration, int) else duration // _MILLISECOND


def _time(milliseconds: int) -> datetime | None:
    return None if milliseconds == _NO_TIME else _EPOCH + timedelta(milliseconds=milliseconds)


def _timestamp(time: datetime | int | None) -> int:
    """A time in milliseconds; a plain number is accepted."""
    if isinstance(time, int):
        return time
    return _NO_TIME if time is None else (time - _EPOCH) // _MILLISECOND


def _uuid(raw: bytes) -> UUID | None:
    return None if raw == _NO_ID else UUID(bytes=raw)


def _uuid_bytes(value: UUID | None) -> bytes:
    return _NO_ID if value is None else value.bytes


FIXED = {
    "int8": Fixed("b", 0),
    "int16": Fixed("h", 0),
    "uint16": Fixed("H", 0),
    "int32": Fixed("i", 0),
    "uint32": Fixed("I", 0),
    "int64": Fixed("q", 0),
    "float64": Fixed("d", 0.0),
    "bool": Fixed("?", False),
    "error_code": Fixed("h", ErrorCode.none, _error),  # an int already, on the way out
    "timedelta_i32": Fixed("i", timedelta(), duration, milliseconds),
    "timedelta_i64": Fixed("q", timedelta(), _long_duration, milliseconds),
    "datetime_i64": Fixed("q", None, _time, _timestamp),
    "uuid": Fixed("16s", None, _uuid, _uuid_bytes),
}


def read_uvarint(frame: Frame, position: int) -> tuple[int, int]:
    byte = frame[position]
    value = byte & 0x7F
    shift = 0
    while byte > 0x7F:
        position += 1
        shift += 7
        if shift > 28:
            raise Malformed(f"a varint at byte {position} has more than five bytes")
        byte = frame[position]
        value |= (byte & 0x7F) << shift
    return value, position + 1


def write_uvarint(draft: Draft, value: int) -> None:
    while value > 0x7F:
        draft.append(value & 0x7F | 0x80)
        value >>= 7
    draft.append(value)


class Length(NamedTuple):
    """One of the three ways to write a length."""

    width: int  # bytes it takes at least
    read: Callable[[Frame, int], tuple[int, int]]
    write: Callable[[Draft, int], None]


def _fixed_length(code: str) -> Length:
    layout = struct.Struct(">" + code)

    def read(frame: Frame, position: int) -> tuple[int, int]:
        return layout.unpack_from(frame, position)[0], position + layout.size

    def write(draft: Draft, length: int) -> None:
        draft += layout.pack(length)

    return Length(layout.size, read, write)


def _read_compact(frame: Frame, position: int) -> tuple[int, int]:
    number, position = read_uvarint(frame, position)
    return number - 1, position


def _write_compact(draft: Draft, length: int) -> None:
    write_uvarint(draft, length + 1)


SHORT, LONG = _fixed_length("h"), _fixed_length("i")
COMPACT = Length(1, _read_compact, _write_compact)
