"""The metadata records, byte for byte, and the values that are refused."""

import dataclasses
from typing import get_args, get_origin
from uuid import UUID

import pytest

from engine.errors import ApiException
from engine.metadata.records import brokers, topics
from engine.metadata.records.framing import (
    KEYS,
    RECORD_TYPES,
    WRITTEN_AT_7,
    decode_record,
    encode_record,
)

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
BYTES = {  # of Kafka 3.9.1's controllers, or by the protocol's rules
    "010c00 116d657461646174612e76657273696f6e 0007 00": brokers.FeatureLevelRecord(
        name="metadata.version", feature_level=7
    ),
    "011400 00": brokers.NoOpRecord(),
    f"010200 076f7264657273 {ID.hex} 00": topics.TopicRecord(name="orders", topic_id=ID),
    f"010500 00000003 {ID.hex} 02 00 09 03 00000001 00000002 01 04 00000002": (
        topics.PartitionChangeRecord(partition_id=3, topic_id=ID, isr=(1, 2), leader=2)
    ),
    "011101 00000001 0000000000000005 02 00 01 ff 01 01 01": (
        brokers.BrokerRegistrationChangeRecord(
            broker_id=1, broker_epoch=5, fenced=-1, in_controlled_shutdown=1
        )
    ),
}


@pytest.mark.parametrize(("data", "record"), BYTES.items())
def test_a_record_has_these_bytes(data, record):
    data = bytes.fromhex(data)
    assert encode_record(record) == data
    assert decode_record(data, 0) == (record, WRITTEN_AT_7.get(type(record), 0))


def sample(kind):
    """A record whose fields all differ from their defaults."""
    return kind(**{field.name: value(field.type) for field in dataclasses.fields(kind)})


def value(declared):
    if not hasattr(declared, "__metadata__"):
        (nested, _) = get_args(declared)
        return (sample(nested), sample(nested))
    kind, primitive = get_args(declared)
    one = {"string": "text", "bytes": b"bytes", "bool": True, "uuid": ID, "float64": 0.5}
    item = one.get(primitive, 7)
    kinds = [kind, *get_args(kind)]
    return (item, item) if any(get_origin(it) is tuple for it in kinds) else item


@pytest.mark.parametrize("key", RECORD_TYPES)
def test_every_type_survives_in_its_newest_version(key):
    record, newest = sample(RECORD_TYPES[key].record), RECORD_TYPES[key].newest
    assert decode_record(encode_record(record, newest), 0) == (record, newest)


@pytest.mark.parametrize("key", RECORD_TYPES)
def test_level_7_leaves_out_what_later_versions_added(key):
    kind = RECORD_TYPES[key].record
    version = WRITTEN_AT_7.get(kind, 0)
    found = decode_record(encode_record(sample(kind)), 0)
    for field in dataclasses.fields(kind):
        later = field.metadata.get("since", 0) > version
        assert getattr(found.record, field.name) == (field.default if later else value(field.type))


def test_there_are_the_25_types_of_kafka_3_9():
    assert len(RECORD_TYPES) == len(KEYS) == 25


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("021400 00", "frame version 2, and only 1 is known"),
        ("016300 00", "there is no record type 99"),
        ("011401 00", "NoOpRecord version 1, and 0 is the newest"),
        ("011400 00 00", "1 bytes too many after NoOpRecord"),
        ("010c00 116d6574", "its bytes end too early, or make no sense"),
        ("", "its bytes end too early, or make no sense"),
    ],
)
def test_a_record_that_is_not_known_is_refused_and_never_skipped(data, why):
    with pytest.raises(ApiException, match=f"metadata record at offset 12: {why}"):
        decode_record(bytes.fromhex(data), 12)
