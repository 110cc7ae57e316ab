"""The records of __consumer_offsets, byte for byte as Kafka writes them.

    key     version i16 = 1 (or 0) | group | topic | partition i32       an offset
            version i16 = 2        | group |                             a group
    value   version i16 | fields |                 or null, a tombstone: the key is forgotten

    offset  | offset i64 | leader epoch i32 (v3) | metadata | committed at i64 |
            | expires at i64 (v1) |
    group   | protocol type | generation i32 | protocol? | leader? | since i64 (v2) | members |
    member  | id | instance id? (v3) | client id | host | rebalance time-out i32 (v1) |
            | session time-out i32 | subscription | assignment |

A string is an int16 and UTF-8, bytes and arrays begin with an int32; length -1 is null, where
there is a question mark. We write version 3, as Kafka 2.8 does, and version 1 for the offset of
an old client that said when it is to expire. The version of a key tells what it is a key of, and
so compaction never takes the one for the other.

Invariant: what is decoded and encoded again, in the same version, is the same bytes. Bytes that
are no such record raise a KafkaError, and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from struct import Struct, error
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.messages.versions import Int32, Int64, NullableString, String, since, until

NEWEST = 3
WITH_EXPIRY = 1  # the only version of an offset that says when it expires
UNKNOWN = -1  # a time or an epoch that is not known
LONGEST = 2**15 - 1  # bytes of a string

Bytes = Annotated[bytes, "bytes"]


@dataclass(frozen=True, slots=True)
class OffsetKey:
    group: String
    topic: String
    partition: Int32

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class GroupKey:
    group: String


@dataclass(frozen=True, slots=True)
class OffsetValue:
    offset: Int64  # the next one to read
    leader_epoch: Int32 = field(default=UNKNOWN, metadata=since(3))  # of the last record read
    metadata: String = ""  # whatever the consumer wants to be noted
    committed_at: Int64 = UNKNOWN
    # If it is not the group's retention that decides.
    expires_at: Int64 = field(default=UNKNOWN, metadata=since(WITH_EXPIRY) | until(WITH_EXPIRY))


@dataclass(frozen=True, slots=True)
class MemberValue:
    id: String
    instance_id: NullableString = field(default=None, metadata=since(3))
    client_id: String = ""
    host: String = ""
    rebalance_timeout: Int32 = field(default=UNKNOWN, metadata=since(1))
    session_timeout: Int32 = UNKNOWN
    subscription: Bytes = b""  # of the protocol that was agreed on
    assignment: Bytes = b""


@dataclass(frozen=True, slots=True)
class GroupValue:
    protocol_type: String = ""
    generation: Int32 = 0
    protocol: NullableString = None
    leader: NullableString = None
    since: Int64 = field(default=UNKNOWN, metadata=since(2))  # it has been in its state
    members: tuple[MemberValue, ...] = ()


Key = OffsetKey | GroupKey
Value = OffsetValue | GroupValue

KEYS: Mapping[int, type[Key]] = {0: OffsetKey, 1: OffsetKey, 2: GroupKey}
VALUES: Mapping[type[Key], type[Value]] = {OffsetKey: OffsetValue, GroupKey: GroupValue}


def encode_key(key: Key) -> bytes:
    return _encode(key, 1 if isinstance(key, OffsetKey) else 2)


def encode_value(value: Value) -> bytes:
    expires = isinstance(value, OffsetValue) and value.expires_at != UNKNOWN
    return _encode(value, WITH_EXPIRY if expires else NEWEST)


def decode_key(data: bytes) -> Key:
    """Its version tells what it is a key of."""
    key: Key = _decode(data, KEYS)
    return key


def decode_value(key: Key, data: bytes) -> Value:
    """The value that belongs to a key."""
    value: Value = _decode(data, dict.fromkeys(range(NEWEST + 1), VALUES[type(key)]))
    return value


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
        return None if length == -1 else self.take(length).decode()


_SHORT, _INT, _LONG = Struct(">h"), Struct(">i"), Struct(">q")


def _packed(text: str | None) -> bytes:
    if text is None:
        return _SHORT.pack(-1)
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


class _Type(NamedTuple):
    write: Callable[[Any], bytes]
    read: Callable[[_Reader], Any]


_TYPES = {
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
        (each.name, _type(each, version))
        for each in fields(kind)
        if each.metadata.get("since", 0) <= version <= each.metadata.get("until", NEWEST)
    )


def _type(each: "Field[Any]", version: int) -> _Type:
    if get_origin(each.type) is Annotated:
        python, name = get_args(each.type)
        return _TYPES[name if isinstance(python, type) else f"{name}?"]
    row, _ = get_args(each.type)  # tuple[row, ...]
    return _Type(
        lambda rows: _INT.pack(len(rows)) + b"".join(_write(it, version) for it in rows),
        lambda reader: tuple(_rows(reader, row, version)),
    )


def _rows(reader: _Reader, row: type, version: int) -> Iterator[Any]:
    count = reader.number(_INT)
    if count < 0:
        raise ValueError(f"{count} rows")
    for _ in range(count):
        yield _read(reader, row, version)


def _write(it: Any, version: int) -> bytes:
    return b"".join(type.write(getattr(it, name)) for name, type in _fields(it.__class__, version))


def _read(reader: _Reader, kind: type, version: int) -> Any:
    return kind(**{name: type.read(reader) for name, type in _fields(kind, version)})


def _encode(it: Any, version: int) -> bytes:
    return _SHORT.pack(version) + _write(it, version)


def _decode(data: bytes, kinds: Mapping[int, type]) -> Any:
    try:
        reader = _Reader(data)
        version = reader.number(_SHORT)
        if version not in kinds:
            raise ValueError(f"there is no version {version} of it")
        return _read(reader, kinds[version], version)
    except (error, ValueError) as why:
        message = f"this belongs in no record of __consumer_offsets: {why}"
        raise KafkaError(ErrorCode.invalid_record, message) from why
