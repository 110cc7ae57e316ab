"""Numbers in as few bytes as they need: seven bits a byte, the lowest first.

The top bit of a byte says that more follow. Small negative numbers are to be short too, so the
sign goes to the lowest bit ("zigzag"): 0 -1 1 -2 2 become 0 1 2 3 4.

    300 -> zigzag 600 = 0b100_1011000 -> 1_1011000 0_0000100 = d8 04

Most numbers in a batch are deltas and lengths, hence small: they are looked up in a table.
"""

from engine.errors import ErrorCode, KafkaError

_SHIFTS = range(7, 70, 7)  # of the bytes behind the first; a 64-bit number has nine at most


def wrap(number: int) -> int:
    """Into 64 bits, as Kafka's `long` does: of two times far apart, the difference overflows."""
    return (number + 2**63) % 2**64 - 2**63


def encode(number: int) -> bytes:
    """The bytes of a 64-bit number."""
    if -0x2000 <= number < 0x2000:
        rest = number << 1 ^ number >> 63
        return bytes((rest & 0x7F | 0x80, rest >> 7)) if rest > 0x7F else bytes((rest,))
    number = wrap(number)
    rest = number << 1 ^ number >> 63
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


SMALL = {number: encode(number) for number in range(-64, 4096)}


def read_long(data: bytes, at: int, first: int) -> tuple[int, int]:
    """Go on behind a first byte that says "more": the number, and where the next thing starts.

    The sign is still in the lowest bit. IndexError if the data ends before the number does.
    """
    byte = data[at]
    if byte < 0x80:
        return first + (byte - 1 << 7), at + 1  # the 1 is the first byte's "more"
    number = first & 0x7F
    for shift in _SHIFTS:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise KafkaError(ErrorCode.invalid_record, f"number before byte {at} does not end")
