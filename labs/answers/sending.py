"""Answers to the exercises of 06_sending. Try first; there is more than one way."""

import struct


def decode(response: bytes) -> list[tuple[int, bytes | None, bytes | None]]:
    """Behind the header of each batch, 61 bytes, its records stand one after the other."""

    def varint(data: bytes, at: int) -> tuple[int, int]:
        """A number, and the place behind it."""
        raw = shift = 0
        while True:
            byte = data[at]
            raw |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return raw >> 1 ^ -(raw & 1), at

    def taken(data: bytes, at: int) -> tuple[bytes | None, int]:
        size, at = varint(data, at)
        return (None, at) if size < 0 else (data[at : at + size], at + size)

    (name,) = struct.unpack_from(">h", response, 12)
    at = 14 + name + 4 + 4 + 2 + 8 + 8 + 4 + 4  # no transaction was aborted
    found = []
    while at < len(response):
        base, length = struct.unpack_from(">qi", response, at)
        (count,) = struct.unpack_from(">i", response, at + 57)
        place = at + 61
        for _ in range(count):
            size, place = varint(response, place)
            end = place + size
            _, place = varint(response, place + 1)  # behind the attributes: a timestamp delta
            delta, place = varint(response, place)
            key, place = taken(response, place)
            value, place = taken(response, place)
            found.append((base + delta, key, value))
            place = end  # behind the headers
        at += 12 + length
    return found


def my_murmur2(key: bytes) -> int:
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
