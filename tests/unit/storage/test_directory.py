"""A broker's directory: whose it is, what is in it, and what a broken disk does to it."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.storage import checkpoints, files
from engine.storage.directory import CLEAN_SHUTDOWN, LogDirectory
from engine.storage.log import Log
from engine.storage.partition_name import parse_name
from tests.unit.storage.disk import NOW, ORDERS, batch, stored

CONFIG = TopicConfig(segment_index_bytes=4096, file_delete_delay_ms=1000)
PAYMENTS = TopicPartition("payments", 3)
CLUSTER = "hN-nKJ8ESNSX0S1WXVPjkg"


class Home:
    """A data directory, and the broker that has it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[Event] = []
        self._opened: list[LogDirectory] = []

    def open(self) -> LogDirectory:
        self.events.clear()
        directory = LogDirectory(self.path, self.events.append)
        self._opened.append(directory)
        directory.load(lambda topic: CONFIG, NOW)
        return directory

    def abandon(self) -> None:
        for directory in self._opened:
            directory.abandon()

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind == kind]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    it = Home(tmp_path / "data")
    yield it
    it.abandon()


def filled(directory: LogDirectory, partition: TopicPartition = ORDERS) -> Log:
    log = directory.create(partition, CONFIG, NOW)
    for _ in range(3):
        log.append(batch(2), 0, NOW)
    return log


# -- whose -----------------------------------------------------------------------------------


def test_a_new_directory_is_signed_and_then_refused_to_others(home: Home) -> None:
    directory = home.open()
    directory.claim(1, CLUSTER)
    directory.claim(1, CLUSTER)
    assert checkpoints.read_meta(home.path / "meta.properties") == (1, CLUSTER)
    with pytest.raises(
        ApiException, match=r"Configured broker.id 2 doesn't match stored broker.id"
    ):
        directory.claim(2, CLUSTER)
    with pytest.raises(ApiException, match="doesn't match stored clusterId") as raised:
        directory.claim(1, "another")
    assert raised.value.code is ErrorCode.inconsistent_cluster_id
    assert checkpoints.read_meta(home.path / "meta.properties") == (1, CLUSTER)


def test_a_directory_that_cannot_say_whose_it_is(home: Home) -> None:
    directory = home.open()
    (home.path / "meta.properties").write_bytes(b"\xff\xff")
    with pytest.raises(ApiException, match=r"malformed .*meta\.properties"):
        directory.claim(1, CLUSTER)


LOCK = """
import sys
from pathlib import Path
from engine.errors import ApiException
from engine.storage.directory import LogDirectory
try:
    LogDirectory(Path(sys.argv[1])).abandon()
    print("free")
except ApiException as error:
    print(error.message)
"""


def from_another_process(path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", LOCK, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    ).stdout.strip()


def test_one_broker_at_a_time(home: Home) -> None:
    directory = home.open()
    with pytest.raises(ApiException, match=r"Failed to acquire lock on file \.lock in .*data"):
        LogDirectory(home.path)
    assert "using this directory" in from_another_process(home.path)
    directory.abandon()
    assert from_another_process(home.path) == "free"


# -- what is in it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("orders-0", ORDERS),
        ("a-b.c_D-12", TopicPartition("a-b.c_D", 12)),
        ("orders", None),
        ("-0", None),
        ("orders-", None),
        ("orders-007", None),  # or it would stand for orders-7 as well
        ("orders-٣", None),
        ("my photos-3", None),
        ("orders-1 ", None),
        ("orders-0.6d2ad3a40f67-delete", None),
        ("lost+found", None),
    ],
)
def test_the_name_of_a_partitions_directory(name: str, partition: TopicPartition | None) -> None:
    assert parse_name(name) == partition


def test_a_clean_stop_and_a_start(home: Home) -> None:
    directory = home.open()
    log, before = filled(directory), stored(filled(directory, PAYMENTS))
    log.advance_start(3, NOW)
    directory.close(NOW, {ORDERS: 5, PAYMENTS: 6})
    assert (home.path / CLEAN_SHUTDOWN).exists()
    read = checkpoints.read_offsets
    assert read(home.path / checkpoints.RECOVERY_POINT) == {ORDERS: 6, PAYMENTS: 6}
    assert read(home.path / checkpoints.LOG_START) == {ORDERS: 3}  # payments starts at its file
    assert read(home.path / checkpoints.HIGH_WATERMARK) == {ORDERS: 5, PAYMENTS: 6}
    damaged = bytearray(log.active.path.read_bytes())
    damaged[70] ^= 1
    log.active.path.write_bytes(damaged)
    again = home.open()
    assert not (home.path / CLEAN_SHUTDOWN).exists()
    assert home.events == []  # nobody looked at every batch
    assert (again.logs[ORDERS].start_offset, again.logs[ORDERS].end_offset) == (3, 6)
    assert stored(again.logs[PAYMENTS]) == before
    assert again.high_watermarks == {ORDERS: 5, PAYMENTS: 6}


