"""The records of __consumer_offsets, byte for byte as Kafka writes them.

    key     version i16 = 1 (or 0) | group | topic | partition i32       an offset
            version i16 = 2        | group |                             a group
    value   version i16 | fields |                 or null, a tombstone: the key is forgotten

    offset  | offset i64 | leader epoch i32 (v3) | metadata | committed at i64 |
            | expires at i64 (v1) |
    group   | protocol type | generation i32 | protocol? | leader? | since i64 (v2) | members |
    member  | id | instance id? (v3) | client id | host | rebalance time-out i32 (v1) |
            | session time-out i32 | subscription | assignment |

How each field is written is in fields.py; where there is a question mark, it may be null. We
write version 3, as Kafka 2.8 does, and version 1 for the offset of an old client that said when it
is to expire. The version of a key tells what it is a key of, and so compaction never takes the one
for the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.coordinator import fields
from engine.coordinator.fields import Bytes
from engine.model import TopicPartition
from engine.wire.messages.versions import Int32, Int64, NullableString, String, since, until

NEWEST = 3
WITH_EXPIRY = 1  # the only version of an offset that says when it expires
UNKNOWN = -1  # a time or an epoch that is not known
LONGEST = fields.LONGEST
TOPIC = "__consumer_offsets"


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
    return fields.encode(key, 1 if isinstance(key, OffsetKey) else 2)


def encode_value(value: Value) -> bytes:
    expires = isinstance(value, OffsetValue) and value.expires_at != UNKNOWN
    return fields.encode(value, WITH_EXPIRY if expires else NEWEST)


def decode_key(data: bytes) -> Key:
    """Its version tells what it is a key of."""
    key: Key = fields.decode(data, KEYS, TOPIC)
    return key


def decode_value(key: Key, data: bytes) -> Value:
    """The value that belongs to a key."""
    kinds = dict.fromkeys(range(NEWEST + 1), VALUES[type(key)])
    value: Value = fields.decode(data, kinds, TOPIC)
    return value
