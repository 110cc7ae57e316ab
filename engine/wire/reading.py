"""Readers: from the bytes of a message to its dataclass.

kio has one as well. This one is ours because it must hold against any bytes at all: kio's
reserves memory for as many elements as an array claims, 2^31 of them in a frame of twenty
bytes, and the process is gone. It also takes null for any array, and no tag that is new to it.

Versions meet here: whichever version a message comes in, it is read into the dataclass of the
newest one that we serve, with defaults where the older one lacks a field. So a handler knows
one shape of each message.

Invariant: a reader that returns has stayed within the frame. For bytes that are no such message
it raises `Malformed` or one of `BYTES_ERRORS`, and never makes room for more elements than the
bytes that are left could hold.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import groupby
from struct import Struct
from typing import Any

from engine.wire import schema
from engine.wire.errors import Malformed
from engine.wire.frame import Frame
from engine.wire.primitives import FIXED, Fixed, Length, read_uvarint
from engine.wire.schema import Field

Reader = Callable[[Frame, int], tuple[Any, int]]  # (frame, position) -> value, position after it
Setter = Callable[[Any, Any], None]  # a slot of a dataclass: (object, value)


def take_text(frame: Frame, start: int, end: int) -> str:
    """Bytes that are not UTF-8 become U+FFFD, as in Kafka: such a name is answered, not cut off."""
    return frame[start:end].decode(errors="replace")


def take_bytes(frame: Frame, start: int, end: int) -> bytes:
    return bytes(frame[start:end])


def take_view(frame: Frame, start: int, end: int) -> memoryview:
    """Record batches are not copied: the view keeps the frame alive for as long as it is held."""
    return memoryview(frame)[start:end]


TAKE = {"string": take_text, "bytes": take_bytes, "records": take_view}


@cache
def message_reader(message: type, newest: type) -> Reader:
    """A reader of one version of a message, into the shape of the newest one."""
    flexible: bool = message.__flexible__  # type: ignore[attr-defined]
    target = schema.shape(message, newest)
    into = {field.name: field for field in schema.fields(target)}
    plain = [field for field in schema.fields(message) if field.tag is None]
    steps: list[tuple[Reader, bool]] = []  # a reader, and whether it reads many fields at once
    for is_number, group in groupby(plain, lambda field: field.is_number_in):
        if is_number:
            steps.append((_numbers_reader(group), True))
        else:
            steps += [(_reader(field, into[field.name], flexible), False) for field in group]
    # Filled in slot by slot: the generated __init__ of a frozen dataclass takes three times longer.
    setters = [_setter(target, field) for field in plain]
    names = {field.name for field in plain}
    absent = [
        (_setter(target, field), field.default)
        for field in into.values()
        if field.name not in names
    ]
    tags = {
        field.tag: (_setter(target, field), _reader(field, into[field.name], flexible))
        for field in schema.fields(message)
        if field.tag is not None
    }

    def read(frame: Frame, position: int) -> tuple[Any, int]:
        values: list[Any] = []
        for step, many in steps:
            value, position = step(frame, position)
            if many:
                values += value
            else:
                values.append(value)
        made: Any = object.__new__(target)
        for set_field, value in zip(setters, values, strict=True):
            set_field(made, value)
        for set_field, value in absent:
            set_field(made, value)
        if not flexible:
            return made, position
        if frame[position] == 0:  # no tagged fields, as nearly always
            return made, position + 1
        return made, read_tags(frame, position, tags, made)

    return read


def _setter(target: type, field: Field) -> Setter:
    setter: Setter = getattr(target, field.name).__set__
    return setter


def read_tags(
    frame: Frame,
    position: int,
    known: Mapping[int, tuple[Setter, Reader]],
    made: Any = None,
) -> int:
    """Set the tagged fields at the end of a message; those that we do not know are passed over."""
    count, position = read_uvarint(frame, position)
    for _ in range(count):
        tag, position = read_uvarint(frame, position)
        size, position = read_uvarint(frame, position)
        end = position + size
        if end > len(frame):
            raise Malformed(f"tag {tag} has {size} bytes from byte {position} of {len(frame)}")
        if tag in known:
            set_field, reader = known[tag]
            value, position = reader(frame, position)
            if position != end:
                raise Malformed(f"tag {tag} ends at byte {position}, its size says {end}")
            set_field(made, value)
        position = end
    return position


def _numbers_reader(group: Iterable[Field]) -> Reader:
    layout = schema.layout(group)

    def read(frame: Frame, position: int) -> tuple[Any, int]:
        return layout.unpack_from(frame, position), position + layout.size

    return read


def _reader(field: Field, into: Field, flexible: bool) -> Reader:
    if not field.is_array:
        return _item_reader(field, into, flexible, field.nullable)
    length = schema.array_length(flexible)
    item = _item_reader(field, into, flexible, nullable=False)
    return array_reader(length, field.nullable, item, schema.least_size(field.type, flexible))


def _item_reader(field: Field, into: Field, flexible: bool, nullable: bool) -> Reader:
    if not isinstance(field.type, str):
        assert not isinstance(into.type, str)
        return message_reader(field.type, into.type)
    if field.type in FIXED:
        return fixed_reader(FIXED[field.type])
    return content_reader(schema.content_length(field.type, flexible), nullable, TAKE[field.type])


def fixed_reader(fixed: Fixed) -> Reader:
    layout, convert = Struct(">" + fixed.code), fixed.read

    def read(frame: Frame, position: int) -> tuple[Any, int]:
        (value,) = layout.unpack_from(frame, position)
        return value if convert is None else convert(value), position + layout.size

    return read


def content_reader(
    length: Length, nullable: bool, take: Callable[[Frame, int, int], Any]
) -> Reader:
    """For strings and bytes: `take` makes the value of the bytes from here to there."""
    read_length = length.read

    def read(frame: Frame, position: int) -> tuple[Any, int]:
        size, start = read_length(frame, position)
        if size < 0:
            _check_null(size, nullable, position)
            return None, start
        end = start + size
        if end > len(frame):
            raise Malformed(f"{size} bytes from byte {start}: the frame has {len(frame)}")
        return take(frame, start, end), end

    return read


def array_reader(length: Length, nullable: bool, item: Reader, item_size: int) -> Reader:
    """`item_size`: the least that an element takes, which bounds how many there can be."""
    read_length = length.read

    def read(frame: Frame, position: int) -> tuple[Any, int]:
        count, start = read_length(frame, position)
        if count < 0:
            _check_null(count, nullable, position)
            return None, start
        if count * item_size > len(frame) - start:
            raise Malformed(f"{count} elements from byte {start}: the frame has {len(frame)}")
        items = []
        position = start
        for _ in range(count):
            value, position = item(frame, position)
            items.append(value)
        return tuple(items), position

    return read


def _check_null(length: int, nullable: bool, position: int) -> None:
    if length < -1 or not nullable:
        raise Malformed(f"a length of {length} at byte {position}")
