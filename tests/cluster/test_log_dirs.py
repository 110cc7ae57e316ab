"""Disks of real brokers fail: three brokers with three log directories each."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from engine.storage import checkpoints
from engine.wire.apis import Api
from tests.interop.raw import Message, Raw, batch
from tests.interop.watch import until

STORAGE_ERROR = 56
CONFIG = {
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "log.flush.scheduler.interval.ms": "200",
    "replica.lag.time.max.ms": "2000",
    "log.cleaner.backoff.ms": "200",
}


def disks(cluster: Cluster, broker: int) -> list[Path]:
    return [cluster.directory(broker) / f"disk-{number}" for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(3, config=CONFIG)
    for broker in cluster.brokers:
        names = ",".join(map(str, disks(cluster, broker)))
        cluster.configure(broker, {"log.dirs": names})
    with cluster:
        yield cluster


def disk_of(cluster: Cluster, broker: int, topic: str) -> Path:
    """The directory that has partition 0 of a topic."""
    (found,) = [it for it in disks(cluster, broker) if (it / f"{topic}-0").is_dir()]
    return found


# -- faults of a directory; `mend` takes them out while its broker is down ----------------------


def draft_goes_to(disk: Path, device: str) -> None:
    """Let a disk's next checkpoint be written to a device, after one that is being written now."""

    def placed() -> bool:
        try:
            (disk / f"{checkpoints.HIGH_WATERMARK}.tmp").symlink_to(device)
        except FileExistsError:
            return False
        return True

    until(placed)


def gone(disk: Path, topic: str) -> None:
    """There is a file in its place."""
    disk.rename(disk.with_name("unplugged"))
    disk.write_text("no directory")


def full(disk: Path, topic: str) -> None:
    """ENOSPC at the next checkpoint."""
    draft_goes_to(disk, "/dev/full")


def unflushed(disk: Path, topic: str) -> None:
    """EINVAL, as a checkpoint is flushed."""
    draft_goes_to(disk, "/dev/null")


def uncleaned(disk: Path, topic: str) -> None:
    """ENOSPC as the cleaner writes the rest of a log."""
    (disk / f"{topic}-0" / f"{0:020d}.log.cleaned").symlink_to("/dev/full")


def mend(disk: Path) -> None:
    if disk.is_file():
        disk.unlink()
        disk.with_name("unplugged").rename(disk)
    for path in [*disk.glob("*.tmp"), *disk.glob("*-*/*.cleaned")]:
        if path.is_symlink():
            path.unlink()


def events(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in cluster.events() if event.kind == kind]


def key(value: str) -> str:
    return value[:3]


FAULTS = [gone, full, unflushed, uncleaned]


@pytest.mark.parametrize("fail", FAULTS, ids=lambda fail: fail.__name__)
def test_other_replicas_take_over(cluster: Cluster, fail: Callable[[Path, str], None]) -> None:
    """The disk of a leader fails: another broker leads, nothing acknowledged is lost, and the
    broker serves what it has on its other disks."""
    topic = cluster.topic(
        fail.__name__,
        replicas=[1, 2, 3],
        cleanup_policy="compact" if fail is uncleaned else "delete",
        segment_bytes=5000,
        min_cleanable_dirty_ratio="0.01",
        segment_index_bytes=4096,
    )
    other = cluster.topic(f"{fail.__name__}-beside", replicas=[[1, 2, 3]] * 3)
    disk = disk_of(cluster, 1, topic)
    before = len(events(cluster, "directory.offline"))
    values = [f"{number:03}" + "x" * 200 for number in range(30)]
    assert len(cluster.write(topic, values[:15], key=key, enable_idempotence=True)) == 15
    fail(disk, topic)
    assert len(cluster.write(topic, values[15:], key=key, enable_idempotence=True)) == 15
    until(lambda: cluster.leader(topic) not in (1, -1) and 1 not in cluster.isr(topic))
    assert cluster.read(topic) == values
    (found,) = until(lambda: events(cluster, "directory.offline")[before:])
    assert found["directory"] == str(disk)
    output = cluster.child(1).output()
    assert f"directory.offline {{'directory': '{disk}'" in output
    assert "Traceback" not in output
    with Raw(cluster.bootstrap.split(",")[0]) as client:
        described = client.ask(Api.DESCRIBE_LOG_DIRS, Message(topics=None)).results
        assert {Path(each.log_dir): each.error_code for each in described} == {
            each: ErrorCode.kafka_storage_error if each == disk else ErrorCode.none
            for each in disks(cluster, 1)
        }
        assert client.produce(topic, batch("x")).error_code == STORAGE_ERROR
        on_others = [
            number
            for number in range(3)
            if not (disk / f"{other}-{number}").is_dir()
            and any((it / f"{other}-{number}").is_dir() for it in disks(cluster, 1))
        ]
        for number in on_others:
            assert client.produce(other, batch("x"), partition=number).error_code == 0
        assert len(on_others) == 2
    assert cluster.children("/log_dir_event_notification") == []  # the controller has read it

    assert cluster.stop_broker(1) == 0
    mend(disk)
    cluster.restart(1)
    until(lambda: cluster.isr(topic) and set(cluster.isr(topic)) == {1, 2, 3})
    assert cluster.read(topic) == values


def test_a_broker_starts_without_one_of_its_disks(cluster: Cluster) -> None:
    """Damaged before the start: the first, whose files are not those of the process itself."""
    topic = cluster.topic("started", replicas=[2, 1, 3])
    disk = disk_of(cluster, 2, topic)
    cluster.write(topic, ["a", "b"], acks="all")
    cluster.stop_broker(2)
    meta = (disk / checkpoints.META).read_text()
    (disk / checkpoints.META).write_text("junk")
    cluster.restart(2)
    until(lambda: set(cluster.isr(topic)) == {1, 3})
    assert cluster.leader(topic) in (1, 3)
    assert f"directory.offline {{'directory': '{disk}'" in cluster.child(2).output()
    assert not [it for it in disks(cluster, 2) if it != disk and (it / f"{topic}-0").exists()]
    cluster.write(topic, ["c"], acks="all")
    cluster.stop_broker(2)
    (disk / checkpoints.META).write_text(meta)
    cluster.restart(2)
    until(lambda: set(cluster.isr(topic)) == {1, 2, 3})
    assert cluster.read(topic) == ["a", "b", "c"]


def test_the_note_to_the_controller_is_kafkas() -> None:
    from engine.zookeeper import znodes  # noqa: PLC0415

    assert json.loads(znodes.encode_log_dir_failure(3)) == {"version": 1, "broker": 3, "event": 1}
    assert znodes.decode_log_dir_failure(znodes.encode_log_dir_failure(3)) == 3
