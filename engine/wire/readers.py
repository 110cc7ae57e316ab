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
    """Bytes that are not UTF-8 become U+FFFD, as in Kafka: such a request gets an answer."""
    return frame[start:end].decode(errors="replace")


def take_bytes(frame: Frame, start: int, end: int) -> bytes:
    return bytes(frame[start:end])


def take_view(frame: Frame, start: int, end: int) -> memoryview:
    """Record batches are not copied: the view keeps the frame in memory."""
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
    """For strings and bytes: `take` makes a value from the bytes between two positions."""
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
    """`item_size`: the fewest bytes of an element, which limits how many there can be."""
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
