"""Opening a directory: what a crash left half-done, what others left, and what is missing.

Damage bit by bit is in tests/properties/test_recovery.py; here is each kind of it, by name.
"""

import os
import struct
from pathlib import Path

import pytest

from engine.storage import checkpoints, files, loading
from engine.storage.batch import Header
from engine.storage.log import Log
from engine.storage.segment import file_name
from engine.storage.survey import LogOffline
from tests.unit.storage.disk import (
    NOW,
    Disk,
    bases,
    batch,
    place,
    remembered,
    sequenced,
    stored,
)

# Sound in themselves, but of another log.
FOREIGN = {
    ".index": struct.pack(">4i", 1, 60, 2, 130),
    ".timeindex": struct.pack(">qiqi", NOW - 5, 0, NOW + 50, 2),
}


def three_segments(disk: Disk) -> Log:
    log = disk.open(index_interval_bytes=0)
    for number in range(9):
        if number in (3, 6):
            log.roll(NOW)
        log.append(sequenced(7, number, at=NOW + number), number // 4, NOW)
    return log


def test_a_new_log_is_one_empty_segment(disk: Disk) -> None:
    log = disk.open()
    assert (bases(log), log.start_offset, log.end_offset, disk.kinds()) == ([0], 0, 0, [])
    assert list(disk.files()) == [f"{0:020d}.index", f"{0:020d}.log", f"{0:020d}.timeindex"]


def test_a_new_log_may_start_later(disk: Disk) -> None:
    log = disk.open(start_offset=500)
    assert (bases(log), log.start_offset, log.end_offset) == ([500], 500, 500)


def test_a_clean_stop_leaves_small_indexes_and_a_snapshot(disk: Disk) -> None:
    three_segments(disk).close(NOW)
    sizes = {name: len(data) for name, data in disk.files().items() if name.startswith(f"{6:020d}")}
    assert sizes[f"{6:020d}.index"] == 2 * 8
    assert sizes[f"{6:020d}.timeindex"] == 2 * 12
    assert f"{9:020d}.snapshot" in disk.files()


def test_a_clean_start_reads_no_batch_but_the_last_ones(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = three_segments(disk)
    damaged = bytearray(log.segments[0].path.read_bytes())
    damaged[70] ^= 1  # which only recovery would see
    log.segments[0].path.write_bytes(damaged)
    disk.restart()
    assert disk.told("log.cut") == []
    disk.kill(recovery_point=3)  # not even recovery, below the recovery point
    assert disk.told("log.cut") == []
    assert len(stored(disk.kill())) == 0
    assert disk.told("log.cut")[0]["reason"] == "its CRC does not match"


def test_what_follows_a_file_that_is_cut_is_cut_and_kept_too(disk: Disk) -> None:
    log = three_segments(disk)
    path, later = log.segments[1].path, log.segments[2].path
    os.truncate(path, path.stat().st_size - 1)
    torn, whole = path.read_bytes()[-len(batch()) + 1 :], later.read_bytes()
    log = disk.kill()
    first, second = disk.told("log.cut")
    assert (first["file"], first["offset"], first["bytes"]) == (str(path), 5, len(batch()) - 1)
    assert second["reason"] == "it follows a file that was cut"
    assert (bases(log), log.end_offset, log.producers.known[7].last_sequence) == ([0, 3], 5, 4)
    for told, data in ((first, torn), (second, whole)):
        assert (disk.directory / told["kept_in"]).read_bytes() == data
        assert told["kept"] == told["bytes"] == len(data)


def test_no_cut_is_kept_over_an_earlier_one_and_all_of_them_are_bounded(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, size = disk.open(), len(batch())
    monkeypatch.setattr(loading, "CUT_KEPT", 2 * size)
    for number in range(4):
        log.append(batch(), 0, NOW)
        with log.active.path.open("ab") as file:
            file.write(bytes([number]) * (size - 20))
        log = disk.kill()
        (told,) = disk.told("log.cut")
        kept = (size - 20, size - 20, 40, 0)[number]
        assert (told["bytes"], told["kept"]) == (size - 20, kept)
        if kept:
            assert (disk.directory / told["kept_in"]).read_bytes() == bytes([number]) * kept
    assert sorted(path.name for path in disk.directory.glob("*.cut*")) == [
        f"{0:020d}.log.cut",
        f"{0:020d}.log.cut.1",
        f"{0:020d}.log.cut.2",
    ]
    assert log.end_offset == 4


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("name", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "garbage", "foreign"])
@pytest.mark.parametrize("base", [0, 3, 6])
def test_an_index_is_rebuilt(disk: Disk, base: int, damage: str, name: str, clean: bool) -> None:
    three_segments(disk)
    log = disk.restart()
    wanted = [it.paths[1:] for it in log.segments]
    log.close(NOW)
    before = [[path.read_bytes() for path in paths] for paths in wanted]
    path = disk.directory / file_name(base, name)
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "torn":
            path.write_bytes(path.read_bytes()[:-5])
        case "garbage":
            path.write_bytes(bytes(range(240)))
        case "foreign":
            path.write_bytes(FOREIGN[name])
    disk.events.clear()
    log = disk.open(clean=clean, recovery_point=9)
    told = disk.told("index.rebuilt")
    if (base < 6 or clean) and (name, damage) != (".index", "empty"):
        assert [event["file"] for event in told] == [str(disk.directory / file_name(base, ".log"))]
    log.close(NOW)
    after = [[path.read_bytes() for path in paths] for paths in wanted]
    assert after == before or (name, damage) == (".index", "empty")  # which is only slower


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ({"clean": True}, 9),
        ({"recovery_point": 4}, 4),
        ({"recovery_point": None}, 0),
        ({"recovery_point": 2, "start_offset": 3}, 2),
    ],
)
def test_only_a_clean_stop_has_flushed_what_no_checkpoint_says(
    disk: Disk, how: dict[str, object], wanted: int
) -> None:
    three_segments(disk)
    disk.restart()
    disk.abandon()
    assert disk.open(**how).recovery_point == wanted


