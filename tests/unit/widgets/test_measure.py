"""Pictures of measurements: ratios and their range, latencies, pages in memory, copies."""

from pathlib import Path

import pytest

from widgets import LatencyView, PageMap, PathOfAByte, RatioBars
from widgets.measure.latency_view import milliseconds, percentile
from widgets.measure.machine import machine
from widgets.measure.page_map import PAGE, resident
from widgets.measure.ratio_bars import times
from widgets.scene import Scene, SceneShape
from widgets.stage import SceneWidget


def scene(view: SceneWidget) -> Scene:
    assert view.picture is not None
    return view.picture


def looks_in(group: SceneShape) -> dict[str, str]:
    return {it.key: it.look for it in group.content if isinstance(it, SceneShape)}


def words(view: SceneWidget) -> list[str]:
    return [str(it.content) for it in scene(view).all() if it.kind == "text"]


def test_a_bar_ends_at_the_median_and_half_is_as_far_as_twice() -> None:
    view = RatioBars("Speed", {"twice": [1.5, 2, 9], "half": [0.5]}, on="Measured on a table")
    one = scene(view)["grid 1.0"].where[0]
    twice, half = scene(view)["bar twice"].where, scene(view)["bar half"].where
    assert twice[0] == half[0] + half[2] == one
    assert twice[2] == pytest.approx(half[2])
    low, high = scene(view)["range twice"].where[0], scene(view)["range twice"].where[2]
    assert low < twice[0] + twice[2] < high
    assert {"2×", "0.5×", "Measured on a table"} <= set(words(view))


def test_a_ratio_is_positive() -> None:
    with pytest.raises(ValueError, match="nothing: ratios are positive numbers"):
        RatioBars("Speed", {"nothing": [0.0]})


def test_ratios_in_words() -> None:
    assert [*map(times, (96.2, 9.96, 2.04, 0.5, 0.0123))] == ["96×", "10×", "2×", "0.5×", "0.012×"]


def test_the_machine_is_told() -> None:
    assert machine().startswith("Measured on ")
    assert "GB of memory" in machine()


def test_percentiles_are_records_and_not_averages() -> None:
    found = [1.0] * 98 + [50.0, 900.0]
    assert [percentile(found, share) for share in (50, 98, 99, 99.9)] == [1, 1, 50, 900]
    assert [*map(milliseconds, (0.42, 4.2, 42, 420, 4200))] == [
        *("0.42 ms", "4.2 ms", "42 ms", "420 ms", "4.2 s")
    ]


def test_the_tail_is_seen_and_the_picture_follows() -> None:
    view = LatencyView("Latency")
    assert "No record yet." in words(view)
    view.add("acks=1", *[1.0] * 1000)
    assert view.poll()
    view.add("acks=1", 900.0)
    view.end()
    assert not view.poll()
    bars = [it for it in scene(view).all() if it.key.startswith("bar acks=1")]
    assert len(bars) == 2
    assert bars[0].where[3] > bars[1].where[3] > 2
    assert bars[1].where[0] > bars[0].where[0]
    assert "p50 1 ms · p99 1 ms · p99.9 1 ms · 1,001 records" in words(view)


def test_pages_in_memory_are_told_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"x" * (5 * PAGE + 1))
    assert resident(path) == bytes([1] * 6)  # just written
    view = PageMap(path)
    assert view.note("written") == "6 of 6 pages in memory"
    path.write_bytes(b"")
    assert resident(path) == b""
    assert view.poll()
    assert "written: 6 of 6 pages in memory" in words(view)
    assert "now: 0 of 0 pages in memory" in words(view)
    path.unlink()
    assert not view.poll()


def test_there_is_room_for_so_many_moments(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"x")
    view = PageMap(path)
    for number in range(12):
        view.note(str(number))
    with pytest.raises(Exception, match="room for 12 moments"):
        view.note("one more")


def test_a_copy_is_an_amber_arrow_and_without_one_the_program_is_left_out() -> None:
    ways = {"sendfile": {"in": 0, "out": 0.01}, "read": {"in": 1, "out": 0.99}}
    view = PathOfAByte(ways | {"mmap": {"in": 0, "out": 1}})
    assert scene(view).title == (
        "sendfile: 0 copies by the CPU; read: 2 copies by the CPU; mmap: 1 copy by the CPU"
    )
    looks = {it.key: looks_in(it) for it in scene(view).shapes}
    assert "in shaft" not in looks["way sendfile"]
    assert "watermark" in looks["way read"]["in shaft"]
    assert "watermark" not in looks["way mmap"]["in shaft"]
    assert "watermark" in looks["way mmap"]["out shaft"]
