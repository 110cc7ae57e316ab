"""A broker with three log directories: each may fail at any moment, and the others go on.

The faults need no rights that root does not have: a file in the place of a directory, and for an
open log a device that is always full, or that cannot be flushed.
"""

import asyncio
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.broker.cleaner_task import CleanerTask
from engine.broker.environment import Environment
from engine.broker.zookeeper.roles import change_roles
from engine.config import BrokerConfig, TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.replication.log_read import FetchRange
from engine.replication.replica_manager import ReplicaManager
from engine.storage import checkpoints, files, records
from engine.storage.directory import OFFLINE, LogDirectory
from engine.storage.records import Record
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from tests.unit.replication.cluster import checkpoint, code_of, order, state

NAMES = ("one", "two", "three")
CLUSTER = "hN-nKJ8ESNSX0S1WXVPjkg"
PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
TOPIC = TopicConfig(
    segment_index_bytes=4096, segment_bytes=1000, cleanup_policy=("compact",), flush_ms=1000
)
LATER = 10_000_000_000_000
OFFLINE_CODE = ErrorCode.kafka_storage_error


def batch(value: str) -> bytes:
    return records.encode([Record(0, 1_000, b"key", value.encode())])


class Disks:
    """Three directories, and the replicas of one broker on them: it leads a partition on each."""

    def __init__(self, path: Path) -> None:
        self.paths = [path / name for name in NAMES]
        self.now = 1_000_000
        self.events: list[Event] = []
        self.directories: list[LogDirectory] = []
        self._opened: list[LogDirectory] = []
        self.config = BrokerConfig.parse({"broker.id": "1", "zookeeper.connect": "-"})

    def start(self) -> None:
        self.directories = [LogDirectory(it, self.events.append, self.now) for it in self.paths]
        for directory in self.directories:
            self._opened.append(directory)
            directory.attempt(self.now, partial(directory.claim, 1, CLUSTER))
        self.replicas = ReplicaManager(
            self.config, self.directories, lambda: self.now, self.events.append
        )
        self.replicas.logs.load(lambda topic: TOPIC)

    def lead(self, *, is_new: bool = False) -> dict[TopicPartition, ErrorCode]:
        """The controller makes this broker the leader of all; returns what it answers."""
        codes = {}
        for each in PARTITIONS:
            epoch = 0 if is_new else 1
            row = state(1, epoch, (1,), (1,), partition_index=each.partition, is_new=is_new)
            request: LeaderAndIsrRequest = order({each: row})
            (error,) = change_roles(self.replicas.apply, request).partition_errors
            codes[each] = error.error_code
        return codes

    def fill(self) -> None:
        for each in PARTITIONS:
            for _ in range(20):
                self.replicas.append(each, batch("x" * 300), to_all=False)

    def stop(self) -> None:
        self.replicas.close()

    def abandon(self) -> None:
        for directory in self._opened:
            directory.abandon()

    def on(self, number: int) -> TopicPartition:
        """The partition in a directory."""
        (found,) = [it for it in PARTITIONS if (self.paths[number] / str(it)).is_dir()]
        return found

    def named(self) -> list[str]:
        """The directories of which an event says that they have failed."""
        return [event.data["directory"] for event in self.events if event.kind == OFFLINE]

    def code(self, partition: TopicPartition) -> set[ErrorCode]:
        wanted = FetchRange(0, 1000)
        return {
            code_of(self.replicas.append, partition, batch("y"), to_all=False),
            code_of(self.replicas.read, partition, wanted, 1000, at_least_one=True),
        }

    def upkeep(self) -> None:
        """All that a broker does from time to time."""
        self.now = LATER
        self.replicas.logs.flush_due()
        self.replicas.logs.sweep()
        self.replicas.enforce_retention()
        asyncio.run(self.replicas.logs.flush_closed(asyncio.to_thread))
        checkpoint(self.replicas)
        self.replicas.logs.expire_producers(1)
        self.replicas.tick()


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    """A broker that has led its partitions, and was stopped."""
    disks = Disks(tmp_path)
    disks.start()
    assert set(disks.lead(is_new=True).values()) == {ErrorCode.none}
    disks.fill()
    assert {disks.on(number) for number in range(3)} == set(PARTITIONS)
    disks.stop()
    yield disks
    disks.abandon()


