"""Looking without touching, and searching as the engine does: same answers, same probes."""

import random
from bisect import bisect_right
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.storage import checkpoints
from engine.storage.log import Log
from engine.storage.records import Record, encode
from engine.storage.retention import enforce
from tests.unit.storage import compacted
from tests.unit.storage.disk import NOW, ORDERS, Disk, batch, temporary_disk
from widgets.log import directory
from widgets.log.directory import Look
from widgets.log.lookup import PROBES, IndexLookup, LookupStep, find_offset, find_time

CHANCE = st.integers(0, 2**32).map(random.Random)


@pytest.fixture
def disk() -> object:
    with temporary_disk(segment_bytes=3000, index_interval_bytes=150) as disk:
        yield disk


def fill(log: Log, chance: random.Random, count: int) -> None:
    """Batches of any size, gaps between them, and times that go up and down."""
    offset = log.end_offset
    for _ in range(count):
        offset += chance.choice([0, 0, 0, 1, 40])
        times = [NOW + chance.randint(0, 60) for _ in range(chance.randint(1, 4))]
        made = [
            Record(offset + n, at, None, b"x" * chance.randint(0, 90)) for n, at in enumerate(times)
        ]
        log.append_copied(encode(made, base_offset=offset, leader_epoch=0), NOW)
        offset += len(made)


def position_of(lookup: IndexLookup) -> tuple[Path, int]:
    assert lookup.found is not None, lookup.words
    return lookup.found.segment.path, lookup.found.position


def agrees_on_offsets(log: Log, look: Look) -> None:
    """What is found is what `Log.read` hands out; the probes are those of its binary searches."""
    paths = {segment.file.fileno(): segment.path for segment in log.segments}
    for offset in range(log.start_offset, log.end_offset):
        lookup, wanted = find_offset(look, offset), log.read(offset, 1)
        assert position_of(lookup) == (paths[wanted.file.fileno()], wanted.position)
        probes: list[int] = []
        segment = next(log.segments_from(offset))
        segment.offsets.lookup(offset, probes)
        assert slots(lookup, "offsets", segment.base_offset) == probes
        asked: list[int] = []
        bases = [Asked(it.base_offset, asked) for it in log.segments]
        bisect_right(bases, offset)
        assert [each.entry[0] for each in lookup.steps if each.kind == "segment"] == asked


class Asked(int):
    """A base offset that notes when a search looks at it."""

    def __new__(cls, base_offset: int, asked: list[int]) -> "Asked":
        made = super().__new__(cls, base_offset)
        made.asked = asked
        return made

    asked: list[int]

    def __gt__(self, other: int) -> bool:
        self.asked.append(int(self))
        return int(self) > other


def slots(lookup: IndexLookup, kind: str, base_offset: int) -> list[int]:
    return [it.slot for it in lookup.steps if (it.kind, it.base_offset) == (kind, base_offset)]


def agrees_on_times(log: Log, look: Look) -> None:
    for time in range(NOW - 1, NOW + 63):
        lookup, wanted = find_time(look, time), log.offset_for_time(time)
        assert (lookup.found.offset if lookup.found else None) == (wanted[0] if wanted else None)
        if lookup.found:
            probes: list[int] = []
            segment = next(log.segments_from(lookup.found.segment.base_offset))
            older = segment.times.lookup(time, probes)[1]
            assert slots(lookup, "times", segment.base_offset) == probes
            probes.clear()
            segment.offsets.lookup(max(older, log.start_offset), probes)
            assert slots(lookup, "offsets", segment.base_offset) == probes


@settings(max_examples=6)
@given(CHANCE)
def test_answers_and_probes_are_those_of_the_engine(chance: random.Random) -> None:
    with temporary_disk(
        segment_bytes=chance.choice([500, 2000, 50_000]),
        index_interval_bytes=chance.choice([0, 100, 700]),
        segment_index_bytes=chance.choice([120, 4096]),
    ) as disk:
        log = disk.open()
        fill(log, chance, 80)
        agrees_on_offsets(log, directory.look(disk.directory))
        agrees_on_times(log, directory.look(disk.directory))
        log.advance_start(chance.randrange(log.end_offset), NOW)
        look = directory.look(disk.directory, log.start_offset)
        agrees_on_offsets(log, look)
        agrees_on_times(log, look)


def test_gaps_that_compaction_left_are_leapt_over(tmp_path: Path) -> None:
    chance = random.Random(7)
    store = compacted.Store(tmp_path, segment_bytes=1500, index_interval_bytes=120)
    for _ in range(400):
        store.log.append(compacted.batch(f"{chance.randrange(25)}=x"), 0, compacted.NOW)
    before = directory.look(store.log.directory)
    store.clean()
    look = directory.look(store.log.directory)
    assert look.size < before.size / 2
    agrees_on_offsets(store.log, look)
    gone = next(
        it for it in (find_offset(look, offset) for offset in range(look.end_offset))
        if "compaction took it" in it.words
    )  # fmt: skip
    assert gone.found is not None
    assert len(look.leaving) > 1
    store.log.abandon()


