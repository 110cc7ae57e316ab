"""The fields of what coordinators write down, as Kafka's own messages have them.

    a record    version i16 | its fields, in the order in which a dataclass declares them
    numbers     i8, i16, i32, i64, the highest byte first
    string      length i16 | UTF-8         -1 is null, where that is allowed
    bytes       length i32 | bytes
    rows        count  i32 | each row      -1 is null, where that is allowed

A field's type says how it is written; the versions that have it stand beside it, where they are
not all (see wire/messages/versions.py, which does the same for requests).

Invariant: what is decoded and encoded again, in the same version, is the same bytes. Bytes that
are no such record raise a KafkaError, and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from struct import Struct, error
from types import UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from engine.errors import ErrorCode, KafkaError

LONGEST = 2**15 - 1  # bytes of a string

Bytes = Annotated[bytes, "bytes"]

_BYTE, _SHORT, _INT, _LONG = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")
_NULL = -1  # the length of what is not there
_LAST = 2**15 - 1  # version


def encode(it: Any, version: int) -> bytes:
    return _SHORT.pack(version) + _write(it, version)


def decode(data: bytes, kinds: Mapping[int, type], topic: str) -> Any:
    """What its version says that it is; the topic is for those who are told that it isn't."""
    try:
        reader = _Reader(data)
        version = reader.number(_SHORT)
        if version not in kinds:
            raise ValueError(f"there is no version {version} of it")
        return _read(reader, kinds[version], version)
    except (error, ValueError) as why:
        message = f"this belongs in no record of {topic}: {why}"
        raise KafkaError(ErrorCode.invalid_record, message) from why


# -- any of them -------------------------------------------------------------------------------


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = bytes(data)
        self.position = 0

    def number(self, layout: Struct) -> int:
        (number,) = layout.unpack_from(self.data, self.position)
        self.position += layout.size
        return int(number)

    def take(self, length: int) -> bytes:
        start, self.position = self.position, self.position + length
        if not start <= self.position <= len(self.data):
            raise ValueError(f"{length} bytes from byte {start} of {len(self.data)}")
        return self.data[start : self.position]

    def text(self) -> str:
        return self.take(self.number(_SHORT)).decode()

    def nullable(self) -> str | None:
        length = self.number(_SHORT)
        return None if length == _NULL else self.take(length).decode()


def _packed(text: str | None) -> bytes:
    if text is None:
        return _SHORT.pack(_NULL)
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


class _Type(NamedTuple):
    write: Callable[[Any], bytes]
    read: Callable[[_Reader], Any]


_TYPES = {
    "int8": _Type(_BYTE.pack, lambda reader: reader.number(_BYTE)),
    "int16": _Type(_SHORT.pack, lambda reader: reader.number(_SHORT)),
    "int32": _Type(_INT.pack, lambda reader: reader.number(_INT)),
    "int64": _Type(_LONG.pack, lambda reader: reader.number(_LONG)),
    "string": _Type(_packed, _Reader.text),
    "string?": _Type(_packed, _Reader.nullable),
    "bytes": _Type(
        lambda data: _INT.pack(len(data)) + data, lambda reader: reader.take(reader.number(_INT))
    ),
}


@cache
def _fields(kind: type, version: int) -> tuple[tuple[str, _Type], ...]:
    """Of one version, in their order."""
    return tuple(
        (each.name, _type(each.type, version))
        for each in fields(kind)
        if each.metadata.get("since", 0) <= version <= each.metadata.get("until", _LAST)
    )


def _type(of: Any, version: int) -> _Type:
    if get_origin(of) is Annotated:
        python, name = get_args(of)
        return _TYPES[name if isinstance(python, type) else f"{name}?"]
    if get_origin(of) is UnionType:
        rows, _ = get_args(of)  # tuple[row, ...] | None
        return _array(rows, version, nullable=True)
    if get_origin(of) is tuple:
        return _array(of, version, nullable=False)
    return _Type(lambda it: _write(it, version), lambda reader: _read(reader, of, version))


def _array(rows: Any, version: int, *, nullable: bool) -> _Type:
    of, _ = get_args(rows)  # tuple[row, ...]
    row = _type(of, version)

    def write(rows: tuple[Any, ...] | None) -> bytes:
        if rows is None:
            return _INT.pack(_NULL)
        return _INT.pack(len(rows)) + b"".join(map(row.write, rows))

    def read(reader: _Reader) -> tuple[Any, ...] | None:
        count = reader.number(_INT)
        return None if nullable and count == _NULL else tuple(_rows(reader, row, count))

    return _Type(write, read)


def _rows(reader: _Reader, row: _Type, count: int) -> Iterator[Any]:
    if count < 0:
        raise ValueError(f"{count} rows")
    for _ in range(count):
        yield row.read(reader)


def _write(it: Any, version: int) -> bytes:
    return b"".join(type.write(getattr(it, name)) for name, type in _fields(it.__class__, version))


def _read(reader: _Reader, kind: type, version: int) -> Any:
    return kind(**{name: type.read(reader) for name, type in _fields(kind, version)})
