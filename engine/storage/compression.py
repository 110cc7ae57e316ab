"""The four codecs of Kafka, with a limit for the decompressed size.

A batch is compressed as a whole: one payload, in the framing that Kafka's Java clients use.

    gzip     RFC 1952
    snappy   xerial's stream: 82 "SNAPPY" 00, version and oldest compatible version (1, 1),
             then blocks: 4 bytes of length, big-endian, and raw snappy of up to 32 KB.
             librdkafka leaves the framing out and sends raw snappy: both are read
    lz4      its frame format; Kafka can read only blocks that do not refer to earlier ones
    zstd     RFC 8878

Invariant: decompression takes memory for the actual output, never for a size in the payload. A
payload with more than `limit` bytes is refused at the limit.

A payload that cannot be decompressed is an "unknown server error", as in Kafka. One with more bytes
than the limit is "message too large": Kafka has no such limit, and takes it.
"""

from collections.abc import Callable
from mmap import mmap
from struct import Struct

import cramjam

from engine.errors import ApiException, ErrorCode
from engine.storage.batch import Codec
from engine.storage.files import Buffer

LIMIT = 64 * 1024 * 1024  # far above any batch of `message.max.bytes`, far below the memory

_LEVELS = {Codec.GZIP: 6, Codec.LZ4: 1, Codec.ZSTD: 3}  # Kafka's defaults; lz4 in its fast mode
_NO_ROOM = ("failed to write whole buffer", "output buffer")  # cramjam's words: the room is full
_USUAL_GAIN = 8  # few payloads grow more than this

_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = Struct(f">{len(_XERIAL_MAGIC)}sii")
_XERIAL_BLOCK = 32 * 1024
_LENGTH = Struct(">I")

_Into = Callable[[Buffer, bytearray | memoryview | mmap], int]  # (data, room) -> bytes of room used


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """The payload of a batch. The meaning of the level depends on the codec (snappy has none)."""
    if level is None:
        level = _LEVELS.get(codec)
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level))
        case Codec.SNAPPY:
            return _xerial(data)
        case Codec.LZ4:
            frame = cramjam.lz4.Compressor(level, content_checksum=False, block_linked=False)
            frame.compress(bytes(data))
            return bytes(frame.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level))


def decompress(codec: Codec, data: Buffer, limit: int = LIMIT) -> bytes:
    """The decompressed payload, if it is whole, without trailing bytes, and within the limit."""
    if codec is Codec.NONE:
        return bytes(data)
    into = _DECOMPRESS[codec]
    room = bytearray(min(limit, _USUAL_GAIN * len(data)))
    try:
        return bytes(memoryview(room)[: into(data, room)])
    except cramjam.DecompressionError:
        del room  # too small, or the payload is bad
    try:
        # Anonymous memory of the limit's size: only the pages that are written take memory.
        with mmap(-1, limit) as wide:
            return wide[: into(data, wide)]
    except cramjam.DecompressionError as error:
        what = f"{codec.name.lower()} payload of {len(data)} bytes"
        if any(words in str(error) for words in _NO_ROOM):
            raise ApiException(
                ErrorCode.message_too_large, f"{what} holds more than {limit} bytes"
            ) from error
        raise ApiException(ErrorCode.unknown_server_error, f"{what} is damaged: {error}") from error


def _xerial(data: Buffer) -> bytes:
    view = memoryview(data)
    parts = [_XERIAL_HEADER.pack(_XERIAL_MAGIC, 1, 1)]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _snappy_into(data: Buffer, room: bytearray | memoryview | mmap) -> int:
    # The versions are ignored: Redpanda writes them little-endian.
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return cramjam.snappy.decompress_raw_into(data, room)
    used, position, end = 0, _XERIAL_HEADER.size, len(data)
    with memoryview(data) as source, memoryview(room) as target:
        while position != end:
            if position + _LENGTH.size > end:
                raise cramjam.DecompressionError(f"block cut off at byte {position}")
            start = position + _LENGTH.size
            position = start + _LENGTH.unpack_from(source, position)[0]
            used += cramjam.snappy.decompress_raw_into(source[start:position], target[used:])
    return used


_DECOMPRESS: dict[Codec, _Into] = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.SNAPPY: _snappy_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}