def test_after_a_kill_every_batch_is_looked_at(home: Home) -> None:
    directory = home.open()
    log = filled(directory)
    directory.checkpoint()
    directory.abandon()
    damaged = bytearray(log.active.path.read_bytes())
    damaged[-1] ^= 1
    log.active.path.write_bytes(damaged)
    again = home.open()
    assert again.logs[ORDERS].end_offset == 4
    (cut,) = home.told("log.cut")
    assert (cut["topic"], cut["partition"], cut["offset"]) == ("orders", 0, 4)
    assert cut["bytes"] == len(batch(2))


def test_the_marker_of_a_clean_stop_counts_once(home: Home) -> None:
    home.open().close(NOW)
    home.open().abandon()
    assert not (home.path / CLEAN_SHUTDOWN).exists()


@pytest.mark.parametrize(
    "name", [checkpoints.RECOVERY_POINT, checkpoints.LOG_START, checkpoints.HIGH_WATERMARK]
)
@pytest.mark.parametrize("damage", [b"", b"0\n", b"\0" * 30, b"0\n1\norders 0 x\n", b"\xff"])
def test_a_damaged_checkpoint_costs_no_record(home: Home, name: str, damage: bytes) -> None:
    directory = home.open()
    before = stored(filled(directory))
    directory.close(NOW, {ORDERS: 5})
    (home.path / name).write_bytes(damage)
    again = home.open()
    assert stored(again.logs[ORDERS]) == before
    (told,) = home.told("checkpoint.damaged")
    assert told["file"] == name
    assert "malformed" in told["reason"]


def test_directories_of_others_are_left_alone_and_named(home: Home) -> None:
    home.open().abandon()
    for name in ("lost+found", "my photos-3"):
        (home.path / name).mkdir()
        (home.path / name / f"{0:020d}.log").write_bytes(b"not a log")
    (home.path / "orders-9").write_bytes(b"a file")
    assert home.open().logs == {}
    assert sorted(it["directory"] for it in home.told("directory.foreign")) == [
        str(home.path / "lost+found"),
        str(home.path / "my photos-3"),
    ]
    assert (home.path / "my photos-3" / f"{0:020d}.log").read_bytes() == b"not a log"


def test_the_topic_id_is_written_with_a_new_log(home: Home) -> None:
    directory = home.open()
    directory.create(ORDERS, CONFIG, NOW, UUID(int=7))
    path = home.path / "orders-0" / "partition.metadata"
    for now_open in (directory, None):
        again = now_open or (directory.abandon(), home.open())[1]
        with pytest.raises(ApiException, match="has the log of topic id") as raised:
            again.create(ORDERS, CONFIG, NOW, UUID(int=8))
        assert raised.value.code is ErrorCode.inconsistent_topic_id
        assert checkpoints.read_topic_id(path) == UUID(int=7)
    assert directory.offline is None


def test_a_log_from_before_topic_ids_gets_the_id_later(home: Home) -> None:
    directory = home.open()
    path = home.path / "orders-0" / "partition.metadata"
    assert directory.create(ORDERS, CONFIG, NOW).topic_id is None
    assert not path.exists()
    assert directory.create(ORDERS, CONFIG, NOW, UUID(int=7)).topic_id == UUID(int=7)
    assert checkpoints.read_topic_id(path) == UUID(int=7)


def test_an_id_that_a_power_failure_left_empty_is_written_again(home: Home) -> None:
    directory = home.open()
    directory.create(ORDERS, CONFIG, NOW, UUID(int=7))
    path = home.path / "orders-0" / "partition.metadata"
    directory.abandon()
    path.write_bytes(b"")
    again = home.open()
    assert again.offline is None and again.logs[ORDERS].topic_id is None
    assert again.create(ORDERS, CONFIG, NOW, UUID(int=8)).topic_id == UUID(int=8)
    assert checkpoints.read_topic_id(path) == UUID(int=8)


