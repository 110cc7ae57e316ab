"""The fields of JSON that other programs may have written, each of the expected type.

    field(value, "leader", as_int32)      7, or ValueError("leader: 'x' is not a number")

Invariant: each of these returns a value of that type, or raises a ValueError with the reason.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from engine.model import parse_id

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
NOTHING: dict[str, Any] = {}  # never changed
T = TypeVar("T")
D = TypeVar("D")


def encoded_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def json_object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode())
        if b"\\u" in data:
            encoded_json(value)  # half of a surrogate pair could not be written again
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {data[:60]!r}")
    return value


def field(value: Any, name: str, kind: Callable[[Any], T], *default: D) -> T | D:
    """A field of a type. Without a default it must not be missing or null."""
    found = as_object(value).get(name)
    if found is None and default:
        return default[0]
    try:
        return kind(found)
    except ValueError as error:
        raise ValueError(f"{name}: {error}" if name in value else f"{name} is missing") from None


def _typed(value: Any, kind: type[T], what: str) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{value!r:.60} is not a {what}")
    return value


def as_text(value: Any) -> str:
    return _typed(value, str, "text")


def as_list(value: Any) -> list[Any]:
    return _typed(value, list, "list")


def as_object(value: Any) -> dict[str, Any]:
    return _typed(value, dict, "object")


def as_int32(value: Any) -> int:
    if not -INT_MAX <= _typed(value, int, "number") <= INT_MAX:
        raise ValueError(f"{value!r:.60} is too large")
    return int(value)


def as_natural(value: Any) -> int:
    """The number of a broker or a partition, or a port."""
    if as_int32(value) < 0:
        raise ValueError(f"{value} is negative")
    return int(value)


def as_epoch(value: Any) -> int:
    """An epoch that can still be incremented."""
    if as_natural(value) > INT_MAX - 2**16:
        raise ValueError(f"{value} cannot be incremented")
    return int(value)


def as_int64(value: Any) -> int:
    """Kafka writes these as strings."""
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value, re.ASCII):
        value = int(value)
    if abs(_typed(value, int, "number")) > LONG_MAX:
        raise ValueError(f"{value!r:.60} is too large")
    return int(value)


def as_brokers(value: Any) -> tuple[int, ...]:
    ids = tuple(map(as_natural, as_list(value)))
    if len(set(ids)) < len(ids):
        raise ValueError(f"{value!r:.60} names a broker twice")
    return ids


def as_uuid(value: Any) -> UUID:
    return parse_id(as_text(value))
