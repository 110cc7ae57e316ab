"""Printing .log, .txnindex and .snapshot files; see dump_log.py."""

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from engine.cli.dump import metadata, offsets, transactions
from engine.errors import ApiException
from engine.storage import aborted, control, producers, records
from engine.storage.batch import HEADER_SIZE, MAGIC, NO_SEQUENCE, Header, crc_ok
from engine.storage.control import ControlType
from engine.storage.records import Record

Decoder = Callable[[bytes | None, bytes | None], tuple[str, str]]  # of a key and a value

_CONTROL_TYPE = Struct(">2xh")  # behind the version, in the key of a control record


@dataclass
class DumpReport:
    """Notes and errors about the files, printed after them."""

    lines: list[str] = field(default_factory=list)
    failed: bool = False

    def note(self, *lines: str) -> None:
        self.lines += lines

    def wrong(self, *lines: str) -> None:
        self.lines += lines
        self.failed = True


def headers(fd: int, position: int, end: int, largest: int = 2**31) -> Iterator[tuple[int, Header]]:
    """Read the 61-byte header of batch after batch, until one is not complete."""
    while position + HEADER_SIZE <= end:
        if len(start := os.pread(fd, HEADER_SIZE, position)) < HEADER_SIZE:
            return  # cut off since it was measured
        header = Header.parse(start)
        if header.magic != MAGIC or not HEADER_SIZE <= header.size <= min(end - position, largest):
            return
        yield position, header
        position += header.size


def dump_log(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    """Print the batches of a log, and their records if wanted. One batch is in memory at a time."""
    decodes = options.cluster_metadata_decoder or _decoder(options) is not None
    deep = options.deep_iteration or options.print_data_log or decodes
    end, last, gaps = 0, -1, []
    with path.open("rb") as file:
        fd, size = file.fileno(), os.fstat(file.fileno()).st_size
        print(_opening(path) if size else f"{path} is empty.")
        for position, header in headers(fd, 0, size, options.max_message_size):
            end = position + header.size
            batch = os.pread(fd, header.size, position)
            valid = crc_ok(batch, 0, header)
            print(_batch_line(header, position, valid))
            if not valid:
                report.wrong(
                    f"{path}: position {position}: the {header.size} bytes of the batch at offset "
                    f"{header.base_offset} do not match their CRC"
                )
            elif deep:
                try:
                    for record in records.decode(batch):
                        if last not in (-1, record.offset - 1):
                            gaps.append(f"  {last} is followed by {record.offset}")
                        last = record.offset
                        print(_record_line(record, header, position, options))
                except ApiException as error:
                    report.wrong(f"{path}: position {position}: {error.message}")
        if end < size:
            print(f"Found {size - end} invalid bytes at the end of {path.name}")
            why = _what_is_wrong(os.pread(fd, HEADER_SIZE, end), size - end)
            report.wrong(f"{path}: position {end}: {size - end} bytes are left, {why}")
    if gaps:  # compaction leaves gaps, and so do batches without records: nothing is wrong
        report.note(f"Non-consecutive offsets in {path.absolute()}", *gaps)


def _opening(path: Path) -> str:
    """Whose file it is, by its name."""
    if path.suffix != ".checkpoint":
        return f"Starting offset: {int(path.stem)}"
    end, _, epoch = path.stem.partition("-")
    if not epoch:
        return "KRaft bootstrap snapshot"
    return f"Snapshot end offset: {int(end)}, epoch: {int(epoch)}"


def _what_is_wrong(start: bytes, left: int) -> str:
    """Why the bytes that are left of a log are not a batch."""
    if len(start) < HEADER_SIZE:
        return f"too few for the {HEADER_SIZE} of a header: it was cut off"
    if not any(start):
        return "all zeros: preallocated, or never written"
    header = Header.parse(start)
    if header.magic in (0, 1):
        return f"a message in format {header.magic}, of before Kafka 0.11, which is not read here"
    if header.magic != MAGIC:
        return f"not a record batch: magic {header.magic} at byte 16"
    if header.size < HEADER_SIZE:
        return f"not a record batch: length {header.length} at byte 8"
    if header.size > left:
        return f"but the batch at offset {header.base_offset} has {header.size}: it was cut off"
    return (
        f"and the batch at offset {header.base_offset} claims {header.size}: "
        "give a larger --max-message-size if that is what it has"
    )


def _batch_line(header: Header, position: int, valid: bool) -> str:
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.count}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.leader_epoch}"
        f" isTransactional: {_word(header.is_transactional)}"
        f" isControl: {_word(header.is_control)} position: {position}"
        f" {_timestamp_type(header)}: {header.max_timestamp} size: {header.size}"
        f" magic: {header.magic} compresscodec: {_codec(header)} crc: {header.crc}"
        f" isvalid: {_word(valid)}"
    )


