"""The content of a snapshot, and of `bootstrap.checkpoint`: a small log of its own.

    offset   0                 1 ...                          last
             SnapshotHeader    the records of the state       SnapshotFooter
             control batch     batches of up to a megabyte    control batch

The offsets are those within the file. The values of the records are opaque here.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.raft.control_records import (
    QuorumControlType,
    decode_control,
    snapshot_footer,
    snapshot_header,
)
from engine.storage import records
from engine.storage.batch import check, scan
from engine.storage.records import Record, stream

BATCH_BYTES = 2**20  # about: a batch ends when it has so many


class SnapshotContent(NamedTuple):
    last_contained_ms: int  # the time of the newest record that it replaces
    records: list[Record]  # the state, without header and footer


def encode_snapshot(
    values: Iterable[bytes], last_contained_ms: int, now: int, *, epoch: int = 0
) -> bytes:
    batches = [snapshot_header(last_contained_ms, epoch, now)]
    offset, waiting, size = 1, list[Record](), 0
    for value in values:
        waiting.append(Record(offset, now, None, value))
        offset, size = offset + 1, size + len(value)
        if size >= BATCH_BYTES:
            batches.append(_state_batch(waiting, epoch))
            waiting, size = [], 0
    if waiting:
        batches.append(_state_batch(waiting, epoch))
    return b"".join([*batches, snapshot_footer(offset, epoch, now)])


def _state_batch(state: list[Record], epoch: int) -> bytes:
    return records.encode(state, base_offset=state[0].offset, leader_epoch=epoch)


def decode_snapshot(data: bytes, path: Path) -> SnapshotContent:
    """Check the whole file: an ApiException names the file and the byte of what is wrong."""
    time: int | None = None
    found, position, is_whole = list[Record](), 0, False
    for position, header in scan(data):
        if is_whole:
            raise damaged(path, position, "there are batches after the footer")
        batch = data[position : position + header.size]
        for record in _checked(batch, path, position):
            if header.is_control:
                type, message = decode_control(record)
                if type is QuorumControlType.SNAPSHOT_HEADER:
                    time = message.last_contained_log_timestamp
                is_whole = type is QuorumControlType.SNAPSHOT_FOOTER
            else:
                found.append(record)
        if time is None:
            raise damaged(path, position, "the first record is no snapshot header")
        position += header.size
    if position != len(data) or time is None:
        raise damaged(path, position, "the rest is no whole batch")
    if not is_whole:
        raise damaged(path, position, "it ends without a footer: the rest of it is missing")
    return SnapshotContent(time, found)


def _checked(batch: bytes, path: Path, position: int) -> Iterator[Record]:
    try:
        check(batch)
        yield from stream(batch)
    except ApiException as error:
        raise damaged(path, position, error.message) from error


def damaged(path: Path, position: int, why: str) -> ApiException:
    return ApiException(ErrorCode.kafka_storage_error, f"{path}, byte {position}: {why}")
