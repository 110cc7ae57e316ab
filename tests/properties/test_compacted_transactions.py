"""Compaction of transactions, and a crash between any two changes to the disk.

0 a=1  1 b=1  2 commit 7  3 c=1 | 4 a=2  5 d=2  6 abort 7 | 7 e=1  8 abort 8  9 b=3  10 commit 9
       producer 7                    7      8                                 9
"""

import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest

from engine.storage.aborted import Aborted
from engine.storage.batch import scan
from engine.storage.control import ControlType, find
from engine.storage.log import Log
from engine.storage.records import decode
from tests.properties.test_cleaner import Crash, Door
from tests.unit.storage.compacted import NOW, Store, batch, fill, log_records, marker

CONFIG = {"min_cleanable_dirty_ratio": 0.0, "index_interval_bytes": 150, "segment_bytes": 1000}
ABORTED = (Aborted(7, 4, 6, 5), Aborted(8, 5, 8, 9))
COMMITTED = {0: b"1", 1: b"1", 3: b"1", 7: b"1", 9: b"3", 11: b"1"}
LATEST = {b"a": 0, b"b": 9, b"c": 3, b"e": 7, b"z": 11}


def write(log: Log, producer: int, sequence: int, *texts: str) -> None:
    for number, text in enumerate(texts, sequence):
        fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": number}
        log.append(batch(text, transactional=True, **fields), 0, NOW)


def tell(log: Log) -> None:
    write(log, 7, 0, "a=1", "b=1")
    log.append(marker(7, ControlType.COMMIT), 0, NOW, client=False)
    fill(log, "c=1 |")
    write(log, 7, 2, "a=2")
    write(log, 8, 0, "d=2")
    log.append(marker(7, ControlType.ABORT), 0, NOW, client=False)
    fill(log, "| e=1")
    log.append(marker(8, ControlType.ABORT), 0, NOW, client=False)
    write(log, 9, 0, "b=3")
    log.append(marker(9, ControlType.COMMIT), 0, NOW, client=False)
    fill(log, "| z=1")


def check(log: Log) -> None:
    """Nobody sees what was aborted, and everybody the latest of what was not."""
    assert log.aborted(0, log.end_offset) == ABORTED
    assert log.producers.open == {}
    for start in range(log.end_offset):
        seen = committed(log, start)
        assert seen.items() <= COMMITTED.items()
        assert {offset for offset in LATEST.values() if offset >= start} <= set(seen)


def committed(log: Log, offset: int) -> dict[int, bytes | None]:
    """As a consumer reads it, one fetch after the other."""
    seen: dict[int, bytes | None] = {}
    while offset < log.end_offset:
        found = log.read(offset, 250)
        listed = log.aborted(offset, log.reach(offset, found))
        assert found.size
        start, data = offset, found.read()
        for position, header in scan(data):
            offset = header.next_offset
            lost = any(
                it.producer_id == header.producer_id
                and it.first_offset <= header.base_offset < it.last_offset
                for it in listed
            )
            if not header.is_control and not lost:
                whole = data[position : position + header.size]
                seen |= {it.offset: it.value for it in decode(whole) if it.offset >= start}
            elif header.is_control:
                assert find(data, header, position) is not None
    return seen


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # who crashes closes no file
def test_no_crash_brings_back_what_was_aborted() -> None:
    with tempfile.TemporaryDirectory() as directory, patch("os.fsync"):
        path = Path(directory, "before")
        store = Store(path, **CONFIG)
        tell(store.log)
        check(store.log)
        store.log.close(NOW)
        last, crashed = 0, True
        while crashed:
            last += 1
            crashed = crash(path, Path(directory, f"{last}"), last)
        assert last > 20


def crash(path: Path, trial: Path, last: int) -> bool:
    """Clean up to the n-th change to the disk, and look at what two restarts make of it."""
    shutil.copytree(path, trial)
    store, crashed = Store(trial, **CONFIG), False
    try:
        with Door(last).standing():
            store.clean()
    except Crash:
        crashed = True
    finally:
        for clean in (True, False):
            shutil.copytree(trial, trial.with_suffix(f".{clean}"))
        store.log.abandon()
    for clean in (True, False):
        restarted(Store(trial.with_suffix(f".{clean}"), clean=clean, **CONFIG))
    return crashed


def restarted(store: Store) -> None:
    left = {path.suffix for path in store.log.directory.iterdir()}
    assert not left & {".swap", ".cleaned"}
    check(store.log)
    if store.choose():
        store.clean()
    check(store.log)
    latest = {record.key: record.offset for record in log_records(store.log)}
    assert latest == LATEST
    store.log.abandon()
