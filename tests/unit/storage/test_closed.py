"""Closed segments are flushed while their log is used; the recovery point follows, or stays."""

import asyncio
import os
from collections.abc import Callable

import pytest

from engine.storage import files
from engine.storage.closed import ClosedSegments
from engine.storage.log import Log
from engine.storage.segment import file_name
from tests.unit.storage.disk import NOW, Disk, bases, batch


def rolled(disk: Disk, segments: int = 3) -> Log:
    """Segments of two records each, then an active one with two: none of it was flushed."""
    log = disk.open()
    for _ in range(segments):
        log.append(batch(2), 0, NOW)
        log.roll(NOW)
    log.append(batch(2), 0, NOW)
    assert log.recovery_point == 0
    return log


def flush_closed(log: Log) -> None:
    closed = ClosedSegments(log)
    closed.flush()
    closed.flushed()


def test_a_recovery_begins_behind_them(disk: Disk) -> None:
    log = rolled(disk)
    flush_closed(log)
    assert log.recovery_point == log.active.base_offset == 6
    path = disk.directory / file_name(2, ".log")
    path.write_bytes(path.read_bytes()[:30] + b"?" + path.read_bytes()[31:])  # not looked at
    active = disk.directory / file_name(6, ".log")
    active.write_bytes(active.read_bytes()[:-1])
    log = disk.kill(recovery_point=6)
    assert [(it["offset"], it["file"]) for it in disk.told("log.cut")] == [(6, str(active))]
    assert (bases(log), log.end_offset) == ([0, 2, 4, 6], 6)


def test_all_their_files_and_the_epochs_and_the_names_are_flushed(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rolled(disk, 2)
    forced: list[str] = []
    monkeypatch.setattr(files, "flush_path", lambda path: forced.append(path.name))
    flush_closed(log)
    wanted = {path.name for segment in log.segments[:-1] for path in segment.paths}
    assert wanted <= set(forced)
    assert not set(forced).intersection(path.name for path in log.active.paths)
    assert forced[-2:] == [log.epochs.path.name, log.directory.name]


@pytest.mark.parametrize(
    ("meanwhile", "recovery_point"),
    [
        (lambda log: log.append(batch(), 0, NOW), 6),
        (lambda log: log.roll(NOW), 6),
        (lambda log: log.truncate(7, NOW), 6),  # within the active one
        (lambda log: log.truncate(6, NOW), 6),  # to where it begins
        (lambda log: log.truncate(5, NOW), 0),  # into a closed one
        (lambda log: log.truncate(4, NOW), 0),
        (lambda log: log.truncate(0, NOW), 0),
        (lambda log: log.restart_at(40, NOW), 0),
        (lambda log: log.drop(log.segments[:2], NOW, "retention"), 6),
        (lambda log: log.flush(NOW), 8),
    ],
)
def test_the_log_is_changed_meanwhile(
    disk: Disk, meanwhile: Callable[[Log], None], recovery_point: int
) -> None:
    log = rolled(disk)
    closed = ClosedSegments(log)
    closed.flush()
    meanwhile(log)
    closed.flushed()
    assert log.recovery_point == recovery_point


def test_other_records_are_written_in_their_place_meanwhile(disk: Disk) -> None:
    """The same offsets, the same file names: what was flushed is not what is there now."""
    log = rolled(disk)
    closed = ClosedSegments(log)
    closed.flush()
    log.truncate(3, NOW)
    while log.active.base_offset < 6:
        log.append(batch(1), 1, NOW)
        log.append(batch(2), 1, NOW)
        log.roll(NOW)
    log.append(batch(2), 1, NOW)
    closed.flushed()
    assert log.recovery_point == 0


def test_they_are_deleted_meanwhile(disk: Disk) -> None:
    log = rolled(disk)
    closed = ClosedSegments(log)
    log.drop(log.segments[:2], NOW, "retention")
    log.sweep(NOW + log.config.file_delete_delay_ms)
    closed.flush()
    closed.flushed()
    assert log.recovery_point == 6


def test_a_file_that_cannot_be_flushed_is_an_error(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rolled(disk)
    closed = ClosedSegments(log)

    def fails(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="Input/output"):
        asyncio.run(asyncio.to_thread(closed.flush))
    assert log.recovery_point == 0