# -- before and at the start -----------------------------------------------------------------


def file_in_its_place(path: Path) -> None:
    path.rename(path.with_name("unplugged"))
    path.write_text("no directory")


def no_lock(path: Path) -> None:
    (path / ".lock").unlink()
    (path / ".lock").mkdir()


def damaged_meta(path: Path) -> None:
    (path / checkpoints.META).write_bytes(b"\xff\xff")


def unreadable_meta(path: Path) -> None:
    (path / checkpoints.META).unlink()
    (path / checkpoints.META).mkdir()


def no_parent(path: Path) -> None:
    """Its parent is a file now: neither it nor its parent can be made."""
    path.rename(path.with_name("unplugged"))
    path.symlink_to(path.with_name("unplugged") / checkpoints.META / "data")


BEFORE = [file_in_its_place, no_lock, damaged_meta, unreadable_meta, no_parent]


@pytest.mark.parametrize("number", range(3), ids=NAMES)
@pytest.mark.parametrize("harm", BEFORE, ids=lambda harm: harm.__name__)
def test_a_directory_that_cannot_be_opened(disks: Disks, harm: Any, number: int) -> None:
    """The broker starts on the two others. The partition on the third is not made anew."""
    lost = disks.on(number)
    harm(disks.paths[number])
    disks.start()
    assert disks.named() == [str(disks.paths[number])]
    codes = disks.lead()
    assert codes == dict.fromkeys(PARTITIONS, ErrorCode.none) | {lost: OFFLINE_CODE}
    assert disks.code(lost) == {OFFLINE_CODE}
    for each in set(PARTITIONS) - {lost}:
        assert disks.code(each) == {ErrorCode.none}
        assert disks.replicas.logs[each].end_offset == 21
    disks.upkeep()
    assert disks.named() == [str(disks.paths[number])]
    disks.stop()


