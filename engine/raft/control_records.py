"""The records that the quorum itself writes: control records, which no application sees.

    LeaderChange     2   the first of each epoch: who leads, and who voted for it
    SnapshotHeader   3   the first of a snapshot
    SnapshotFooter   4   the last of a snapshot: without it, the rest is missing
    KRaftVersion     5   voters that may change (KIP-853): read, and never written here
    KRaftVoters      6

A control batch has one record. Its key has a version and a type, as that of a transaction's marker
(storage/control.py); its value is a message of Kafka's protocol:

    key     version 0 (2 bytes) | type (2 bytes)
    value   version 0 (2 bytes) | fields of the message
"""

from collections.abc import Iterable
from enum import IntEnum
from struct import Struct
from typing import Any, NamedTuple

from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage, Voter
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.types import BrokerId
from kio.schema.voters_record.v0.data import VotersRecord
from kio.static.primitive import i16, i32

from engine.errors import ApiException, ErrorCode
from engine.storage import records
from engine.storage.records import Record
from engine.wire.errors import Malformed
from engine.wire.primitives import BYTES_ERRORS, Draft
from engine.wire.readers import message_reader
from engine.wire.writers import message_writer

CONTROL_KEY = Struct(">hh")
_TIMESTAMP = Struct(">q")


class QuorumControlType(IntEnum):
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


MESSAGES = {
    QuorumControlType.LEADER_CHANGE: LeaderChangeMessage,
    QuorumControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    QuorumControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    QuorumControlType.KRAFT_VERSION: KRaftVersionRecord,
    QuorumControlType.KRAFT_VOTERS: VotersRecord,
}


class QuorumControlRecord(NamedTuple):
    type: QuorumControlType
    message: Any  # one of kio's classes


def leader_change(leader: int, voters: Iterable[int], granting: Iterable[int], now: int) -> bytes:
    """A batch whose offset and epoch are still to be assigned."""
    message = LeaderChangeMessage(
        version=i16(0),
        leader_id=BrokerId(leader),
        voters=tuple(Voter(voter_id=i32(voter)) for voter in sorted(voters)),
        granting_voters=tuple(Voter(voter_id=i32(voter)) for voter in sorted(granting)),
    )
    draft = Draft()
    message_writer(LeaderChangeMessage)(draft, message)
    return _batch(QuorumControlType.LEADER_CHANGE, bytes(draft), 0, 0, now)


def snapshot_header(last_contained_ms: int, epoch: int, now: int) -> bytes:
    """`last_contained_ms`: the time of the newest record that the snapshot replaces."""
    value = b"\0\0" + _TIMESTAMP.pack(last_contained_ms) + b"\0"
    return _batch(QuorumControlType.SNAPSHOT_HEADER, value, 0, epoch, now)


def snapshot_footer(offset: int, epoch: int, now: int) -> bytes:
    return _batch(QuorumControlType.SNAPSHOT_FOOTER, b"\0\0\0", offset, epoch, now)


def _batch(type: QuorumControlType, value: bytes, offset: int, epoch: int, now: int) -> bytes:
    record = Record(offset, now, CONTROL_KEY.pack(0, type), value)
    return records.encode([record], control=True, base_offset=offset, leader_epoch=epoch)


def decode_control(record: Record) -> QuorumControlRecord:
    """The control record in a record of a control batch."""
    try:
        _, number = CONTROL_KEY.unpack(record.key or b"")
        type = QuorumControlType(number)
        message = MESSAGES[type]
        made, _ = message_reader(message, message)(record.value or b"", 0)
    except (*BYTES_ERRORS, Malformed, ValueError) as error:
        text = f"control record at offset {record.offset}: it makes no sense ({error})"
        raise ApiException(ErrorCode.invalid_record, text) from error
    return QuorumControlRecord(type, made)
