"""The records of __consumer_offsets, byte for byte as Kafka writes them.

    key     version i16 = 1 (or 0) | group | topic | partition i32       an offset
            version i16 = 2        | group |                             a group
    value   version i16 | fields |                 or null, a tombstone

    offset  | offset i64 | leader epoch i32 (v3) | metadata | committed at i64 |
            | expires at i64 (v1) |
    group   | protocol type | generation i32 | protocol? | leader? | since i64 (v2) | members |
    member  | id | instance id? (v3) | client id | host | rebalance time-out i32 (v1) |
            | session time-out i32 | subscription | assignment |

record_codec.py encodes them; a question mark means that it may be null. We write
version 3, as Kafka 2.8 does, and version 1 for the offset of an old client that set an expiry. A
broker of Kafka 4.1 beside ours writes version 4: the fields of version 3, and room for tagged ones.
The version of a key shows whether it belongs to an offset or to a group, so compaction never
confuses the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.coordinator import record_codec
from engine.model import TopicPartition
from engine.wire.messages.versions import (
    Bytes,
    Int32,
    Int64,
    NullableString,
    String,
    since,
    until,
)

NEWEST = 3
FLEXIBLE = 4  # it is only read
WITH_EXPIRY = 1  # the only version of an offset with an expiry
UNKNOWN = -1  # a time or an epoch that is not known
MAX_STRING_BYTES = record_codec.MAX_STRING_BYTES
GROUP_METADATA_TOPIC = "__consumer_offsets"


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
    leader_epoch: Int32 = field(default=UNKNOWN, metadata=since(3))  # of the last record
    metadata: String = ""  # any text of the consumer
    committed_at: Int64 = UNKNOWN
    # Set by old clients; otherwise the group's retention applies.
    expires_at: Int64 = field(default=UNKNOWN, metadata=since(WITH_EXPIRY) | until(WITH_EXPIRY))


@dataclass(frozen=True, slots=True)
class MemberValue:
    id: String
    instance_id: NullableString = field(default=None, metadata=since(3))
    client_id: String = ""
    host: String = ""
    rebalance_timeout: Int32 = field(default=UNKNOWN, metadata=since(1))
    session_timeout: Int32 = UNKNOWN
    subscription: Bytes = b""  # its metadata for the chosen protocol
    assignment: Bytes = b""


@dataclass(frozen=True, slots=True)
class GroupValue:
    protocol_type: String = ""
    generation: Int32 = 0
    protocol: NullableString = None
    leader: NullableString = None
    since: Int64 = field(default=UNKNOWN, metadata=since(2))  # when it entered its state
    members: tuple[MemberValue, ...] = ()


Key = OffsetKey | GroupKey
Value = OffsetValue | GroupValue

KEYS: Mapping[int, type[Key]] = {0: OffsetKey, 1: OffsetKey, 2: GroupKey}
VALUES: Mapping[type[Key], type[Value]] = {OffsetKey: OffsetValue, GroupKey: GroupValue}


def encode_key(key: Key) -> bytes:
    return record_codec.encode(key, 1 if isinstance(key, OffsetKey) else 2)


def encode_value(value: Value) -> bytes:
    expires = isinstance(value, OffsetValue) and value.expires_at != UNKNOWN
    return record_codec.encode(value, WITH_EXPIRY if expires else NEWEST)


def decode_key(data: bytes) -> Key:
    """The version shows whether it belongs to an offset or to a group."""
    key: Key = record_codec.decode(data, KEYS, GROUP_METADATA_TOPIC)
    return key


def decode_value(key: Key, data: bytes) -> Value:
    kinds = dict.fromkeys(range(FLEXIBLE + 1), VALUES[type(key)])
    value: Value = record_codec.decode(data, kinds, GROUP_METADATA_TOPIC, FLEXIBLE)
    return value
