"""Batches of ours under others' readers, and theirs under ours."""

import datetime
import warnings
from typing import Any

import aiokafka.record.default_records
import pytest
from kio.records import readers

from engine.storage import control
from engine.storage.batch import Codec, check
from engine.storage.control import ControlType, Marker
from engine.storage.records import Headers, Record, decode, encode

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    import kafka.record.default_records

PEERS = {"kafka-python": kafka.record.default_records, "aiokafka": aiokafka.record.default_records}
SECOND = 1_700_000_000_000  # kio keeps no milliseconds
TRACE: Headers = (("trace", b"\0\1"), ("trace", None), ("naïve ✓", b""))
RECORDS = [
    Record(0, SECOND, b"key", b"value"),
    Record(1, SECOND - 5000, None, b"v" * 70_000, TRACE),
    Record(2, SECOND + 86_400_000, b"", None),
    *[Record(n, SECOND + 1000 * n, b"%d" % n, b"x" * n) for n in range(3, 300)],
]


def plain(record: Any) -> Record:
    headers = tuple((name, value) for name, value in record.headers)
    return Record(record.offset, record.timestamp, record.key, record.value, headers)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("peer", list(PEERS))
def test_they_read_ours(peer: str, codec: Codec) -> None:
    batch = encode(RECORDS, codec=codec, producer_id=9, producer_epoch=1, base_sequence=3)
    theirs = PEERS[peer].DefaultRecordBatch(batch)
    assert theirs.validate_crc()
    assert theirs.next_offset == 300
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (9, 1, 3)
    assert [plain(record) for record in theirs] == RECORDS


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("peer", list(PEERS))
def test_we_read_theirs(peer: str, codec: Codec) -> None:
    builder = PEERS[peer].DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for record in RECORDS:
        builder.append(
            record.offset, record.timestamp, record.key, record.value, list(record.headers)
        )
    batch = bytes(builder.build())
    assert check(batch).codec is codec
    assert decode(batch) == RECORDS
    if codec is Codec.NONE:
        assert batch[16:] == encode(RECORDS)[16:]  # what differs is the leader epoch


@pytest.mark.parametrize("peer", list(PEERS))
def test_they_read_what_compaction_leaves(peer: str) -> None:
    records = [Record(103, 5, b"a", b"1"), Record(170, 4, b"b", None)]
    theirs = PEERS[peer].DefaultRecordBatch(encode(records, base_offset=100, last_offset=199))
    assert theirs.next_offset == 200
    assert [plain(record) for record in theirs] == records


def test_they_read_markers() -> None:
    key, value = control.encode(Marker(ControlType.ABORT, 1))
    batch = encode([Record(0, 0, key, value)], control=True, transactional=True)
    theirs = kafka.record.default_records.DefaultRecordBatch(batch)
    assert theirs.is_control_batch
    assert [record.abort for record in theirs] == [True]


def test_kio_reads_ours() -> None:
    batch, size = readers.read_batch(encode(RECORDS, base_offset=0, leader_epoch=2), 0)
    assert size == len(encode(RECORDS))
    assert batch.partition_leader_epoch == 2
    for theirs, ours in zip(batch.records, RECORDS, strict=True):
        assert (theirs.offset, theirs.key, theirs.value) == (ours.offset, ours.key, ours.value)
        time = datetime.datetime.fromtimestamp(ours.timestamp / 1000, datetime.UTC)
        assert theirs.timestamp == time
        names = [(name.encode(), value) for name, value in ours.headers]
        assert [(header.key, header.value) for header in theirs.headers] == names
