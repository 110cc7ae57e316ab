"""Files of a log built by hand from the published formats, and the command that prints them."""

import struct
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c

Dump = Callable[..., tuple[int, list[str], list[str]]]

NAME = "00000000000000000100"
NO_PRODUCER = (-1, -1, -1)


def varint(number: int) -> bytes:
    number, out = (number << 1) ^ (number >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    delta: int, key: bytes | None, value: bytes | None, headers: tuple[bytes, ...] = ()
) -> bytes:
    """A record `delta` offsets and milliseconds behind the batch's."""
    body = b"\0" + varint(delta) + varint(delta) + field(key) + field(value)
    body += varint(len(headers)) + b"".join(field(name) + field(b"") for name in headers)
    return varint(len(body)) + body


def batch(
    base_offset: int,
    *records: bytes,
    attributes: int = 0,
    producer: tuple[int, int, int] = NO_PRODUCER,
    last_delta: int | None = None,
    latest: int | None = None,
) -> bytes:
    """A batch at time 1000 + offset, and one millisecond a record."""
    delta = len(records) - 1 if last_delta is None else last_delta
    first = 1000 + base_offset
    body = struct.pack(
        ">hiqqqhii",
        attributes,
        delta,
        first,
        first + delta if latest is None else latest,
        *producer,
        len(records),
    ) + b"".join(records)
    return struct.pack(">qiibI", base_offset, 9 + len(body), 4, 2, crc32c(body)) + body


ONE = batch(100, record(0, b"key", b"value"))
THREE = batch(
    101,
    record(0, None, "grün".encode(), (b"trace", b"id")),
    record(1, b"\xff\0", b"two\nlines \\"),
    record(2, "\x85".encode(), None),
    attributes=0x10,
    producer=(7, 2, 2**31 - 2),
)
COMMIT = batch(
    104,
    record(0, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 9)),
    attributes=0x38,
    producer=(7, 2, -1),
)
FOUR = batch(105, record(0, b"k", b"v"))
LOG = ONE + THREE + COMMIT + FOUR
AT_THREE, AT_COMMIT, AT_FOUR = len(ONE), len(ONE + THREE), len(ONE + THREE + COMMIT)


def write(folder: Path, data: bytes, suffix: str = ".log") -> Path:
    path = folder / f"{NAME}{suffix}"
    path.write_bytes(data)
    return path
