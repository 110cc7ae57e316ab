"""A partition's files are those of a broker: of the leader, if nobody says otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cluster.state import ClusterState, PartitionState, ReplicaState
from engine.errors import ApiException
from engine.model import TopicPartition
from tests.unit.storage.disk import NOW, ORDERS, Disk, batch
from widgets.log import directory
from widgets.log.hex_view import HexView
from widgets.log.location import LogLocation
from widgets.log.view import SegmentView


class Brokers:
    """Two brokers, of which only the directories are real."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leader = 2

    def directory(self, broker: int) -> Path:
        return self.path / f"broker-{broker}"

    def state(self) -> ClusterState:
        replica = ReplicaState("leader", 0, 5, 9, 9, 100, 1, True)
        known = PartitionState(self.leader, 0, (1, 2), (1, 2), {2: replica}, {})
        return ClusterState(0, 1, {}, {TopicPartition("orders", 0): known})


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    disks = [Disk(tmp_path / f"broker-{number}") for number in (1, 2)]
    for number, disk in enumerate(disks, 1):
        disk.directory.parent.mkdir()
        log = disk.open()
        for _ in range(10 * number):
            log.append(batch(2), 0, NOW)
    yield Brokers(tmp_path)
    for disk in disks:
        disk.abandon()


def test_the_leader_is_looked_at_first(brokers: Brokers) -> None:
    view = SegmentView(brokers, "orders", 0)
    second = directory.look(brokers.directory(2) / str(ORDERS))
    assert f"offsets 5 to {second.end_offset:,}" in view.facts
    assert view.controls[0]["act"] == "replica"
    assert view.controls[0]["options"] == [["1", "broker 1"], ["2", "broker 2 (leader)"]]
    view.do("replica", "1")
    assert view.trouble == ""
    first = directory.look(brokers.directory(1) / str(ORDERS))
    assert f"offsets 0 to {first.end_offset:,}" in view.facts
    view.do("replica", "7")
    assert view.trouble == "broker 7 has no replica of orders-0, only brokers 1, 2"
    view.close()


def test_a_partition_without_a_leader_has_files_all_the_same(brokers: Brokers) -> None:
    brokers.leader = -1
    assert LogLocation(brokers, "orders", 0).broker == 1
    assert LogLocation(brokers, "orders", 0, broker=2).broker == 2


def test_what_is_not_there_is_named(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widgets.log.location.PATIENCE", 0.0)
    with pytest.raises(ApiException, match="no partition payments-3"):
        SegmentView(brokers, "payments", 3)
    with pytest.raises(ApiException, match="there is no directory"):
        SegmentView(brokers.path / "nowhere")


def test_a_hex_view_finds_them_too(brokers: Brokers) -> None:
    view = HexView(brokers, "orders", 0, broker=1, offset=7)
    assert view.page is not None and view.chosen is not None
    assert view.page.path.parent == brokers.directory(1) / str(ORDERS)
    field = view.page.field_at(view.chosen)
    assert field is not None and field.part == "offset 7"
    view.close()
