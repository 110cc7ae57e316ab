"""What is not understood, or damaged where an unclean stop explains no damage: it stays as it is.

The partition is offline with an event that says where and what to do; nothing on its disk changes,
and the other partitions of the directory serve.
"""

from pathlib import Path

import pytest

from engine.config import TopicConfig
from engine.storage.batch import Header, seal
from engine.storage.directory import LogDirectory
from engine.storage.segment import file_name
from engine.storage.survey import LogOffline
from tests.unit.storage.disk import NOW, Disk, bases, batch, place, sequenced
from tests.unit.storage.older import message, newer


def with_attributes(attributes: int) -> bytes:
    made = batch()
    header = Header.parse(made)
    return seal(header._replace(attributes=attributes), made[61:])


OLD_THEN_NEW = b"".join(message(1, offset) for offset in range(20)) + b"".join(
    place(batch(), offset) for offset in range(20, 25)
)


def left_alone(disk: Disk, **how: object) -> LogOffline:
    """The log is not opened, and no file was changed, made or removed."""
    disk.abandon()
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in all_of(disk)}
    with pytest.raises(LogOffline) as raised:
        disk.open(**how)
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in all_of(disk)}
    assert after == before
    assert "log.cut" not in disk.kinds()
    return raised.value


def all_of(disk: Disk) -> list[Path]:
    return [path for path in sorted(disk.directory.iterdir()) if path.is_file()]


def filled(disk: Disk) -> None:
    """Three segments of three batches: 0-2, 3-5, 6-8."""
    log = disk.open(index_interval_bytes=0)
    for number in range(9):
        if number in (3, 6):
            log.roll(NOW)
        log.append(sequenced(7, number, at=NOW + number), 0, NOW)
    disk.restart()
    disk.abandon()


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message(0, 0), "magic 0"),
        (message(1, 0), "magic 1"),
        (OLD_THEN_NEW, "magic 1"),
        (place(batch(), 0) + message(1, 1), "magic 1"),
        (newer(place(batch(), 0)), "magic 3"),
        (with_attributes(0x80), "attributes"),
        (with_attributes(5), "attributes"),
    ],
)
def test_what_is_whole_and_not_understood_is_left_alone(
    disk: Disk, data: bytes, reason: str, clean: bool
) -> None:
    disk.directory.mkdir(parents=True)
    (disk.directory / file_name(0, ".log")).write_bytes(data)
    offline = left_alone(disk, clean=clean)
    assert reason in offline.facts["reason"]
    assert offline.facts["file"] == str(disk.directory / file_name(0, ".log"))


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (place(batch(), 3) + place(batch(), 2), "offset 2 comes after 3"),
        (place(batch(2), 3) + place(batch(), 4), "offset 4 comes after 4"),
        (place(batch(), 2**33), "out of the file's reach"),
        (place(batch(), 0, 5) + place(batch(), 1, 3), "leader epoch 3 comes after 5"),
        (place(batch(), 99) + place(batch(3), 100), "it reaches 102, the next file begins at 102"),
    ],
)
def test_a_whole_batch_in_a_wrong_place_is_left_alone(
    disk: Disk, data: bytes, reason: str, clean: bool
) -> None:
    """The CRC covers neither offset nor epoch: only the batches around it tell."""
    disk.directory.mkdir(parents=True)
    (disk.directory / file_name(0, ".log")).write_bytes(data)
    (disk.directory / file_name(102, ".log")).write_bytes(place(batch(), 102, 5))
    assert reason in str(left_alone(disk, clean=clean).facts["reason"])


def test_a_torn_message_of_an_older_format_is_cut_like_any_other(disk: Disk) -> None:
    disk.directory.mkdir(parents=True)
    torn = bytearray(place(batch(), 0) + message(1, 1))
    torn[-1] ^= 1  # its CRC is wrong: an unclean stop explains that
    (disk.directory / file_name(0, ".log")).write_bytes(torn)
    assert disk.open(recovery_point=0).end_offset == 1
    assert "CRC" in disk.told("log.cut")[0]["reason"]


def test_a_file_for_an_offset_that_no_log_reaches(disk: Disk) -> None:
    filled(disk)
    (disk.directory / file_name(2**63 - 1, ".log")).write_bytes(b"")
    assert "no log reaches this offset" in str(left_alone(disk).facts["reason"])


BELOW = "below the recovery point"


def cut_short(disk: Disk, base: int) -> None:
    path = disk.directory / file_name(base, ".log")
    path.write_bytes(path.read_bytes()[:-3])


