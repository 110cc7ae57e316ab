"""The value of a record in the metadata log.

    | frame version: 1 | key: which record | version | its fields |       numbers as varints
      01                 0c                  00        11 6d65746164617461.. 0007 00
                         FeatureLevel                  "metadata.version"    level 7, no tags

Metadata is never skipped: a key, a version or a frame that is not known is an error, and so are
bytes that are too few or too many. Whoever reads on without the record would be another cluster.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.metadata.records import brokers, security, topics
from engine.wire.errors import Malformed
from engine.wire.messages.versions import at
from engine.wire.primitives import BYTES_ERRORS, Draft, read_uvarint, write_uvarint
from engine.wire.readers import message_reader
from engine.wire.writers import message_writer

FRAME_VERSION = 1


class MetadataRecordType(NamedTuple):
    record: type
    newest: int = 0  # version: as of Kafka 3.9


RECORD_TYPES: Mapping[int, MetadataRecordType] = {
    0: MetadataRecordType(brokers.RegisterBrokerRecord, 3),
    1: MetadataRecordType(brokers.UnregisterBrokerRecord),
    2: MetadataRecordType(topics.TopicRecord),
    3: MetadataRecordType(topics.PartitionRecord, 2),
    4: MetadataRecordType(security.ConfigRecord),
    5: MetadataRecordType(topics.PartitionChangeRecord, 2),
    7: MetadataRecordType(brokers.FenceBrokerRecord),
    8: MetadataRecordType(brokers.UnfenceBrokerRecord),
    9: MetadataRecordType(topics.RemoveTopicRecord),
    10: MetadataRecordType(security.DelegationTokenRecord),
    11: MetadataRecordType(security.UserScramCredentialRecord),
    12: MetadataRecordType(brokers.FeatureLevelRecord),
    14: MetadataRecordType(security.ClientQuotaRecord),
    15: MetadataRecordType(brokers.ProducerIdsRecord),
    17: MetadataRecordType(brokers.BrokerRegistrationChangeRecord, 2),
    18: MetadataRecordType(security.AccessControlEntryRecord),
    19: MetadataRecordType(security.RemoveAccessControlEntryRecord),
    20: MetadataRecordType(brokers.NoOpRecord),
    21: MetadataRecordType(brokers.ZkMigrationStateRecord),
    22: MetadataRecordType(security.RemoveUserScramCredentialRecord),
    23: MetadataRecordType(brokers.BeginTransactionRecord),
    24: MetadataRecordType(brokers.EndTransactionRecord),
    25: MetadataRecordType(brokers.AbortTransactionRecord),
    26: MetadataRecordType(security.RemoveDelegationTokenRecord),
    27: MetadataRecordType(brokers.RegisterControllerRecord),
}
KEYS: Mapping[type, int] = {known.record: key for key, known in RECORD_TYPES.items()}

# The versions that the level 3.3-IV3 (7) writes; a type that is not here has version 0.
WRITTEN_AT_7: Mapping[type, int] = {
    brokers.RegisterBrokerRecord: 1,
    brokers.BrokerRegistrationChangeRecord: 1,
}


class FramedRecord(NamedTuple):
    """A record, and the version in which it was written."""

    record: Any
    version: int


def encode_record(record: Any, version: int | None = None) -> bytes:
    """In this version, or in that of level 7."""
    kind: type = type(record)
    version = WRITTEN_AT_7.get(kind, 0) if version is None else version
    draft = Draft()
    for number in (FRAME_VERSION, KEYS[kind], version):
        write_uvarint(draft, number)
    message_writer(at(kind, version, True))(draft, record)
    return bytes(draft)


def decode_record(value: bytes | None, offset: int) -> FramedRecord:
    """The record in the value at an offset; the offset is for the error only."""
    try:
        data = value or b""
        frame, place = read_uvarint(data, 0)
        key, place = read_uvarint(data, place)
        version, place = read_uvarint(data, place)
        if frame != FRAME_VERSION:
            raise _unreadable(offset, f"frame version {frame}, and only {FRAME_VERSION} is known")
        if (known := RECORD_TYPES.get(key)) is None:
            raise _unreadable(offset, f"there is no record type {key}")
        name = known.record.__name__
        if version > known.newest:
            raise _unreadable(offset, f"{name} version {version}, and {known.newest} is the newest")
        read = message_reader(at(known.record, version, True), known.record)
        record, end = read(data, place)
    except (*BYTES_ERRORS, Malformed) as error:
        raise _unreadable(offset, f"its bytes end too early, or make no sense ({error})") from error
    if end != len(data):
        raise _unreadable(offset, f"{len(data) - end} bytes too many after {name}")
    return FramedRecord(record, version)


def _unreadable(offset: int, why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, f"metadata record at offset {offset}: {why}")
