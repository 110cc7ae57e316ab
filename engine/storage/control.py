"""Control records: the broker's own records in a log.

A control record is alone in a batch whose control bit is set. It has an offset like any other
record, and applications do not see it. Key and value have a fixed format:

    key    version 0 (2 bytes) | type (2 bytes)
    value  version 0 (2 bytes) | coordinator epoch (4 bytes)

A later version may add fields at the end of both; they are ignored.
"""

from collections.abc import Iterable
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage.batch import NO_PRODUCER_ID, Header
from engine.storage.files import Buffer
from engine.storage.records import Record, stream

_KEY = Struct(">hh")
_VALUE = Struct(">hi")


class ControlType(IntEnum):
    UNKNOWN = -1  # never written: a type of a later release, which readers skip
    ABORT = 0
    COMMIT = 1


class Marker(NamedTuple):
    """The end of a transaction, in each partition that it wrote to."""

    type: ControlType
    coordinator_epoch: int  # of the coordinator's leader; fences those before it


def encode(marker: Marker) -> tuple[bytes, bytes]:
    """Key and value of the marker's record."""
    return _KEY.pack(0, marker.type), _VALUE.pack(0, marker.coordinator_epoch)


def decode(record: Record) -> Marker:
    """The marker in a record of a control batch."""
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise _invalid(record, f"key {key.hex()!r} is too short")
    _, number = _KEY.unpack_from(key)
    if number not in (ControlType.ABORT, ControlType.COMMIT):
        return Marker(ControlType.UNKNOWN, NO_EPOCH)
    if len(value) < _VALUE.size:
        raise _invalid(record, f"value {value.hex()!r} is too short")
    _, coordinator_epoch = _VALUE.unpack_from(value)
    return Marker(ControlType(number), coordinator_epoch)


def find(buffer: Buffer, header: Header, position: int = 0) -> Marker | None:
    """The marker in the batch at `position`, if there is one.

    Compaction may have removed the record of a control batch.
    """
    if not header.is_control or header.producer_id == NO_PRODUCER_ID:
        return None
    batch = memoryview(buffer)[position : position + header.size]
    marker = next(map(decode, stream(batch)), None)
    return None if marker is None or marker.type is ControlType.UNKNOWN else marker


def find_all(buffer: Buffer, headers: Iterable[Header]) -> list[Marker | None]:
    """The marker, or None, of each batch; the batches lie end to end."""
    markers, position = [], 0
    for header in headers:
        markers.append(find(buffer, header, position))
        position += header.size
    return markers


def _invalid(record: Record, why: str) -> ApiException:
    return ApiException(
        ErrorCode.invalid_record, f"control record at offset {record.offset}: {why}"
    )
