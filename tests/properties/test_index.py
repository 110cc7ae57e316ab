"""Both indexes against a plain scan: whatever they hold, they may only make things faster."""

import random
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage import records
from engine.storage.batch import NO_TIMESTAMP
from engine.storage.index import OffsetIndex, TimeIndex, read_offset_entries, read_time_entries
from engine.storage.log import Log
from engine.storage.records import Record
from tests.search import examples
from tests.unit.storage.disk import NOW, stored, temporary_disk

BASE = 1 << 40  # far beyond what the four bytes of an entry could hold

INT32 = st.integers(0, 2**31 - 1)
COLUMN = st.sets(st.integers(1, 40) | st.integers(1, 2**31 - 1), max_size=30).map(sorted)


@given(COLUMN, st.lists(st.integers(-2, 45) | INT32), st.integers(0, 45))
def test_offset_index_is_a_scan(offsets: list[int], asked: list[int], cut: int) -> None:
    entries = [(BASE + offset, 7 * slot) for slot, offset in enumerate(offsets)]
    with tempfile.TemporaryDirectory() as path:
        file = Path(path, f"{BASE:020d}.index")
        index = OffsetIndex(file, BASE, 8 * 32)
        for entry in entries:
            index.append(*entry)
        for offset in [BASE + it for it in asked]:
            before = [entry for entry in entries if entry[0] <= offset]
            assert index.lookup(offset) == (before[-1] if before else (BASE, 0))
        index.truncate(BASE + cut)
        kept = [entry for entry in entries if entry[0] < BASE + cut]
        assert [index[slot] for slot in range(index.count)] == kept
        assert read_offset_entries(file) == (kept or [(BASE, 0)])  # as Kafka's tool has it
        index.trim()
        assert file.stat().st_size == 8 * len(kept)
        assert read_offset_entries(file) == kept
        index.close()
        again = OffsetIndex(file, BASE)
        assert [again[slot] for slot in range(again.count)] == kept
        again.close()


@given(COLUMN, COLUMN, st.lists(st.integers(-2, 45) | INT32), st.integers(0, 45))
def test_time_index_is_a_scan(
    times: list[int], offsets: list[int], asked: list[int], cut: int
) -> None:
    entries = [(time, BASE + offset) for time, offset in zip(times, offsets, strict=False)]
    with tempfile.TemporaryDirectory() as path:
        file = Path(path, f"{BASE:020d}.timeindex")
        index = TimeIndex(file, BASE, 12 * 32)
        for entry in entries:
            index.append(*entry)
            index.append(*entry)  # says nothing new
            index.append(entry[0] - 1, entry[1] + 1)
        for time in asked:
            before = [entry for entry in entries if entry[0] <= time]
            assert index.lookup(time) == (before[-1] if before else (NO_TIMESTAMP, BASE))
        index.truncate(BASE + cut)
        kept = [entry for entry in entries if entry[1] < BASE + cut]
        assert [index[slot] for slot in range(index.count)] == kept
        index.trim()
        assert read_time_entries(file) == kept
        index.close()


@given(st.integers(0, 300), INT32)
def test_a_lookup_halves_what_is_left(count: int, offset: int) -> None:
    with tempfile.TemporaryDirectory() as path:
        index = OffsetIndex(Path(path, "0.index"), 0, 8 * 300)
        for slot in range(count):
            index.append(slot * 7, slot * 100)
        probes: list[int] = []
        index.lookup(offset % 2200, probes)
        assert len(probes) <= count.bit_length()
        assert len(set(probes)) == len(probes)
        index.close()


def fill(log: Log, chance: random.Random, count: int, follower: bool) -> None:
    """Batches of any size whose timestamps go up and down, some without one."""
    waiting = b""
    offset = log.end_offset
    for _ in range(count):
        times = [chance.choice([NO_TIMESTAMP, *range(NOW, NOW + 40)]) for _ in range(3)]
        times = times[: chance.randint(1, 3)]
        made = [Record(n, at, None, b"x" * chance.randint(0, 90)) for n, at in enumerate(times)]
        if not follower:
            log.append(records.encode(made), 0, NOW)
            continue
        offset += chance.choice([0, 0, 0, 1, 5])  # compaction left a gap on the leader
        moved = [record._replace(offset=offset + n) for n, record in enumerate(made)]
        waiting += records.encode(moved, base_offset=offset, leader_epoch=0)
        offset += len(made)
        if chance.random() < 0.5:
            log.append_copied(waiting, NOW)
            waiting = b""
    log.append_copied(waiting, NOW)


@pytest.mark.parametrize("interval", [0, 1, 100, 300, 4096])
@pytest.mark.parametrize("follower", [False, True])
@examples(15)
@given(chance=st.randoms(use_true_random=False))
def test_a_log_finds_by_offset_and_time_what_a_scan_finds(
    interval: int, follower: bool, chance: random.Random
) -> None:
    with temporary_disk(
        index_interval_bytes=interval,
        segment_bytes=chance.choice([400, 1000, 10_000]),
        segment_index_bytes=chance.choice([60, 120, 4096]),
    ) as disk:
        log = disk.open()
        fill(log, chance, 40, follower)
        finds_as_a_scan(log)
        log = disk.restart()
        finds_as_a_scan(log)
        fill(log, chance, 5, follower)
        finds_as_a_scan(log)
        finds_as_a_scan(disk.kill())


def finds_as_a_scan(log: Log) -> None:
    batches = stored(log)
    for offset in range(log.start_offset, log.end_offset):
        wanted = next(it for it in batches if it.header.last_offset >= offset)
        assert log.read(offset, 1).read() == wanted.data
    every = [
        (record, it.header.leader_epoch) for it in batches for record in records.decode(it.data)
    ]
    for time in range(NOW - 1, NOW + 42):
        found = next(((*at[:2], epoch) for at, epoch in every if at.timestamp >= time), None)
        assert log.offset_for_time(time) == found
    for segment in log.segments:
        entries_are_sound(segment.offsets, segment.times, segment.index_interval)


def entries_are_sound(offsets: OffsetIndex, times: TimeIndex, interval: int) -> None:
    positions = [offsets[slot] for slot in range(offsets.count)]
    assert all(a[0] < b[0] and b[1] - a[1] > interval for a, b in pairwise(positions))
    newest = [times[slot] for slot in range(times.count)]
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(newest))
