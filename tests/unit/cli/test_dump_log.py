"""dump-log, on .log, .snapshot and .txnindex files that are built by hand."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from crc32c import crc32c

from engine.cli.main import main
from tests.unit.cli.handmade import (
    AT_COMMIT,
    AT_FOUR,
    AT_THREE,
    COMMIT,
    FOUR,
    LOG,
    ONE,
    THREE,
    Dump,
    batch,
    record,
    write,
)


def crc(data: bytes) -> int:
    (number,) = struct.unpack_from(">I", data, 17)
    assert isinstance(number, int)
    return number


ONE_LINE = (
    "baseOffset: 100 lastOffset: 100 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 "
    "producerEpoch: -1 partitionLeaderEpoch: 4 isTransactional: false isControl: false position: 0 "
    f"CreateTime: 1100 size: {len(ONE)} magic: 2 compresscodec: NONE crc: {crc(ONE)} isvalid: true"
)
THREE_LINE = (
    "baseOffset: 101 lastOffset: 103 count: 3 baseSequence: 2147483646 lastSequence: 0 "
    "producerId: 7 producerEpoch: 2 partitionLeaderEpoch: 4 isTransactional: true "
    f"isControl: false position: {AT_THREE} CreateTime: 1103 size: {len(THREE)} magic: 2 "
    f"compresscodec: NONE crc: {crc(THREE)} isvalid: true"
)
COMMIT_LINE = (
    "baseOffset: 104 lastOffset: 104 count: 1 baseSequence: -1 lastSequence: -1 producerId: 7 "
    "producerEpoch: 2 partitionLeaderEpoch: 4 isTransactional: true isControl: true "
    f"position: {AT_COMMIT} LogAppendTime: 1104 size: {len(COMMIT)} magic: 2 "
    f"compresscodec: NONE crc: {crc(COMMIT)} isvalid: true"
)


def in_three(offset: int, sizes: tuple[int, int], sequence: int, keys: str) -> str:
    return (
        f"| offset: {offset} isValid: true crc: null keySize: {sizes[0]} valueSize: {sizes[1]} "
        f"CreateTime: {1000 + offset} baseOffset: 101 lastOffset: 103 baseSequence: 2147483646 "
        f"lastSequence: 0 producerEpoch: 2 partitionLeaderEpoch: 4 batchSize: {len(THREE)} "
        f"magic: 2 compressType: NONE position: {AT_THREE} sequence: {sequence} headerKeys: {keys}"
    )


# -- .log --------------------------------------------------------------------------------------


def test_a_log_batch_by_batch(tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, ONE + THREE + COMMIT)
    assert dump(path) == (0, ["Starting offset: 100", ONE_LINE, THREE_LINE, COMMIT_LINE], [])


def test_a_log_record_by_record(tmp_path: Path, dump: Dump) -> None:
    status, lines, errors = dump(write(tmp_path, LOG), "--print-data-log")
    assert (status, errors, len(lines)) == (0, [], 11)
    assert lines[3:9] == [
        THREE_LINE,
        in_three(101, (-1, 5), 2**31 - 2, "[trace,id]") + " payload: grün",
        in_three(102, (2, 11), 2**31 - 1, "[]") + r" key: \xff\x00 payload: two\nlines \\",
        in_three(103, (2, -1), 0, "[]") + r" key: \xc2\x85",
        COMMIT_LINE,
        "| offset: 104 isValid: true crc: null keySize: 4 valueSize: 6 LogAppendTime: 1104 "
        "baseOffset: 104 lastOffset: 104 baseSequence: -1 lastSequence: -1 producerEpoch: 2 "
        f"partitionLeaderEpoch: 4 batchSize: {len(COMMIT)} magic: 2 compressType: NONE "
        f"position: {AT_COMMIT} sequence: -1 headerKeys: [] "
        "endTxnMarker: COMMIT coordinatorEpoch: 9",
    ]


def test_deep_iteration_leaves_keys_and_values_out(tmp_path: Path, dump: Dump) -> None:
    _, lines, _ = dump(write(tmp_path, THREE), "--deep-iteration")
    assert lines[2].endswith("headerKeys: [trace,id]")


def test_records_without_their_metadata(tmp_path: Path, dump: Dump) -> None:
    _, lines, _ = dump(write(tmp_path, LOG), "--print-data-log", "--skip-record-metadata")
    records = [line for line in lines if line.startswith("|")]
    assert records[:2] == ["| key: key payload: value", "| payload: grün"]
    assert records[4] == "|"  # a marker is no application's data


def test_a_control_record_of_a_later_release(tmp_path: Path, dump: Dump) -> None:
    strange = batch(100, record(0, struct.pack(">hh", 0, 9), b""), attributes=0x20)
    _, lines, errors = dump(write(tmp_path, strange), "--deep-iteration")
    assert errors == []
    assert lines[2].endswith("headerKeys: [] controlType: UNKNOWN(9)")


def test_gaps_are_reported_and_are_no_damage(tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, ONE + FOUR)
    assert dump(path)[2] == []  # it takes a look at the records
    status, _, errors = dump(path, "--deep-iteration")
    assert (status, errors) == (
        0,
        [f"Non-consecutive offsets in {path}", "  100 is followed by 105"],
    )


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_an_empty_file_is_that_of_a_new_partition(suffix: str, tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, b"", suffix)
    assert dump(path) == (0, [f"{path} is empty."], [])


def test_a_torn_tail_at_any_byte(tmp_path: Path, dump: Dump) -> None:
    for size in range(AT_FOUR + 1, len(LOG)):
        path = write(tmp_path, LOG[:size])
        left = size - AT_FOUR
        status, lines, errors = dump(path)
        assert (status, len(lines)) == (1, 5)
        assert lines[-1] == f"Found {left} invalid bytes at the end of {path.name}"
        (error,) = errors
        assert error.startswith(f"{path}: position {AT_FOUR}: {left} bytes are left, ")
        assert error.endswith("it was cut off")


@pytest.mark.parametrize(
    ("tail", "why"),
    [
        (bytes(5000), "all zeros: preallocated, or never written"),
        (b"#!/bin/sh\n" * 20, "not a record batch: magic 47 at byte 16"),
        (FOUR[:16] + b"\1" + FOUR[17:], "a message in format 1, of before Kafka 0.11"),
        (FOUR[:8] + b"\0\0\0\x30" + FOUR[12:], "not a record batch: length 48 at byte 8"),
        (FOUR[:8] + b"\xff\xff\xff\xff" + FOUR[12:], "not a record batch: length -1 at byte 8"),
        (
            FOUR[:8] + b"\0\x50\0\0" + FOUR[12:] + bytes(0x500000),
            "and the batch at offset 105 claims 5242892: give a larger --max-message-size",
        ),
    ],
)
def test_what_is_no_batch(tail: bytes, why: str, tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, ONE + tail)
    status, lines, (error,) = dump(path)
    assert (status, lines[1]) == (1, ONE_LINE)
    assert error.startswith(f"{path}: position {len(ONE)}: {len(tail)} bytes are left, {why}")


def test_a_flipped_bit_is_reported_and_the_next_batch_still_printed(
    tmp_path: Path, dump: Dump
) -> None:
    damaged = bytearray(LOG)
    damaged[AT_THREE + 70] ^= 1
    path = write(tmp_path, bytes(damaged))
    status, lines, errors = dump(path, "--print-data-log")
    assert (status, errors) == (
        1,
        [
            f"{path}: position {AT_THREE}: the {len(THREE)} bytes of the batch at offset 101 do "
            "not match their CRC",
            f"Non-consecutive offsets in {path}",
            "  100 is followed by 104",
        ],
    )
    assert lines[3] == THREE_LINE.replace("isvalid: true", "isvalid: false")
    assert lines[4] == COMMIT_LINE


@pytest.mark.parametrize(
    ("bad", "codec", "why"),
    [
        (batch(100, b"\x02\0"), "NONE", "record at byte 0 of the payload: "),
        (batch(100, b"", attributes=6), "UNKNOWN(6)", "there is no codec 6"),
        (batch(100, b"nothing", attributes=1), "GZIP", ""),
        (
            batch(104, record(0, b"x", b""), attributes=0x20),
            "NONE",
            "control record at offset 104: key '78' is too short",
        ),
    ],
)
def test_records_that_cannot_be_read(
    bad: bytes, codec: str, why: str, tmp_path: Path, dump: Dump
) -> None:
    path = write(tmp_path, bad + FOUR)
    status, lines, (error,) = dump(path, "--deep-iteration")
    assert status == 1
    assert f"compresscodec: {codec} " in lines[1]
    assert error.startswith(f"{path}: position 0: {why}")
    assert lines[-1].startswith("| offset: 105 ")


# -- .snapshot ---------------------------------------------------------------------------------


def snapshot(*entries: tuple[int, ...]) -> bytes:
    body = struct.pack(">i", len(entries))
    body += b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", 1, crc32c(body)) + body


def test_a_snapshot(tmp_path: Path, dump: Dump) -> None:
    data = snapshot((7, 2, 0, 103, 2, 1103, 9, 101), (8, 0, -1, -1, 0, 1000, -1, -1))
    assert dump(write(tmp_path, data, ".snapshot")) == (
        0,
        [
            "producerId: 7 producerEpoch: 2 coordinatorEpoch: 9 currentTxnFirstOffset: Some(101) "
            "firstSequence: 2147483646 lastSequence: 0 lastOffset: 103 offsetDelta: 2 "
            "timestamp: 1103",
            "producerId: 8 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: None ",
        ],
        [],
    )


@pytest.mark.parametrize("data", [b"", snapshot()[:-1], snapshot() + b"\0", b"\0\2" + bytes(8)])
def test_a_corrupt_snapshot(data: bytes, tmp_path: Path, dump: Dump) -> None:
    path = write(tmp_path, data, ".snapshot")
    status, lines, (error,) = dump(path)
    assert (status, lines) == (1, [])
    assert error.startswith(f"corrupt snapshot {path}: ")


# -- .txnindex ---------------------------------------------------------------------------------


def test_an_index_of_aborted_transactions(tmp_path: Path, dump: Dump) -> None:
    entries = (0, 1, 100, 102, 103), (0, 7, 101, 104, 105)
    data = b"".join(struct.pack(">hqqqq", *entry) for entry in entries)
    assert dump(write(tmp_path, data, ".txnindex")) == (
        0,
        [
            "version: 0 producerId: 1 firstOffset: 100 lastOffset: 102 lastStableOffset: 103",
            "version: 0 producerId: 7 firstOffset: 101 lastOffset: 104 lastStableOffset: 105",
        ],
        [],
    )
    path = write(tmp_path, data[:-1], ".txnindex")
    assert dump(path) == (
        1,
        [],
        [f"corrupt index {path}: 67 bytes are not a whole number of entries"],
    )


# -- files -------------------------------------------------------------------------------------


def test_one_bad_name_does_not_keep_the_others_from_being_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, missing, foreign = write(tmp_path, ONE), tmp_path / "1.log", tmp_path / "notes.log"
    (folder := tmp_path / "2.log").mkdir()

    status = main(["dump-log", "--files", f"{missing},{foreign}", str(folder), str(good)])

    out, err = capsys.readouterr()
    assert status == 1
    assert out.splitlines()[-2:] == ["Starting offset: 100", ONE_LINE]
    assert err.splitlines() == [
        f"{missing}: No such file or directory",
        f"{foreign}: ignored, the name of a log's file is an offset and .log, .index, .timeindex, "
        f".txnindex or .snapshot, such as {'0' * 20}.log",
        f"{folder}: Is a directory",
    ]


def test_of_a_large_log_one_batch_is_in_memory(tmp_path: Path, dump: Dump) -> None:
    """Not the file, and not what was printed before."""
    big = batch(100, record(0, None, bytes(500_000)))
    path = write(tmp_path, big * 40)
    tracemalloc.start()
    try:
        assert dump(path, "--deep-iteration")[0] == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(big) < path.stat().st_size / 4
