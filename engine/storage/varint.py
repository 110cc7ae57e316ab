"""Variable-length numbers: seven bits in each byte, the lowest first.

The top bit of a byte means that more follow. So that small negative numbers are short too, the sign
is in the lowest bit ("zigzag"): 0 -1 1 -2 2 become 0 1 2 3 4.

    300 -> zigzag 600 = 0b100_1011000 -> 1_1011000 0_0000100 = d8 04

Most numbers in a batch are small deltas and lengths: they are in a table.
"""

from engine.errors import ApiException, ErrorCode

_SHIFTS = range(7, 70, 7)  # of the bytes behind the first; a 64-bit number has nine at most


def wrap(number: int) -> int:
    """To 64 bits, like Kafka's `long`: the difference of two distant times overflows."""
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
    """Read the rest after a first byte with the top bit: the number, and the next position.

    The sign is still in the lowest bit. IndexError if the data ends before the number does.
    """
    byte = data[at]
    if byte < 0x80:
        return first + (byte - 1 << 7), at + 1  # the 1 is the first byte's top bit
    number = first & 0x7F
    for shift in _SHIFTS:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ApiException(ErrorCode.invalid_record, f"number before byte {at} does not end")