def _record_line(record: Record, header: Header, position: int, options: argparse.Namespace) -> str:
    parts = ["|"]
    if not options.skip_record_metadata:
        parts.append(_metadata(record, header, position))
        if header.is_control:
            is_quorums = metadata.is_quorums(record)
            parts.append(metadata.control_text(record) if is_quorums else _marker(record))
    decoder = _decoder(options)
    if options.cluster_metadata_decoder and not header.is_control:
        parts.append(f"payload: {metadata.payload(record)}")
    elif decoder is not None and not header.is_control:
        key, value = decoder(record.key, record.value)
        parts += (f"key: {shown(key.encode())}", f"payload: {shown(value.encode())}")
    elif options.print_data_log and not header.is_control:
        if record.key is not None:
            parts.append(f"key: {shown(record.key)}")
        if record.value is not None:
            parts.append(f"payload: {shown(record.value)}")
    return " ".join(parts)


def _decoder(options: argparse.Namespace) -> Decoder | None:
    """The decoder of keys and values, if one was given."""
    if options.offsets_decoder:
        return offsets.texts
    return transactions.texts if options.transaction_log_decoder else None


def _metadata(record: Record, header: Header, position: int) -> str:
    sequence = NO_SEQUENCE
    if header.base_sequence != NO_SEQUENCE:
        sequence = (header.base_sequence + record.offset - header.base_offset) % 2**31
    return (
        f"offset: {record.offset} isValid: true crc: null"
        f" keySize: {-1 if record.key is None else len(record.key)}"
        f" valueSize: {-1 if record.value is None else len(record.value)}"
        f" {_timestamp_type(header)}: {record.timestamp}"
        f" baseOffset: {header.base_offset} lastOffset: {header.last_offset}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
        f" producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.leader_epoch}"
        f" batchSize: {header.size} magic: {header.magic} compressType: {_codec(header)}"
        f" position: {position} sequence: {sequence}"
        f" headerKeys: [{','.join(shown(name.encode()) for name, _ in record.headers)}]"
    )


def _marker(record: Record) -> str:
    marker = control.decode(record)
    if marker.type is not ControlType.UNKNOWN:
        return f"endTxnMarker: {marker.type.name} coordinatorEpoch: {marker.coordinator_epoch}"
    return f"controlType: UNKNOWN({_CONTROL_TYPE.unpack_from(record.key or b'')[0]})"


def _word(flag: bool) -> str:
    return "true" if flag else "false"


def _timestamp_type(header: Header) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _codec(header: Header) -> str:
    try:
        return header.codec.name
    except ApiException:
        return f"UNKNOWN({header.attributes & 7})"


def shown(data: bytes) -> str:
    """Printable text as it is; other bytes as escapes, so that none is ambiguous."""
    text = data.decode("utf-8", "surrogateescape")
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    each_byte = character.encode("utf-8", "surrogateescape").decode("latin-1")
    return each_byte.encode("unicode_escape").decode("ascii")


def dump_aborted(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    """The aborted transactions, in the order of their markers."""
    for entry in aborted.read_aborted(path):
        print(
            f"version: {aborted.VERSION} producerId: {entry.producer_id}"
            f" firstOffset: {entry.first_offset} lastOffset: {entry.last_offset}"
            f" lastStableOffset: {entry.last_stable}"
        )


def dump_snapshot(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    """The producers, and the last batch of each."""
    for entry in producers.read_snapshot(path):
        start = entry.transaction_start
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch}"
            f" coordinatorEpoch: {entry.coordinator_epoch}"
            f" currentTxnFirstOffset: {'None' if start < 0 else f'Some({start})'} "
        )
        if entry.last_offset >= 0:
            first = (entry.last_sequence - entry.offset_delta) % producers.SEQUENCES
            line += (
                f"firstSequence: {first} lastSequence: {entry.last_sequence}"
                f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta}"
                f" timestamp: {entry.timestamp}"
            )
        print(line)
