"""One declaration for all versions of a message.

    class Topic:                                version 4             version 5
        name: String                            | name |              | name |
        topic_id: Uuid = field(since(5))                              | id   |
        states: tuple[State, ...]               | states ... |        | states ... |

A field's type has its primitive on the wire. A field that is not in all versions has them in its
metadata. `at` makes the declaration of one version, in kio's format; schema.py reads both.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache
from types import UnionType
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

from engine.errors import ErrorCode

Int8 = Annotated[int, "int8"]
Int16 = Annotated[int, "int16"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
Bool = Annotated[bool, "bool"]
String = Annotated[str, "string"]
NullableString = Annotated[str | None, "string"]
Bytes = Annotated[bytes, "bytes"]
Uint16 = Annotated[int, "uint16"]
Float64 = Annotated[float, "float64"]
Uuid = Annotated[UUID | None, "uuid"]  # None is sixteen zeroes
Uuids = Annotated[tuple[UUID | None, ...], "uuid"]
NullableUuids = Annotated[tuple[UUID | None, ...] | None, "uuid"]
Strings = Annotated[tuple[str, ...], "string"]
Error = Annotated[ErrorCode, "error_code"]
Brokers = Annotated[tuple[int, ...], "int32"]  # ids
NullableBrokers = Annotated[tuple[int, ...] | None, "int32"]
Partitions = Annotated[tuple[int, ...], "int32"]  # numbers

_LAST = 2**15 - 1


def since(version: int) -> dict[str, int]:
    """Metadata of a field that older versions lack."""
    return {"since": version}


def until(version: int) -> dict[str, int]:
    """Metadata of a field that newer versions lack."""
    return {"until": version}


def tagged(tag: int, version: int = 0) -> dict[str, int]:
    """Metadata of a field that is written only if it is not its default (KIP-482), behind all
    others. Fields are declared in the order of their tags."""
    return {"tag": tag, "since": version}


@cache
def at(message: type, version: int, flexible: bool) -> type:
    """One version of a message, nested ones included."""
    declared = [
        _declare(each, version, flexible)
        for each in dataclasses.fields(message)
        if each.metadata.get("since", 0) <= version <= each.metadata.get("until", _LAST)
    ]
    form = {"__flexible__": flexible, "__version__": version}
    return make_message(message.__name__, declared, form)


def make_message(name: str, declared: Iterable[tuple[str, Any, Any]], form: dict[str, Any]) -> type:
    return dataclasses.make_dataclass(
        name, declared, frozen=True, slots=True, kw_only=True, namespace=form
    )


def _declare(each: "dataclasses.Field[Any]", version: int, flexible: bool) -> tuple[str, Any, Any]:
    if get_origin(each.type) is Annotated:
        return primitive_field(each.name, each.type, each.default, each.metadata.get("tag"))
    is_nullable = isinstance(each.type, UnionType)  # tuple[Nested, ...] | None
    nested, _ = get_args(get_args(each.type)[0] if is_nullable else each.type)
    kind: Any = tuple[at(nested, version, flexible), ...]  # type: ignore[misc]
    return each.name, kind | None if is_nullable else kind, dataclasses.field(default=each.default)


def primitive_field(
    name: str, annotated: Any, default: Any, tag: int | None = None
) -> tuple[str, Any, Any]:
    """A field in kio's format, of one of the types above."""
    kind, primitive = get_args(annotated)
    metadata = {"kafka_type": primitive} | ({} if tag is None else {"tag": tag})
    return name, kind, dataclasses.field(default=default, metadata=metadata)
