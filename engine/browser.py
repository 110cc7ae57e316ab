"""What differs where Python runs in a browser tab, as WebAssembly (Pyodide), and why.

    IN_BROWSER          whether this is such a Python: sys.platform is "emscripten"
    crc32c              in a table there: the package has no wheel for WebAssembly
    needs_processes()   no processes, sockets or threads there: an error says so in a sentence
    resource            the limits of a process; the module does not exist there

The simulator needs none of this: it is Python code on a virtual clock. The same seed makes the same
run on every platform, byte for byte (tests/lite has the test).
"""

import sys
from functools import cache
from types import ModuleType

IN_BROWSER = sys.platform == "emscripten"

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
_ALL = 0xFFFF_FFFF


class NotInBrowser(Exception):
    """Something that was asked for needs an operating system, which a browser tab does not have."""


def needs_processes(what: str) -> None:
    """Refuse in a browser what starts processes. `what`: the subject of the sentence."""
    if IN_BROWSER:
        raise NotInBrowser(
            f"{what} needs the processes and sockets of a computer. A browser tab has none."
        )


def crc32c_by_table(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """The CRC-32C of the data, continued from `value`; package crc32c is far quicker."""
    table, crc = _table(), value ^ _ALL
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ _ALL


@cache
def _table() -> tuple[int, ...]:
    """The remainder of each byte, by which CRC-32C goes on from one byte to the next."""
    remainders = []
    for remainder in range(256):
        for _ in range(8):
            remainder = remainder >> 1 ^ (_POLYNOMIAL if remainder & 1 else 0)
        remainders.append(remainder)
    return tuple(remainders)


if sys.platform == "emscripten":
    crc32c, resource = crc32c_by_table, ModuleType("resource")  # which nothing uses there
else:
    import resource

    from crc32c import crc32c

__all__ = ["IN_BROWSER", "NotInBrowser", "crc32c", "crc32c_by_table", "needs_processes", "resource"]