def test_deleted_at_once_and_removed_later(home: Home) -> None:
    directory = home.open()
    log = filled(directory)
    read = log.read(0, 10_000)
    before = read.read()
    directory.delete(ORDERS, NOW)
    assert ORDERS not in directory.logs
    (renamed,) = home.path.glob("*-delete")
    assert renamed.name.startswith("orders-0.")
    assert directory.create(ORDERS, CONFIG, NOW).end_offset == 0  # the name is free
    directory.sweep(NOW + 999)
    assert read.read() == before  # who has it open reads on
    directory.sweep(NOW + 1000)
    assert not list(home.path.glob("*-delete"))
    assert read.file.closed
    assert (home.path / "orders-0").exists()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_new_log_under_an_old_name_inherits_no_line_of_a_checkpoint(
    home: Home, restarted: bool
) -> None:
    """After a kill, the next start would take them for the new log's. The old one had six offsets,
    and was deleted up to the fifth."""
    directory = home.open()
    old, others = filled(directory), filled(directory, PAYMENTS)
    old.advance_start(5, NOW)
    for log in (old, others):
        log.flush(NOW)
    directory.checkpoint({ORDERS: 6, PAYMENTS: 4})
    if restarted:
        directory.close(NOW, {ORDERS: 6, PAYMENTS: 4})
        directory = home.open()
    directory.delete(ORDERS, NOW)
    new = directory.create(ORDERS, CONFIG, NOW)
    new.append(batch(2), 0, NOW)
    before = stored(new)
    directory.abandon()

    again = home.open()
    assert home.told("partition.offline") == []
    assert (again.logs[ORDERS].start_offset, again.logs[ORDERS].end_offset) == (0, 2)
    assert stored(again.logs[ORDERS]) == before
    assert again.high_watermarks == {PAYMENTS: 4}
    assert again.logs[PAYMENTS].recovery_point == 6


def test_a_long_name_is_cut_to_what_a_file_system_takes(home: Home) -> None:
    directory = home.open()
    partition = TopicPartition("t" * 249, 0)
    directory.create(partition, CONFIG, NOW)
    directory.delete(partition, NOW)
    (renamed,) = home.path.glob("*-delete")
    assert len(renamed.name) == 255


def test_what_a_kill_left_of_a_deletion_is_removed(home: Home) -> None:
    directory = home.open()
    filled(directory)
    directory.delete(ORDERS, NOW)
    directory.abandon()
    assert home.open().logs == {}
    assert not list(home.path.glob("*-delete"))


# -- one partition offline -------------------------------------------------------------------


def test_what_is_known_of_a_partition_that_is_offline_stays_in_the_checkpoints(home: Home) -> None:
    directory = home.open()
    log = filled(directory)
    filled(directory, PAYMENTS)
    log.advance_start(3, NOW)
    directory.close(NOW, {ORDERS: 5, PAYMENTS: 6})
    whole = log.active.path.read_bytes()
    log.active.path.write_bytes(whole[:-1])
    for clean in (True, False):
        again = home.open()
        assert (set(again.failed), set(again.logs)) == ({ORDERS}, {PAYMENTS})
        (told,) = home.told("partition.offline")
        assert (told["topic"], told["partition"], told["offset"]) == ("orders", 0, 4)
        assert told["file"] == str(log.active.path)
        assert ("orderly" in told["reason"]) == clean
        again.checkpoint({PAYMENTS: 6})
        read = checkpoints.read_offsets
        assert read(home.path / checkpoints.RECOVERY_POINT) == {ORDERS: 6, PAYMENTS: 6}
        assert read(home.path / checkpoints.LOG_START) == {ORDERS: 3}
        assert read(home.path / checkpoints.HIGH_WATERMARK) == {ORDERS: 5, PAYMENTS: 6}
        again.abandon()
    log.active.path.write_bytes(whole)  # put back from a copy
    assert home.open().logs[ORDERS].start_offset == 3


def test_damage_is_looked_at_again_after_an_orderly_stop(home: Home) -> None:
    """A bit of a payload below the recovery point: only the CRC tells, and only a start after an
    unclean stop compares it."""
    directory = home.open()
    log = filled(directory)
    directory.close(NOW)
    (home.path / CLEAN_SHUTDOWN).unlink()
    whole = bytearray(log.active.path.read_bytes())
    whole[70] ^= 1
    log.active.path.write_bytes(whole)
    for _ in range(3):
        again = home.open()
        assert set(again.failed) == {ORDERS}
        again.close(NOW)


