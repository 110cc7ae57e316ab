"""Damage of every kind, and what a restart makes of it: the whole part is kept, the rest is told.

The log under test is small, so that every byte and every bit can have its turn:

    segment 0     | 0-1 e0 | 2 e0 | 3-4 e1 |
    segment 5     | 5 e1 | 6-7 e1 | (gap, as compaction leaves) | 11 e1 |
    segment 12    | 12 e3 | 13-14 e3 | 15 e3 |        active
"""

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.model import NO_EPOCH
from engine.storage import checkpoints
from engine.storage.batch import Header
from engine.storage.survey import LogOffline
from tests.search import examples
from tests.unit.storage.disk import (
    NOW,
    Disk,
    Stored,
    bases,
    batch,
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
    place(batch(count, 1, at=NOW + offset), offset, epoch)
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


def restarted(written: Written, changes: dict[str, bytes | None], **how: object) -> Disk:
    """After files have changed, or gone."""
    disk = changed(written, changes)
    disk.open(**how)
    return disk


def changed(written: Written, changes: dict[str, bytes | None]) -> Disk:
    disk, files = written
    disk.abandon()
    disk.write({name: data for name, data in (files | changes).items() if data is not None})
    disk.events.clear()
    return disk


def is_left_alone(written: Written, changes: dict[str, bytes | None], **how: object) -> bool:
    """Whether the log is offline, with every file as it is; if it is not, it is open."""
    disk = changed(written, changes)
    before = disk.files()
    try:
        disk.open(**how)
    except LogOffline:
        assert disk.files() == before
        return True
    return False


def contents(disk: Disk) -> list[bytes]:
    assert disk.log is not None
    return [data for _, data in stored(disk.log)]


def is_cut_at(disk: Disk, number: int, size: int, *, thorough: bool = True) -> None:
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
    if thorough:
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
    disk = restarted(written, {})
    assert contents(disk) == BATCHES
    assert disk.events == []
    goes_on(disk)


FILES = [*(pytest.param(n, marks=pytest.mark.long) for n in (0, 1)), 2]


@pytest.mark.parametrize("file", FILES)
def test_cut_off_at_every_byte(written: Written, file: int) -> None:
    name = f"{NAMES[file]}.log"
    whole = written[1][name]
    ends = list(accumulate(len(data) for data in BATCHES[3 * file : 3 * file + 3]))
    for size in range(len(whole)):
        disk = restarted(written, {name: whole[:size]})
        if size in (0, *ends):  # a gap, as far as anyone can tell
            assert disk.told("log.cut") == []
            lost = range(3 * file + (0, *ends).index(size), 3 * file + 3)
            assert contents(disk) == [it for n, it in enumerate(BATCHES) if n not in lost]
        else:
            is_cut_at(disk, 3 * file + sum(end <= size for end in ends), size)


def could_be(number: int, damaged: Header) -> bool:
    """The limit: a batch that its offset, which no CRC covers, has moved to where it fits as well.

    As compaction leaves gaps, that is anywhere between its neighbours, or behind the last batch.
    So it is with its epoch.
    """
    epochs = [0, *(Header.parse(data).leader_epoch for data in BATCHES), 2**31]
    if not epochs[number] <= damaged.leader_epoch <= epochs[number + 2]:
        return False
    before = Header.parse(BATCHES[number - 1]).next_offset if number else 0
    following = 12 + 2**31
    if number + 1 < len(BATCHES):
        following = Header.parse(BATCHES[number + 1]).base_offset
    return before <= damaged.base_offset and damaged.last_offset < following


# At a gap, and at the end; the others are like these, or simpler.
SOME = (4, 8)
ALL = [pytest.param(n, marks=[] if n in SOME else [pytest.mark.long]) for n in range(len(BATCHES))]


OUTSIDE_THE_CRC = {*range(8), *range(12, 17)}  # base offset, leader epoch, magic


@pytest.mark.parametrize("number", ALL)
def test_a_flipped_bit_anywhere(written: Written, number: int) -> None:
    file = number // 3
    name = f"{NAMES[file]}.log"
    start = sum(len(data) for data in BATCHES[3 * file : number])
    moved, aged, offline = 0, 0, 0
    for bit in range(8 * len(BATCHES[number])):
        data = bytearray(written[1][name])
        data[start + bit // 8] ^= 1 << bit % 8
        damaged = Header.parse(data, start)
        if is_left_alone(written, {name: bytes(data)}):
            assert bit // 8 in OUTSIDE_THE_CRC
            offline += 1
            continue
        disk = written[0]
        if bit // 8 in OUTSIDE_THE_CRC and could_be(number, damaged) and damaged.magic == 2:
            moved, aged = moved + (bit < 64), aged + (bit >= 64)
            assert contents(disk)[number] == data[start : start + len(BATCHES[number])]
            assert ("log.epochs.rebuilt" in disk.kinds()) == (bit >= 64)
        else:
            is_cut_at(disk, number, len(data), thorough=bit % 8 == 3)
    assert moved == {4: 1, 5: 2, 8: 27}.get(number, 0)  # at a gap, and at the end
    assert aged == {1: 1, 2: 1, 5: 1, 6: 2, 8: 29}.get(number, 0)  # between epochs, at the end
    assert moved + aged + offline == 64 + 32 + 7  # of the magic byte, one makes a torn message


@pytest.mark.parametrize("size", [1, 60, 61, 62, 200, 4096, 100_000])
def test_a_tail_of_zeros(written: Written, size: int) -> None:
    """A file system that was cut off may have made a file longer without writing to it."""
    name = f"{NAMES[2]}.log"
    disk = restarted(written, {name: written[1][name] + bytes(size)})
    is_cut_at(disk, len(BATCHES), SIZES[2] + size)


@pytest.mark.parametrize("file", range(3))
def test_zeros_alone(written: Written, file: int) -> None:
    disk = restarted(written, {f"{NAMES[file]}.log": bytes(1000)})
    is_cut_at(disk, 3 * file, 1000)


@examples(100)
@given(noise=st.binary(min_size=1, max_size=300), file=st.integers(0, 2))
def test_a_tail_of_garbage(written: Written, noise: bytes, file: int) -> None:
    name = f"{NAMES[file]}.log"
    disk = restarted(written, {name: written[1][name] + noise})
    number = 3 * file + 3
    assert contents(disk) == BATCHES[:number]
    lost = [(event["position"], event["bytes"]) for event in disk.told("log.cut")]
    assert lost == [(SIZES[file], len(noise)), *((0, size) for size in SIZES[file + 1 :])]
    goes_on(disk)


@contextmanager
def suppress_damage() -> Iterator[None]:
    """A reader may be told that there is damage, and of nothing else."""
    try:
        yield
    except ApiException as error:
        # The others are those of what does not decode: the header lied about the records.
        known = "corrupt_message", "invalid_record", "unknown_server_error", "message_too_large"
        assert error.code.name in known  # noqa: PT017


HEADERS = [*(pytest.param(n, marks=pytest.mark.long) for n in (0, 2, 5)), 8]


@pytest.mark.parametrize("index", ["as it was", "missing"])
@pytest.mark.parametrize("number", HEADERS)
def test_after_a_clean_stop_a_damaged_header_is_met_with_composure(
    written: Written, number: int, index: str
) -> None:
    """Nobody looks at every batch then. What is met of the damage takes the log offline, or is
    served to readers, who compare CRCs."""
    name = NAMES[number // 3]
    start = sum(len(data) for data in BATCHES[number // 3 * 3 : number])
    for bit in range(8 * 27):  # up to the last offset delta
        data = bytearray(written[1][f"{name}.log"])
        data[start + bit // 8] ^= 1 << bit % 8
        changes: dict[str, bytes | None] = {f"{name}.log": bytes(data)}
        if index == "missing":
            changes[f"{name}.timeindex"] = None
        if is_left_alone(written, changes, clean=True, recovery_point=16):
            continue
        log, disk = written[0].log, written[0]
        assert log is not None
        assert contents(disk)[:number] == BATCHES[:number]
        assert log.end_offset == 16 or number == 8
        assert "log.cut" not in disk.kinds()
        for offset in range(min(log.end_offset, 16)):
            with suppress_damage():
                assert Header.parse(log.read(offset, 1).read()).last_offset >= offset
        with suppress_damage():
            log.offset_for_time(NOW + 15)
        log.truncate(max(log.end_offset - 1, 0), NOW)
        log.append(batch(), 9, NOW)
        with suppress(LogOffline):
            disk.kill()


# -- indexes ---------------------------------------------------------------------------------


def damages(chance: random.Random, data: bytes, others: list[bytes]) -> Iterator[bytes | None]:
    """What can become of an index: gone, empty, cut, longer, of others, of one bit or of dice."""
    yield None
    yield from (data[:size] for size in range(len(data)))
    yield data + bytes(8 * 12)
    yield data + chance.randbytes(8 * 12)
    yield bytes(len(data))
    yield from others
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)
    for _ in range(20):
        yield chance.randbytes(len(data))
        yield chance.randbytes(24 * chance.randint(1, 5))


INDEXES = list(product((0, 1, 2), (".index", ".timeindex"), (True, False)))
IN_SHORT = ((0, ".timeindex", False), (2, ".index", True))  # of a file that is done, and in use
DAMAGED = [pytest.param(*it, marks=[] if it in IN_SHORT else [pytest.mark.long]) for it in INDEXES]


@pytest.mark.parametrize(("file", "suffix", "clean"), DAMAGED)
def test_no_damage_to_an_index_is_seen_by_a_reader(
    written: Written, file: int, suffix: str, clean: bool
) -> None:
    foreign = struct.pack(">ii", 3, 80) if suffix == ".index" else struct.pack(">qi", NOW + 99, 1)
    others = [written[1][name + suffix] for name in NAMES] + [foreign]
    data = written[1][NAMES[file] + suffix].rstrip(b"\0")
    for damaged in damages(random.Random(file), data, others):
        how = {"clean": clean, "recovery_point": 16 if clean else 12}
        disk = restarted(written, {NAMES[file] + suffix: damaged}, **how)
        assert disk.log is not None
        assert disk.told("log.cut") == []
        finds_all(disk)
        disk.log.append(batch(1, 1), 3, NOW)
        finds_all(disk, more=1)


def finds_all(disk: Disk, more: int = 0) -> None:
    assert disk.log is not None
    log = disk.log
    assert contents(disk)[: len(BATCHES)] == BATCHES
    assert log.end_offset == 16 + more
    headers = [Header.parse(data) for data in BATCHES]
    for offset in range(16):
        wanted = next(it for it in headers if it.last_offset >= offset)
        assert Header.parse(log.read(offset, 1).read()) == wanted
    for time in range(NOW, NOW + 16):
        wanted = next(it for it in headers if it.max_timestamp >= time)
        assert log.offset_for_time(time) == (
            wanted.base_offset,
            wanted.max_timestamp,
            wanted.leader_epoch,
        )
    assert log.offset_for_time(NOW + 16) is None


# -- the other files -------------------------------------------------------------------------


def test_a_flipped_bit_in_the_epochs_costs_no_batch(written: Written) -> None:
    """The checkpoint has no checksum either. At odds with a whole batch, it is made anew."""
    name = checkpoints.LEADER_EPOCH
    for bit in range(8 * len(written[1][name])):
        data = bytearray(written[1][name])
        data[bit // 8] ^= 1 << bit % 8
        disk = restarted(written, {name: bytes(data)})
        assert disk.log is not None
        assert contents(disk) == BATCHES
        for header, _ in stored(disk.log):
            assert disk.log.epochs.at(header.base_offset) in (NO_EPOCH, header.leader_epoch)


def test_garbage_in_the_epochs_costs_nothing(written: Written) -> None:
    chance = random.Random(1)
    for data in [None, b"", b"0", b"0\n", b"0\n9\n", b"1\n0\n", *map(chance.randbytes, range(40))]:
        disk = restarted(written, {checkpoints.LEADER_EPOCH: data})
        assert disk.log is not None
        assert contents(disk) == BATCHES
        assert disk.log.epochs.entries == EPOCHS
        assert disk.kinds() == ["log.epochs.rebuilt"]


def test_damage_to_a_snapshot_costs_only_time(written: Written) -> None:
    files = written[1]
    name = f"{NAMES[2]}.snapshot"
    undamaged = restarted(written, {name: files[name]}).log
    assert undamaged is not None
    known = remembered(undamaged)
    for bit in range(8 * len(files[name])):
        data = bytearray(files[name])
        data[bit // 8] ^= 1 << bit % 8
        assert remembered(restarted(written, {name: bytes(data)}).log) == known