def test_a_search_leaves_half_of_what_was_left(disk: Disk) -> None:
    fill(disk.open(), random.Random(1), 300)
    look = directory.look(disk.directory)
    for offset in range(look.start_offset, look.end_offset):
        lookup = find_offset(look, offset)
        probed = [step for step in lookup.steps if step.kind in PROBES]
        for _, steps in groupby(
            probed, key=lambda step: (step.kind, step.kind == "offsets" and step.base_offset)
        ):
            probes = list(steps)
            assert all(it.low <= it.slot < it.high for it in probes)
            left = [it.high - it.low for it in probes]
            assert all(after <= before // 2 for before, after in pairwise(left))
            assert len(probes) <= left[0].bit_length()


def test_the_last_stretch_is_reported_in_bytes(disk: Disk) -> None:
    fill(disk.open(), random.Random(2), 300)
    look = directory.look(disk.directory)
    lookup = find_offset(look, look.end_offset - 1)
    scan: LookupStep = lookup.steps[-1]
    assert lookup.found is not None
    assert (scan.kind, scan.high) == ("scan", lookup.found.position)
    assert f"{scan.low:,} bytes before them never read" in lookup.cost
    assert f"hop over {scan.slot} header" in scan.words
    entries = len(look.segments[-1].offsets)
    assert f"into {entries} index entr" in lookup.cost


def test_what_is_not_there_is_said(disk: Disk) -> None:
    log = disk.open()
    for _ in range(5):
        log.append(batch(2), 0, NOW)
    look = directory.look(disk.directory, 4)
    assert "the log ends there" in find_offset(look, 10).words
    assert find_offset(look, 3).words == "Offset 3 is out of range: the log has 4 to 10."
    assert "out of range" in find_offset(look, 11).words
    assert find_time(look, NOW + 1).words == "Every record is older."
    found = find_time(look, NOW).found
    assert found and found.offset == 4


def test_looking_changes_nothing(disk: Disk) -> None:
    fill(disk.open(), random.Random(3), 100)
    disk.abandon()
    victim = sorted(disk.directory.glob("*.index"))[1]
    victim.write_bytes(b"\0\0\0\1" + b"\0\0\1\7")  # it would be rebuilt, if we were the engine
    victim.with_suffix(".timeindex").unlink()
    paths = sorted(disk.directory.iterdir())
    before = [(path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in paths]

    look = directory.look(disk.directory)
    for offset in range(look.end_offset):
        find_offset(look, offset)
    for time in range(NOW, NOW + 60):
        find_time(look, time)

    paths = sorted(disk.directory.iterdir())
    assert before == [(path.name, path.stat().st_mtime_ns, path.read_bytes()) for path in paths]


def test_a_damaged_index_is_read_around(disk: Disk) -> None:
    fill(disk.open(), random.Random(4), 100)
    disk.restart()
    second = directory.look(disk.directory).segments[1]
    for path, size in ((second.offsets.path, 8), (second.times.path, 12)):
        data = path.read_bytes()
        path.write_bytes(
            b"".join(data[at : at + size - 4] + b"\0\0\0\7" for at in range(0, len(data), size))
        )
    look = directory.look(disk.directory)
    lost = 0
    for offset in range(look.start_offset, look.end_offset):
        lookup = find_offset(look, offset)
        lost += any(step.kind == "lost" for step in lookup.steps)
        assert lookup.found and lookup.found.header.last_offset >= offset
        assert lookup.found.offset == max(offset, lookup.found.header.base_offset)
    assert lost
    damaged = [find_time(look, time) for time in range(NOW, NOW + 60)]
    log = disk.kill()  # and it makes the indexes anew
    for time, lookup in zip(range(NOW, NOW + 60), damaged, strict=True):
        wanted = log.offset_for_time(time)
        assert (lookup.found and lookup.found.offset) == (wanted and wanted[0])


def test_a_torn_file_says_where(disk: Disk) -> None:
    fill(disk.open(), random.Random(5), 100)
    disk.abandon()
    look = directory.look(disk.directory)
    active, closed = look.segments[-1], look.segments[0]
    whole = active.end()
    with active.path.open("ab") as file:
        file.write(batch(3)[:70])
    torn = directory.look(disk.directory).segments[-1]
    assert torn.end() == whole
    assert torn.size == whole[1] + 70

    position, header = list(closed.headers())[-3]
    data = closed.path.read_bytes()
    closed.path.write_bytes(data[:position] + b"\xff" * 30 + data[position + 30 :])
    look = directory.look(disk.directory)
    lookup = find_offset(look, header.base_offset)
    assert f"{closed.path.name} is damaged at byte {position:,}" in lookup.words
    assert lookup.found is None


def test_segments_come_and_go(disk: Disk) -> None:
    log = disk.open(retention_bytes=5000)
    fill(log, random.Random(6), 300)
    before = directory.look(disk.directory)
    enforce(log, NOW, log.end_offset)
    look = directory.look(disk.directory)
    assert {it.base_offset for it in look.leaving} == {it.base_offset for it in before.segments} - {
        it.base_offset for it in look.segments
    }
    log.sweep(NOW + 10**9)
    assert directory.look(disk.directory).leaving == ()


def test_where_a_log_starts_is_in_a_checkpoint(disk: Disk) -> None:
    fill(disk.open(), random.Random(8), 10)
    checkpoints.write_offsets(disk.directory.parent / checkpoints.LOG_START, {ORDERS: 12})
    assert directory.look(disk.directory).start_offset == 12
    with pytest.raises(ApiException, match="there is no directory"):
        directory.look(disk.directory / "nowhere")
