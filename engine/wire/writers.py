"""Writers: from an object to the bytes of a message.

A message is written in any version from one object: a field of that version is taken from the
object, or has its default if the object lacks it. So a handler answers in the newest shape, and an
old client gets the fields that its version has.

Invariant: a value that the protocol cannot express is a bug here, and raises an error.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from struct import Struct
from typing import Any

from engine.wire import schema
from engine.wire.generated import FunctionSource
from engine.wire.primitives import FIXED, Draft, Fixed, Length, write_uvarint
from engine.wire.schema import Field

Writer = Callable[[Draft, Any], None]


@cache
def message_writer(message: type) -> Writer:
    """A writer of one version of a message, from any object that has its fields."""
    plans: dict[object, Writer] = {}  # one for each kind of object

    def write(draft: Draft, value: Any) -> None:
        plan = plans.get(type(value))
        if plan is None:
            kind = _kind(value)
            plan = plans.get(kind)
            if plan is None:
                plan = plans[kind] = _plan(message, value)
        plan(draft, value)

    return write


def _kind(value: Any) -> object:
    """A key for the set of fields that an object has: its class, unless each object differs."""
    cls = type(value)
    if is_dataclass(cls) or not hasattr(value, "__dict__"):
        return cls
    return cls, frozenset(vars(value))


def _plan(message: type, like: Any) -> Writer:
    """How to write objects of one class; a field that they lack has its default."""
    flexible: bool = message.__flexible__  # type: ignore[attr-defined]
    plain = [field for field in schema.fields(message) if field.tag is None]
    source = FunctionSource("draft, value")
    for present, group in groupby(
        plain, lambda field: field.fixed is not None and hasattr(like, field.name)
    ):
        if present:
            _add_fixed(source, list(group))
        else:
            for field in group:
                _add_field(source, field, flexible, hasattr(like, field.name))
    if flexible:
        tagged = [
            field
            for field in schema.fields(message)
            if field.tag is not None and hasattr(like, field.name)
        ]
        tags = source.name(_tags_writer(tagged))
        source.add(f"{tags}(draft, value)" if tagged else "draft.append(0)")
    source.add("return")
    return source.function()


def _add_fixed(source: FunctionSource, group: list[Field]) -> None:
    """Numbers in a row are packed in one step."""
    values = []
    for field in group:
        assert field.fixed is not None
        value = f"value.{field.name}"
        convert = field.fixed.write
        values.append(value if convert is None else f"{source.name(convert)}({value})")
    source.add(f"draft += {source.name(schema.layout(group).pack)}({', '.join(values)})")


def _add_field(source: FunctionSource, field: Field, flexible: bool, present: bool) -> None:
    writer = _writer(field, flexible)
    if present:
        source.add(f"{source.name(writer)}(draft, value.{field.name})")
        return
    constant = Draft()
    writer(constant, field.default)
    source.add(f"draft += {source.name(bytes(constant))}")


def _tags_writer(fields: list[Field]) -> Writer:
    tagged = [  # declared in the order of their tags, as they have to be written
        (field.tag, attrgetter(field.name), field.default, _writer(field, True))
        for field in fields
        if field.tag is not None
    ]

    def write(draft: Draft, value: Any) -> None:
        entries = []
        for tag, get, default, writer in tagged:
            content = get(value)
            if content is not default and content != default:
                entry = Draft()
                writer(entry, content)
                entries.append((tag, entry))
        write_uvarint(draft, len(entries))
        for tag, entry in entries:
            write_uvarint(draft, tag)
            write_uvarint(draft, len(entry))
            draft += entry

    return write


def _writer(field: Field, flexible: bool) -> Writer:
    if not field.is_array:
        return _item_writer(field, flexible, field.nullable)
    length = schema.array_length(flexible)
    return array_writer(length, field.nullable, _item_writer(field, flexible, False))


def _item_writer(field: Field, flexible: bool, nullable: bool) -> Writer:
    if not isinstance(field.type, str):
        return message_writer(field.type)
    if field.type in FIXED:
        return fixed_writer(FIXED[field.type])
    length = schema.content_length(field.type, flexible)
    if field.type == "string":
        return text_writer(length, nullable)
    return bytes_writer(length, nullable)


def fixed_writer(fixed: Fixed) -> Writer:
    layout, convert = Struct(">" + fixed.code), fixed.write

    def write(draft: Draft, value: Any) -> None:
        draft += layout.pack(value if convert is None else convert(value))

    return write


def text_writer(length: Length, nullable: bool) -> Writer:
    def write(draft: Draft, value: str | None) -> None:
        if value is None:
            assert nullable, "null for a string"
            length.write(draft, -1)
            return
        content = value.encode()
        length.write(draft, len(content))
        draft += content

    return write


def bytes_writer(length: Length, nullable: bool) -> Writer:
    """Bytes of any kind. Of a `Slice` only the length is written, and its position is kept."""

    def write(draft: Draft, value: Any) -> None:
        if value is None:
            assert nullable, "null for bytes"
            length.write(draft, -1)
        elif isinstance(value, bytes | bytearray | memoryview):
            length.write(draft, len(value))
            draft += value
        else:
            length.write(draft, value.size)
            if value.size:
                draft.slices.append((len(draft), value))

    return write


def array_writer(length: Length, nullable: bool, item: Writer) -> Writer:
    def write(draft: Draft, value: Any) -> None:
        if value is None:
            assert nullable, "null for an array"
            length.write(draft, -1)
            return
        length.write(draft, len(value))
        for each in value:
            item(draft, each)

    return write
