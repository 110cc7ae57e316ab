"""Messages of the formats before batches, as Kafka wrote them until 0.11: magic 0 and 1.

offset i64 | size i32 | crc32 u32 | magic i8 | attributes i8 | timestamp i64 (magic 1) | key, value
"""

import struct
import zlib


def message(magic: int, offset: int, value: bytes = b"v" * 40, timestamp: int = 0) -> bytes:
    """One whole message of an older format."""
    time = struct.pack(">q", timestamp) if magic else b""
    body = struct.pack(">bb", magic, 0) + time + struct.pack(">i", -1)
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def newer(batch: bytes, magic: int = 3) -> bytes:
    """A batch of a format that nobody knows yet: the CRC leaves the magic byte out."""
    return batch[:16] + bytes([magic]) + batch[17:]
