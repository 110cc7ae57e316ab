"""The files of a log, read by others; and files made by hand from the published format, read by us.

What is compared is what each reader makes of the same bytes on the disk: our own dump-log,
kafka-python's readers and kio's. The files by hand are packed here with struct alone.
"""

import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from kio.records.readers import read_batch

from engine.cli.main import main
from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage.batch import Codec, scan
from engine.storage.index import read_offset_entries, read_time_entries
from engine.storage.loading import load
from engine.storage.log import Log
from engine.storage.records import Record, decode, encode

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    from kafka.record.memory_records import MemoryRecords

Opened = Callable[[Log], Log]

SECOND = 1_700_000_000_000
PARTITION = TopicPartition("orders", 0)
CONFIG = TopicConfig.parse(
    {"segment.bytes": "16384", "segment.index.bytes": "4096", "index.interval.bytes": "512"}
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Three segments: plain batches with keys, nulls, headers and gaps in time."""
    log = load(tmp_path / str(PARTITION), PARTITION, CONFIG, now=SECOND)
    for number in range(120):
        records = [
            Record(0, SECOND + number * 1000, b"key-%d" % number, b"v" * (200 + number)),
            Record(1, SECOND + number * 1000 - 500, None, None, (("trace", b"\1"), ("none", None))),
        ]
        sent = encode(records, producer_id=7, producer_epoch=2, base_sequence=2 * number)
        log.append(sent, 3, SECOND + number * 1000)
    assert len(log.segments) == 3
    log.close(SECOND)
    return log


def ours(data: bytes) -> list[Record]:
    return [r for at, h in scan(data) for r in decode(data[at : at + h.size])]


def test_kafka_python_reads_the_same_records_from_our_files(log: Log) -> None:
    for path in sorted(log.directory.glob("*.log")):
        data = path.read_bytes()
        theirs, batches = [], MemoryRecords(data)
        while batches.has_next():
            batch = batches.next_batch()
            assert batch.validate_crc()
            theirs += [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
        assert theirs == [tuple(record) for record in ours(data)]


def test_kio_reads_the_same_batches_from_our_files(log: Log) -> None:
    for path in sorted(log.directory.glob("*.log")):
        data, at = path.read_bytes(), 0
        for position, header in scan(data):
            batch, size = read_batch(data, at)
            assert (position, header.size) == (at, size)
            assert (batch.base_offset, batch.producer_id) == (header.base_offset, 7)
            mine = decode(data[at : at + size])
            theirs = [(r.offset, r.key, r.value) for r in batch.records]
            assert theirs == [(r.offset, r.key, r.value) for r in mine]
            at += size
        assert at == len(data)


def test_dump_log_says_what_is_in_them(log: Log, capsys: Any) -> None:
    paths = sorted(log.directory.glob("*.log"))
    assert main(["dump-log", "--files", ",".join(map(str, paths)), "--print-data-log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    offsets = [int(line.split()[2]) for line in lines if line.startswith("| offset: ")]
    assert offsets == list(range(240))
    assert sum("isvalid: true" in line for line in lines) == 120


def test_every_index_entry_points_at_its_batch(log: Log) -> None:
    entries = 0
    for path in sorted(log.directory.glob("*.log")):
        data = path.read_bytes()
        batches = dict(scan(data))
        for offset, position in read_offset_entries(path.with_suffix(".index")):
            header = batches[position]
            assert header.base_offset <= offset <= header.last_offset
            entries += 1
        for timestamp, offset in read_time_entries(path.with_suffix(".timeindex")):
            (holder,) = [h for h in batches.values() if h.base_offset <= offset <= h.last_offset]
            assert holder.max_timestamp == timestamp
    assert entries > 20


# -- by hand -----------------------------------------------------------------------------------


def batch_by_hand(offset: int, timestamp: int, value: bytes) -> bytes:
    """One record without a key, as the documentation of the format has it."""
    assert len(value) < 50, "so that every length fits one byte"
    body = struct.pack(">bbb", 0, 0, 0) + b"\x01" + bytes([len(value) * 2]) + value + b"\x00"
    record = bytes([len(body) * 2]) + body
    fields = (0, 0, timestamp, timestamp, 11, 1, offset, 1)
    checked = struct.pack(">hiqqqhii", *fields) + record
    length = 4 + 1 + 4 + len(checked)
    return struct.pack(">qiibI", offset, length, 5, 2, crc32c(checked)) + checked


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A partition that no program of ours has written: two segments and all that goes with them."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    batches = [batch_by_hand(n, SECOND + n, b"value %d" % n) for n in range(6)]
    size = len(batches[0])
    for base, part in ((0, batches[:4]), (4, batches[4:])):
        name = directory / f"{base:020d}"
        name.with_suffix(".log").write_bytes(b"".join(part))
        entry = struct.pack(">ii", 1, size)  # the batch of offset base + 1 starts there
        name.with_suffix(".index").write_bytes(entry)
        newest = struct.pack(">qi", SECOND + base + len(part) - 1, len(part) - 1)
        name.with_suffix(".timeindex").write_bytes(newest)
    producer = struct.pack(">qhiqiqiq", 11, 1, 5, 5, 0, SECOND + 5, -1, -1)
    checked = struct.pack(">i", 1) + producer
    snapshot = struct.pack(">hI", 1, crc32c(checked)) + checked
    (directory / f"{6:020d}.snapshot").write_bytes(snapshot)
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n5 0\n")
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    return directory


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Logs that are let go at the end of a test."""
    with ExitStack() as stack:

        def keep(log: Log) -> Log:
            stack.callback(log.abandon)
            return log

        yield keep


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_by_hand_is_read_as_it_is(directory: Path, clean: bool, opened: Opened) -> None:
    events: list[Any] = []
    log = opened(load(directory, PARTITION, CONFIG, now=SECOND, clean=clean, emit=events.append))
    assert (log.start_offset, log.end_offset, log.epochs.entries) == (0, 6, [(5, 0)])
    assert not events, "nothing had to be mended"
    for offset in range(6):
        (record, *_) = ours(log.read(offset, 1 << 20).read())
        assert record == Record(offset, SECOND + offset, None, b"value %d" % offset)
    assert log.offset_for_time(SECOND + 5) == (5, SECOND + 5, 5)
    assert log.producers.known[11].last_sequence == 5


def test_a_log_by_hand_goes_on(directory: Path, opened: Opened) -> None:
    log = opened(load(directory, PARTITION, CONFIG, now=SECOND, clean=True))
    again = encode(
        [Record(0, SECOND + 5, None, b"value 5")], producer_id=11, producer_epoch=1, base_sequence=5
    )
    assert log.append(again, 5, SECOND).duplicate
    following = encode(
        [Record(0, SECOND, b"k", b"v")],
        producer_id=11,
        producer_epoch=1,
        base_sequence=6,
        codec=Codec.LZ4,
    )
    assert log.append(following, 5, SECOND).first_offset == 6