def test_what_was_flushed_is_so_at_the_next_start_though_no_checkpoint_says_so(home: Home) -> None:
    directory = home.open()
    log = filled(directory)
    directory.close(NOW)
    (home.path / checkpoints.RECOVERY_POINT).write_bytes(b"junk")
    whole = log.active.path.read_bytes()
    log.active.path.write_bytes(whole[:-1])
    for _ in range(3):  # the second one finds no marker of a clean stop
        again = home.open()
        assert set(again.failed) == {ORDERS}
        again.checkpoint()
        again.abandon()
    assert log.active.path.read_bytes() == whole[:-1]
    log.active.path.write_bytes(whole)
    assert home.open().logs[ORDERS].recovery_point == 6


def test_no_checkpoint_says_more_than_a_log_will_have_once_it_is_cut(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = home.open()
    log = filled(directory)
    log.flush(NOW)
    directory.checkpoint()

    def fail(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "the power fails here")

    monkeypatch.setattr(files, "truncate", fail)
    with pytest.raises(OSError, match="the power fails"):
        log.truncate(2, NOW)
    assert checkpoints.read_offsets(home.path / checkpoints.RECOVERY_POINT) == {ORDERS: 2}


# -- a broken disk ---------------------------------------------------------------------------


def test_an_io_error_takes_the_directory_offline(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = home.open()
    log = filled(directory)

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files, "append", fail)
        error = pytest.raises(ApiException, match="Input/output error")
        with error as raised, directory.guard(NOW):
            log.append(batch(), 0, NOW)
    assert raised.value.code is ErrorCode.kafka_storage_error
    assert directory.offline is not None
    assert home.told("directory.offline")[0]["directory"] == str(home.path)
    with pytest.raises(ApiException, match=r"is offline: .*Input/output"), directory.guard(NOW):
        raise AssertionError("not reached")
    directory.close(NOW)
    assert not (home.path / CLEAN_SHUTDOWN).exists()
    assert home.open().logs[ORDERS].end_offset == 6


def test_a_refusal_does_not(home: Home) -> None:
    directory = home.open()
    with pytest.raises(ApiException, match="bad"), directory.guard(NOW):
        raise ApiException(ErrorCode.invalid_record, "bad")
    assert directory.offline is None


def test_a_stop_that_fails_is_not_a_clean_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = home.open()
    filled(directory)

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files, "flush", fail)
        directory.close(NOW)
    assert "Input/output error" in (directory.offline or "nothing said")
    assert not (home.path / CLEAN_SHUTDOWN).exists()


def test_the_marker_is_gone_from_the_disk_before_anything_is_appended(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.open().close(NOW)
    flushed: list[tuple[Path, bool]] = []
    monkeypatch.setattr(
        files,
        "flush_path",
        lambda path: flushed.append((path, (home.path / CLEAN_SHUTDOWN).exists())),
    )
    home.open()
    assert flushed[-1] == (home.path, False)


def test_a_directory_that_cannot_be_locked_is_offline(home: Home) -> None:
    """Nothing is done in it, and whoever has other directories goes on with them."""
    home.path.mkdir()
    (home.path / ".lock").mkdir()
    directory = LogDirectory(home.path, home.events.append, NOW)
    assert "Is a directory" in (directory.offline or "")
    assert home.told("directory.offline")[0]["directory"] == str(home.path)
    directory.attempt(NOW, lambda: pytest.fail("it is offline"))
    assert directory.partitions(NOW) == []
    directory.close(NOW)
    assert os.listdir(home.path) == [".lock"]


def test_a_bug_in_the_work_on_a_directory_is_no_disk_that_fails(home: Home) -> None:
    directory = home.open()
    with pytest.raises(ZeroDivisionError):
        directory.attempt(NOW, lambda: 1 // 0)
    with pytest.raises(ApiException, match="bad"):
        directory.attempt(NOW, refuse)
    assert directory.offline is None


def refuse() -> None:
    raise ApiException(ErrorCode.invalid_record, "bad")


def test_a_checkpoint_that_comes_late_leaves_what_was_written_meanwhile(home: Home) -> None:
    directory = home.open()
    log = filled(directory)
    log.flush(NOW)
    late = directory.prepare_checkpoint({ORDERS: 5})
    log.truncate(2, NOW)  # which says so at once
    late()
    assert checkpoints.read_offsets(home.path / checkpoints.RECOVERY_POINT) == {ORDERS: 2}
    assert checkpoints.read_offsets(home.path / checkpoints.HIGH_WATERMARK) == {ORDERS: 5}


def test_a_checkpoint_that_comes_when_another_has_the_directory_is_not_written(home: Home) -> None:
    directory = home.open()
    filled(directory)
    late = directory.prepare_checkpoint({ORDERS: 5})
    directory.abandon()
    home.open()
    late()
    assert not (home.path / checkpoints.HIGH_WATERMARK).exists()
