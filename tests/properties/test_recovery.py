"""Damage of every kind, and what a restart makes of it: the whole part is kept, the rest is told.

The log under test is small, so that every byte and every bit can have its turn:

    segment 0     | 0-1 e0 | 2 e0 | 3-4 e1 |
    segment 5     | 5 e1 | 6-7 e1 | (gap, as compaction leaves) | 11 e1 |
    segment 12    | 12 e3 | 13-14 e3 | 15 e3 |        active
"""

import random
import struct
from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.storage import checkpoints
from engine.storage.batch import HEADER_SIZE, Header, crc_ok
from tests.unit.storage.disk import (
    NOW,
    Disk,
    Stored,
    batch,
    bases,
    place,
    remembered,
    stored,
    temporary_disk,
)

EPOCHS = [(0, 0), (1, 3), (3, 12)]
SEGMENTS = [
    [(0, 2, 0), (2, 1, 0), (3, 2, 1)],
    [(5, 1, 1), (6, 2, 1), (11, 1, 1)],
    [(12, 1, 3), (13, 2, 3), (15, 1, 3)],
]
BATCHES = [
    place(batch(count, 4, at=NOW + offset), offset, epoch)
    for segment in SEGMENTS
    for offset, count, epoch in segment
]
STARTS = [0, *accumulate(len(data) for data in BATCHES)]  # where each begins, file after file
SIZES = [sum(len(data) for data in BATCHES[3 * n : 3 * n + 3]) for n in range(3)]
NAMES = [f"{base:020d}" for base in (0, 5, 12)]


@pytest.fixture(scope="module")
def written() -> Iterator[tuple[Disk, dict[str, bytes]]]:
    """A disk, and what is on it while the log is in use: the active indexes preallocated."""
    with temporary_disk(index_interval_bytes=0, segment_index_bytes=240) as disk:
        log = disk.open()
        for number, data in enumerate(BATCHES):
            if number in (3, 6):
                log.roll(NOW)
            log.append_copied(data, NOW)
        assert bases(log) == [0, 5, 12]
        assert log.epochs.entries == EPOCHS
        disk.abandon()
        yield disk, disk.files()


Written = tuple[Disk, dict[str, bytes]]


def restarted(written: Written, name: str, data: bytes | None, **how: object) -> Disk:
    """After one file has changed, or gone."""
    disk, files = written
    disk.abandon()
    changed = {**files, name: data or b""}
    if data is None:
        del changed[name]
    disk.write(changed)
    disk.events.clear()
    disk.open(**how)
    return disk


def contents(disk: Disk) -> list[bytes]:
    assert disk.log is not None
    return [data for _, data in stored(disk.log)]