@pytest.mark.parametrize("damage", ["moved", "backwards"])
def test_an_index_whose_entries_are_whole_and_wrong_is_rebuilt(disk: Disk, damage: str) -> None:
    log = disk.open(index_interval_bytes=0)
    for _ in range(4):
        log.append(batch(), 0, NOW)
    log = disk.restart()
    log.close(NOW)
    path = disk.directory / file_name(0, ".index")
    right = path.read_bytes()
    entries = [right[place : place + 8] for place in range(0, len(right), 8)]
    assert len(entries) > 1
    if damage == "moved":
        entries[-1] = entries[-1][:4] + (int.from_bytes(entries[-1][4:]) + 1).to_bytes(4, "big")
    path.write_bytes(b"".join(entries if damage == "moved" else reversed(entries)))
    disk.events.clear()
    log = disk.open(clean=True, recovery_point=4)
    assert len(disk.told("index.rebuilt")) == 1
    log.close(NOW)
    assert path.read_bytes() == right


def test_half_done_work_is_cleared_away(disk: Disk) -> None:
    log = three_segments(disk)
    before = stored(log)
    for name in (
        f"{3:020d}.log.deleted",
        f"{3:020d}.index.deleted",
        f"{0:020d}.log.cleaned",
        f"{0:020d}.timeindex.cleaned",
        f"{6:020d}.index.swap",
        f"{6:020d}.snapshot.tmp",
    ):
        (disk.directory / name).write_bytes(b"half")
    log = disk.kill()
    assert stored(log) == before
    assert {path.suffix for path in disk.directory.iterdir()} == {
        ".log", ".index", ".timeindex", ".snapshot", "",
    }  # fmt: skip


def test_a_swap_takes_the_place_of_what_it_replaces(disk: Disk) -> None:
    """The last step of a compaction: it holds what stayed of the first two segments."""
    disk.config["cleanup_policy"] = ("compact",)
    before = [it.data for it in stored(three_segments(disk))]
    kept = before[1] + before[5]
    (disk.directory / f"{0:020d}.log.swap").write_bytes(kept)
    log = disk.kill()
    assert [it.data for it in stored(log)] == [before[1], before[5], *before[6:]]
    assert bases(log) == [0, 6]
    assert [event["base_offset"] for event in disk.told("log.swap.completed")] == [0]
    assert "log.cut" not in disk.kinds()
    again = disk.kill()
    assert (bases(again), disk.kinds()) == ([0, 6], [])
    assert not list(disk.directory.glob("*.deleted"))


