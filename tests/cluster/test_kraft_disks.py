"""Disks that fail without ZooKeeper, where no controller can be told of them before level 17.

Kafka 3.3 to 3.6 do the same: "Unable to propagate log dir failure via Zookeeper in KRaft mode".
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.state import Status
from engine.wire.apis import Api
from proof.chaos.disk_faults import disks_of, give_disks
from proof.chaos.run import OF_KRAFT
from tests.cluster.probe import Probe
from tests.interop.raw import Message, batch
from tests.interop.watch import until
from tests.limits import START_S
from tests.modes import KRAFT, made

STORAGE_ERROR = 56
CONFIG = OF_KRAFT | {"replica.lag.time.max.ms": "2000"}


@pytest.fixture
def kraft() -> Iterator[Cluster]:
    """Three disks for each broker, and the metadata log beside them."""
    cluster = made(3, KRAFT, config=CONFIG)
    give_disks(cluster)
    with cluster:
        yield cluster


def take_away(disk: Path) -> Path:
    """There is a file in its place. Returns where the disk is now."""
    away = disk.rename(disk.with_name(f"{disk.name}.away"))
    disk.write_text("no directory")
    return away


def test_a_disk_of_several_is_offline_and_nobody_takes_over_before_a_restart(
    kraft: Cluster,
) -> None:
    """The leader's disk fails. The broker goes on, and leads what it cannot serve, until it starts
    again: then it is fenced, others lead, and nothing that was acknowledged is lost."""
    topic = kraft.topic("orders", replicas=[1, 2, 3])
    kraft.write(topic, ["a", "b"], acks="all")
    (disk,) = [it for it in disks_of(kraft, 1) if (it / f"{topic}-0").is_dir()]
    away = take_away(disk)
    with Probe(kraft, 1) as probe:
        written = 2
        while probe.produce(topic, batch("c")).error_code != STORAGE_ERROR:
            written += 1
        described = probe.ask(Api.DESCRIBE_LOG_DIRS, Message(topics=None)).results
        assert sorted(it.error_code for it in described) == [0, 0, STORAGE_ERROR]
    assert kraft.leader(topic) == 1
    assert "no other broker takes over" in kraft.child(1).output()
    kraft.restart(1)
    until(lambda: kraft.leader(topic) in (2, 3))
    assert len(kraft.read(topic)) >= written
    kraft.stop_broker(1)
    disk.unlink()
    away.rename(disk)
    kraft.restart(1)
    until(lambda: set(kraft.isr(topic)) == {1, 2, 3}, START_S)
    assert len(kraft.read(topic)) >= written


@pytest.mark.advanced
def test_a_broker_whose_metadata_cannot_be_written_ends_and_others_lead(kraft: Cluster) -> None:
    """The quorum begins an epoch, which the broker has to write down before it goes on."""
    topic = kraft.topic("orders", replicas=[1, 2, 3])
    take_away(kraft.directory(1) / "__cluster_metadata-0")
    kraft.kill(f"controller-{kraft.state().controller - 100}")
    until(lambda: kraft.state().brokers[1].status is Status.DOWN, START_S)
    until(lambda: kraft.leader(topic) in (2, 3), START_S)
    assert "__cluster_metadata-0" in kraft.child(1).output()
    assert kraft.write(topic, ["a"], acks="all") == [0]