@pytest.mark.parametrize(
    ("base", "how", "reason"),
    [
        (3, {"clean": True, "recovery_point": 9}, "the last stop was orderly"),
        (8, {"clean": True, "recovery_point": 9}, "the last stop was orderly"),
        (3, {"recovery_point": 6}, BELOW),
        (6, {"recovery_point": 9}, BELOW),
        (3, {"recovery_point": None}, "not known whether"),
    ],
)
def test_damage_that_no_unclean_stop_explains(
    disk: Disk, base: int, how: dict[str, object], reason: str
) -> None:
    filled(disk)
    cut_short(disk, base // 3 * 3)
    assert reason in left_alone(disk, **how).facts["reason"]


def test_without_a_recovery_point_only_the_last_segment_has_a_torn_tail(disk: Disk) -> None:
    filled(disk)
    cut_short(disk, 6)
    assert disk.open(recovery_point=None).end_offset == 8
    assert disk.told("log.cut")[0]["offset"] == 8


def test_an_index_and_its_log_damaged(disk: Disk) -> None:
    """The index tells that something is wrong; the log is read, and it is not whole, either."""
    filled(disk)
    (disk.directory / file_name(3, ".index")).write_bytes(b"?" * 16)
    log = disk.directory / file_name(3, ".log")
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    offline = left_alone(disk, clean=True, recovery_point=9)
    assert (offline.facts["position"], offline.facts["offset"]) == (0, 3)
    assert "CRC" in str(offline.facts["reason"])


@pytest.mark.parametrize("how", [{"clean": True}, {"recovery_point": 6}])
def test_an_index_without_its_log_tells_of_a_hole(disk: Disk, how: dict[str, object]) -> None:
    filled(disk)
    (disk.directory / file_name(3, ".log")).unlink()
    assert "missing" in str(left_alone(disk, **how).facts["reason"])
    assert disk.open(recovery_point=3).end_offset == 9  # it was never flushed: nobody counts on it


@pytest.mark.parametrize(
    ("checkpoint", "words"),
    [
        ({"recovery_point": 10}, "recovery point 10"),
        ({"clean": True, "start_offset": 10}, "start 10"),
        ({"recovery_point": None, "start_offset": 10}, "start 10"),
        ({"recovery_point": 10, "start_offset": 10}, "recovery point 10 and start 10"),
    ],
)
def test_a_log_that_ends_below_what_its_checkpoints_say(
    disk: Disk, checkpoint: dict[str, int | None], words: str
) -> None:
    filled(disk)
    assert f"ends at 9, below its {words}" in str(left_alone(disk, **checkpoint).facts["reason"])


def test_a_tail_that_was_deleted_and_lost_before_a_flush(disk: Disk) -> None:
    """DeleteRecords flushes nothing, and a power failure takes what it was asked for: all that is
    left is below the start."""
    filled(disk)
    log = disk.open(recovery_point=6)
    log.append(batch(20), 0, NOW)
    log.advance_start(20, NOW)
    assert log.recovery_point == 6
    cut_short(disk, 6)
    log = disk.kill(recovery_point=6, start_offset=20)
    assert (log.start_offset, log.end_offset) == (20, 20)
    log.append(batch(3), 0, NOW)
    log = disk.kill(start_offset=20)
    assert (log.end_offset, bases(log)) == (23, [20])


def test_a_compaction_that_is_not_whole_takes_nobodys_place(disk: Disk) -> None:
    filled(disk)
    disk.config["cleanup_policy"] = ("compact",)
    data = (disk.directory / file_name(0, ".log")).read_bytes()
    swap = disk.directory / file_name(0, ".log.swap")
    swap.write_bytes(data[:-1])
    assert "which was flushed" in str(left_alone(disk).facts["reason"])


def test_a_compaction_that_is_whole_is_finished_whatever_the_policy(disk: Disk) -> None:
    """Without ZooKeeper a broker opens its logs before it knows the settings of their topics."""
    filled(disk)
    swap = disk.directory / file_name(0, ".log.swap")
    swap.write_bytes((disk.directory / file_name(0, ".log")).read_bytes())
    assert disk.config.get("cleanup_policy", ("delete",)) == ("delete",)
    assert disk.open().end_offset == 9
    assert not swap.exists()


@pytest.mark.parametrize("name", [file_name(3, ".log"), file_name(3, ".snapshot")])
def test_a_directory_where_a_file_is_expected(disk: Disk, name: str) -> None:
    filled(disk)
    (disk.directory / name).unlink()
    (disk.directory / name).mkdir()
    assert "writable file is expected" in str(left_alone(disk).facts["reason"])


def test_nobody_knows_whose_log_it_is(disk: Disk) -> None:
    filled(disk)
    (disk.directory / "partition.metadata").write_text("version: 0\ntopic_id: ???\n")
    assert "malformed" in str(left_alone(disk).facts["reason"])


def test_an_end_in_a_gap_is_where_it_was_after_a_restart(disk: Disk) -> None:
    log = disk.open()
    log.append_copied(place(batch(), 0) + place(batch(), 20), NOW)
    log.flush(NOW)
    log.truncate(15, NOW)
    assert (log.end_offset, log.recovery_point) == (15, 15)
    log.advance_start(12, NOW)
    log = disk.restart()
    assert (log.start_offset, log.end_offset) == (12, 15)
    assert disk.kill(start_offset=12, recovery_point=15).end_offset == 15


def test_only_a_deleted_partition_is_removed_and_by_its_whole_name(tmp_path: Path) -> None:
    mine = tmp_path / f"orders-0.{'0a' * 16}-delete"
    other = tmp_path / "photos-delete"
    for path in (mine, other):
        path.mkdir()
        (path / "a").write_bytes(b"a")
    directory = LogDirectory(tmp_path)
    directory.load(lambda topic: TopicConfig(), NOW)
    directory.abandon()
    assert (mine.exists(), other.exists()) == (False, True)
