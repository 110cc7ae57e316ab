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

from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import Any, NamedTuple

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

NEWEST = 3
WITH_EXPIRY = 1  # the only version of an offset that says when it expires
BEFORE_REBALANCE_TIMEOUTS = 0
UNKNOWN = -1  # a time or an epoch that is not known
LONGEST = 2**15 - 1  # bytes of a string


class OffsetKey(NamedTuple):
    group: str
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class GroupKey(NamedTuple):
    group: str


class OffsetValue(NamedTuple):
    offset: int  # the next one to read
    leader_epoch: int = UNKNOWN  # of the last record that was read
    metadata: str = ""  # whatever the consumer wants to be noted
    committed_at: int = UNKNOWN
    expires_at: int = UNKNOWN  # unless the group's retention decides


class MemberValue(NamedTuple):
    id: str
    instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    rebalance_timeout: int = 0
    session_timeout: int = 0
    subscription: bytes = b""  # of the protocol that was agreed on
    assignment: bytes = b""


class GroupValue(NamedTuple):
    protocol_type: str
    generation: int
    protocol: str | None = None
    leader: str | None = None
    since: int = UNKNOWN  # when the group came into its state
    members: tuple[MemberValue, ...] = ()


Key = OffsetKey | GroupKey
Value = OffsetValue | GroupValue


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
        if length < 0 or self.position > len(self.data):
            raise ValueError(f"{length} bytes from byte {start} of {len(self.data)}")
        return self.data[start : self.position]


_SHORT, _INT, _LONG = Struct(">h"), Struct(">i"), Struct(">q")


class _Type(NamedTuple):
    write: Callable[[Any, int], bytes]  # (value, version)
    read: Callable[[_Reader, int], Any]


def _number(layout: Struct) -> _Type:
    return _Type(lambda value, _: layout.pack(value), lambda reader, _: reader.number(layout))


def _write_text(text: str | None, _: int) -> bytes:
    if text is None:
        return _SHORT.pack(-1)
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


def _read_text(reader: _Reader, _: int) -> str:
    return reader.take(reader.number(_SHORT)).decode()


def _read_nullable(reader: _Reader, _: int) -> str | None:
    length = reader.number(_SHORT)
    return None if length == -1 else reader.take(length).decode()


def _write_members(members: tuple[MemberValue, ...], version: int) -> bytes:
    rows = [_write(each, _MEMBER, version) for each in members]
    return _INT.pack(len(rows)) + b"".join(rows)


def _read_members(reader: _Reader, version: int) -> tuple[MemberValue, ...]:
    count = reader.number(_INT)
    if not 0 <= count <= len(reader.data):
        raise ValueError(f"{count} members")
    rows = (_read(reader, _MEMBER, version) for _ in range(count))
    if version > BEFORE_REBALANCE_TIMEOUTS:
        return tuple(MemberValue(**row) for row in rows)
    return tuple(MemberValue(**row, rebalance_timeout=row["session_timeout"]) for row in rows)


_I32, _I64 = _number(_INT), _number(_LONG)
_TEXT, _NULLABLE = _Type(_write_text, _read_text), _Type(_write_text, _read_nullable)
_BYTES = _Type(
    lambda value, _: _INT.pack(len(value)) + value,
    lambda reader, _: reader.take(reader.number(_INT)),
)
_MEMBERS = _Type(_write_members, _read_members)

# The fields in their order, each with its type and the versions that have it.
_ALL = range(NEWEST + 1)
_Fields = Mapping[str, tuple[_Type, range]]
_OFFSET_KEY: _Fields = {"group": (_TEXT, _ALL), "topic": (_TEXT, _ALL), "partition": (_I32, _ALL)}
_GROUP_KEY: _Fields = {"group": (_TEXT, _ALL)}
_OFFSET: _Fields = {
    "offset": (_I64, _ALL),
    "leader_epoch": (_I32, range(3, NEWEST + 1)),
    "metadata": (_TEXT, _ALL),
    "committed_at": (_I64, _ALL),
    "expires_at": (_I64, range(WITH_EXPIRY, WITH_EXPIRY + 1)),
}
_GROUP: _Fields = {
    "protocol_type": (_TEXT, _ALL),
    "generation": (_I32, _ALL),
    "protocol": (_NULLABLE, _ALL),
    "leader": (_NULLABLE, _ALL),
    "since": (_I64, range(2, NEWEST + 1)),
    "members": (_MEMBERS, _ALL),
}
_MEMBER: _Fields = {
    "id": (_TEXT, _ALL),
    "instance_id": (_NULLABLE, range(3, NEWEST + 1)),
    "client_id": (_TEXT, _ALL),
    "host": (_TEXT, _ALL),
    "rebalance_timeout": (_I32, range(1, NEWEST + 1)),
    "session_timeout": (_I32, _ALL),
    "subscription": (_BYTES, _ALL),
    "assignment": (_BYTES, _ALL),
}
# The version of a key tells what it is a key of.
_KEYS: Mapping[int, tuple[type[Key], _Fields]] = {
    0: (OffsetKey, _OFFSET_KEY),
    1: (OffsetKey, _OFFSET_KEY),
    2: (GroupKey, _GROUP_KEY),
}
_VALUES: Mapping[type[Key], tuple[type[Value], _Fields]] = {
    OffsetKey: (OffsetValue, _OFFSET),
    GroupKey: (GroupValue, _GROUP),
}


def encode_key(key: Key) -> bytes:
    version = 1 if isinstance(key, OffsetKey) else 2
    return _SHORT.pack(version) + _write(key, _KEYS[version][1], version)


def encode_value(value: Value, version: int | None = None) -> bytes:
    if isinstance(value, GroupValue):
        fields, version = _GROUP, NEWEST if version is None else version
    else:
        expires = value.expires_at != UNKNOWN
        fields = _OFFSET
        version = (WITH_EXPIRY if expires else NEWEST) if version is None else version
    return _SHORT.pack(version) + _write(value, fields, version)


def decode_key(data: bytes) -> Key:
    try:
        reader = _Reader(data)
        version = reader.number(_SHORT)
        if version not in _KEYS:
            raise ValueError(f"there is no key of version {version}")
        kind, fields = _KEYS[version]
        return kind(**_read(reader, fields, version))
    except (error, ValueError) as why:
        raise _invalid("key", why) from why


def decode_value(key: Key, data: bytes) -> Value:
    """The value that belongs to a key."""
    kind, fields = _VALUES[type(key)]
    try:
        reader = _Reader(data)
        version = reader.number(_SHORT)
        if version not in _ALL:
            raise ValueError(f"there is no version {version} of it")
        return kind(**_read(reader, fields, version))
    except (error, ValueError) as why:
        raise _invalid("value", why) from why


def _write(it: Any, fields: _Fields, version: int) -> bytes:
    return b"".join(
        type.write(getattr(it, name), version)
        for name, (type, versions) in fields.items()
        if version in versions
    )


def _read(reader: _Reader, fields: _Fields, version: int) -> dict[str, Any]:
    return {
        name: type.read(reader, version)
        for name, (type, versions) in fields.items()
        if version in versions
    }


def _invalid(what: str, why: Exception) -> KafkaError:
    return KafkaError(ErrorCode.invalid_record, f"no {what} of __consumer_offsets: {why}")
