"""The schema of a message: its fields and their format.

kio declares each message of the protocol as a dataclass per version. The order of its fields is
their order on the wire; each field's type and metadata have its primitive. Our own declarations
(`messages`) have it in the type alone, `Annotated`.

    a nested message           its fields, one after the other
    tagged fields (KIP-482)    count, then tag, size and value of each that is not its default;
                               they end every message of a flexible version, nested ones too
"""

import dataclasses
from collections.abc import Iterable
from functools import cache
from struct import Struct
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from engine.wire.primitives import COMPACT, FIXED, LONG, SHORT, Fixed, Length


class Field(NamedTuple):
    """The declaration of a field."""

    name: str
    type: str | type  # a primitive's name in the protocol, or the dataclass of a nested message
    is_array: bool
    nullable: bool
    tag: int | None
    default: Any

    @property
    def fixed(self) -> Fixed | None:
        """The field's type, if it has a fixed width."""
        return FIXED.get(self.type) if isinstance(self.type, str) and not self.is_array else None

    @property
    def is_number_out(self) -> bool:
        """Whether it is written as a plain number."""
        return self.fixed is not None and self.fixed.write is None


@cache
def fields(message: type) -> tuple[Field, ...]:
    """The fields of a message, in wire order."""
    return tuple(_field(field) for field in dataclasses.fields(message))


def _field(field: "dataclasses.Field[Any]") -> Field:
    declared: Any = field.type
    primitive = field.metadata.get("kafka_type")
    if get_origin(declared) is Annotated:
        declared, primitive = get_args(declared)
    nullable = isinstance(declared, UnionType)
    if nullable:
        (declared,) = (part for part in get_args(declared) if part is not NoneType)
    is_array = get_origin(declared) is tuple
    kind = primitive or (get_args(declared)[0] if is_array else declared)
    assert isinstance(kind, str) or is_array or not nullable, "no nullable struct before Kafka 3"
    default = field.default
    if default is dataclasses.MISSING:
        default = _implicit_default(kind, is_array, nullable)
    return Field(field.name, kind, is_array, nullable, field.metadata.get("tag"), default)


def _implicit_default(kind: str | type, is_array: bool, nullable: bool) -> Any:
    if nullable or is_array:
        return None if nullable else ()
    if isinstance(kind, str):
        return FIXED[kind].default if kind in FIXED else "" if kind == "string" else b""
    return kind(**{field.name: field.default for field in fields(kind)})


@cache
def shape(message: type, newest: type) -> type:
    """The class that a message is read into: the newest version's.

    Of all the messages that we serve, four versions have a field that a newer one dropped (the
    topic names of DeleteTopics are one). That field is added to the newest shape then.
    """
    known = {field.name for field in fields(newest)}
    dropped = [
        (
            field.name,
            declared.type,
            dataclasses.field(default=field.default, metadata=declared.metadata),
        )
        for field, declared in zip(fields(message), dataclasses.fields(message), strict=True)
        if field.name not in known
    ]
    if not dropped:
        return newest
    return dataclasses.make_dataclass(
        newest.__name__, dropped, bases=(newest,), frozen=True, slots=True, kw_only=True
    )


def layout(group: Iterable[Field]) -> Struct:
    """Several numbers in a row, packed and unpacked in one step."""
    return Struct(">" + "".join(field.fixed.code for field in group if field.fixed))


def content_length(kind: str, flexible: bool) -> Length:
    """How the length of a string or of bytes is written."""
    return COMPACT if flexible else SHORT if kind == "string" else LONG


def least_size(kind: str | type, flexible: bool) -> int:
    """The fewest bytes that a value can take."""
    if not isinstance(kind, str):
        plain = [field for field in fields(kind) if field.tag is None]
        sizes = (
            array_length(flexible).width if f.is_array else least_size(f.type, flexible)
            for f in plain
        )
        return sum(sizes) + flexible
    if kind in FIXED:
        return Struct(">" + FIXED[kind].code).size
    return content_length(kind, flexible).width


def array_length(flexible: bool) -> Length:
    return COMPACT if flexible else LONG
