"""Segments that have served their time: which go, which stay, and what a reader notices."""

import pytest

from engine.storage import files, retention
from engine.storage.log import Log
from engine.storage.segment import file_name
from tests.unit.storage.disk import NOW, Disk, bases, batch, sequenced

SIZE = len(batch(1, 100))
HOUR = 3_600_000


def hourly(disk: Disk, count: int = 5, **config: object) -> Log:
    """A segment an hour, one batch each."""
    log = disk.open(segment_bytes=SIZE, **config)
    for hour in range(count):
        log.append(batch(1, 100, at=NOW + hour * HOUR), 0, NOW)
    return log


def test_by_time(disk: Disk) -> None:
    log = hourly(disk, retention_ms=2 * HOUR)
    assert retention.enforce(log, NOW + 4 * HOUR, 5) == 2
    assert (bases(log), log.start_offset) == ([2, 3, 4], 2)
    assert retention.enforce(log, NOW + 4 * HOUR + 1, 5) == 1
    assert [event["reason"] for event in disk.told("segment.deleted")] == ["retention.ms"] * 3
    assert [event["base_offset"] for event in disk.told("segment.deleted")] == [0, 1, 2]
    assert disk.told("log.start")[-1]["start_offset"] == 3


def test_when_all_is_too_old_the_active_segment_goes_too(disk: Disk) -> None:
    log = hourly(disk, retention_ms=2 * HOUR)
    assert retention.enforce(log, NOW + 99 * HOUR, 5) == 5
    assert (bases(log), log.start_offset, log.end_offset, log.size) == ([5], 5, 5, 0)
    assert retention.enforce(log, NOW + 999 * HOUR, 5) == 0  # an empty one stays
    log.append(batch(1, 100), 0, NOW)
    assert (log.end_offset, bases(log)) == (6, [5])


def test_the_oldest_first_and_none_in_the_middle(disk: Disk) -> None:
    log = disk.open(segment_bytes=SIZE, retention_ms=HOUR)
    for at in (NOW + 9 * HOUR, NOW, NOW + 9 * HOUR):
        log.append(batch(1, 100, at=at), 0, NOW)
    assert retention.enforce(log, NOW + 9 * HOUR, 3) == 0


def test_records_without_a_time_are_as_old_as_their_file(disk: Disk) -> None:
    log = disk.open(segment_bytes=SIZE, retention_ms=HOUR)
    for hour in range(3):
        log.append(batch(1, 100, at=-1), 0, NOW)
        files.set_modified(log.active.file.fileno(), NOW + hour * HOUR)
    assert retention.enforce(log, NOW + 2 * HOUR, 3) == 1
    assert bases(log) == [1, 2]


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (-1, [0, 1, 2, 3, 4]),
        (5 * SIZE, [0, 1, 2, 3, 4]),
        (4 * SIZE + 1, [0, 1, 2, 3, 4]),  # with one less it would be too small
        (4 * SIZE, [1, 2, 3, 4]),
        (SIZE, [4]),
        (SIZE - 1, [4]),
        (0, [5]),
    ],
)
def test_by_bytes(disk: Disk, keep: int, left: list[int]) -> None:
    log = hourly(disk, retention_bytes=keep, retention_ms=-1)
    retention.enforce(log, NOW, 5)
    assert bases(log) == left
    assert {event["reason"] for event in disk.told("segment.deleted")} <= {"retention.bytes"}


def test_nothing_beyond_the_high_watermark_goes(disk: Disk) -> None:
    log = hourly(disk, retention_ms=0, retention_bytes=0)
    for up_to, left in [(0, 0), (1, 1), (3, 3), (4, 4)]:
        retention.enforce(log, NOW + 99 * HOUR, up_to)
        assert bases(log)[0] == left


def test_deleted_records_take_their_segments_with_them(disk: Disk) -> None:
    log = hourly(disk, retention_ms=-1)
    log.advance_start(3, NOW)
    assert retention.enforce(log, NOW, 5) == 3
    assert (bases(log), log.start_offset) == ([3, 4], 3)
    assert disk.told("segment.deleted")[-1]["reason"] == "log start"


def test_a_compacted_log_only_loses_what_lies_before_its_start(disk: Disk) -> None:
    log = hourly(disk, cleanup_policy=("compact",), retention_ms=0, retention_bytes=0)
    assert retention.enforce(log, NOW + 99 * HOUR, 5) == 0
    log.advance_start(2, NOW)
    assert retention.enforce(log, NOW + 99 * HOUR, 5) == 2


def test_a_segment_that_compaction_emptied_does_not_stop_it(disk: Disk) -> None:
    log = hourly(disk, cleanup_policy=("compact", "delete"), retention_ms=HOUR)
    log.segments[1].cut(0, 1)
    files.set_modified(log.segments[1].file.fileno(), NOW)
    assert retention.enforce(log, NOW + 4 * HOUR, 5) == 3
    assert bases(log) == [3, 4]


def test_files_are_renamed_at_once_and_removed_later(disk: Disk) -> None:
    log = hourly(disk, retention_ms=3 * HOUR, file_delete_delay_ms=1000)
    read = log.read(0, 10_000)
    before = read.read()
    now = NOW + 4 * HOUR
    retention.enforce(log, now, 5)
    names = set(disk.files())
    for suffix in (".log", ".index", ".timeindex"):
        assert file_name(0, suffix) not in names
        assert file_name(0, suffix) + ".deleted" in names
    assert file_name(0, ".snapshot") not in names
    log.sweep(now + 999)
    assert file_name(0, ".log.deleted") in disk.files()
    assert read.read() == before  # who has it open reads on
    log.sweep(now + 1000)
    assert not [name for name in disk.files() if name.endswith(".deleted")]
    assert read.file.closed


def test_after_a_kill_what_was_renamed_is_gone(disk: Disk) -> None:
    log = hourly(disk, retention_ms=2 * HOUR)
    retention.enforce(log, NOW + 4 * HOUR, 5)
    log = disk.kill()
    assert (bases(log), log.start_offset, log.end_offset) == ([2, 3, 4], 2, 5)
    assert not list(disk.directory.glob("*.deleted"))


def test_a_producer_is_known_longer_than_its_records(disk: Disk) -> None:
    log = disk.open(segment_bytes=SIZE, retention_ms=HOUR)
    log.append(sequenced(7, 0, at=NOW), 0, NOW)
    for _ in range(2):
        log.append(batch(1, 100, at=NOW + 9 * HOUR), 0, NOW)
    retention.enforce(log, NOW + 9 * HOUR, 3)
    assert log.append(sequenced(7, 0, at=NOW), 0, NOW).duplicate
    assert disk.kill().append(sequenced(7, 0, at=NOW), 0, NOW).duplicate
