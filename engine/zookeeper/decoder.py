"""The decoder of znodes, which other programs may write. A bad znode affects its own entity alone.

    bytes ──> decoded(...) ──> a value
                          └──> Unreadable("leader is missing")
    bytes ──> Decoder.read ──> a value, or None, and then an event is emitted:

        znode.unreadable   path, why, harm      these bytes cannot be used

The event is emitted once, and again when the reason changes. Keys of a configuration that are not
understood are reported by the broker's config cache, by the event config.ignored.

Invariant: decoding raises nothing but ValueError, for any bytes. So any other exception is a bug
here, and is not caught.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")
UNTIL = "until it is repaired or deleted"


class Unreadable(NamedTuple):
    why: str


def decoded(decode: Callable[[bytes], T], data: bytes) -> T | Unreadable:
    try:
        return decode(data)
    except ValueError as error:
        return Unreadable(str(error))


class Decoder:
    def __init__(self, emit: Callable[..., None]) -> None:
        self.faults: dict[str, str] = {}  # of znodes that cannot be read: path -> why
        self._emit = emit  # kind, then the facts by name

    def read(
        self, decode: Callable[[bytes], T], path: str, data: bytes | None, harm: str
    ) -> T | None:
        """None if there is no data, or if it cannot be read: then the path is in `faults`."""
        value = None if data is None else decoded(decode, data)
        if isinstance(value, Unreadable):
            self.report(path, value.why, harm)
            return None
        self.faults.pop(path, None)
        return value

    def report(self, path: str, why: str, harm: str) -> None:
        """`harm` ends a sentence that begins with `UNTIL`."""
        if self.faults.get(path) != why:
            self.faults[path] = why
            self._emit("znode.unreadable", path=path, why=why, harm=f"{UNTIL}, {harm}")