def test_foreign_files_are_left_alone(disk: Disk) -> None:
    three_segments(disk)
    names = ["notes.log", "7.log", "x.snapshot", "x.txnindex", "lost.index"]
    for name in names:
        (disk.directory / name).write_bytes(b"not ours")
    log = disk.kill()
    assert (bases(log), len(stored(log))) == ([0, 3, 6], 9)
    log.close(NOW)
    assert all((disk.directory / name).read_bytes() == b"not ours" for name in names)


def test_an_empty_log_file(disk: Disk) -> None:
    three_segments(disk)
    disk.abandon()
    os.truncate(disk.directory / file_name(6, ".log"), 0)
    log = disk.open()
    assert (bases(log), log.end_offset, disk.told("log.cut")) == ([0, 3, 6], 6, [])
    log.append(sequenced(7, 6), 3, NOW)
    assert log.end_offset == 7


def test_a_flushed_log_that_ends_before_its_start_is_left_alone(disk: Disk) -> None:
    log = three_segments(disk)
    log.flush(NOW)
    log.advance_start(8, NOW)
    disk.abandon()
    os.truncate(disk.directory / file_name(6, ".log"), 0)
    before = disk.files()
    with pytest.raises(LogOffline, match="ends at 6, below its recovery point 9 and start 8"):
        disk.open(recovery_point=9, start_offset=8)
    assert disk.files() == before


def test_missing_epochs_are_read_from_the_batches(disk: Disk) -> None:
    log = three_segments(disk)
    known = log.epochs.entries
    log.epochs.path.unlink()
    assert disk.kill().epochs.entries == known == [(0, 0), (1, 4), (2, 8)]
    assert disk.told("log.epochs.rebuilt")[0]["reason"] == "it is missing"


def test_epochs_of_what_was_lost_go_too(disk: Disk) -> None:
    log = three_segments(disk)
    checkpoints.write_epochs(log.epochs.path, [*log.epochs.entries, (9, 9)])
    assert disk.kill().epochs.entries == [(0, 0), (1, 4), (2, 8)]


def test_snapshots_that_say_too_much_are_dropped(disk: Disk) -> None:
    log = three_segments(disk)
    known = remembered(log)
    log.producers.apply(Header.parse(place(sequenced(7, 9), 9)))
    log.producers.save(log.snapshot_path(10))
    log = disk.kill()
    assert remembered(log) == known
    assert f"{10:020d}.snapshot" not in disk.files()


def test_snapshots_stay_where_segments_begin_and_nowhere_else(disk: Disk) -> None:
    three_segments(disk)
    for number in range(9, 12):
        disk.restart().append(sequenced(7, number), 2, NOW)
    disk.restart()
    kept = [int(name[:20]) for name in disk.files() if name.endswith(".snapshot")]
    assert kept == [3, 6, 12]


def test_recovery_renews_the_snapshots(disk: Disk) -> None:
    """A producer whose batches retention has taken is known from snapshots alone."""
    three_segments(disk)
    for path in disk.directory.glob("*.snapshot"):
        path.write_bytes(b"damaged")
    disk.kill(recovery_point=6)
    assert [Path(it["file"]).name for it in disk.told("snapshot.damaged")] == [
        f"{at:020d}.snapshot" for at in (6, 3)
    ]
    disk.kill()
    log = disk.kill(recovery_point=6)
    assert log.producers.known[7].last_sequence == 8
    assert f"{6:020d}.snapshot" in disk.files()


def test_doing_it_twice_changes_nothing(disk: Disk) -> None:
    three_segments(disk)
    disk.abandon()
    os.truncate(disk.directory / file_name(3, ".log"), 100)
    disk.open()
    cuts = disk.told("log.cut")
    disk.abandon()
    before = {name: data for name, data in disk.files().items() if "index" not in name}
    again = disk.open()
    assert disk.told("log.cut") == cuts  # all in the first start
    assert {name: data for name, data in disk.files().items() if "index" not in name} == before
    assert again.end_offset == 4


def test_what_fails_while_loading_is_an_error_not_a_loss(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored(three_segments(disk))
    disk.abandon()

    def fail(fd: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files, "truncate", fail)
        with pytest.raises(OSError, match="Input/output"):
            disk.open()
    assert stored(disk.open()) == before


def test_the_directory_may_lie_anywhere(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "a" / "b c")
    assert disk.open().end_offset == 0
    disk.abandon()
