"""The files of a log are recorded as they change, and looked at later, at any moment."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.recorded_files import ENTRIES, Archive, FileTrack, RebuiltFiles
from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, PartitionState, ReplicaState
from engine.errors import ApiException
from engine.model import TopicPartition
from engine.storage.retention import enforce
from tests.unit.storage import compacted
from tests.unit.storage.disk import NOW, ORDERS, Disk, batch
from widgets.log.hex_view import NOT_THEN, HexView
from widgets.log.view import SegmentView

STEP = 100  # ms between two moments
NAME = str(ORDERS)
KINDS = (".log", *ENTRIES)
CONFIG = {"segment_bytes": 1000, "index_interval_bytes": 150, "segment_index_bytes": 960}


class Camera:
    """Records a directory of brokers, a moment at a time, and keeps what was really there."""

    def __init__(self, path: Path, brokers: tuple[int, ...] = (1,), **how: Any) -> None:
        self.path = path
        self.files = FileTrack(self.directory, lambda: brokers, how.pop("wish", [NAME]), **how)
        self.time = NOW
        self.track: list[tuple[int, Any]] = []
        self.truth: dict[int, dict[str, bytes]] = {}
        self.brokers = brokers

    def directory(self, broker: int) -> Path:
        return self.path / f"broker-{broker}"

    def shoot(self) -> int:
        """Take what is new; how many bytes of files that was."""
        self.time += STEP
        self.truth[self.time] = kept(self.path)
        told = self.files()
        if told is None:
            return 0
        self.track.append((self.time, json.loads(json.dumps(told))))
        return sum(len(each[-1]) * 3 // 4 for each in told["files"] if len(each) > 1)

    def recording(self, tracks: bool = True) -> Recording:
        replicas = {it: ReplicaState("leader", 0, 0, 9, 9, 100, 1, True) for it in self.brokers}
        known = PartitionState(1, 0, self.brokers, self.brokers, replicas, {})
        partitions = {TopicPartition("orders", 0): known}
        states = [ClusterState(at, 1, {}, partitions) for at in (NOW, self.time)]
        return Recording(states, [], {"files": self.track} if tracks else {})


def kept(path: Path) -> dict[str, bytes]:
    """What is in the files of our kinds, also of those that are leaving."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.glob(f"broker-*/{NAME}/*"))
        if file.name.removesuffix(".deleted").endswith(KINDS)
    }


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    (tmp_path / "broker-1").mkdir()
    disk = Disk(tmp_path / "broker-1", **CONFIG)
    yield disk
    disk.abandon()


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    return Camera(tmp_path)


def live(disk: Disk, camera: Camera) -> None:
    """A log that grows, is cut off, cut off and written again, retained, and closed."""
    log = disk.open()
    for _ in range(30):
        log.append(batch(2), 0, NOW)
        camera.shoot()
    log.truncate(40, NOW)
    camera.shoot()
    log.truncate(30, NOW)
    for _ in range(20):
        log.append(batch(1, size=15), 0, NOW)
    camera.shoot()
    log.reconfigure(log.config.__class__(**{**CONFIG, "retention_bytes": 900}))
    assert enforce(log, NOW, log.end_offset)
    camera.shoot()
    log.append(batch(3), 0, NOW)
    camera.shoot()
    for path in disk.directory.glob("*.deleted"):
        path.unlink()
    camera.shoot()


def replayed(
    camera: Camera, tmp_path: Path
) -> tuple[RebuiltFiles, Callable[[int], dict[str, bytes]]]:
    shelf = RebuiltFiles(Archive(camera.recording()), tmp_path / "again")

    def at(time: int) -> dict[str, bytes]:
        shelf.rebuild(time)
        return kept(tmp_path / "again")

    return shelf, at


# -- the track ------------------------------------------------------------------------------------


def test_at_each_moment_the_files_are_what_they_were_forward_and_back(
    disk: Disk, camera: Camera, tmp_path: Path
) -> None:
    live(disk, camera)
    _, at = replayed(camera, tmp_path)
    times = list(camera.truth)
    for time in [*times, *times[::-1], times[5], times[-1], times[20]]:
        assert at(time) == camera.truth[time]


def test_what_is_added_is_reported_once(disk: Disk, camera: Camera) -> None:
    log = disk.open()
    log.append(batch(2), 0, NOW)
    first = camera.shoot()
    assert first > 0
    assert camera.shoot() == 0
    assert len(camera.track) == 1, "while nothing happens nothing is written"
    sent = batch(1)
    log.append(sent, 0, NOW)
    assert len(sent) <= camera.shoot() <= len(sent) + 3 * sum(ENTRIES.values())


def test_what_is_cut_off_or_renamed_is_not_told_again(disk: Disk, camera: Camera) -> None:
    log = disk.open()
    for _ in range(40):
        log.append(batch(2), 0, NOW)
    assert camera.shoot() > 4000
    log.truncate(60, NOW)
    assert camera.shoot() < 50
    log.reconfigure(log.config.__class__(**{**CONFIG, "retention_bytes": 1000}))
    assert enforce(log, NOW, log.end_offset)
    assert camera.shoot() < 50


def test_an_index_is_reported_without_its_empty_rest(disk: Disk, camera: Camera) -> None:
    log = disk.open(segment_index_bytes=10 << 20)
    log.append(batch(2), 0, NOW)
    assert max(map(len, kept(camera.path).values())) > (10 << 20) - 12
    assert camera.shoot() < 1000


def test_after_so_many_bytes_it_says_that_it_stopped(disk: Disk, tmp_path: Path) -> None:
    camera = Camera(tmp_path, most=1500)
    log = disk.open()
    for _ in range(30):
        log.append(batch(2), 0, NOW)
        camera.shoot()
    *before, last = camera.track
    assert all("full" not in told for _, told in before)
    assert last[1]["full"] == 1500
    assert sum(len(it[-1]) * 3 // 4 for _, told in camera.track for it in told["files"]) <= 1503
    _, at = replayed(camera, tmp_path)
    assert at(before[-1][0]) == camera.truth[before[-1][0]]

    view = SegmentView(camera.recording(), "orders", 0)
    assert "no file was kept: they had grown by more than" in view.scene
    view.do("moment", 0)
    assert "no file was kept" not in view.scene
    view.close()


def test_a_file_in_the_place_of_another_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "broker-1").mkdir()
    store = compacted.Store(tmp_path / "broker-1", segment_bytes=2000, index_interval_bytes=150)
    camera = Camera(tmp_path)
    compacted.fill(store.log, "a=1 b=1 c=1 | a=2 b=2 d=1 | e=1 | a=3")
    camera.shoot()
    store.clean()
    camera.shoot()
    store.log.abandon()
    shelf, at = replayed(camera, tmp_path)
    inodes = []
    for time in camera.truth:
        assert at(time) == camera.truth[time]
        found = shelf.folder(1) / NAME / f"{0:020d}.log"
        inodes.append(found.stat().st_ino)
    assert inodes[0] != inodes[1]

    view = SegmentView(camera.recording(), "orders", 0)
    view.do("moment", 0)
    view.do("moment", 1)
    assert view.picture is not None
    assert any("before it was compacted" in shape.label for shape in view.picture.all())
    view.close()


def test_only_what_is_asked_for_is_recorded(tmp_path: Path) -> None:
    for broker in (1, 2):
        (tmp_path / f"broker-{broker}").mkdir()
        one = Disk(tmp_path / f"broker-{broker}")
        one.open().append(batch(2), 0, NOW)
        one.abandon()
    both, second = Camera(tmp_path, (1, 2)), Camera(tmp_path, (1, 2), wish={NAME: [2]})
    none = Camera(tmp_path, (1, 2), wish=["payments-0"])
    for camera in (both, second, none):
        camera.shoot()
    assert Archive(both.recording()).partitions() == {NAME: {1, 2}}
    assert Archive(second.recording()).partitions() == {NAME: {2}}
    assert none.track == []
    with pytest.raises(ApiException, match=r'files=\["orders-0"\]'):
        Camera(tmp_path, wish="orders-0")


# -- the widgets ----------------------------------------------------------------------------------


@pytest.fixture
def recording(disk: Disk, camera: Camera) -> Recording:
    live(disk, camera)
    return camera.recording()


def slider(view: SegmentView | HexView) -> dict[str, Any]:
    return next(it for it in view.controls if it["act"] == "moment")


def gone(view: SegmentView) -> list[str]:
    assert view.picture is not None
    return [it.label for it in view.picture.all() if "deleted by retention" in it.label]


def test_a_log_grows_again_as_it_did(recording: Recording) -> None:
    view = SegmentView(recording, "orders", 0)
    assert slider(view)["value"] == slider(view)["most"]
    view.do("moment", 0)
    assert "offsets 0 to 2" in view.facts
    assert "at 0.10 s · 1 of 35" in view.scene
    for index in range(1, 30):
        view.do("moment", index)
        assert f"offsets 0 to {2 * index + 2}" in view.facts
    view.do("moment", 30)
    assert "offsets 0 to 40" in view.facts
    view.do("moment", 3)
    assert "offsets 0 to 8" in view.facts
    assert view.trouble == ""
    view.close()


def test_an_offset_is_found_in_the_past(recording: Recording) -> None:
    view = SegmentView(recording, "orders", 0)
    view.do("moment", 20)
    view.do("ask_offset", 33)
    assert view.lookup is not None and view.lookup.found is not None
    assert view.lookup.found.offset == 33
    view.do("moment", 5)
    assert view.lookup is None, "what was found is not there yet"
    view.do("ask_offset", 33)
    assert "out of range" in view.lookup.words
    view.close()


def test_what_came_and_went_between_two_moments_is_not_passed_over(recording: Recording) -> None:
    view = SegmentView(recording, "orders", 0)
    last = slider(view)["most"]
    view.do("moment", 0)
    view.do("moment", last)
    assert [label.split(":")[0] for label in gone(view)] == ["segment 0", "segment 20"]
    view.do("moment", 0)
    assert gone(view) == []
    view.close()


def test_the_bytes_follow(recording: Recording) -> None:
    view = SegmentView(recording, "orders", 0)
    view.do("moment", 29)
    view.do("open_segment", "0")
    view.do("moment", 10)
    assert view.hex.page is not None
    before = view.hex.page.size
    view.do("moment", 4)
    assert view.hex.page.size < before
    view.do("moment", slider(view)["most"])
    assert view.hex.trouble == NOT_THEN
    assert view.trouble == ""
    view.do("moment", 10)
    assert view.trouble == ""
    assert (view.hex.trouble, view.hex.page.size) == ("", before)
    view.close()


def test_a_hex_view_goes_through_a_recording_by_itself(recording: Recording) -> None:
    view = HexView(recording, "orders", 0)
    assert view.page is not None
    assert "35 of 35" in view.about
    view.do("file", f"{view.page.path.name}")
    view.do("moment", 0)
    assert view.trouble == NOT_THEN
    assert slider(view)["value"] == 0
    view.do("file", f"{0:020d}.log")
    assert view.trouble == ""
    first = view.page.data
    view.do("moment", 12)
    assert view.page.size > len(first)
    assert view.page.data.startswith(first)
    view.close()


def test_the_files_go_with_the_widget(recording: Recording) -> None:
    for view in (SegmentView(recording, "orders", 0), HexView(recording, "orders", 0)):
        page = view.page if isinstance(view, HexView) else None
        folder = page.path.parent if page else view._place.directory
        assert folder.is_dir()
        view.close()
        assert not folder.parent.parent.exists()


def test_a_recording_without_files_says_how_to_make_one_with_them(camera: Camera) -> None:
    camera.time += STEP
    for view in (SegmentView, HexView):
        with pytest.raises(ApiException) as caught:
            view(camera.recording(tracks=False), "orders", 0)
        assert 'cluster.record(path, files=["orders-0"])' in caught.value.message


def test_of_other_partitions_it_says_which_there_are(recording: Recording) -> None:
    with pytest.raises(ApiException, match="only those of orders-0"):
        SegmentView(recording, "payments", 3)


def test_another_replica_has_moments_of_its_own(tmp_path: Path) -> None:
    camera, disks = Camera(tmp_path, (1, 2)), []
    for broker in (1, 2):
        (tmp_path / f"broker-{broker}").mkdir()
        disks.append(Disk(tmp_path / f"broker-{broker}"))
        disks[-1].open()
    for turn in range(6):
        disks[turn % 2].log.append(batch(2), 0, NOW)
        camera.shoot()
    view = SegmentView(camera.recording(), "orders", 0)
    assert slider(view)["most"] == 2
    view.do("moment", 1)
    assert "offsets 0 to 4" in view.facts
    view.do("replica", "2")
    assert "offsets 0 to 2" in view.facts
    view.do("moment", 3)
    assert "offsets 0 to 6" in view.facts
    view.close()
    for disk in disks:
        disk.abandon()


def test_now_is_always_now() -> None:
    view = HexView(None)
    view.do("moment", 3)
    assert view.trouble == "this is no recording: it is always now"
    view.close()


def test_a_directory_has_no_moments(disk: Disk) -> None:
    disk.open().append(batch(2), 0, NOW)
    view = SegmentView(disk.directory)
    view.do("moment", 3)
    assert view.trouble == "this is no recording: it is always now"
    assert all(it["act"] != "moment" for it in view.controls)
    view.close()
