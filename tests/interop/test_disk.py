"""A disk that is full, or gone: it costs its own partitions, and no others.

A full disk is made by the limit on the size of files (`ulimit -f`): writing beyond it fails, for
this one process, as it fails on a disk that is full.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.cluster.child import Child
from engine.cluster.zookeeper import ZookeeperServer
from engine.wire.apis import Api
from tests.interop.raw import Message, Raw, batch
from tests.interop.watch import told, until

BLOCKS = 6000  # of 512 bytes: three megabytes for a file
SETTINGS = {
    "log.index.size.max.bytes": "4096",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
STORAGE_ERROR = 56


class Started(NamedTuple):
    broker: Child
    bootstrap: str


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as zookeeper:
        yield zookeeper


class Disks:
    """Two log directories, and a broker on them."""

    def __init__(self, zookeeper: ZookeeperServer, path: Path) -> None:
        self.path, self.zookeeper = path, zookeeper
        self.both = path / "one", path / "two"

    def start(self, *, limited: bool = True) -> Started:
        settings = SETTINGS | {"log.dirs": ",".join(map(str, self.both))}
        command = [
            *("/bin/sh", "-c", f'ulimit -f {BLOCKS}; exec "$@"' if limited else 'exec "$@"', "sh"),
            *(sys.executable, "-m", "engine", "broker", "--id", "1", "--port", "0"),
            *("--zookeeper", self.zookeeper.address + f"/{self.path.name}"),
            *("--data", str(self.path)),
        ]
        for key, value in settings.items():
            command += ["--config", f"{key}={value}"]
        broker = Child(command, self.path / "broker.log")
        ready = until(lambda: re.search(r"ready broker=1 port=(\d+)", broker.output()))
        return Started(broker, f"127.0.0.1:{ready[1]}")

    def home(self, topic: str, partition: int) -> Path:
        (found,) = [each for each in self.both if (each / f"{topic}-{partition}").is_dir()]
        return found


@pytest.fixture
def disks(zookeeper: ZookeeperServer, tmp_path: Path) -> Disks:
    return Disks(zookeeper, tmp_path)


def fill(client: Raw, topic: str, partition: int) -> list[bytes]:
    """Produce until it fails; what was acknowledged."""
    stored: list[bytes] = []
    for number in range(100):
        value = b"%d " % number + b"x" * 300_000
        code = client.produce(topic, batch(value), partition=partition).error_code
        if code == STORAGE_ERROR:
            return stored
        assert code == 0
        stored.append(value)
    raise AssertionError("it never fails")


def codes(client: Raw, topic: str, partition: int) -> set[int]:
    """What produce, fetch and a question for the end say."""
    return {
        int(client.produce(topic, batch("x"), partition=partition).error_code),
        int(client.fetch(topic, 0, partition=partition).error_code),
    }


def test_a_full_disk_takes_its_partitions_offline_and_the_last_one_the_broker(disks):
    broker, bootstrap = disks.start()
    with broker, Raw(bootstrap) as client:
        assert client.create("orders", partitions=2) == 0
        assert {disks.home("orders", 0), disks.home("orders", 1)} == set(disks.both)
        full, sound = disks.home("orders", 0), disks.home("orders", 1)
        with told(broker, f"directory.offline .*{full}"):
            stored = fill(client, "orders", 0)
        assert len(stored) > 5
        assert codes(client, "orders", 0) == {STORAGE_ERROR}
        assert codes(client, "orders", 1) == {0}
        described = client.ask(Api.DESCRIBE_LOG_DIRS, Message(topics=None)).results
        assert {Path(each.log_dir): each.error_code for each in described} == {
            full: STORAGE_ERROR,
            sound: 0,
        }

        # What is new goes where there is room; what is old can go.
        assert client.create("later", partitions=2) == 0
        assert disks.home("later", 0) == disks.home("later", 1) == sound
        assert codes(client, "later", 0) | codes(client, "later", 1) == {0}
        assert client.delete("later") == 0

        fill(client, "orders", 1)
        assert broker.wait(10) == 1
    assert "Shutdown broker because all log dirs have failed" in broker.output().splitlines()[-1]
    assert "Traceback" not in broker.output()

    broker, bootstrap = disks.start(limited=False)
    with broker, Raw(bootstrap) as client:
        assert [record.value for record in client.read("orders")] == stored
        assert codes(client, "orders", 0) | codes(client, "orders", 1) == {0}


def test_after_a_kill_only_the_active_segment_is_recovered(disks):
    """Closed ones were flushed while the broker served: damage in them was not made by the kill, so
    nothing is cut."""
    broker, bootstrap = disks.start()
    with broker, Raw(bootstrap) as client:
        assert client.create("orders", segment_bytes=1000) == 0
        for _ in range(8):
            assert client.produce("orders", batch("x" * 300)).error_code == 0
        home = disks.home("orders", 0)
        *closed, active = sorted((home / "orders-0").glob("*.log"))
        point = f"orders 0 {int(active.stem)}"
        checkpoint = home / "recovery-point-offset-checkpoint"
        until(lambda: checkpoint.exists() and point in checkpoint.read_text().splitlines())
        assert len(closed) >= 2 and int(active.stem) > 0
        broker.kill()
    damaged = bytearray(closed[0].read_bytes())
    damaged[-1] ^= 1
    closed[0].write_bytes(damaged)
    active.write_bytes(active.read_bytes()[:-1])
    broker, bootstrap = disks.start()
    with broker, Raw(bootstrap) as client:
        assert re.findall(r" log\.cut \{.*?'file': '([^']*)'", broker.output()) == [str(active)]
        assert client.fetch("orders", 0).error_code == 0
        assert [path.name for path in closed] == [
            path.name for path in sorted((home / "orders-0").glob("*.log"))[: len(closed)]
        ]


def test_a_disk_without_room_for_a_new_partition(disks):
    """The index of a new log is larger than what is left."""
    broker, bootstrap = disks.start()
    with broker, Raw(bootstrap) as client:
        assert client.create("vast", segment_index_bytes=10 << 20) in (0, 7)
        until(lambda: "directory.offline" in broker.output())
        assert codes(client, "vast", 0) == {STORAGE_ERROR}
        assert client.create("small") == 0
        assert codes(client, "small", 0) == {0}
        assert client.delete("vast") == 0
        assert codes(client, "small", 0) == {0}
        assert broker.terminate() == 0
    assert "Traceback" not in broker.output()


def test_a_directory_that_is_gone(disks):
    broker, bootstrap = disks.start(limited=False)
    with broker, Raw(bootstrap) as client:
        assert client.create("orders", partitions=2) == 0
        assert codes(client, "orders", 0) | codes(client, "orders", 1) == {0}
        with told(broker, "directory.offline .*No such file"):
            disks.home("orders", 0).rename(disks.path / "unplugged")
            until(lambda: codes(client, "orders", 0) == {STORAGE_ERROR})
        assert codes(client, "orders", 1) == {0}
        disks.home("orders", 1).rename(disks.path / "unplugged too")
        assert broker.wait(10) == 1
    assert "all log dirs have failed" in broker.output().splitlines()[-1]