def is_cut_at(disk: Disk, number: int, size: int) -> None:
    """The log holds its first so many batches, and says what it lost of the file's `size`."""
    log = disk.log
    assert log is not None
    assert contents(disk) == BATCHES[:number]
    end = Header.parse(BATCHES[number - 1]).next_offset if number else 0
    file = (number // 3) if number < len(BATCHES) else 2
    position = sum(len(data) for data in BATCHES[3 * file : number])
    base = (0, 5, 12)[file]
    assert log.end_offset == max(end, base)
    first, *later = disk.told("log.cut")
    assert first["file"].endswith(f"{NAMES[file]}.log")
    assert (first["position"], first["offset"]) == (position, max(end, base))
    assert first["bytes"] == size - position
    lost = [NAMES.index(event["file"][-24:-4]) for event in later]
    assert lost == list(range(file + 1, 3))
    assert [event["bytes"] for event in later] == [SIZES[n] for n in lost]
    assert log.epochs.entries == [entry for entry in EPOCHS if entry[1] < log.end_offset]
    goes_on(disk)


def goes_on(disk: Disk) -> None:
    """It can be read from every offset, and be appended to, and restarted without another cut."""
    assert disk.log is not None
    log, batches = disk.log, stored(disk.log)
    for offset in range(log.start_offset, log.end_offset):
        wanted = next(it for it in batches if it.header.last_offset >= offset)
        assert log.read(offset, 1).read() == wanted.data
    end = log.end_offset
    log.append(batch(), 9, NOW)
    again = disk.kill()
    assert "log.cut" not in disk.kinds()
    assert stored(again) == [*batches, Stored(*stored(again)[-1])]
    assert again.end_offset == end + 1


def test_undamaged_nothing_is_said(written: Written) -> None:
    disk = restarted(written, f"{NAMES[2]}.log", written[1][f"{NAMES[2]}.log"])
    assert contents(disk) == BATCHES
    assert disk.events == []
    goes_on(disk)


@pytest.mark.parametrize("file", range(3))
def test_cut_off_at_every_byte(written: Written, file: int) -> None:
    name = f"{NAMES[file]}.log"
    whole = written[1][name]
    ends = list(accumulate(len(data) for data in BATCHES[3 * file : 3 * file + 3]))
    for size in range(len(whole)):
        disk = restarted(written, name, whole[:size])
        if size in (0, *ends):  # a gap, as far as anyone can tell
            assert disk.told("log.cut") == []
            lost = range(3 * file + (0, *ends).index(size), 3 * file + 3)
            assert contents(disk) == [it for n, it in enumerate(BATCHES) if n not in lost]
        else:
            is_cut_at(disk, 3 * file + sum(end <= size for end in ends), size)


def hidden(number: int, field: str, damaged: Header) -> bool:
    """The limits: what no one could tell from a log that compaction has been at."""
    last_of_all = number == len(BATCHES) - 1
    before = Header.parse(BATCHES[number - 1]).next_offset if number else 0
    if field == "base_offset":
        following = (
            Header.parse(BATCHES[number + 1]).base_offset if not last_of_all else 12 + 2**31
        )
        return before <= damaged.base_offset and damaged.last_offset < following
    return False


@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_a_flipped_bit_anywhere(written: Written, number: int) -> None:
    file = number // 3
    name = f"{NAMES[file]}.log"
    start = sum(len(data) for data in BATCHES[3 * file : number])
    unseen: list[Header] = []
    for bit in range(8 * len(BATCHES[number])):
        data = bytearray(written[1][name])
        data[start + bit // 8] ^= 1 << bit % 8
        disk = restarted(written, name, bytes(data))
        damaged = Header.parse(data, start)
        if bit < 64 and hidden(number, "base_offset", damaged):
            unseen.append(damaged)
            assert contents(disk)[number] == data[start : start + len(BATCHES[number])]
        else:
            is_cut_at(disk, number, len(data))
    original = Header.parse(BATCHES[number])
    gap = Header.parse(BATCHES[number]).base_offset == 11
    if not gap and number != len(BATCHES) - 1:
        assert unseen == []
    assert all(it == original._replace(base_offset=it.base_offset) for it in unseen)


@pytest.mark.parametrize("size", [1, 60, 61, 62, 200, 4096, 100_000])
def test_a_tail_of_zeros(written: Written, size: int) -> None:
    """A file system that was cut off may have made a file longer without writing to it."""
    name = f"{NAMES[2]}.log"
    disk = restarted(written, name, written[1][name] + bytes(size))
    is_cut_at(disk, len(BATCHES), SIZES[2] + size)


@pytest.mark.parametrize("file", range(3))
def test_zeros_alone(written: Written, file: int) -> None:
    disk = restarted(written, f"{NAMES[file]}.log", bytes(1000))
    is_cut_at(disk, 3 * file, 1000)


@settings(max_examples=100)
@given(noise=st.binary(min_size=1, max_size=300), file=st.integers(0, 2))
def test_a_tail_of_garbage(written: Written, noise: bytes, file: int) -> None:
    name = f"{NAMES[file]}.log"
    disk = restarted(written, name, written[1][name] + noise)
    is_cut_at(disk, 3 * file + 3, SIZES[file] + len(noise)) if file == 2 else None
    assert contents(disk) == BATCHES[: 3 * file + 3]
    assert disk.told("log.cut") == [] or disk.kinds()
