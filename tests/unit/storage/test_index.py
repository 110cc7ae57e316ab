"""The two index files, byte for byte; whether they find is for tests/properties."""

import errno
import os
import struct
from pathlib import Path

import pytest

from engine.storage.batch import NO_TIMESTAMP
from engine.storage.index import OffsetIndex, TimeIndex, read_offset_entries, read_time_entries

BASE = 368769
TEN_MB = 10 << 20


@pytest.fixture
def offset_path(tmp_path: Path) -> Path:
    return tmp_path / f"{BASE:020d}.index"


@pytest.fixture
def time_path(tmp_path: Path) -> Path:
    return tmp_path / f"{BASE:020d}.timeindex"


def test_an_offset_entry_is_two_numbers_of_four_bytes(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, BASE, 100)
    index.append(BASE + 3, 4160)
    index.append(BASE + 2**31 - 1, 2**31 - 1)
    index.trim()
    assert offset_path.read_bytes() == bytes.fromhex("00000003 00001040 7fffffff 7fffffff")
    assert read_offset_entries(offset_path) == [(BASE + 3, 4160), (BASE + 2**31 - 1, 2**31 - 1)]
    index.close()


def test_a_time_entry_is_eight_bytes_and_four(time_path: Path) -> None:
    index = TimeIndex(time_path, BASE, 100)
    index.append(1_700_000_000_000, BASE + 3)
    index.trim()
    assert time_path.read_bytes() == bytes.fromhex("0000018bcfe56800 00000003")
    assert read_time_entries(time_path) == [(1_700_000_000_000, BASE + 3)]
    index.close()


def test_an_index_by_hand_is_read(offset_path: Path, time_path: Path) -> None:
    offset_path.write_bytes(struct.pack(">iiii", 10, 500, 20, 1000) + bytes(80))
    time_path.write_bytes(struct.pack(">qiqi", 77, 10, 99, 15))
    index = OffsetIndex(offset_path, BASE)
    assert [index[0], index[1]] == [(BASE + 10, 500), (BASE + 20, 1000)]
    assert read_offset_entries(offset_path) == [index[0], index[1]]
    index.close()
    times = TimeIndex(time_path, BASE)
    assert times.lookup(98) == (77, BASE + 10)
    assert times[-1] == (99, BASE + 15)
    times.close()


def test_where_the_disk_has_no_room_for_an_entry_that_is_an_error(
    offset_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no SIGBUS, which ends the process: a preallocated page has no block yet."""
    index = OffsetIndex(offset_path, BASE, 100)
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: 3)
    with pytest.raises(OSError, match="only 3 of 8 bytes were written") as raised:
        index.append(BASE + 1, 4160)
    assert (raised.value.errno, index.count) == (errno.ENOSPC, 0)
    index.close()


def test_preallocated_it_takes_no_room(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, BASE, TEN_MB)
    index.append(BASE + 1, 5000)
    stat = os.stat(offset_path)
    assert stat.st_size == TEN_MB
    assert stat.st_blocks * 512 < TEN_MB / 10
    index.reset(TEN_MB)
    stat = os.stat(offset_path)
    assert (index.count, stat.st_size) == (0, TEN_MB)
    assert stat.st_blocks * 512 < TEN_MB / 10
    index.close()


def test_left_behind_by_a_kill_it_is_reset_to_zeros(offset_path: Path) -> None:
    offset_path.write_bytes(os.urandom(800))
    index = OffsetIndex(offset_path, BASE)
    assert index.count == 100
    index.reset(80)
    index.append(BASE + 1, 1)
    assert offset_path.read_bytes() == struct.pack(">ii", 1, 1) + bytes(72)
    index.close()


def test_a_close_keeps_what_a_kill_would_leave(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, BASE, 800)
    index.append(BASE + 1, 5000)
    index.close()
    assert len(offset_path.read_bytes()) == 800


def test_capacity_is_in_whole_entries(offset_path: Path, time_path: Path) -> None:
    index, times = OffsetIndex(offset_path, BASE, 100), TimeIndex(time_path, BASE, 100)
    assert (index.capacity, times.capacity) == (12, 8)
    for n in range(12):
        assert not index.is_full
        index.append(BASE + 1 + n, 100 * n)
    assert index.is_full
    index.close()
    times.close()


def test_one_slot_of_a_time_index_waits_for_the_close_of_its_segment(time_path: Path) -> None:
    times = TimeIndex(time_path, BASE, 3 * 12)
    times.append(10, BASE)
    assert not times.is_full
    times.append(20, BASE + 1)
    assert times.is_full
    times.append(30, BASE + 2)
    assert times[-1] == (30, BASE + 2)
    times.append(40, BASE + 3)  # no room at all: an index may know less
    assert times[-1] == (30, BASE + 2)
    times.close()


def test_lookup_below_the_first_entry_leads_to_the_start(
    offset_path: Path, time_path: Path
) -> None:
    index, times = OffsetIndex(offset_path, BASE, 80), TimeIndex(time_path, BASE, 80)
    index.append(BASE + 10, 500)
    times.append(1000, BASE + 10)
    assert index.lookup(BASE + 9) == (BASE, 0)
    assert index.lookup(BASE + 10) == (BASE + 10, 500)
    assert times.lookup(999) == (NO_TIMESTAMP, BASE)
    assert times.lookup(1000) == (1000, BASE + 10)
    index.close()
    times.close()


def test_the_probes_of_a_lookup(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, 0, 80)
    for n in range(1, 9):
        index.append(10 * n, 100 * n)
    probes: list[int] = []
    assert index.lookup(35, probes) == (30, 300)
    assert probes == [4, 2, 3]  # slots with offset 50, then 30, then 40
    index.close()


def test_growing_and_trimming_keep_the_entries(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, BASE, 80)
    index.append(BASE + 1, 100)
    index.trim()
    assert offset_path.stat().st_size == 8
    assert index.is_full
    index.grow(800)
    index.append(BASE + 2, 200)
    assert [index[0], index[1]] == [(BASE + 1, 100), (BASE + 2, 200)]
    index.grow(0)  # smaller than what is in it
    assert index.capacity == 2
    index.close()


def test_an_offset_that_does_not_grow_is_a_bug(offset_path: Path) -> None:
    index = OffsetIndex(offset_path, BASE, 80)
    index.append(BASE + 5, 100)
    with pytest.raises(AssertionError, match=f"{BASE + 5} after"):
        index.append(BASE + 5, 200)
    index.close()
