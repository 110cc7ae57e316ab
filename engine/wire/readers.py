"""Readers: from the bytes of a message to its dataclass.

kio has readers too. These are our own because they must withstand any bytes: kio's reader reserves
memory for as many elements as an array claims to have, and a frame of twenty bytes can claim 2^31,
which ends the process. kio's also accepts null for any array, and refuses unknown tags.

All versions are read into one shape: the dataclass of the newest version that we serve, with
defaults for the fields that an older version lacks. So a handler knows one shape of each message.

Invariant: a reader that returns has not read beyond the frame. For bytes that are no such message
it raises `Malformed` or one of `BYTES_ERRORS`, and it never reserves memory for more elements than
the remaining bytes could hold.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from struct import Struct
from typing import Any, NoReturn

from engine.wire import schema
from engine.wire.errors import Malformed
from engine.wire.frame import Frame
from engine.wire.generated import FunctionSource
from engine.wire.primitives import COMPACT, FIXED, Fixed, Length, read_uvarint
from engine.wire.schema import Field

Reader = Callable[[Frame, int], tuple[Any, int]]  # (frame, position) -> value, position after it
Setter = Callable[[Any, Any], None]  # a slot of a dataclass: (object, value)


LONGEST_TEXT = 2**15 - 1  # also where the length has room for more


def take_text(frame: Frame, start: int, end: int) -> str:
    """Bytes that are not UTF-8 become U+FFFD, as in Kafka: such a request gets an answer."""
    if end - start > LONGEST_TEXT:
        raise Malformed(f"a string of {end - start} bytes at byte {start}: Kafka reads none")
    return frame[start:end].decode(errors="replace")


def take_bytes(frame: Frame, start: int, end: int) -> bytes:
    return bytes(frame[start:end])


def take_view(frame: Frame, start: int, end: int) -> memoryview:
    """Record batches are not copied: the view keeps the frame in memory."""
    return memoryview(frame)[start:end]


ONE_BYTE = 126  # the largest compact length that takes one byte
TAKE = {"string": take_text, "bytes": take_bytes, "records": take_view}


@cache
def message_reader(message: type, newest: type) -> Reader:
    """A reader of one version of a message, into the shape of the newest one."""
    flexible: bool = message.__flexible__  # type: ignore[attr-defined]
    target = schema.shape(message, newest)
    into = {field.name: field for field in schema.fields(target)}
    plain = [field for field in schema.fields(message) if field.tag is None]
    tags = {
        field.tag: (_setter(target, field), _reader(field, into[field.name], flexible))
        for field in schema.fields(message)
        if field.tag is not None
    }
    source = FunctionSource("frame, position")
    # Filled in slot by slot: the generated __init__ of a frozen dataclass takes three times longer.
    source.add(f"made = {source.name(object.__new__)}({source.name(target)})")
    for is_fixed, group in groupby(plain, lambda field: field.fixed is not None):
        if is_fixed:
            _add_fixed(source, list(group), target)
            continue
        for field in group:
            _add_value(source, field, into[field.name], flexible)
            source.add(f"{source.name(_setter(target, field))}(made, value)")
    names = {field.name for field in plain}
    for field in into.values():
        if field.name not in names:
            setter, default = source.name(_setter(target, field)), source.name(field.default)
            source.add(f"{setter}(made, {default})")
    if flexible:
        rest = f"{source.name(read_tags)}(frame, position, {source.name(tags)}, made)"
        # Nearly always there are no tagged fields: one byte, a zero.
        source.add(f"position = {rest} if frame[position] else position + 1")
    source.add("return made, position")
    return source.function()


def _add_fixed(source: FunctionSource, group: list[Field], target: type) -> None:
    """Numbers in a row are unpacked in one step."""
    layout, values = schema.layout(group), [f"value{number}" for number in range(len(group))]
    unpack = source.name(layout.unpack_from)
    source.add(f"{', '.join(values)}, = {unpack}(frame, position)", f"position += {layout.size}")
    for field, value in zip(group, values, strict=True):
        assert field.fixed is not None
        if field.fixed.read is not None:
            value = f"{source.name(field.fixed.read)}({value})"
        source.add(f"{source.name(_setter(target, field))}(made, {value})")


def _add_value(source: FunctionSource, field: Field, into: Field, flexible: bool) -> None:
    """The lines that read a field into `value`."""
    if field.is_array:
        item = _item_reader(field, into, flexible, nullable=False)
        least = schema.least_size(field.type, flexible)
        _add_array(source, schema.array_length(flexible), field.nullable, item, least)
    elif isinstance(field.type, str) and field.type in TAKE:
        length = schema.content_length(field.type, flexible)
        _add_content(source, length, field.nullable, TAKE[field.type])
    else:
        reader = source.name(_item_reader(field, into, flexible, field.nullable))
        source.add(f"value, position = {reader}(frame, position)")


def _add_content(
    source: FunctionSource, length: Length, nullable: bool, take: Callable[[Frame, int, int], Any]
) -> None:
    """For strings and bytes: `take` makes a value from the bytes between two positions."""
    _add_length(source, length, nullable)
    source.add(
        "    end = position + size",
        f"    if end > len(frame): {source.name(_cut_off)}(size, position, frame)",
        f"    value = {source.name(take)}(frame, position, end)",
        "    position = end",
    )


def _add_array(
    source: FunctionSource, length: Length, nullable: bool, item: Reader, least: int
) -> None:
    """`least`: the fewest bytes of an element, which limits how many there can be."""
    _add_length(source, length, nullable)
    source.add(
        f"    if size * {least} > len(frame) - position:",
        f"        {source.name(_too_many)}(size, position, frame)",
        "    value = []",
        "    for _ in range(size):",
        f"        each, position = {source.name(item)}(frame, position)",
        "        value.append(each)",
        "    value = tuple(value)",
    )


def _add_length(source: FunctionSource, length: Length, nullable: bool) -> None:
    """The lines after these, one step further in, read a value that is not null."""
    if length is COMPACT:
        source.add(
            "size = frame[position] - 1",
            "position += 1",
            f"if size > {ONE_BYTE}:",
            f"    size, position = {source.name(length.read)}(frame, position - 1)",
        )
    else:
        source.add(f"size, position = {source.name(length.read)}(frame, position)")
    source.add(
        "if size < 0:",
        f"    {source.name(_check_null)}(size, {nullable}, position)",
        "    value = None",
        "else:",
    )


def _setter(target: type, field: Field) -> Setter:
    setter: Setter = getattr(target, field.name).__set__
    return setter


def read_tags(
    frame: Frame,
    position: int,
    known: Mapping[int, tuple[Setter, Reader]],
    made: Any = None,
) -> int:
    """Set the tagged fields at the end of a message; unknown ones are skipped."""
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


def _reader(field: Field, into: Field, flexible: bool) -> Reader:
    """A reader of one field alone, as tagged ones are read."""
    source = FunctionSource("frame, position")
    _add_value(source, field, into, flexible)
    source.add("return value, position")
    return source.function()


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
    """A reader of strings or bytes alone."""
    source = FunctionSource("frame, position")
    _add_content(source, length, nullable, take)
    source.add("return value, position")
    return source.function()


def _cut_off(size: int, start: int, frame: Frame) -> NoReturn:
    raise Malformed(f"{size} bytes from byte {start}: the frame has {len(frame)}")


def _too_many(count: int, start: int, frame: Frame) -> NoReturn:
    raise Malformed(f"{count} elements from byte {start}: the frame has {len(frame)}")


def _check_null(length: int, nullable: bool, position: int) -> None:
    if length < -1 or not nullable:
        raise Malformed(f"a length of {length} at byte {position}")
