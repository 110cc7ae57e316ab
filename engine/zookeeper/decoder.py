"""The decoder of znodes, which other programs may write. A bad znode affects its own entity alone.

    bytes ──> decoded(...) ──> a value
                          └──> Unreadable("leader is missing")
    bytes ──> Decoder.read ──> a value, or None, and then an event is emitted:

        znode.unreadable   path, why, harm      these bytes cannot be used
        config.ignored     path, key, why       one key of a configuration is unknown, or its value
                                                is bad; the key's default is used instead

Each is emitted once, and again when the reason changes. The broker writes every event to its log,
these two as warnings.

Invariant: decoding raises nothing but ValueError, for any bytes. So any other exception is a bug
here, and is not caught.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from engine.config import Config

T = TypeVar("T")
C = TypeVar("C", bound=Config)
WRITTEN_BY_OTHERS = frozenset({"znode.unreadable", "config.ignored"})
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
        self._ignored: dict[str, Mapping[str, str]] = {}  # path -> key -> why
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

    def config(self, path: str, values: Mapping[str, str], base: C) -> C:
        """The configuration at a path, over `base`. Bad keys are ignored and reported."""
        config, faults = base.lenient(values)
        known = self._ignored.pop(path, {})
        if faults:
            self._ignored[path] = faults
        for name, why in faults.items():
            if known.get(name) != why:
                self._emit("config.ignored", path=path, key=name, why=why)
        return config