@pytest.mark.parametrize("number", range(3), ids=NAMES)
def test_an_error_while_the_logs_are_loaded(
    disks: Disks, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, flush_path = disks.on(number), os.open

    def fail(path: Any, *more: Any, **named: Any) -> int:
        if Path(path) == disks.paths[number]:
            raise OSError(5, "Input/output error")
        return flush_path(path, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)  # the last step of loading flushes the directory
        disks.start()
    assert disks.named() == [str(disks.paths[number])]
    codes = disks.lead()
    assert codes == dict.fromkeys(PARTITIONS, ErrorCode.none) | {lost: OFFLINE_CODE}


def test_a_new_partition_is_made_on_a_disk_that_works(disks: Disks) -> None:
    file_in_its_place(disks.paths[0])
    disks.start()
    row = state(1, 0, (1,), (1,), partition_index=7, is_new=True)
    (error,) = change_roles(
        disks.replicas.apply, order({TopicPartition("orders", 7): row})
    ).partition_errors
    assert error.error_code is ErrorCode.none
    assert code_of(disks.replicas.find, TopicPartition("orders", 7)) is ErrorCode.none


def test_the_log_is_there_again_with_its_disk(disks: Disks) -> None:
    lost = disks.on(1)
    file_in_its_place(disks.paths[1])
    disks.start()
    assert disks.lead()[lost] is OFFLINE_CODE
    disks.stop()
    disks.paths[1].unlink()
    disks.paths[1].with_name("unplugged").rename(disks.paths[1])
    disks.start()
    assert set(disks.lead().values()) == {ErrorCode.none}
    assert disks.replicas.logs[lost].end_offset == 20


def test_a_directory_of_another_broker_is_refused_even_beside_good_ones(disks: Disks) -> None:
    """A wrong configuration is no broken disk: the same error as with one directory."""
    checkpoints.write_meta(disks.paths[1] / checkpoints.META, 2, CLUSTER)
    with pytest.raises(ApiException, match=r"doesn't match stored broker\.id 2"):
        disks.start()
    assert disks.named() == []


def test_a_partition_that_is_on_two_disks(disks: Disks) -> None:
    """One of the two is older; the broker does not start before a person has decided."""
    lost = disks.on(1)
    copy = disks.paths[2] / str(lost)
    shutil.copytree(disks.paths[1] / str(lost), copy)
    before = {path: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(ApiException, match=rf"Duplicate .*two/{lost}, .*three/{lost}! Stop the"):
        disks.start()
    assert {path: path.read_bytes() for path in copy.iterdir()} == before


# -- while it serves -------------------------------------------------------------------------


@contextmanager
def device(file: Any, name: str) -> Iterator[None]:
    """An open file is this device meanwhile."""
    before, other = os.dup(file.fileno()), os.open(name, os.O_RDWR)
    os.dup2(other, file.fileno())
    try:
        yield
    finally:
        os.dup2(before, file.fileno())
        os.close(before)
        os.close(other)


def full(disks: Disks, partition: TopicPartition) -> None:
    """ENOSPC at an append."""
    with device(disks.replicas.logs[partition].active.file, "/dev/full"):
        assert disks.code(partition) == {OFFLINE_CODE}


def flush(disks: Disks, partition: TopicPartition) -> None:
    """EINVAL at fsync."""
    log: Any = disks.replicas.logs[partition]
    assert disks.code(partition) == {ErrorCode.none}
    disks.now = LATER
    with device(log.active.file, "/dev/null"):
        disks.replicas.logs.flush_due()


def flush_closed(disks: Disks, partition: TopicPartition) -> None:
    """EINVAL at fsync of a closed segment, in a thread."""
    disks.fill()
    log: Any = disks.replicas.logs[partition]
    assert log.recovery_point < log.active.base_offset
    log.segments[-2].path.unlink()
    log.segments[-2].path.symlink_to("/dev/null")
    asyncio.run(disks.replicas.logs.flush_closed(asyncio.to_thread))


def checkpointing(disks: Disks, partition: TopicPartition) -> None:
    """ENOSPC where a checkpoint is written."""
    path = disks.replicas.logs.directory_of[partition].path  # type: ignore[attr-defined]
    (path / f"{checkpoints.HIGH_WATERMARK}.tmp").symlink_to("/dev/full")
    checkpoint(disks.replicas)


def roll(disks: Disks, partition: TopicPartition) -> None:
    """A new segment cannot be made: its directory is gone."""
    log: Any = disks.replicas.logs[partition]
    log.directory.rename(log.directory.with_name("gone"))
    for _ in range(20):
        code_of(disks.replicas.append, partition, batch("z" * 300), to_all=False)


def clean(disks: Disks, partition: TopicPartition) -> None:
    """ENOSPC where the cleaner writes what is left of a log."""
    path = disks.replicas.logs.directory_of[partition].path  # type: ignore[attr-defined]
    (path / str(partition) / f"{0:020d}.log.cleaned").symlink_to("/dev/full")
    disks.now = LATER

    async def run() -> None:
        cleaner = asyncio.create_task(
            CleanerTask(disks.config, disks.replicas, disks.events.append).run()
        )
        async with asyncio.timeout(20):
            while len([it for it in disks.events if it.kind == "log.cleaned"]) < 2 or not (
                disks.named()
            ):
                await asyncio.sleep(0.01)
        assert not cleaner.done()
        cleaner.cancel()

    asyncio.run(run())


def cleaner_checkpoint(disks: Disks, partition: TopicPartition) -> None:
    """ENOSPC where the cleaner writes how far it is, as the end of a log is removed."""
    path = disks.replicas.logs.directory_of[partition].path  # type: ignore[attr-defined]
    checkpoints.write_offsets(path / checkpoints.CLEANER, {partition: 5000})
    (path / f"{checkpoints.CLEANER}.tmp").symlink_to("/dev/full")
    CleanerTask(disks.config, disks.replicas, disks.events.append)


WHILE = [full, flush, flush_closed, checkpointing, roll, clean, cleaner_checkpoint]


def test_closed_segments_are_flushed_on_each_disk(disks: Disks) -> None:
    disks.start()
    disks.lead()
    disks.fill()
    asyncio.run(disks.replicas.logs.flush_closed(asyncio.to_thread))
    checkpoint(disks.replicas)
    for number, path in enumerate(disks.paths):
        log: Any = disks.replicas.logs[disks.on(number)]
        assert checkpoints.read_offsets(path / checkpoints.RECOVERY_POINT) == {
            disks.on(number): log.active.base_offset
        }


def test_requests_are_served_while_a_disk_takes_long_to_write_a_checkpoint(
    disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.start()
    disks.lead()
    marks = {it: disks.replicas.partitions[it].high_watermark for it in PARTITIONS}
    begun, written, replace = threading.Event(), threading.Event(), files.replace

    def slow(*words: Any, **more: Any) -> None:
        begun.set()
        assert written.wait(60)
        replace(*words, **more)

    monkeypatch.setattr(files, "replace", slow)

    async def serve() -> None:
        task = asyncio.create_task(
            disks.replicas.checkpoint(Environment(disks.config, disks.paths[0]).in_thread)
        )
        while not begun.is_set():
            await asyncio.sleep(0.001)
        for each in PARTITIONS:
            assert disks.code(each) == {ErrorCode.none}
        written.set()
        await task

    asyncio.run(serve())
    for number, path in enumerate(disks.paths):
        assert checkpoints.read_offsets(path / checkpoints.HIGH_WATERMARK) == {
            disks.on(number): marks[disks.on(number)]
        }


@pytest.mark.parametrize("number", range(3), ids=NAMES)
@pytest.mark.parametrize("harm", WHILE, ids=lambda harm: harm.__name__)
def test_a_directory_that_fails_while_it_serves(disks: Disks, harm: Any, number: int) -> None:
    """Its partition is offline, has no role, and is followed no more; the others are served."""
    disks.start()
    assert set(disks.lead().values()) == {ErrorCode.none}
    lost, changed = disks.on(number), list[TopicPartition]()
    harm(disks, lost)
    assert disks.named() == [str(disks.paths[number])]
    disks.replicas.changed.append(changed.append)
    disks.replicas.directory_failed()
    assert changed == [lost]  # so that who waits for it is answered
    assert not disks.replicas.partitions[lost].is_leader
    assert disks.code(lost) == {OFFLINE_CODE}
    assert disks.lead()[lost] is OFFLINE_CODE
    for each in set(PARTITIONS) - {lost}:
        assert disks.code(each) == {ErrorCode.none}
    disks.upkeep()
    assert disks.named() == [str(disks.paths[number])]
    disks.stop()


def test_a_disk_that_fails_while_a_compaction_rests_ends_the_compaction_only(disks: Disks) -> None:
    """A file system that has become read-only refuses to remove what is half done, too."""
    disks.start()
    directory = disks.directories[0]

    def steps() -> Iterator[None]:
        try:
            yield
            directory.fail(disks.now, "Read-only file system")
            yield
        except GeneratorExit:
            raise OSError(errno.EROFS, "Read-only file system") from None

    cleaner: Any = SimpleNamespace(
        choose=lambda committed, now: "a log", clean=lambda work, now: steps()
    )
    task = CleanerTask(disks.config, disks.replicas, disks.events.append)
    assert asyncio.run(task._clean(directory, cleaner)) is False
